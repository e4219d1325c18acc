package legacysse_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/legacysse"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hostFunc is a host whose exchanges are one function.
type hostFunc func(ctx context.Context, frame []byte, out transport.Outbound) error

// Accept implements transport.Host.
func (h hostFunc) Accept(_ context.Context, frame []byte) (transport.Exchange, error) {
	if string(frame) == `"refuse"` {
		return nil, errors.New("no more")
	}
	return exchange{h, frame}, nil
}

type exchange struct {
	serve hostFunc
	frame []byte
}

// Serve implements transport.Exchange.
func (x exchange) Serve(ctx context.Context, out transport.Outbound) error {
	return x.serve(ctx, x.frame, out)
}

// sink is a response.
type sink struct {
	mu     sync.Mutex
	status int
	parts  chan string
}

func (s *sink) Open(status int, _ []streamable.Field, _ int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
	return nil
}

func (s *sink) Write(part []byte) error {
	s.parts <- string(part)
	return nil
}

func ask(t *testing.T, e *legacysse.Endpoint, role legacysse.Role, query, addr, body string) *streamable.Reply {
	t.Helper()
	r := &legacysse.Request{Request: new(streamable.Request), Role: role, Query: query, Messages: "messages"}
	r.Method, r.Host, r.RemoteAddr = string(role), "localhost", addr
	r.Fields = transport.HeaderFields{"Content-Type": {"application/json"}, "X-Body": {body}}
	visit, refused := e.Check(t.Context(), r)
	if refused != nil {
		return refused
	}
	return visit.Serve([]byte(body))
}

// connection is an open stream.
type connection struct {
	*sink
	query string
	leave context.CancelFunc
	over  chan struct{}
}

func open(t *testing.T, e *legacysse.Endpoint, addr string) *connection {
	t.Helper()
	reply := ask(t, e, legacysse.Stream, "", addr, "")
	if reply.Stream == nil {
		t.Fatalf("the stream was refused: %+v", reply)
	}
	c := &connection{sink: &sink{parts: make(chan string, 64)}, over: make(chan struct{})}
	var ctx context.Context
	ctx, c.leave = context.WithCancel(t.Context())
	go func() { defer close(c.over); reply.Stream.Serve(ctx, c.sink) }()
	t.Cleanup(func() { c.leave(); <-c.over })
	greeting := <-c.parts
	reference, ok := strings.CutPrefix(greeting, "event: endpoint\ndata: messages?")
	if !ok {
		t.Fatalf("the greeting is %q", greeting)
	}
	c.query = strings.TrimSpace(reference)
	return c
}

func TestLimits(t *testing.T) {
	t.Parallel()
	var running sync.WaitGroup
	e := legacysse.New(hostFunc(func(ctx context.Context, _ []byte, _ transport.Outbound) error {
		defer running.Done()
		<-ctx.Done()
		return nil
	}), streamable.Config{MaxStreams: 2, MaxSessions: 3})
	first, _ := open(t, e, "192.0.2.1:1"), open(t, e, "192.0.2.1:2")
	if reply := ask(t, e, legacysse.Stream, "", "192.0.2.1:3", ""); reply.Status != 429 {
		t.Errorf("a third stream of one client: %d", reply.Status)
	}
	open(t, e, "192.0.2.2:1")
	if reply := ask(t, e, legacysse.Stream, "", "192.0.2.3:1", ""); reply.Status != 429 {
		t.Errorf("a fourth stream: %d", reply.Status)
	}
	for i := range 1024 {
		running.Add(1)
		if reply := ask(t, e, legacysse.Messages, first.query, "192.0.2.1:9", "{}"); reply.Status != 202 || len(reply.Body) > 0 {
			t.Fatalf("exchange %d: %+v", i, reply)
		}
	}
	if reply := ask(t, e, legacysse.Messages, first.query, "192.0.2.1:9", "{}"); reply.Status != 429 || len(reply.Body) == 0 {
		t.Errorf("one exchange too many: %+v", reply)
	}
	first.leave()
	running.Wait() // they were cancelled
	<-first.over
	if reply := ask(t, e, legacysse.Messages, first.query, "192.0.2.1:9", "{}"); reply.Status != 404 {
		t.Errorf("a frame after the end: %d", reply.Status)
	}
	open(t, e, "192.0.2.1:4") // there is room again
}

