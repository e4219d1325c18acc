package interop_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestInspector has the command line of the MCP Inspector list and call.
func TestInspector(t *testing.T) {
	t.Parallel()
	installNode(t, "inspector")
	at := carriers[1].start(t)
	for _, test := range []struct {
		name string
		args []string
		want []string
	}{
		{"tools", []string{"--method", "tools/list"}, []string{`"test_simple_text"`, `"update_watched"`, `"$defs"`}},
		{"a tool", []string{"--method", "tools/call", "--tool-name", "test_simple_text"}, []string{"This is a simple text response for testing."}},
		{
			"a tool with an argument",
			[]string{"--method", "tools/call", "--tool-name", "slow", "--tool-arg", "seconds=0.01"},
			[]string{"Waited 0.01 s."},
		},
		{"a tool error", []string{"--method", "tools/call", "--tool-name", "test_error_handling"}, []string{`"isError": true`}},
		{"resources", []string{"--method", "resources/list"}, []string{"test://static-text", "test://watched-resource"}},
		{"a resource", []string{"--method", "resources/read", "--uri", "test://static-text"}, []string{"static text resource"}},
		{"templates", []string{"--method", "resources/templates/list"}, []string{"test://template/{id}/data"}},
		{"prompts", []string{"--method", "prompts/list"}, []string{"test_prompt_with_arguments"}},
		{
			"a prompt",
			[]string{"--method", "prompts/get", "--prompt-name", "test_prompt_with_arguments", "--prompt-args", "arg1=x1", "arg2=x2"},
			[]string{"arg1='x1', arg2='x2'"},
		},
	} {
		t.Run(test.name, func(t *testing.T) { inspect(t, at, test.args, test.want) })
	}
}

func inspect(t *testing.T, at *site, args, want []string) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	program := filepath.Join("node_modules", "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
	cli := exec.CommandContext(ctx, "node", append([]string{program, "--cli", at.url(), "--transport", "http"}, args...)...)
	cli.Dir = "inspector"
	var errs strings.Builder
	cli.Stderr = &errs
	out, err := cli.Output()
	// A tool error makes it end with 5, after the result.
	if wantsError := strings.Contains(want[0], "isError"); (err != nil) != wantsError {
		t.Fatalf("%v\n%s%s", err, out, &errs)
	}
	if !json.Valid(out) {
		t.Errorf("not JSON: %s", out)
	}
	for _, part := range want {
		if !strings.Contains(string(out), part) {
			t.Errorf("%s is not in %s", part, out)
		}
	}
}
