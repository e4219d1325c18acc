package interop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// kind is what testdata/kinds.json says of a tool: values of its argument "v".
type kind struct {
	Valid   []json.RawMessage `json:"valid"`
	Invalid []json.RawMessage `json:"invalid"`
}

// judged is one line for the scripts: arguments, or values of a schema.
type judged struct {
	Name    string            `json:"name"`
	Schema  json.RawMessage   `json:"schema,omitempty"`
	Valid   []json.RawMessage `json:"valid"`
	Invalid []json.RawMessage `json:"invalid"`
}

// TestSchemas has the server with a tool for every kind of Go type judged by
// ajv and by both TypeScript clients: what the input schema accepts the server
// accepts, and what the server returns the output schema accepts.
func TestSchemas(t *testing.T) {
	installNode(t, "node")
	server := filepath.Join(t.TempDir(), "schemaserver")
	build := exec.Command("go", "build", "-o", server, "./testkit/internal/schemaserver")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the server: %v\n%s", err, out)
	}
	calls := kindCalls(t)
	t.Run("ajv", func(t *testing.T) {
		lines := schemaLines(t, server, calls)
		if ok := script(t, lines, "schemas.mjs"); ok != 3*len(lines) {
			t.Errorf("%d of %d judgements", ok, 3*len(lines))
		}
	})
	for _, era := range []string{"v1", "v2"} {
		t.Run("client "+era, func(t *testing.T) {
			if ok := script(t, calls, "kinds.mjs", era, server); ok != len(calls)+1 {
				t.Errorf("%d of %d steps", ok, len(calls)+1)
			}
		})
	}
}

// kindCalls are the arguments for every tool.
func kindCalls(t *testing.T) []judged {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "kinds.json"))
	if err != nil {
		t.Fatal(err)
	}
	var kinds map[string]kind
	if err := json.Unmarshal(raw, &kinds); err != nil {
		t.Fatal(err)
	}
	var calls []judged
	for _, name := range []string{"nils", "zeros"} { // they have no argument
		calls = append(calls, judged{Name: name, Valid: []json.RawMessage{[]byte(`{}`)}, Invalid: []json.RawMessage{[]byte(`{"v":1}`)}})
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		calls = append(calls, judged{Name: name, Valid: wrap(kinds[name].Valid), Invalid: wrap(kinds[name].Invalid)})
	}
	return calls
}

func wrap(values []json.RawMessage) []json.RawMessage {
	out := []json.RawMessage{}
	for _, v := range values {
		out = append(out, fmt.Appendf(nil, `{"v":%s}`, v))
	}
	return out
}

// schemaLines are the schemas as they were listed, by the oldest revision that
// has structured output and by the newest: the input schemas with the calls, the
// output schemas with what the calls returned.
func schemaLines(t *testing.T, server string, calls []judged) []judged {
	t.Helper()
	var lines []judged
	for _, version := range []string{"2025-06-18", "2026-07-28"} {
		pipe := open(t, server, version)
		for name, tool := range pipe.tools(t) {
			at := slices.IndexFunc(calls, func(c judged) bool { return c.Name == name })
			if at < 0 {
				t.Fatalf("%s has no case", name)
			}
			call := calls[at]
			output := judged{Name: version + " " + name + " output", Schema: tool.OutputSchema, Invalid: []json.RawMessage{}}
			for _, args := range call.Valid {
				output.Valid = append(output.Valid, pipe.call(t, name, args))
			}
			lines = append(lines, judged{Name: version + " " + name + " input", Schema: tool.InputSchema, Valid: call.Valid, Invalid: call.Invalid}, output)
		}
	}
	if len(lines) != 4*len(calls) {
		t.Fatalf("%d schemas of %d tools in two revisions", len(lines), len(calls))
	}
	return lines
}

// script feeds the lines to a script and counts the steps that are ok.
func script(t *testing.T, lines []judged, args ...string) int {
	t.Helper()
	var in bytes.Buffer
	for _, line := range lines {
		if err := json.NewEncoder(&in).Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	node := exec.CommandContext(ctx, "node", args...)
	node.Dir, node.Stdin = "node", &in
	out, err := node.CombinedOutput()
	if err != nil {
		t.Errorf("%v", err)
	}
	ok := 0
	for line := range strings.Lines(string(out)) {
		switch {
		case strings.HasPrefix(line, "ok "):
			ok++
		case strings.HasPrefix(line, `{"level":"warn"`): // types that say little of their values are there on purpose
		default:
			t.Error(strings.TrimRight(line, "\n"))
		}
	}
	t.Logf("%s: %d ok", strings.Join(args[:1], " "), ok)
	return ok
}
