package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

func TestHTTPHeadersByRevision(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			modern := revision == "2026-07-28"
			named := revision >= "2025-06-18"
			ended := make(chan struct{})
			got := make(chan string, 1)
			s := open(t, revision, func(v *visit) bool {
				opening := v.Method == protocol.MethodInitialize
				session, version := "s-1", revision
				if modern || opening {
					session = ""
				}
				if !named || opening {
					version = ""
				}
				want := map[string]string{
					"Mcp-Session-Id": session, "Mcp-Protocol-Version": version, "Authorization": "Bearer t0k3n",
					"X-Extra": "yes", "Accept": "application/json, text/event-stream",
					"Content-Type": "application/json", "Mcp-Method": v.Method,
				}
				if v.verb != http.MethodPost {
					want["Accept"], want["Content-Type"] = "text/event-stream", ""
				}
				for name, value := range want {
					if v.header(name) != value {
						v.t.Errorf("%s %s: %s is %q, want %q", v.verb, v.text, name, v.header(name), value)
					}
				}
				if v.r.Host != "mcp.example.com" {
					v.t.Errorf("%s %s: Host is %q", v.verb, v.text, v.r.Host)
				}
				v.w.Header().Set("Mcp-Session-Id", "s-1") // on 2026-07-28 too, where it means nothing
				switch v.verb {
				case http.MethodDelete:
					close(ended)
				case http.MethodGet:
					select {
					case got <- revision:
					default:
					}
				}
				return false
			})
			c, err := client.Connect(t.Context(), client.HTTP(s.URL,
				client.Header("x-extra", "yes"), client.Header("host", "mcp.example.com"), client.Header("Mcp-Method", "mine"), client.Header("Authorization", "mine"),
				client.BearerToken(func(context.Context) (string, error) { return "t0k3n", nil })), only(t, revision))
			if err != nil {
				t.Fatal(err)
			}
			if c.Revision() != revision {
				t.Errorf("revision %s", c.Revision())
			}
			if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
				t.Error(err)
			}
			if !modern {
				<-got
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if modern {
				if s.count("GET ")+s.count("DELETE ") > 0 {
					t.Errorf("seen %v", s.steps())
				}
				return
			}
			<-ended
		})
	}
}

func TestHTTPNames(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	names := map[string]string{}
	s := open(t, "2026-07-28", func(v *visit) bool {
		mu.Lock()
		defer mu.Unlock()
		if values, there := v.r.Header["Mcp-Name"]; there {
			names[v.Method] = strings.Join(values, "|")
		}
		return false
	})
	c := visitor(t, s, nil)
	_, _ = c.CallTool(t.Context(), "größe", nil)
	_, _ = c.ReadResource(t.Context(), "file:///path/to/file%20name.txt")
	_, _ = c.GetPrompt(t.Context(), " p ", nil)
	_, _ = c.Request(t.Context(), "tasks/get", json.RawMessage(`{"taskId":"t-1"}`))
	_, _ = c.Request(t.Context(), "own/method", json.RawMessage(`{"name":"x"}`))
	want := map[string]string{
		"tools/call": "=?base64?Z3LDtsOfZQ==?=", "resources/read": "file:///path/to/file%20name.txt",
		"prompts/get": "=?base64?IHAg?=", "tasks/get": "t-1",
	}
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(names) != fmt.Sprint(want) {
		t.Errorf("names %v, want %v", names, want)
	}
}

const mirrored = `{"name":"m","inputSchema":{"type":"object","properties":{
	"s":{"type":"string","x-mcp-header":"Text"},"n":{"type":"integer","x-mcp-header":"Number"},
	"b":{"type":"boolean","x-mcp-header":"Method"},"plain":{"type":"string"},
	"deep":{"type":"object","properties":{"x":{"type":"string","x-mcp-header":"Deep"}}}}}}`

func tools(list ...string) string {
	return `{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[` + strings.Join(list, ",") + `]}`
}

// params are the Mcp-Param headers of a request, sorted.
func params(h http.Header) []string {
	var found []string
	for name, values := range h {
		if short, ok := strings.CutPrefix(name, "Mcp-Param-"); ok {
			found = append(found, short+"="+strings.Join(values, "|"))
		}
	}
	slices.Sort(found)
	return found
}

