package page_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/page"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

func revisions() []string {
	var all []string
	for _, rev := range protocol.Revisions() {
		all = append(all, rev.String())
	}
	return all
}

// TestCallAtEachRevision: what the user wrote arrives as it is, and the answer comes back so.
func TestCallAtEachRevision(t *testing.T) {
	t.Parallel()
	for _, rev := range revisions() {
		t.Run(rev, func(t *testing.T) {
			t.Parallel()
			b := opened(t, page.Options{Host: host(t)})
			var about struct{ Revision, Carrier string }
			if b.ask(http.MethodPost, "/api/connect", `{"revision":"`+rev+`"}`, &about); about.Revision != rev || about.Carrier != "memory" {
				t.Fatalf("connected: %+v", about)
			}
			d := b.end(b.start(`{"method":"tools/call","name":"add","arguments":{"a":9007199254740993,"b":0}}`))
			if d.Phase != "result" || d.IsError || !strings.Contains(string(d.Result), "9007199254740993") {
				t.Errorf("%+v, result %s", d, d.Result)
			}
			if d := b.end(b.start(`{"method":"tools/call","name":"add","arguments":{"a":"x"}}`)); !d.IsError && d.Error.Message == "" {
				t.Errorf("wrong arguments: %+v, result %s", d, d.Result)
			}
			if d := b.end(b.start(`{"method":"ping"}`)); d.Phase != "result" {
				t.Errorf("ping: %+v", d)
			}
		})
	}
}

// TestRefusedOrders: the page does not even send some orders.
func TestRefusedOrders(t *testing.T) {
	t.Parallel()
	b := opened(t, page.Options{Host: host(t)})
	for _, order := range []string{``, `[]`, `{"method":"initialize"}`, `{"method":"tools/call","name":"add","arguments":{"a":}}`, strings.Repeat("[", 100_000)} {
		if status := b.do(http.MethodPost, "/api/calls", order, nil).status; status != http.StatusBadRequest {
			t.Errorf("%.40s: %d", order, status)
		}
	}
	large := `{"method":"tools/call","name":"` + strings.Repeat("x", 17<<20) + `"}`
	if status := b.do(http.MethodPost, "/api/calls", large, nil).status; status != http.StatusRequestEntityTooLarge {
		t.Errorf("17 MB: %d", status)
	}
	for _, path := range []string{"/api/calls/none", "/api/frames/99999", "/api/frames/x", "/api/none", "/assets/0/index.js"} {
		if status := b.do(http.MethodGet, path, "", nil).status; status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
}

type orderIn struct {
	Item string `json:"item"`
}

type yesNo struct {
	Sure bool `json:"sure"`
}

// asking is a tool that asks before it answers.
func asking() framework.Component {
	return framework.Tool("order", func(ctx context.Context, in orderIn) (string, error) {
		said, err := framework.Elicit[yesNo](ctx, "Order "+in.Item+"?")
		if err != nil {
			return "", err
		}
		if !said.Sure {
			return "not ordered", nil
		}
		return "ordered " + in.Item, nil
	})
}

type question struct {
	ID, Call, Kind, Message string
	Secrets                 []string
}

// question waits for what the server asks.
func (b *browser) question() question {
	b.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		var open []question
		if b.ask(http.MethodGet, "/api/questions", "", &open); len(open) > 0 {
			return open[0]
		}
	}
	b.t.Fatal("no question")
	return question{}
}

// TestQuestion: a question belongs to its call, is answered once, and the answer reaches the handler.
func TestQuestion(t *testing.T) {
	t.Parallel()
	for _, rev := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		for action, want := range map[string]string{`"accept","content":{"sure":true}`: "ordered tea", `"accept","content":{"sure":false}`: "not ordered", `"decline"`: "declined", `"cancel"`: "dismissed"} {
			t.Run(rev+action[:8], func(t *testing.T) {
				t.Parallel()
				b := opened(t, page.Options{Host: host(t, asking())})
				b.ask(http.MethodPost, "/api/connect", `{"revision":"`+rev+`"}`, nil)
				id := b.start(`{"method":"tools/call","name":"order","arguments":{"item":"tea"}}`)
				q := b.question()
				if q.Call != id || q.Kind != "form" || q.Message != "Order tea?" {
					t.Errorf("question %+v of call %s", q, id)
				}
				b.ask(http.MethodPost, "/api/questions/"+q.ID, `{"action":`+action+`}`, nil)
				if status := b.do(http.MethodPost, "/api/questions/"+q.ID, `{"action":"decline"}`, nil).status; status != http.StatusConflict {
					t.Errorf("answered twice: %d", status)
				}
				if d := b.end(id); !strings.Contains(string(d.Result)+d.Error.Message, want) {
					t.Errorf("%s: %+v, result %s", action, d, d.Result)
				}
			})
		}
	}
}

