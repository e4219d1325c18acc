package streamable_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// host is a scripted transport.Server. Frames are {"id":..,"method":..}.
type host struct {
	plan    transport.Plan
	will    string // of each exchange; see transport.Planned
	refuses bool   // every initialize
	auth    transport.Authenticator
	log     eventlog.Store
	closing chan struct{}

	sessions session.Store // nil: sessions are not shared
	changes  change.Bus
	adopt    func(link *transport.Connection, missed bool) // may be nil
	warned   warnings

	// handle runs a method other than initialize; send sends a frame that is not the answer.
	handle func(ctx context.Context, method string, send func(frame string) error) (status int, answer string)
}

func (h *host) Services() transport.Services {
	return transport.Services{
		Authenticator: h.auth, Events: h.log, Closing: h.closing, Sessions: h.sessions, Changes: h.changes, Warn: h.warned.add,
		Adopt: func(link *transport.Connection, missed bool) error {
			if h.adopt != nil {
				h.adopt(link, missed)
			}
			return nil
		},
	}
}

// warnings records the warnings that a host received.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

func (w *warnings) add(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// take returns the warnings since the last call.
func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	texts := w.texts
	w.texts = nil
	return texts
}

type exchange struct {
	h      *host
	method string
	plan   transport.Plan
	code   int // of a refusal
	link   *transport.Connection
}

func (h *host) Accept(ctx context.Context, frame []byte) (transport.Exchange, error) {
	var msg struct{ Method string }
	if err := json.Unmarshal(frame, &msg); err != nil {
		return nil, err
	}
	x := &exchange{h: h, method: msg.Method, plan: h.plan}
	x.plan.Answered = !strings.HasPrefix(msg.Method, "notifications/")
	sessions := transport.RequestFrom(ctx).Sessions
	switch {
	case msg.Method == "panic in Accept":
		panic("as asked")
	case msg.Method == "initialize":
		var err error
		if x.link, err = sessions.Open(); err != nil {
			x.code = http.StatusServiceUnavailable
		}
	case !h.plan.CancelByClose: // a handshake revision
		link, err := sessions.Find()
		switch {
		case errors.Is(err, transport.ErrUnavailable):
			x.code = http.StatusServiceUnavailable
		case err != nil:
			x.code = http.StatusNotFound
		case link == nil:
			x.code = http.StatusBadRequest
		}
	}
	return x, nil
}

func (x *exchange) Plan() transport.Plan { return x.plan }

func (x *exchange) Interrupted() []byte { return []byte(x.h.will) }

func (x *exchange) Serve(ctx context.Context, out transport.Outbound) error {
	if x.code != 0 {
		return out.Send(ctx, transport.Frame{JSON: []byte(`{"refused":true}`), Final: true, Status: x.code})
	}
	if x.method == "initialize" {
		if kept := x.link.SessionState; x.h.refuses || kept != nil && kept.Update(ctx, func([]byte) []byte { return []byte("0") }) != nil {
			x.link.Refuse()
			return out.Send(ctx, transport.Frame{JSON: []byte(`{"initialized":false}`), Final: true})
		}
		return out.Send(ctx, transport.Frame{JSON: []byte(`{"initialized":true}`), Final: true})
	}
	status, answer := x.h.handle(ctx, x.method, func(frame string) error { return out.Send(ctx, transport.Frame{JSON: []byte(frame)}) })
	if answer == "" {
		return nil
	}
	return out.Send(ctx, transport.Frame{JSON: []byte(answer), Final: true, Status: status})
}

var errCut = errors.New("cut")

// sink is the client's end of one response.
type sink struct {
	mu     sync.Mutex
	status int
	header []streamable.Field
	length int
	body   strings.Builder
	left   int // writes until the connection breaks; negative: never
	broken func()
}

func (s *sink) Open(status int, header []streamable.Field, length int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.header, s.length = status, header, length
	return nil
}

func (s *sink) Write(part []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 {
		s.broken()
		return errCut
	}
	s.left--
	s.body.Write(part)
	return nil
}

func (s *sink) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.body.String()
}

// event is one parsed SSE event.
type event struct{ id, data string }

