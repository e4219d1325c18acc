package page_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/page"
	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/framework/serve/surface/profile"
)

// TestTokens: the page and "kagami inspect" estimate the same cost of a tool.
func TestTokens(t *testing.T) {
	t.Parallel()
	say := framework.Tool("say", func(_ context.Context, in addIn) (sum, error) { return sum{in.A}, nil },
		framework.Describe("Says \"\\é\".\nThen it is \"quiet\".\n\n\"Really\"."))
	var offers struct {
		Tools []struct {
			Listed json.RawMessage
			Tokens int
		}
	}
	opened(t, page.Options{Host: host(t, say)}).ask(http.MethodGet, "/api/offers", "", &offers)
	all, entries := &surface.Surface{}, []json.RawMessage{}
	for _, tool := range offers.Tools {
		entries = append(entries, tool.Listed)
	}
	if err := all.Fill(surface.Tools, entries); err != nil || len(all.Tools) != 2 {
		t.Fatalf("%d tools, %v", len(all.Tools), err)
	}
	for i := range all.Tools {
		if got, want := offers.Tools[i].Tokens, profile.Tokens(&all.Tools[i]); got != want {
			t.Errorf("%s: the page has %d tokens, kagami inspect has %d", all.Tools[i].Name, got, want)
		}
	}
}