func TestHTTPMirrorsArguments(t *testing.T) {
	t.Parallel()
	got := make(chan []string, 1)
	s := open(t, "2026-07-28", func(v *visit) bool {
		switch v.Method {
		case protocol.MethodListTools:
			v.result(tools(mirrored))
			return true
		case protocol.MethodCallTool:
			got <- params(v.r.Header)
		}
		return false
	})
	c := visitor(t, s, nil)
	call := func(args string) []string {
		t.Helper()
		if _, err := c.CallTool(t.Context(), "m", json.RawMessage(args)); err != nil {
			t.Error(err)
		}
		return <-got
	}
	if unknown := call(`{"s":"a"}`); len(unknown) > 0 {
		t.Errorf("before the tool was listed: %v", unknown)
	}
	for _, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		args string
		want []string
	}{
		{`{}`, nil},
		{`{"s":"a b","n":42,"b":true,"plain":"no","deep":{"x":"d"}}`, []string{"Deep=d", "Method=true", "Number=42", "Text=a b"}},
		{`{"s":"","n":null,"b":false,"deep":{}}`, []string{"Method=false", "Text="}},
		{`{"s":"日本"}`, []string{"Text==?base64?5pel5pys?="}},
		{`{"s":" a"}`, []string{"Text==?base64?IGE=?="}},
		{`{"s":"a\tb"}`, []string{"Text==?base64?YQli?="}},
		{`{"s":"a\r\nX: y"}`, []string{"Text==?base64?YQ0KWDogeQ==?="}},
		{`{"s":"=?base64?x?="}`, []string{"Text==?base64?PT9iYXNlNjQ/eD89?="}},
		{`{"n":9007199254740991,"deep":null}`, []string{"Number=9007199254740991"}},
	}
	for _, tt := range tests {
		if found := call(tt.args); !slices.Equal(found, tt.want) {
			t.Errorf("%s: %q, want %q", tt.args, found, tt.want)
		}
	}
}

// TestHTTPArgumentsDuringAListing checks a call that is sent while its tool is listed again.
func TestHTTPArgumentsDuringAListing(t *testing.T) {
	t.Parallel()
	learn, knows := client.HeaderArguments()
	list := []byte(tools(`{"name":"m","inputSchema":{"properties":{"s":{"type":"string","x-mcp-header":"Text"}}}}`))
	learn(list)
	var calls sync.WaitGroup
	var over atomic.Bool
	for range 4 {
		calls.Go(func() {
			for !over.Load() {
				if !knows("m") {
					t.Error("a look-up finds no arguments")
					return
				}
			}
		})
	}
	for range 5000 {
		learn(list)
	}
	over.Store(true)
	calls.Wait()
}

func TestHTTPLeavesOutToolsWithInvalidHeaders(t *testing.T) {
	t.Parallel()
	broken := `{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}}`
	for revision, want := range map[string][]string{"2026-07-28": {"m"}, "2025-11-25": {"bad", "m"}} {
		s := open(t, revision, func(v *visit) bool {
			if v.Method != protocol.MethodListTools {
				return false
			}
			v.result(tools(broken, mirrored))
			return true
		})
		c := visitor(t, s, nil)
		var names []string
		for tool, err := range c.Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, tool.Name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: tools %v, want %v", revision, names, want)
		}
	}
}

// The server refuses a call without the headers that the client cannot know yet.
func TestHTTPListsToolsAfterAHeaderMismatch(t *testing.T) {
	t.Parallel()
	for name, stubborn := range map[string]bool{"then it works": false, "but once only": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			ids := map[string]bool{}
			s := open(t, "2026-07-28", func(v *visit) bool {
				switch {
				case v.Method == protocol.MethodListTools:
					v.result(tools(mirrored))
				case v.Method != protocol.MethodCallTool:
					return false
				case stubborn || v.header("Mcp-Param-Text") != "a":
					v.refuse(400, -32020, "header mismatch", "")
				default:
					v.result(`{"resultType":"complete","content":[]}`)
				}
				mu.Lock()
				defer mu.Unlock()
				if ids[string(v.ID)] {
					v.t.Errorf("the id %s was used again", v.ID)
				}
				ids[string(v.ID)] = true
				return true
			})
			c := visitor(t, s, nil)
			_, err := c.CallTool(t.Context(), "m", map[string]any{"s": "a"})
			fault, isFault := errors.AsType[*protocol.Fault](err)
			status, isStatus := errors.AsType[*client.HTTPError](err)
			if stubborn != (isFault && fault.Kind == protocol.FaultHeaderMismatch && isStatus && status.Status == 400) {
				t.Errorf("error %v", err)
			}
			if !stubborn && err != nil || s.count("POST tools/call") != 2 || s.count("POST tools/list") != 1 {
				t.Errorf("error %v, seen %v", err, s.steps())
			}
		})
	}
}