// TestQuestionBesideAWatch: a question belongs to the only call, also while a resource is watched.
func TestQuestionBesideAWatch(t *testing.T) {
	t.Parallel()
	note := framework.Resource("a://note", func(context.Context) (string, error) { return "A note.", nil })
	b := opened(t, page.Options{Host: host(t, asking(), note), Revision: protocol.Rev20250618})
	b.start(`{"method":"resources/subscribe","name":"a://note"}`)
	id := b.start(`{"method":"tools/call","name":"order","arguments":{"item":"tea"}}`)
	if q := b.question(); q.Call != id {
		t.Errorf("question %+v, want call %s", q, id)
	}
}

// TestStop: a call that the user stops withdraws its question.
func TestStop(t *testing.T) {
	t.Parallel()
	b := opened(t, page.Options{Host: host(t, asking())})
	id := b.start(`{"method":"tools/call","name":"order","arguments":{"item":"tea"}}`)
	b.question()
	b.ask(http.MethodDelete, "/api/calls/"+id, "", nil)
	if d := b.end(id); d.Phase != "cancelled" {
		t.Errorf("%+v", d)
	}
	var open []question
	if b.ask(http.MethodGet, "/api/questions", "", &open); len(open) > 0 {
		t.Errorf("questions of a stopped call: %+v", open)
	}
	if status := b.do(http.MethodDelete, "/api/calls/"+id, "", nil).status; status != http.StatusConflict {
		t.Errorf("stopped twice: %d", status)
	}
}

// TestFrames: the wire has both directions, belongs to calls, and can be searched.
func TestFrames(t *testing.T) {
	t.Parallel()
	b := opened(t, page.Options{Host: host(t)})
	b.ask(http.MethodGet, "/api/offers", "", nil)
	id := b.start(`{"method":"tools/call","name":"add","arguments":{"a":1,"b":2,"p":"geheim"}}`)
	b.end(id)
	var frames []struct {
		N, Of, Bytes             int
		Sent                     bool
		Kind, Method, Call, Head string
	}
	b.ask(http.MethodGet, "/api/frames", "", &frames)
	last := frames[len(frames)-1]
	if asked := frames[len(frames)-2]; asked.Kind != "request" || !asked.Sent || asked.Call != id || last.Kind != "result" || last.Of != asked.N || last.Call != id || last.Method != "tools/call" {
		t.Errorf("the last two frames: %+v, %+v", asked, last)
	}
	var found []struct{ N int }
	if b.ask(http.MethodGet, "/api/frames?q=structuredContent", "", &found); len(found) != 1 || found[0].N != last.N {
		t.Errorf("found %+v, want %d", found, last.N)
	}
	whole := b.do(http.MethodGet, "/api/frames", "", nil).body + b.do(http.MethodGet, "/api/calls", "", nil).body
	for n := range frames {
		whole += b.do(http.MethodGet, "/api/frames/"+string(rune('0'+n+1)), "", nil).body
	}
	for _, as := range []string{"shell", "test", "client", "curl"} {
		whole += b.do(http.MethodGet, "/api/calls/"+id+"/copy/"+as, "", nil).body
	}
	if strings.Contains(whole, "geheim") {
		t.Error("a secret argument is shown")
	}
	if !strings.Contains(whole, "•••") {
		t.Error("no argument is masked")
	}
	if !strings.Contains(whole, `\"name\":\"kagami-page\",\"version\":\"devel\"`) {
		t.Error("a page without a version names none to the server, which the protocol requires")
	}
}

// TestOffers: what the lists have, and what changes.
func TestOffers(t *testing.T) {
	t.Parallel()
	server := host(t, framework.Resource("calc://pi", func(context.Context) (string, error) { return "3.14", nil }, framework.Name("pi")))
	b := opened(t, page.Options{Host: server})
	lines := b.events()
	var all struct {
		Tools, Resources, Templates, Prompts []struct {
			Name   string
			Tokens int
			Listed json.RawMessage
		}
	}
	b.ask(http.MethodGet, "/api/offers", "", &all)
	if len(all.Tools) != 1 || all.Tools[0].Name != "add" || all.Tools[0].Tokens < 20 || len(all.Resources) != 1 || all.Resources[0].Name != "calc://pi" {
		t.Errorf("offers: %+v", all)
	}
	if err := server.Add(asking()); err != nil {
		t.Fatal(err)
	}
	wait(t, lines, `"kind":"changed"`)
	b.ask(http.MethodGet, "/api/offers", "", nil)
	if event := wait(t, lines, `"kind":"offers"`); !strings.Contains(event, `"added":["order"]`) {
		t.Errorf("event %s", event)
	}
}

