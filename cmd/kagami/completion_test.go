package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

func TestCompletion(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	for args, want := range map[string]string{
		"call SERVER ":                                     "slow\nslow_cancelled\n",
		"call SERVER slow":                                 "slow\n",
		"call SERVER slow ":                                "seconds=\n:6",
		"call SERVER test_x_mcp_header r":                  "region=\nreplicas=\n",
		"call SERVER test_x_mcp_header dry":                "dryRun=\n",
		"call SERVER test_x_mcp_header dryRun=":            "dryRun=true\ndryRun=false\n",
		"read SERVER test://static-":                       "test://static-text\n",
		"prompt SERVER test_prompt_with_arguments ":        "arg1=\narg2=\n:6",
		"prompt SERVER test_prompt_with_arguments arg1=x ": "arg2=\n:6",
		"complete SERVER test_prompt_with_arg":             "test_prompt_with_arguments\n",
		"tools SERVER ":                                    ":4",
		"install SERVER --client ":                         "cursor\n",
		"uninstall notes --client=":                        "cursor\n",
		"inspect SERVER --profile ":                        "chatgpt\n",
		"diff SERVER SERVER --allow ":                      "additive\n",
		"tools SERVER --revision ":                         "2026-07-28\n:4",
		"call /no/such/server ":                            ":4",
	} {
		var stdout bytes.Buffer
		a := &cli{out: &stdout, errs: &shared{}, cache: cache}
		code := a.run(t.Context(), append([]string{"__complete"}, strings.Split(strings.Replace(args, "SERVER", everything, 1), " ")...))
		if code != 0 || !strings.Contains("\n"+stdout.String(), "\n"+want) {
			t.Errorf("%s: exit code %d, got\n%swant\n%s", args, code, stdout.String(), want)
		}
	}
	if kept, err := filepath.Glob(filepath.Join(cache, "*.json")); err != nil || len(kept) != 1 {
		t.Errorf("%q are cached, %v", kept, err)
	}
}

// TestListsAreKept checks that a second call of the same caller is one request. A call of another
// caller also reads the list.
func TestListsAreKept(t *testing.T) {
	t.Parallel()
	server, err := framework.New("counted", "1").Add(framework.Tool("double", func(_ context.Context, in struct {
		N int `json:"n"`
	},
	) (int, error) {
		return 2 * in.N, nil
	})).Build()
	if err != nil {
		t.Fatal(err)
	}
	handler := nethttp.Handler(server)
	var mu sync.Mutex
	var methods []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		methods = append(methods, r.Header.Get("Mcp-Method"))
		mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	cache := t.TempDir()
	call := func(args ...string) string {
		mu.Lock()
		methods = nil
		mu.Unlock()
		var stdout bytes.Buffer
		errs := &shared{}
		a := &cli{out: &stdout, errs: errs, cache: cache}
		code := a.run(t.Context(), append([]string{"call", s.URL + "/mcp"}, args...))
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(methods, " ") + " " + strings.TrimSpace(stdout.String()) + " " + strconv.Itoa(code)
	}
	const first, again = "server/discover tools/list tools/call 4 0", "server/discover tools/call 4 0"
	for i, step := range []struct{ args, want string }{
		{"double n=2", first},
		{"double n=2", again},
		{"double n=2 --header X-Who:me", first},
		{"double n=2 --header X-Who:me", again},
		{"double n=2", again},
		{"double n=x", "server/discover tools/call  5"},
		{"double n=2", first}, // an old list may be the cause of a failure
		{"halve", "server/discover tools/list tools/call  7"},
	} {
		if got := call(strings.Fields(step.args)...); got != step.want {
			t.Errorf("%d, %s: %s, want %s", i, step.args, got, step.want)
		}
	}
	kept, _ := filepath.Glob(filepath.Join(cache, "*.json"))
	for _, file := range kept {
		old := time.Now().Add(-listAge - time.Minute)
		if err := os.Chtimes(file, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if got := call("double", "n=2"); got != first {
		t.Errorf("after a while: %s", got)
	}
}

func TestCompleteCommand(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"test_prompt_with_arguments arg1=te":        "test",
		"test_prompt_with_arguments arg1=te --json": `"values": [`,
	} {
		out, errs, code := kagami(t, append([]string{"complete", everything}, strings.Fields(args)...)...)
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d\n%s%s", args, code, out, errs)
		}
	}
	if out, errs, code := kagami(t, "complete", "../../examples/weather", "weather://{city}", "city=Ky"); code != 0 || out != "Kyoto\n" {
		t.Errorf("of a template: exit code %d\n%s%s", code, out, errs)
	}
	if _, errs, code := kagami(t, "complete", everything, "test_prompt_with_arguments", "te"); code != 2 || !strings.Contains(errs, "want argument=text") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

func TestBench(t *testing.T) {
	t.Parallel()
	out, errs, code := kagami(t, "bench", everything, "test_simple_text", "-n", "50", "-c", "4")
	if code != 0 || !strings.HasPrefix(out, "calls    50, 4 at once, in ") || !strings.Contains(out, "\np99      ") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	out, errs, code = kagami(t, "bench", everything, "test_simple_text", "-n", "5", "--json")
	if code != 0 || !strings.Contains(out, `"failed": 0`) {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	if out, errs, code := kagami(t, "bench", everything, "test_error_handling"); code != 5 || out != "" {
		t.Errorf("a tool that fails: exit code %d\n%s%s", code, out, errs)
	}
	if _, errs, code := kagami(t, "bench", everything, "test_simple_txt"); code != 7 || !strings.Contains(errs, `lists no tool "test_simple_txt"`) {
		t.Errorf("an unknown tool: exit code %d\n%s", code, errs)
	}
	out, errs, code = kagami(t, "bench", everything, "test_simple_text", "-n", "1000000", "--timeout", "2s")
	if code == 0 || out != "" || !strings.Contains(errs, "the server took longer than 2s (--timeout)") {
		t.Errorf("a time limit: exit code %d\n%s%s", code, out, errs)
	}
	if _, _, code := kagami(t, "bench", everything, "test_simple_text", "-n", "0"); code != 2 {
		t.Errorf("no calls: exit code %d", code)
	}
}

// TestValuesBesideAList checks that the values of all alternatives are offered, also beside a list.
func TestValuesBesideAList(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"show":{"anyOf":[{"enum":["all","none"]},{"type":"array","items":{"enum":["open"]}}]},` +
		`"flags":{"type":"array","items":{"type":"boolean"}}}}`
	for word, want := range map[string][]string{
		"show=": {"show=all", "show=none", "show=open"}, "flags=": {"flags=true", "flags=false"},
	} {
		if got := argumentWords(json.RawMessage(schema), nil, word); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

// TestBenchWithinAStepOfTheClock checks a measurement that is shorter than a step of the Windows clock.
func TestBenchWithinAStepOfTheClock(t *testing.T) {
	t.Parallel()
	a := &cli{out: io.Discard, json: true}
	if err := a.printBench(benchRun{calls: 1, workers: 1}, []time.Duration{0}, nil, 0); err == nil || !strings.Contains(err.Error(), "--calls") {
		t.Errorf("got %v", err)
	}
}