// A handler sees the POST that called it, and the connection of the stream.
func TestContextOfExchanges(t *testing.T) {
	t.Parallel()
	var links []*transport.Connection
	e := legacysse.New(hostFunc(func(ctx context.Context, frame []byte, out transport.Outbound) error {
		r := transport.RequestFrom(ctx)
		if r == nil || r.Sessions != nil || r.Stream != nil || r.RemoteAddr != "192.0.2.1:9" || r.Fields.Header().Get("X-Body") != string(frame) {
			t.Errorf("the request is %+v", r)
		}
		links = append(links, transport.ConnectionFrom(ctx))
		return out.Send(ctx, transport.Frame{JSON: frame, Final: true})
	}), streamable.Config{})
	c := open(t, e, "192.0.2.1:1")
	for _, frame := range []string{`"a"`, `"b"`} {
		ask(t, e, legacysse.Messages, c.query, "192.0.2.1:9", frame)
		if got := <-c.parts; got != "event: message\ndata: "+frame+"\n\n" {
			t.Errorf("got %q", got)
		}
	}
	if l := links[0]; l == nil || l != links[1] || l.Carrier != "http+sse" || l.RemoteAddr != "192.0.2.1:1" {
		t.Fatalf("the connections are %+v", links)
	}
	if err := links[0].Out.Send(t.Context(), transport.Frame{JSON: []byte(`"c"`)}); err != nil || !strings.Contains(<-c.parts, `"c"`) {
		t.Errorf("Send outside of an exchange: %v", err)
	}
	gone := make(chan struct{})
	links[0].OnClose(func() { close(gone) })
	c.leave()
	<-gone
	if err := links[0].Out.Send(t.Context(), transport.Frame{JSON: []byte(`"d"`)}); err == nil {
		t.Error("Send succeeded after the end")
	}
	if reply := ask(t, e, legacysse.Messages, open(t, e, "x").query, "192.0.2.1:9", `"refuse"`); reply.Status != 503 {
		t.Errorf("a host that takes no more: %d", reply.Status)
	}
}

// At the end of the grace period exchanges are cancelled and streams end.
func TestShutdownCancels(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	e := legacysse.New(hostFunc(func(ctx context.Context, _ []byte, _ transport.Outbound) error {
		close(began)
		<-ctx.Done()
		return nil
	}), streamable.Config{})
	idle, busy := open(t, e, "a:1"), open(t, e, "a:2")
	ask(t, e, legacysse.Messages, busy.query, "a:3", "{}")
	<-began
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := e.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown: %v", err)
	}
	<-idle.over
	<-busy.over
	for _, role := range []legacysse.Role{legacysse.Stream, legacysse.Messages} {
		if reply := ask(t, e, role, busy.query, "a:4", "{}"); reply.Status != 503 {
			t.Errorf("%s after the end: %d", role, reply.Status)
		}
	}
	if err := e.Shutdown(t.Context()); err != nil {
		t.Errorf("a second Shutdown: %v", err)
	}
}