// events follows the events of the page.
func (b *browser) events() <-chan string {
	b.t.Helper()
	response := b.send(http.MethodGet, "/api/events?after=0", "", nil) //nolint:bodyclose // the goroutine does
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		defer func() { _ = response.Body.Close() }()
		in := bufio.NewScanner(response.Body)
		for in.Scan() {
			lines <- in.Text()
		}
	}()
	b.ask(http.MethodGet, "/api/server", "", nil)
	return lines
}

// wait returns the next event with a part.
func wait(t *testing.T, lines <-chan string, part string) string {
	t.Helper()
	late := time.After(10 * time.Second)
	for {
		select {
		case line, open := <-lines:
			if strings.Contains(line, part) {
				return line
			}
			if !open {
				t.Fatalf("the stream has ended before %s", part)
			}
		case <-late:
			t.Fatalf("no event with %s", part)
		}
	}
}

// TestProgramEnds: the page says how, keeps the last lines, and starts it again when asked to.
func TestProgramEnds(t *testing.T) {
	t.Parallel()
	b := opened(t, page.Options{Where: "sh", Command: func(context.Context) (*exec.Cmd, error) {
		return exec.Command("sh", "-c", "echo no database >&2; exit 3"), nil
	}})
	var about struct {
		State struct {
			Name, Reason string
			Stderr       []string
		}
	}
	b.ask(http.MethodGet, "/api/server", "", &about)
	if s := about.State; s.Name != "ended" || !slices.Contains(s.Stderr, "no database") {
		t.Errorf("state %+v", s)
	}
}

// TestProgramIsNotBuilt: what keeps the program from starting is shown as it is.
func TestProgramIsNotBuilt(t *testing.T) {
	t.Parallel()
	b := opened(t, page.Options{Command: func(context.Context) (*exec.Cmd, error) { return nil, errors.New("main.go:7: undefined: x") }})
	var about struct{ State struct{ Name, Reason string } }
	b.ask(http.MethodGet, "/api/server", "", &about)
	if about.State.Name != "ended" || !strings.Contains(about.State.Reason, "main.go:7: undefined: x") {
		t.Errorf("state %+v", about.State)
	}
}

// TestServerComesBack: a lost server over HTTP is found again, and no call is repeated. A server that
// only a transport reaches is found, too.
func TestServerComesBack(t *testing.T) {
	t.Parallel()
	for name, direct := range map[string]bool{"directly": true, "by a transport": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			comesBack(t, direct)
		})
	}
}

func comesBack(t *testing.T, direct bool) {
	t.Helper()
	calls := 0
	count := framework.Tool("count", func(context.Context, struct{}) (int, error) { calls++; return calls, nil })
	start := func(addr string) *http.Server {
		listener := listenOn(t, addr)
		server := &http.Server{Handler: nethttp.Handler(host(t, count)), ReadHeaderTimeout: time.Second}
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(func() { _ = server.Close() })
		server.Addr = listener.Addr().String()
		return server
	}
	first := start("127.0.0.1:0")
	o := page.Options{URL: "http://" + first.Addr + "/mcp"}
	if !direct {
		o = page.Options{URL: "http://127.0.0.1:1/mcp", Transport: &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, first.Addr)
		}}}
	}
	b := opened(t, o)
	lines := b.events()
	wait(t, lines, `"connected"`)
	b.end(b.start(`{"method":"tools/call","name":"count"}`))
	_ = first.Close()
	if d := b.end(b.start(`{"method":"tools/call","name":"count"}`)); d.Phase != "lost" {
		t.Fatalf("a call to a server that is gone: %+v", d)
	}
	wait(t, lines, `"lost"`)
	start(first.Addr)
	wait(t, lines, `"connected"`)
	if d := b.end(b.start(`{"method":"tools/call","name":"count"}`)); d.Phase != "result" || calls != 2 {
		t.Errorf("after the restart: %+v, %d calls", d, calls)
	}
}

