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

// Mistakes tries the standard mistakes of models on tool, each in a subtest:
//   - an argument that is missing, null, of another type, or beyond its bounds
//   - a name that is nearly right, or an enum value in the wrong case
//   - a number as text, or JSON in a text
//   - a list for one value, or one value for a list
//   - a dotted path, or a wrapper around all arguments
//   - arguments that are not an object
//
// The tool must refuse each with an error that names the path and describes what is expected. The
// corrected call in the error must pass. If the tool repairs a call (see
// [framework.WithoutRepair]), or its schema allows the call, it is not a mistake. The handler does
// not run.
//
// The calls are made from the schema. If the tool has rules that its schema cannot express, there
// may be no valid call. Then give the argument a default, or its schema an example, that shows a
// valid value. If the tool needs its app's OneOf or Validation, build the app first.
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

// judge checks how a tool handles arguments, with its schema and its errors.
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

// byItsSchema returns a tool that checks its arguments only by this schema.
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

// encodeValue returns a value as JSON. It cannot fail, because the value came from JSON.
func encodeValue(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}

// tryOf returns the corrected call in a teaching error, or nil if there is none.
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

// judge returns a complaint about how the tool handles a mistake, or "" if it handles it correctly.
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
