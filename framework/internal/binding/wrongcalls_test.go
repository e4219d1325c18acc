package binding_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// wrongCall is one call of testdata/wrong_calls as a model makes it, with the expected content of
// a good error. The expectations were written without knowledge of the errors.
type wrongCall struct {
	Args json.RawMessage `json:"args"`
	// Blame has every JSON pointer that must be blamed, and nothing else may be;
	// the words must stand in its line. "~name" is a suggestion of name.
	Blame map[string][]string `json:"blame"`
	// Repaired are the pointers of values that are read although their form is wrong. The call
	// is then accepted.
	Repaired []string `json:"repaired"`
}

func wrongCalls(t *testing.T, name string) []wrongCall {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "wrong_calls", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var calls []wrongCall
	if err := json.Unmarshal(raw, &calls); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return calls
}

// TestRealisticCalls compares each error with the expectation of its call, and the corrected calls with the
// plan. A call with a secret has no Try line, because the line would show the secret. Such calls count against
// the rate.
func TestRealisticCalls(t *testing.T) {
	t.Parallel()
	refused, repaired, tried := 0, 0, 0
	for _, name := range slices.Sorted(maps.Keys(wrongCallTypes)) {
		p := mustCompile(t, wrongCallTypes[name], binding.Input, binding.Options{})
		ofTool := 0
		for i, call := range wrongCalls(t, name) {
			at := fmt.Sprintf("%s[%d] %s", name, i, call.Args)
			if len(call.Repaired) > 0 {
				repaired++
				wantRepaired(t, at, p, call)
				continue
			}
			ofTool++
			if wantBlamed(t, at, p, call, name) {
				tried++
			}
		}
		if ofTool < 10 {
			t.Errorf("%s: only %d calls that must be refused", name, ofTool)
		}
		refused += ofTool
	}
	t.Logf("%d tools, %d calls refused, %d with a Try line that passes (%.1f %%), %d repaired",
		len(wrongCallTypes), refused, tried, 100*float64(tried)/float64(max(refused, 1)), repaired)
	if refused < 200 || tried*100 < refused*95 {
		t.Errorf("%d calls refused, %d with a Try line that passes: want at least 200 and 95 %%", refused, tried)
	}
}

func wantRepaired(t *testing.T, at string, p *binding.Plan, call wrongCall) {
	t.Helper()
	report, err := p.Decode(t.Context(), call.Args, reflect.New(p.Type()).Elem())
	if err != nil {
		t.Errorf("%s: not repaired:\n%v", at, err)
		return
	}
	if got := slices.Sorted(slices.Values(report.Repaired)); !slices.Equal(got, slices.Sorted(slices.Values(call.Repaired))) {
		t.Errorf("%s: repaired %q, want %q", at, got, call.Repaired)
	}
}

// wantBlamed reports whether there is a corrected call, which must pass.
func wantBlamed(t *testing.T, at string, p *binding.Plan, call wrongCall, name string) bool {
	t.Helper()
	_, err := p.Decode(t.Context(), call.Args, reflect.New(p.Type()).Elem())
	invalid, ok := errors.AsType[*binding.Invalid](err)
	if !ok {
		t.Errorf("%s: accepted (%v)", at, err)
		return false
	}
	lines := map[string]string{}
	for _, issue := range invalid.Issues {
		lines[issue.Path] += issue.String()
	}
	for path, words := range call.Blame {
		line, blamed := lines[path]
		if !blamed {
			t.Errorf("%s: %q is not blamed:\n%s", at, path, invalid.Text(name))
		}
		for _, word := range words {
			if suggested, ok := strings.CutPrefix(word, "~"); ok {
				word = fmt.Sprintf("Did you mean %q?", suggested)
			}
			if blamed && !strings.Contains(line, word) {
				t.Errorf("%s: no %q in the line of %q:\n%s", at, word, path, invalid.Text(name))
			}
		}
	}
	for path, line := range lines {
		if _, expected := call.Blame[path]; !expected {
			t.Errorf("%s: %q is blamed without cause: %s", at, path, line)
		}
	}
	if invalid.Try == "" {
		t.Logf("%s: no Try line:\n%s", at, invalid.Text(name))
		return false
	}
	if report, err := p.Decode(t.Context(), []byte(invalid.Try), reflect.New(p.Type()).Elem()); err != nil || len(report.Repaired) > 0 {
		t.Errorf("%s: Try %s does not pass: %v %q", at, invalid.Try, err, report.Repaired)
		return false
	}
	return true
}