func TestHTTPCannotListToolsAfterAHeaderMismatch(t *testing.T) {
	t.Parallel()
	s := open(t, "2026-07-28", func(v *visit) bool {
		switch v.Method {
		case protocol.MethodListTools:
			v.say(503, "", "later")
		case protocol.MethodCallTool:
			v.refuse(400, -32020, "header mismatch", "")
		default:
			return false
		}
		return true
	})
	c := visitor(t, s, nil)
	_, err := c.CallTool(t.Context(), "m", nil)
	if err == nil || !strings.Contains(err.Error(), "header mismatch") || !strings.Contains(err.Error(), "later") {
		t.Errorf("error %v", err)
	}
}

func TestHTTPClientsOwnRedirects(t *testing.T) {
	t.Parallel()
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/again", http.StatusTemporaryRedirect)
	}))
	defer here.Close()
	_, err := client.Connect(t.Context(), client.HTTP(here.URL, client.HTTPClient(nil)))
	if err == nil || !strings.Contains(err.Error(), "10 redirects") {
		t.Errorf("error %v", err)
	}
	never := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	_, err = client.Connect(t.Context(), client.HTTP(here.URL, client.HTTPClient(never)))
	if e, isHTTP := errors.AsType[*client.HTTPError](err); !isHTTP || e.Status != http.StatusTemporaryRedirect {
		t.Errorf("error %v", err)
	}
	if never.CheckRedirect(nil, nil) != http.ErrUseLastResponse { //nolint:errorlint // the value itself
		t.Error("the caller's client was changed")
	}
}

func TestHTTPTokenSourceFails(t *testing.T) {
	t.Parallel()
	s := open(t, "2026-07-28", nil)
	var broken error
	var mu sync.Mutex
	c := visitor(t, s, []client.HTTPOption{client.BearerToken(func(context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		return "", broken
	})})
	if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
		t.Errorf("without a token: %v", err)
	}
	mu.Lock()
	broken = errors.New("the refresh token has expired")
	mu.Unlock()
	if _, err := c.CallTool(t.Context(), "x", nil); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if _, err := client.Connect(t.Context(), client.HTTP(s.URL, client.BearerToken(func(context.Context) (string, error) {
		return "", broken
	}))); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if n := s.count("POST initialize"); n != 0 {
		t.Error("a failure of the token source led to a fallback")
	}
}

// moved is a server that sends visitors of /mcp to the address that to returns.
func moved(start func(http.Handler) *httptest.Server, status int, to func(here string) string, inner http.Handler) *httptest.Server {
	var here *httptest.Server
	here = start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			http.Redirect(w, r, to(here.URL), status)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	return here
}

// secrets are options that must not reach another origin.
func secrets() []client.HTTPOption {
	return []client.HTTPOption{
		client.Header("X-Api-Key", "k"),
		client.BearerToken(func(context.Context) (string, error) { return "t", nil }),
	}
}

// witness is a server that keeps the headers of the last request.
func witness(t *testing.T) (s *site, got func() http.Header) {
	var mu sync.Mutex
	var last http.Header
	s = open(t, "2026-07-28", func(v *visit) bool {
		mu.Lock()
		defer mu.Unlock()
		last = v.r.Header.Clone()
		return false
	})
	return s, func() http.Header {
		mu.Lock()
		defer mu.Unlock()
		return last
	}
}

func TestHTTPRedirects(t *testing.T) {
	t.Parallel()
	there, got := witness(t)
	for status, works := range map[int]bool{307: true, 308: true, 302: false, 303: false} {
		here := moved(httptest.NewServer, status, func(here string) string { return here + "/elsewhere" }, there.Config.Handler)
		c, err := client.Connect(t.Context(), client.HTTP(here.URL+"/mcp", secrets()...))
		if works != (err == nil) || !works && !strings.Contains(err.Error(), "turns a POST into a GET") {
			t.Errorf("%d: error %v", status, err)
		}
		if err == nil {
			if h := got(); h.Get("X-Api-Key") != "k" || h.Get("Authorization") != "Bearer t" || h.Get("Mcp-Method") == "" {
				t.Errorf("%d: headers at the same origin %v", status, h)
			}
			_ = c.Close()
		}
		here.Close()
	}
}