// events returns the events of the body so far, without comments.
func (s *sink) events() []event {
	var all []event
	for block := range strings.SplitSeq(s.text(), "\n\n") {
		var e event
		for line := range strings.SplitSeq(block, "\n") {
			name, value, _ := strings.Cut(line, ": ")
			switch name {
			case "id":
				e.id = value
			case "data":
				e.data = value
			}
		}
		if e != (event{}) {
			all = append(all, e)
		}
	}
	return all
}

// site is one endpoint and what a client of it does.
type site struct {
	t       testing.TB
	e       *streamable.Endpoint
	session string
	user    string
}

func newSite(t testing.TB, h *host, cfg streamable.Config) *site {
	t.Helper()
	s := &site{t: t, e: streamable.New(h, cfg)}
	if !h.plan.CancelByClose {
		r := s.do(http.MethodPost, "initialize")
		if r.Stream != nil { // on a busy machine, the answer takes longer than StreamDelay
			s.carry(r, -1).wait()
		} else if r.Status != http.StatusOK {
			t.Fatalf("initialize: %d %s", r.Status, r.Body)
		}
		s.session = field(r.Header, "Mcp-Session-Id")
	}
	return s
}

func field(all []streamable.Field, name string) string {
	for _, f := range all {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// stop ends the endpoint, and with it the sessions and their timers. If a test has failed, a stream may
// have no client: stop does not wait for it for long, so that the failure is reported.
func (s *site) stop() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	if err := s.e.Shutdown(ctx); err != nil {
		s.t.Errorf("Shutdown: %v", err)
	}
}

func (s *site) do(method, call string, header ...string) *streamable.Reply {
	s.t.Helper()
	return s.doContext(s.t.Context(), method, call, header...)
}

func (s *site) doContext(ctx context.Context, method, call string, header ...string) *streamable.Reply {
	s.t.Helper()
	f := http.Header{"Accept": {"application/json, text/event-stream"}}
	if s.session != "" {
		f.Set("Mcp-Session-Id", s.session)
	}
	if s.user != "" {
		ctx = transport.WithPrincipal(ctx, &transport.Principal{Subject: s.user})
	}
	var body []byte
	if method == http.MethodPost {
		f.Set("Content-Type", "application/json")
		body = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q}`, call)
		if strings.HasPrefix(call, "notifications/") {
			body = fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q}`, call)
		}
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Ballast" { // of the frame
			body = fmt.Appendf(body[:len(body)-1], `,"ballast":%q}`, value)
			continue
		}
		f.Set(name, value)
		if value == "" {
			f.Del(name)
		}
	}
	visit, refused := s.e.Check(ctx, &streamable.Request{Method: method, Host: "localhost", Fields: transport.HeaderFields(f), RemoteAddr: "127.0.0.1:1"})
	if refused != nil {
		return refused
	}
	return visit.Serve(body)
}

// connection is an open stream with a client at its end.
type connection struct {
	*sink
	cancel context.CancelFunc
	ended  chan struct{}
}

// carry serves the stream of a reply; the connection breaks after that many writes.
func (s *site) carry(r *streamable.Reply, writes int) *connection {
	s.t.Helper()
	if r.Stream == nil {
		s.t.Fatalf("no stream: %d %s", r.Status, r.Body)
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	c := &connection{sink: &sink{left: writes, broken: cancel}, cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		r.Stream.Serve(ctx, c.sink)
	}()
	return c
}

func (c *connection) wait() *connection {
	<-c.ended
	c.cancel()
	return c
}

// keeper is an event log without bounds; expired makes it forget.
type keeper struct {
	mu      sync.Mutex
	streams map[string][]eventlog.Event
	expired bool
}

func (k *keeper) Append(_ context.Context, stream string, frame []byte) (uint64, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.streams == nil {
		k.streams = map[string][]eventlog.Event{}
	}
	seq := uint64(len(k.streams[stream]) + 1)
	k.streams[stream] = append(k.streams[stream], eventlog.Event{Seq: seq, Frame: append([]byte(nil), frame...)})
	return seq, nil
}

func (k *keeper) After(_ context.Context, stream string, seq uint64) ([]eventlog.Event, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.expired || k.streams[stream] == nil {
		return nil, eventlog.ErrExpired
	}
	return k.streams[stream][seq:], nil
}

func (k *keeper) Drop(_ context.Context, stream string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.streams, stream)
	return nil
}

func (k *keeper) len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.streams)
}