// TestCallsOfAClient: what one client has in flight is bounded over all its connections, and
// its answers to questions of those calls come in all the same.
func TestCallsOfAClient(t *testing.T) {
	t.Parallel()
	const call, answer = `{"jsonrpc":"2.0","id":1,"method":"x"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`
	begun, release, ended := make(chan string, 8), make(chan struct{}), make(chan struct{}, 8)
	e := legacysse.New(hostFunc(func(_ context.Context, frame []byte, _ transport.Outbound) error {
		begun <- string(frame)
		if string(frame) == call {
			<-release
			ended <- struct{}{}
		}
		return nil
	}), streamable.Config{MaxCalls: 2})
	first, second, other := open(t, e, "192.0.2.1:1"), open(t, e, "192.0.2.1:2"), open(t, e, "192.0.2.2:1")
	post := func(c *connection, frame string, want int) {
		t.Helper()
		if reply := ask(t, e, legacysse.Messages, c.query, "192.0.2.1:9", frame); reply.Status != want {
			t.Errorf("%s: %d, want %d", frame, reply.Status, want)
		}
		if want == http.StatusAccepted {
			if got := <-begun; got != frame {
				t.Errorf("served is %s", got)
			}
		}
	}
	post(first, call, http.StatusAccepted)
	post(second, call, http.StatusAccepted)
	for _, c := range []*connection{first, second} {
		post(c, call, http.StatusTooManyRequests)
		post(c, "["+call+"]", http.StatusTooManyRequests)
		post(c, answer, http.StatusAccepted)
	}
	post(other, call, http.StatusAccepted)
	close(release)
	for range 3 {
		<-ended
	}
	if err := e.Shutdown(t.Context()); err != nil { // the places are free when the exchanges have ended
		t.Error(err)
	}
	for range 2 {
		if _, ok := e.EnterCalls("192.0.2.1", nil); !ok {
			t.Error("the calls have ended, and are counted still")
		}
	}
}

// A connection that is opened while the endpoint begins to stop is refused.
func TestOpenedWhileStopping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var e *legacysse.Endpoint
		stopped := make(chan error, 1)
		e = legacysse.New(hostFunc(echo), streamable.Config{ClientKey: func(string, transport.Fields) string {
			go func() { stopped <- e.Shutdown(t.Context()) }()
			synctest.Wait()
			return "a"
		}})
		reply := ask(t, e, legacysse.Stream, "", "a:1", "")
		if reply.Status != http.StatusServiceUnavailable {
			t.Errorf("it was opened: %+v", reply)
			gone, leave := context.WithCancel(t.Context())
			leave()
			reply.Stream.Serve(gone, &sink{parts: make(chan string, 64)})
		}
		if err := <-stopped; err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
}

// logging is a host with a log.
type logging struct {
	hostFunc
	warn func(text string)
}

func (l *logging) Services() transport.Services { return transport.Services{Warn: l.warn} }

// TestAnswersOfABusyConnection: a connection with as many calls as it may have takes the answers that the calls wait
// for, also while the warning about it is written.
func TestAnswersOfABusyConnection(t *testing.T) {
	t.Parallel()
	const call, answer = `{"jsonrpc":"2.0","id":1,"method":"x"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`
	answered := make(chan struct{})
	host := &logging{hostFunc: func(ctx context.Context, frame []byte, _ transport.Outbound) error {
		if string(frame) == answer {
			close(answered)
			return nil
		}
		<-ctx.Done()
		return nil
	}}
	var post func(body string) *streamable.Reply
	host.warn = func(string) {
		go func() {
			if reply := post(answer); reply.Status != http.StatusAccepted {
				t.Errorf("an answer: %d", reply.Status)
			}
		}()
		select {
		case <-answered:
		case <-time.After(10 * time.Second):
			t.Error("an answer waits for the log")
		}
	}
	e := legacysse.New(host, streamable.Config{MaxCalls: 2048})
	c := open(t, e, "192.0.2.1:1")
	post = func(body string) *streamable.Reply {
		return ask(t, e, legacysse.Messages, c.query, "192.0.2.1:9", body)
	}
	for i := range 1024 {
		if reply := post(call); reply.Status != http.StatusAccepted {
			t.Fatalf("call %d: %d", i, reply.Status)
		}
	}
	if reply := post(call); reply.Status != http.StatusTooManyRequests {
		t.Errorf("one call too many: %d", reply.Status)
	}
	<-answered
	c.leave()
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
