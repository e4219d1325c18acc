package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/cmd/kagami/internal/conform"
	"github.com/kagami-mcp/kagami/protocol"
)

// conformance runs the command, and returns the findings by revision and rule.
func conformance(t *testing.T, args ...string) (findings map[string]map[string]conform.Finding, code int) {
	t.Helper()
	out, errs, code := kagami(t, append([]string{"conformance", "--json"}, args...)...)
	var report struct{ Findings []conform.Finding }
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&report); err != nil {
		t.Fatalf("%v: %s%s", err, out, errs)
	}
	findings = map[string]map[string]conform.Finding{}
	for _, f := range report.Findings {
		if findings[f.Revision] == nil {
			findings[f.Revision] = map[string]conform.Finding{}
		}
		findings[f.Revision][f.Rule] = f
	}
	return findings, code
}

// TestConformance checks that a server of Kagami follows every rule at every revision.
func TestConformance(t *testing.T) {
	t.Parallel()
	findings, code := conformance(t, everything)
	if code != 0 || len(findings) != len(protocol.Revisions()) {
		t.Errorf("exit code %d, %d revisions", code, len(findings))
	}
	for revision, rules := range findings {
		if len(rules) < 14 {
			t.Errorf("%s: %d rules", revision, len(rules))
		}
		for _, f := range rules {
			if f.Verdict != conform.Kept && f.Verdict != conform.Skipped {
				t.Errorf("%s: %s: %s", revision, f.Rule, f.Why)
			}
		}
	}
	out, _, code := kagami(t, "conformance", everything, "--revision", "2026-07-28")
	if code != 0 || !strings.HasPrefix(out, "2026-07-28: 15 kept, 1 skipped\n") || strings.Count(out, "\n") != 1 {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// sloppy is a server of one revision that breaks the rules.
func sloppy(t *testing.T) *httptest.Server {
	t.Helper()
	return scripted(t, map[string]string{
		"initialize":     `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{},"prompts":{},"logging":{},"completions":{}},"serverInfo":{"name":"sloppy","version":"1"}}`,
		"tools/list":     `{"tools":[{"name":"a b","inputSchema":{}},{"name":"a b","inputSchema":{"type":"object"}}]}`,
		"resources/list": `{"resources":[{"uri":"no-uri","name":"n"}]}`,
		"prompts/list":   `{"prompts":[{"name":"p","arguments":[{"name":"x","required":true},{"name":"x"}]}]}`,
		"ping":           `"pong"`,
	})
}

// scripted is a server that answers each method with one result, and with {} if it has none.
func scripted(t *testing.T, results map[string]string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var request struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(body, &request) != nil || request.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := cmp.Or(results[request.Method], "{}")
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, request.ID, result)
	}))
	t.Cleanup(s.Close)
	return s
}

// TestConformanceOfSloppyServer checks that each rule finds a server that breaks it.
func TestConformanceOfSloppyServer(t *testing.T) {
	t.Parallel()
	findings, code := conformance(t, sloppy(t).URL+"/mcp", "--revision", "2025-11-25")
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	kept := map[string]bool{"lists that are declared can be read": true}
	skipped := map[string]bool{"a list without its capability is refused with -32601": true}
	for rule, f := range findings["2025-11-25"] {
		switch {
		case kept[rule] && f.Verdict == conform.Kept, skipped[rule] && f.Verdict == conform.Skipped:
		case f.Verdict != conform.Broken && f.Verdict != conform.Ignored || f.Why == "":
			t.Errorf("%s: %s", rule, f.Verdict)
		}
	}
	out, errs, code := kagami(t, "conformance", sloppy(t).URL+"/mcp")
	if code != 1 || !strings.Contains(out, "broken   an unknown method is refused with -32601\n           kagami/kagami-conformance-none with {} is answered with a result: {} (JSON-RPC 2.0 §5.1)") ||
		!strings.Contains(errs, "broken rules: 6") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	for _, nowhere := range []string{"http://127.0.0.1:1/mcp", "./nowhere"} {
		if _, errs, code := kagami(t, "conformance", nowhere); code != 4 {
			t.Errorf("%s: exit code %d: %s", nowhere, code, errs)
		}
	}
}