// TestServerComesLater: a server that is not there yet is found without a press of a button.
func TestServerComesLater(t *testing.T) {
	t.Parallel()
	free := listenOn(t, "127.0.0.1:0")
	addr := free.Addr().String()
	_ = free.Close()
	b := opened(t, page.Options{URL: "http://" + addr + "/mcp"})
	lines := b.events()
	wait(t, lines, `"lost"`)
	server := &http.Server{Handler: nethttp.Handler(host(t)), ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listenOn(t, addr)) }()
	t.Cleanup(func() { _ = server.Close() })
	wait(t, lines, `"connected"`)
}

// TestStuckHandler: a handler that does not end keeps neither the page nor its program.
func TestStuckHandler(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}), make(chan struct{})
	stuck := framework.Tool("stuck", func(context.Context, struct{}) (string, error) {
		close(begun)
		<-release
		return "", nil
	})
	defer close(release)
	p, err := page.New(page.Options{Host: host(t, stuck)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ready, served := make(chan string, 1), make(chan error, 1)
	go func() { served <- p.Serve(ctx, "127.0.0.1:0", func(address string) { ready <- address }) }()
	address := <-ready
	b := &browser{t: t, base: address[:strings.Index(address, "/?")]}
	b.open(address)
	b.start(`{"method":"tools/call","name":"stuck"}`)
	<-begun
	cancel()
	select {
	case err := <-served:
		if err != nil {
			t.Errorf("Serve: %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("Serve waits for the handler")
	}
}

// TestToken: the token that the user gives reaches the server, and nothing else.
func TestToken(t *testing.T) {
	t.Parallel()
	inner := nethttp.Handler(host(t))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if given := r.Header.Get("Authorization"); given != "Bearer sesame" {
			challenge := "Bearer"
			if given != "" {
				challenge = `Bearer error="invalid_token", error_description="It has expired."`
			}
			w.Header().Set("WWW-Authenticate", challenge)
			http.Error(w, `{"jsonrpc":"2.0"}`, http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b := opened(t, page.Options{URL: server.URL})
	var about struct {
		Name  string
		State struct{ Name, Reason string }
	}
	if b.ask(http.MethodGet, "/api/server", "", &about); about.State.Name != "login" || about.State.Reason != "It answers HTTP 401." {
		t.Fatalf("without a token: %+v", about)
	}
	if b.ask(http.MethodPost, "/api/connect", `{"bearer":"old"}`, &about); about.State.Reason != "It refused the token that it got, with HTTP 401. It says: It has expired." {
		t.Fatalf("with an old token: %+v", about)
	}
	if b.ask(http.MethodPost, "/api/connect", `{"bearer":"sesame"}`, &about); about.State.Name != "connected" || about.Name != "calc" {
		t.Fatalf("with the token: %+v", about)
	}
	id := b.start(`{"method":"tools/call","name":"add","arguments":{"a":1,"b":2}}`)
	b.end(id)
	var all strings.Builder
	for _, path := range []string{"/api/server", "/api/offers", "/api/calls", "/api/frames", "/api/frames/1", "/api/calls/" + id + "/copy/curl", "/api/calls/" + id + "/copy/shell"} {
		all.WriteString(b.do(http.MethodGet, path, "", nil).body)
	}
	if strings.Contains(all.String(), "sesame") {
		t.Error("the token is shown")
	}
	if !strings.Contains(all.String(), "$KAGAMI_BEARER") || !strings.Contains(all.String(), `"status":200`) {
		t.Errorf("the copies name no token, or the wire no status:\n%s", all.String())
	}
}

// TestAuthorize: without a token of the user, the one that Authorize has is sent, and not shown; one
// of the user comes before it.
func TestAuthorize(t *testing.T) {
	t.Parallel()
	inner := nethttp.Handler(host(t))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer open-sesame" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	login := client.BearerToken(func(context.Context) (string, error) { return "open-sesame", nil })
	b := opened(t, page.Options{URL: server.URL, Authorize: login})
	var about struct{ State struct{ Name string } }
	if b.ask(http.MethodPost, "/api/connect", `{}`, &about); about.State.Name != "connected" {
		t.Fatalf("with a login: %+v", about)
	}
	if text := b.do(http.MethodGet, "/api/frames", "", nil).body + b.do(http.MethodGet, "/api/frames/1", "", nil).body; strings.Contains(text, "open-sesame") {
		t.Error("the token of the login is shown")
	}
	if b.ask(http.MethodPost, "/api/connect", `{"bearer":"wrong"}`, &about); about.State.Name != "login" {
		t.Errorf("with a wrong token of the user: %+v", about)
	}
}

// TestOffersOfReplacedConnection: if the user chooses another revision while lists are read, the
// answer has the lists of the new connection.
func TestOffersOfReplacedConnection(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	var once sync.Once
	first := framework.OnList("first", func(ctx context.Context, call *framework.Call, next framework.Next[[]framework.ComponentInfo]) ([]framework.ComponentInfo, error) {
		held := false
		once.Do(func() { held = true })
		if held {
			close(began)
			<-ctx.Done() // until the connection is closed
			return nil, ctx.Err()
		}
		return next(ctx, call)
	})
	server, err := framework.New("calc", "1.0").Add(asking()).Use(first).Build()
	if err != nil {
		t.Fatal(err)
	}
	b := opened(t, page.Options{Host: server})
	b.ask(http.MethodPost, "/api/connect", `{"revision":"2025-06-18"}`, nil)
	var all struct{ Tools []struct{ Name string } }
	done := make(chan struct{})
	go func() {
		defer close(done)
		if response := b.do(http.MethodGet, "/api/offers", "", nil); response.status != http.StatusOK {
			t.Errorf("%d %s", response.status, response.body)
		} else if err := json.Unmarshal([]byte(response.body), &all); err != nil || len(all.Tools) == 0 {
			t.Errorf("%v in %s", err, response.body)
		}
	}()
	<-began
	b.ask(http.MethodPost, "/api/connect", `{"revision":"2025-11-25"}`, nil)
	<-done
}

// TestKeptResults: results that come at the same time are within the bound, and the newest are kept.
func TestKeptResults(t *testing.T) {
	t.Parallel()
	const calls, size, most = 12, 7 << 20, 64 << 20
	begun, release := make(chan struct{}, calls), make(chan struct{})
	big := framework.Tool("big", func(context.Context, struct{}) (string, error) {
		begun <- struct{}{}
		<-release
		return strings.Repeat("x", size), nil
	})
	b := opened(t, page.Options{Host: host(t, big)})
	for range calls {
		b.start(`{"method":"tools/call","name":"big"}`)
		<-begun
	}
	close(release)
	total, kept, running := 0, []struct {
		Phase string
		Bytes int
	}{}, true
	for running {
		b.ask(http.MethodGet, "/api/calls", "", &kept)
		total, running = 0, false
		for _, one := range kept {
			total += one.Bytes
			running = running || one.Phase == "sent"
		}
	}
	if total > most || total < most-2*size {
		t.Errorf("%d calls with %d bytes are kept, at most %d", len(kept), total, most)
	}
}

// TestKeptHeaders: what a server sends in header fields counts toward the bound of the frames, too.
func TestKeptHeaders(t *testing.T) {
	t.Parallel()
	const calls, size, most = 20, 2 << 20, 32 << 20
	inner := nethttp.Handler(host(t))
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Large", strings.Repeat("x", size))
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(site.Close)
	b := opened(t, page.Options{URL: site.URL})
	for range calls {
		b.end(b.start(`{"method":"tools/call","name":"add","arguments":{"a":1,"b":2}}`))
	}
	var frames []struct {
		HTTP struct{ Received http.Header }
	}
	b.ask(http.MethodGet, "/api/frames", "", &frames)
	total := 0
	for _, f := range frames {
		total += len(f.HTTP.Received.Get("X-Large"))
	}
	if total > most || total < most/2 {
		t.Errorf("%d frames with %d bytes of header fields are kept, at most %d", len(frames), total, most)
	}
}

type payIn struct {
	Pin   string   `json:"pin" secret:"true"`
	Codes []string `json:"codes,omitempty" secret:"true"`
}

// TestTaggedSecret: a field that only its tag marks as secret is masked everywhere, also if it is a
// list.
func TestTaggedSecret(t *testing.T) {
	t.Parallel()
	pay := framework.Tool("pay", func(context.Context, payIn) (string, error) { return "paid", nil })
	b := opened(t, page.Options{Host: host(t, pay)})
	b.ask(http.MethodGet, "/api/offers", "", nil)
	b.end(b.start(`{"method":"tools/call","name":"pay","arguments":{"pin":"4711-geheim","codes": [ "1-geheim", "2-\"geheim" ]}}`))
	if calls := b.do(http.MethodGet, "/api/calls", "", nil).body; strings.Count(calls, "•••") != 2 {
		t.Errorf("the call is kept as %s", calls)
	} else if !strings.Contains(calls, `"codes":["•••"]`) {
		t.Errorf("the list is no list any more: %s", calls)
	}
	for _, path := range []string{"/api/calls", "/api/frames", "/api/frames?q=geheim", "/api/session"} {
		if text := b.do(http.MethodGet, path, "", nil).body; strings.Contains(text, "geheim") {
			t.Errorf("%s has the secret: %s", path, text)
		}
	}
}