// TestManySecrets: 1,100 names that each begin with the one before hide their secrets.
func TestManySecrets(t *testing.T) {
	t.Parallel()
	const names = 1100
	properties := map[string]any{}
	for n := 1; n <= names; n++ {
		properties[strings.Repeat("s", n)] = map[string]any{"type": "string", "writeOnly": true}
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
	if err != nil {
		t.Fatal(err)
	}
	keep := framework.Tool("keep", func(_ context.Context, _ json.RawMessage) (string, error) { return "kept", nil },
		framework.Describe("Keeps secrets."), framework.InputSchema(schema))
	b := opened(t, page.Options{Host: host(t, keep)})
	b.ask(http.MethodGet, "/api/offers", "", nil)
	for _, n := range []int{1, 100, 101, names} {
		b.end(b.start(fmt.Sprintf(`{"method":"tools/call","name":"keep","arguments":{%q:"geheim"}}`, strings.Repeat("s", n))))
	}
	if calls := b.do(http.MethodGet, "/api/calls", "", nil).body; strings.Contains(calls, "geheim") || strings.Count(calls, "•••") != 4 {
		t.Errorf("not all secrets are hidden: %.2000s", calls)
	}
}

// TestSecretOfAMap checks that a key of a map that suggests a secret is masked, although no schema
// contains it.
func TestSecretOfAMap(t *testing.T) {
	t.Parallel()
	run := framework.Tool("run", func(_ context.Context, _ json.RawMessage) (string, error) { return "ran", nil },
		framework.Describe("Runs a program."), framework.InputSchema(json.RawMessage(`{"type":"object","properties":{"env":{"type":"object","additionalProperties":{"type":"string"}}}}`)))
	b := opened(t, page.Options{Host: host(t, run)})
	id := b.start(`{"method":"tools/call","name":"run","arguments":{"env":{"API_KEY":"geheim-1","HOME":"/root"},"requests":[{"Authorization":"geheim-2"}]}}`)
	b.end(id)
	for _, path := range []string{"/api/calls", "/api/frames?q=geheim", "/api/session", "/api/calls/" + id + "/copy/shell", "/api/calls/" + id + "/copy/test", "/api/calls/" + id + "/record"} {
		if text := b.do(http.MethodGet, path, "", nil).body; strings.Contains(text, "geheim") {
			t.Errorf("%s has the secret: %s", path, text)
		}
	}
	if calls := b.do(http.MethodGet, "/api/calls", "", nil).body; !strings.Contains(calls, `"HOME":"/root"`) {
		t.Errorf("what is no secret is hidden: %s", calls)
	}
}

// TestSecretOfPrompt: the secret arguments of a prompt are masked.
func TestSecretOfPrompt(t *testing.T) {
	t.Parallel()
	type in struct {
		User     string `json:"user"`
		Password string `json:"password"`
	}
	login := framework.Prompt("login", func(_ context.Context, in in) (framework.Messages, error) {
		return framework.Messages{framework.Userf("Log in as %s.", in.User)}, nil
	}, framework.Describe("Logs in."))
	b := opened(t, page.Options{Host: host(t, login)})
	b.ask(http.MethodGet, "/api/offers", "", nil)
	id := b.start(`{"method":"prompts/get","name":"login","arguments":{"user":"ann","password":"geheim"}}`)
	if d := b.end(id); !strings.Contains(string(d.Result), "Log in as ann.") {
		t.Fatalf("the prompt returns %+v", d)
	}
	for _, path := range []string{"calls", "calls/" + id, "frames?q=geheim", "calls/" + id + "/record", "calls/" + id + "/copy/shell", "calls/" + id + "/copy/curl", "calls/" + id + "/copy/client", "calls/" + id + "/copy/test"} {
		if text := b.do(http.MethodGet, "/api/"+path, "", nil).body; strings.Contains(text, "geheim") {
			t.Errorf("%s has the secret: %s", path, text)
		}
	}
	if frames := b.do(http.MethodGet, "/api/frames?q=ann", "", nil).body; frames == "[]" {
		t.Error("no frame of the call")
	}
}

// TestSecretsOfUnreadLists: if the lists are not read because the browser has left or the server fails,
// the secrets of before are still hidden, and nothing is said to have changed.
func TestSecretsOfUnreadLists(t *testing.T) {
	t.Parallel()
	for name, leaves := range map[string]bool{"the browser leaves": true, "the server fails": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var fails atomic.Bool
			listing := framework.OnList("listing", func(ctx context.Context, call *framework.Call, next framework.Next[[]framework.ComponentInfo]) ([]framework.ComponentInfo, error) {
				if fails.Load() {
					return nil, errors.New("not now")
				}
				return next(ctx, call)
			})
			keep := framework.Tool("keep", func(context.Context, payIn) (string, error) { return "kept", nil })
			server, err := framework.New("calc", "1.0", framework.WithLogger(zap.NewNop())).Add(keep).Use(listing).Build()
			if err != nil {
				t.Fatal(err)
			}
			p, err := page.New(page.Options{Host: server})
			if err != nil {
				t.Fatal(err)
			}
			b := shows(t, p)
			b.ask(http.MethodGet, "/api/offers", "", nil)
			fails.Store(!leaves)
			ctx, leave := context.WithCancel(t.Context())
			if leaves {
				leave()
			}
			request := httptest.NewRequestWithContext(ctx, http.MethodGet, b.base+"/api/offers", nil)
			request.Header.Set("Kagami-Page", b.secret)
			response := httptest.NewRecorder()
			p.Handler().ServeHTTP(response, request)
			leave()
			if !leaves && !strings.Contains(response.Body.String(), `"secrets":["codes","pin"]`) {
				t.Errorf("lists with %s", response.Body)
			}
			id := b.start(`{"method":"tools/call","name":"keep","arguments":{"pin":"4711-geheim"}}`)
			b.end(id)
			for _, path := range []string{"calls", "frames?q=geheim", "calls/" + id + "/record", "calls/" + id + "/copy/shell", "calls/" + id + "/copy/curl", "session"} {
				if text := b.do(http.MethodGet, "/api/"+path, "", nil).body; strings.Contains(text, "geheim") {
					t.Errorf("%s has the secret: %s", path, text)
				}
			}
			if events := b.do(http.MethodGet, "/api/events?once=1", "", nil).body; strings.Contains(events, `"kind":"offers"`) {
				t.Errorf("the lists have changed: %s", events)
			}
		})
	}
}
