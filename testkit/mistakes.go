package testkit

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/protocol"
)

// Mistakes tries the standard mistakes of models on tool, each in a subtest: an
// argument that is missing, null, of another type, beyond its bounds, a name that is
// nearly right, an enum value in the wrong case, a number as text, JSON in a text, a
// list for one value and one value for a list, a dotted path, a wrapper around all,
// arguments that are no object.
//
// The tool must refuse each with an error that names the path and says what is wanted; the
// corrected call in the error must pass. What the tool repairs instead (see
// [framework.WithoutRepair]), or what its schema allows, does not count as a mistake. The
// handler does not run.
//
// The calls are made from the schema. If the tool has rules that its schema cannot express,
// so that no valid call is found, give the argument a default, or its schema an example,
// that shows one. If the tool needs its app's OneOf or Validation, build the app first.
func Mistakes[In, Out any](t *testing.T, tool *framework.ToolOf[In, Out]) {
	t.Helper()
	j, err := newJudge(tool)
	if err != nil {
		t.Fatalf("testkit: Mistakes: %v", err)
	}
	for _, m := range j.mistakes() {
		t.Run(m.name, func(t *testing.T) {
			t.Helper()
			if complaint := j.judge(m); complaint != "" {
				t.Errorf("testkit: %s: %s\nsent: %s", j.name, complaint, m.arguments)
			}
		})
	}
}

// judge judges how a tool handles arguments, from its schema and its errors.
type judge struct {
	name   string
	check  func(json.RawMessage) error // the tool's own check
	legal  func(json.RawMessage) error // a check by the schema alone
	schema *surface.Schema
	good   map[string]any // a call that passes
}

var errNoTool = errors.New("the tool is nil: give the handle that framework.Tool returned")

func newJudge[In, Out any](tool *framework.ToolOf[In, Out]) (*judge, error) {
	if tool == nil {
		return nil, errNoTool
	}
	raw := tool.InputSchema()
	if raw == nil {
		return nil, fmt.Errorf("the tool %s has no schema: does it build? %w", tool.Name(), tool.Check(nil))
	}
	schema, err := surface.ParseSchema(raw)
	if err != nil {
		return nil, fmt.Errorf("the schema of %s: %w", tool.Name(), err)
	}
	j := &judge{name: tool.Name(), check: tool.Check, legal: byItsSchema(raw).Check, schema: schema}
	j.good, err = j.goodCall()
	return j, err // without a good call, the judge is still useful for fuzzing
}

// byItsSchema returns a tool that checks its arguments by this schema alone.
func byItsSchema(schema json.RawMessage) *framework.ToolOf[json.RawMessage, struct{}] {
	return framework.Tool[json.RawMessage, struct{}]("schema", nil, framework.InputSchema(schema))
}

// goodCall makes a call that the tool accepts, from its schema and from the errors of attempts
// that fail.
func (j *judge) goodCall() (map[string]any, error) {
	var err error
	for _, depth := range []int{exampleDepth, 1, 0} {
		call := encodeValue(example(j.schema, depth))
		for range 3 {
			if err = j.check(call); err == nil {
				good, _ := decoded(call).(map[string]any)
				return good, nil
			}
			if try := tryOf(err); try != nil {
				call = try
			} else {
				call = j.mended(call, issuesOf(err))
			}
		}
	}
	return nil, fmt.Errorf("no call that %s accepts can be made from its schema (give the argument a default, or its schema an example): %w", j.name, err)
}

// encodeValue cannot fail: the value came from JSON.
func encodeValue(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}

// tryOf returns the corrected call in a teaching error; nil if there is none.
func tryOf(err error) json.RawMessage {
	_, try, found := strings.Cut(messageOf(err), "\nTry: ")
	if !found {
		return nil
	}
	return json.RawMessage(try)
}

func messageOf(err error) string {
	if fault, ok := errors.AsType[*protocol.Fault](err); ok {
		return fault.Message
	}
	return err.Error()
}

// issue is one line of a teaching error.
type issue struct {
	Path, Got, Want, Hint, Rule string
}

func issuesOf(err error) []issue {
	fault, ok := errors.AsType[*protocol.Fault](err)
	if !ok {
		return nil
	}
	raw, failed := json.Marshal(fault.Data)
	var data struct{ Issues []issue }
	if failed != nil || json.Unmarshal(raw, &data) != nil {
		return nil
	}
	return data.Issues
}

// judge returns what is wrong with how the tool handles a mistake; "" if nothing is.
func (j *judge) judge(m mistake) string {
	err := j.check(m.arguments)
	if err == nil {
		if refused := j.legal(m.arguments); refused != nil && !m.mends {
			return "accepted, though the schema refuses it: " + messageOf(refused)
		}
		return ""
	}
	got := "\ngot:  " + strings.ReplaceAll(messageOf(err), "\n", "\n      ")
	issues := issuesOf(err)
	if len(issues) == 0 {
		if m.path == anywhere {
			return ""
		}
		return "the error names no path" + got
	}
	if m.path != anywhere && !slices.ContainsFunc(issues, func(i issue) bool { return strings.HasPrefix(i.Path, m.path) }) {
		return fmt.Sprintf("the error does not name %q%s", m.path, got)
	}
	try := tryOf(err)
	if try == nil {
		if slices.ContainsFunc(issues, func(i issue) bool { return i.Want != "" || i.Hint != "" || i.Rule == "required" || i.Rule == "unknown" }) {
			return ""
		}
		return "the error does not say what is wanted" + got
	}
	if refused := j.check(try); refused != nil {
		return "the corrected call does not pass: " + messageOf(refused) + got
	}
	return ""
}