func TestHTTPKeepsSecretsFromOtherOrigins(t *testing.T) {
	t.Parallel()
	there, got := witness(t)
	secure := httptest.NewTLSServer(there.Config.Handler)
	defer secure.Close()
	for name, to := range map[string]string{
		"another port":   there.URL,
		"another host":   strings.Replace(there.URL, "127.0.0.1", "localhost", 1), // by its name
		"another scheme": secure.URL,
	} {
		here := moved(httptest.NewServer, http.StatusTemporaryRedirect, func(string) string { return to }, nil)
		c, err := client.Connect(t.Context(), client.HTTP(here.URL+"/mcp", append(secrets(), client.HTTPClient(secure.Client()))...))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if h := got(); h == nil || h.Get("X-Api-Key") != "" || h.Get("Authorization") != "" {
			t.Errorf("%s: headers %v", name, h)
		}
		_ = c.Close()
		here.Close()
	}
}

// TestHTTPRefusedAfterARedirect: the caller has given a token, and learns why the server did not get it.
func TestHTTPRefusedAfterARedirect(t *testing.T) {
	t.Parallel()
	there := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer there.Close()
	here := moved(httptest.NewServer, http.StatusPermanentRedirect, func(string) string { return there.URL + "/mcp" }, nil)
	defer here.Close()
	for url, want := range map[string]bool{here.URL: true, there.URL: false} {
		_, err := client.Connect(t.Context(), client.HTTP(url+"/mcp", secrets()...))
		if err == nil || strings.Contains(err.Error(), "redirects to "+there.URL+"/mcp, and credentials are not sent") != want {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// A session belongs to the origin that the caller named, too.
func TestHTTPKeepsTheSessionFromOtherOrigins(t *testing.T) {
	t.Parallel()
	var told sync.Map
	there := open(t, "2025-11-25", func(v *visit) bool {
		told.Store(v.Method, v.r.Header.Clone())
		return false
	})
	s := open(t, "2025-11-25", func(v *visit) bool {
		v.w.Header().Set("Mcp-Session-Id", "s")
		if v.Method != protocol.MethodCallTool {
			return false
		}
		http.Redirect(v.w, v.r, there.URL, http.StatusTemporaryRedirect)
		return true
	})
	for _, opts := range [][]client.HTTPOption{secrets(), {client.Authorize(proving{})}} {
		told.Clear()
		c := visitor(t, s, opts)
		if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
			t.Fatal(err)
		}
		h, _ := told.Load(protocol.MethodCallTool)
		if h, ok := h.(http.Header); !ok || h.Get("Mcp-Session-Id") != "" || h.Get("Authorization") != "" || h.Get("X-Api-Key") != "" || h.Get("DPoP") != "" {
			t.Errorf("headers %v", h)
		}
	}
}

// proving is an Authorizer with a proof for each request.
type proving struct{}

func (proving) Do(c *http.Client, _ *url.URL, r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "DPoP t")
	r.Header.Set("DPoP", "proof")
	return c.Do(r)
}

func TestHTTPRefusesRedirectsOutOfTLS(t *testing.T) {
	t.Parallel()
	there, got := witness(t)
	here := moved(httptest.NewTLSServer, http.StatusTemporaryRedirect, func(string) string { return there.URL }, nil)
	defer here.Close()
	lenient := *here.Client()
	lenient.CheckRedirect = func(*http.Request, []*http.Request) error { return nil }
	for _, own := range []*http.Client{here.Client(), &lenient} {
		_, err := client.Connect(t.Context(), client.HTTP(here.URL+"/mcp", append(secrets(), client.HTTPClient(own))...))
		if err == nil || !strings.Contains(err.Error(), "redirects from https to http ("+there.URL) {
			t.Errorf("error %v", err)
		}
	}
	if h := got(); h != nil {
		t.Errorf("the redirect was followed: %v", h)
	}
}

// TestHeaderArgumentsAreBounded checks that a server cannot make the client keep an unlimited
// number of tools.
func TestHeaderArgumentsAreBounded(t *testing.T) {
	t.Parallel()
	learn, knows := client.HeaderArguments()
	one := func(name string) {
		learn([]byte(tools(`{"name":"` + name + `","inputSchema":{"properties":{"s":{"type":"string","x-mcp-header":"Text"}}}}`)))
	}
	for i := range 10_000 {
		one(fmt.Sprint("t", i))
	}
	one("more")
	one("t1") // a known tool may still change
	if knows("more") || !knows("t1") || !knows("t9999") {
		t.Error("one too many is known, or one too few")
	}
}
