package legacysse_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/legacysse"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// server is a host that shares a store.
type server struct {
	hostFunc
	sessions session.Store
	events   eventlog.Store
	changes  change.Bus
	auth     transport.Authenticator
	closing  chan struct{}
}

func (s *server) Services() transport.Services {
	return transport.Services{
		Authenticator: s.auth, Events: s.events, Closing: s.closing, Sessions: s.sessions, Changes: s.changes,
		Adopt: func(*transport.Connection, bool) error { return nil },
	}
}

// users are principals by the text of Authorization: name and scope.
type users struct{}

func (users) Authenticate(_ context.Context, header http.Header) (*transport.Principal, error) {
	name, scope, _ := strings.Cut(header.Get("Authorization"), " ")
	return &transport.Principal{Subject: name, Scopes: []string{scope}}, nil
}

// echo answers with the frame and who sent it.
func echo(ctx context.Context, frame []byte, out transport.Outbound) error {
	r, p := transport.RequestFrom(ctx), transport.PrincipalFrom(ctx)
	who := ""
	if p != nil {
		who = p.Subject + " " + p.Scopes[0]
	}
	answer := fmt.Sprintf("%s of %s at %s with %q %q", frame, who, r.RemoteAddr, r.Fields.Values("x-body"), r.Fields.Header().Get("Authorization")+r.Fields.Header().Get("X-Api-Key"))
	return out.Send(ctx, transport.Frame{JSON: []byte(answer), Final: true})
}

// nodes are two endpoints over one store.
func nodes(all *memory.Store, bus change.Bus, auth transport.Authenticator, host hostFunc) (a, b *legacysse.Endpoint) {
	node := func() *legacysse.Endpoint {
		return legacysse.New(&server{hostFunc: host, sessions: all.Sessions(), events: all.Events(), changes: bus, auth: auth}, streamable.Config{})
	}
	return node(), node()
}

func stop(t *testing.T, all ...*legacysse.Endpoint) {
	t.Helper()
	for _, e := range all {
		if err := e.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	}
}

// as is a request with an Authorization; see ask.
func as(t *testing.T, e *legacysse.Endpoint, role legacysse.Role, user, query, body string) *streamable.Reply {
	t.Helper()
	r := &legacysse.Request{Request: new(streamable.Request), Role: role, Query: query, Messages: "messages"}
	r.Method, r.Host, r.RemoteAddr = string(role), "localhost", "192.0.2.9:1"
	r.Fields = transport.HeaderFields{"Content-Type": {"application/json"}, "X-Body": {body}, "Authorization": {user}, "Cookie": {"c=1"}, "X-Api-Key": {"k"}}
	visit, refused := e.Check(t.Context(), r)
	if refused != nil {
		return refused
	}
	return visit.Serve([]byte(body))
}

func message(frame string) string { return "event: message\ndata: " + frame + "\n\n" }

// TestPostElsewhere: a frame is taken by the node that holds the stream as its own,
// wherever it was posted; nothing that proves who posted it goes along.
func TestPostElsewhere(t *testing.T) {
	t.Parallel()
	all := memory.New()
	a, b := nodes(all, all.Changes(), users{}, echo)
	c := carried(t, as(t, a, legacysse.Stream, "alice read", "", ""))
	for _, body := range []string{`{"n":1}`, "two\nlines", ""} {
		if reply := as(t, b, legacysse.Messages, "alice write", c.query, body); reply.Status != http.StatusAccepted || len(reply.Body) > 0 {
			t.Fatalf("%d %s", reply.Status, reply.Body)
		}
		if got, want := <-c.parts, message(fmt.Sprintf(`%s of alice write at 192.0.2.9:1 with [%q] ""`, body, body)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, user := range []string{"bob write", " "} {
		if reply := as(t, b, legacysse.Messages, user, c.query, "{}"); reply.Status != http.StatusNotFound {
			t.Errorf("%q: %d", user, reply.Status)
		}
	}
	for _, query := range []string{"", "sessionId=", "sessionId=UNKNOWN", c.query + "&" + c.query} {
		if reply := as(t, b, legacysse.Messages, "alice write", query, "{}"); reply.Status != http.StatusNotFound {
			t.Errorf("%q: %d", query, reply.Status)
		}
	}
	c.leave()
	<-c.over
	if reply := as(t, b, legacysse.Messages, "alice write", c.query, "{}"); reply.Status != http.StatusNotFound {
		t.Errorf("after the end: %d", reply.Status)
	}
	stop(t, a, b)
}

// carried is the client's end of a stream that a reply opens.
func carried(t *testing.T, reply *streamable.Reply) *connection {
	t.Helper()
	if reply.Stream == nil {
		t.Fatalf("the stream was refused: %+v", reply)
	}
	c := &connection{sink: &sink{parts: make(chan string, 256)}, over: make(chan struct{})}
	var ctx context.Context
	ctx, c.leave = context.WithCancel(t.Context())
	go func() { defer close(c.over); reply.Stream.Serve(ctx, c.sink) }()
	_, reference, _ := strings.Cut(<-c.parts, "?")
	c.query = strings.TrimSpace(reference)
	return c
}

// TestClaimsElsewhere: the claims of a principal are the same, whatever node a frame was posted at. A number
// may be the name of a tenant.
func TestClaimsElsewhere(t *testing.T) {
	t.Parallel()
	all := memory.New()
	a, b := nodes(all, all.Changes(), member{}, func(ctx context.Context, _ []byte, out transport.Outbound) error {
		return out.Send(ctx, transport.Frame{JSON: fmt.Appendf(nil, "%#v", transport.PrincipalFrom(ctx)), Final: true})
	})
	c := carried(t, as(t, a, legacysse.Stream, "", "", ""))
	for _, e := range []*legacysse.Endpoint{a, b} {
		if reply := as(t, e, legacysse.Messages, "", c.query, "{}"); reply.Status != http.StatusAccepted {
			t.Fatalf("%d %s", reply.Status, reply.Body)
		}
		p, _ := member{}.Authenticate(t.Context(), nil)
		if got, want := <-c.parts, message(fmt.Sprintf("%#v", p)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	c.leave()
	<-c.over
	stop(t, a, b)
}

// member authenticates every request as one principal with a number in its claims.
type member struct{}

func (member) Authenticate(context.Context, http.Header) (*transport.Principal, error) {
	return &transport.Principal{
		Subject: "ada", Scopes: []string{"films"}, Expires: time.Unix(4e9, 0).UTC(),
		Claims: map[string]any{"tenant": json.Number("9007199254740993"), "groups": []any{"a"}},
	}, nil
}

// TestOrderElsewhere: frames of one poster are accepted in their order.
func TestOrderElsewhere(t *testing.T) {
	t.Parallel()
	const frames = 200
	all := memory.New()
	accepted := make(chan string, frames)
	host := &ordered{accepted: accepted}
	shared := &server{sessions: all.Sessions(), events: all.Events(), changes: all.Changes()}
	a := legacysse.New(&orderedServer{shared, host}, streamable.Config{})
	b := legacysse.New(&orderedServer{shared, host}, streamable.Config{})
	c := carried(t, as(t, a, legacysse.Stream, "", "", ""))
	for i := range frames {
		as(t, b, legacysse.Messages, "", c.query, fmt.Sprint(i))
	}
	for i := range frames {
		if got := <-accepted; got != fmt.Sprint(i) {
			t.Fatalf("frame %d is %s", i, got)
		}
	}
	c.leave()
	<-c.over
	stop(t, a, b)
}

type ordered struct{ accepted chan string }

type orderedServer struct {
	*server
	host *ordered
}

func (s *orderedServer) Accept(_ context.Context, frame []byte) (transport.Exchange, error) {
	s.host.accepted <- string(frame)
	return exchange{func(context.Context, []byte, transport.Outbound) error { return nil }, frame}, nil
}

// deaf hears that messages may have been lost, and nothing else.
type deaf struct{ change.Bus }

func (d deaf) Publish(context.Context, []byte) error { return errors.New("away") }

// TestLostMessage: a frame without a message is still taken, once.
func TestLostMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := memory.New()
		a, b := nodes(all, deaf{all.Changes()}, nil, echo)
		c := carried(t, ask(t, a, legacysse.Stream, "", "x:1", ""))
		synctest.Wait()
		if reply := ask(t, b, legacysse.Messages, c.query, "x:2", "{}"); reply.Status != http.StatusAccepted {
			t.Fatalf("%d %s", reply.Status, reply.Body)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		n := 0
		for len(c.parts) > 0 {
			if strings.Contains(<-c.parts, "{} of") {
				n++
			}
		}
		if n != 1 {
			t.Errorf("it was taken %d times", n)
		}
		c.leave()
		<-c.over
		stop(t, a, b)
	})
}

// TestRecordLives as long as the stream, and a little longer than its node.
func TestRecordLives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := memory.New()
		a, b := nodes(all, all.Changes(), nil, echo)
		c := carried(t, ask(t, a, legacysse.Stream, "", "x:1", ""))
		time.Sleep(time.Hour + time.Second)
		for len(c.parts) > 0 {
			<-c.parts // heartbeats
		}
		if reply := ask(t, b, legacysse.Messages, c.query, "x:2", "{}"); reply.Status != http.StatusAccepted {
			t.Fatalf("after an hour: %d %s", reply.Status, reply.Body)
		}
		if got := <-c.parts; !strings.Contains(got, "{} of") {
			t.Errorf("got %q", got)
		}
		c.leave()
		<-c.over
		stop(t, a, b)
	})
}

// away is a store of sessions, or a log, that does not answer.
type away struct {
	session.Store
	is atomic.Bool
}

func (w *away) Get(ctx context.Context, id string) (session.Record, error) {
	if w.is.Load() {
		return session.Record{}, errors.New("away")
	}
	return w.Store.Get(ctx, id)
}

func (w *away) Create(ctx context.Context, r session.Record) error {
	if w.is.Load() {
		return errors.New("away")
	}
	return w.Store.Create(ctx, r)
}

// TestStoreAway: a connection that others could not post to is refused, and a frame for
// one that cannot be looked up is not 404.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	all := memory.New()
	store := &away{Store: all.Sessions()}
	node := func() *legacysse.Endpoint {
		return legacysse.New(&server{hostFunc: echo, sessions: store, events: all.Events(), changes: all.Changes()}, streamable.Config{MaxSessions: 1})
	}
	a, b := node(), node()
	c := carried(t, ask(t, a, legacysse.Stream, "", "x:1", ""))
	store.is.Store(true)
	if reply := ask(t, b, legacysse.Messages, c.query, "x:1", "{}"); reply.Status != http.StatusServiceUnavailable || len(reply.Body) == 0 {
		t.Errorf("POST elsewhere: %+v", reply)
	}
	if reply := ask(t, a, legacysse.Messages, c.query, "x:1", "{}"); reply.Status != http.StatusAccepted {
		t.Errorf("POST where the stream is: %+v", reply)
	}
	for range 2 { // the refused one takes no place
		if reply := ask(t, b, legacysse.Stream, "", "x:1", ""); reply.Status != http.StatusServiceUnavailable {
			t.Errorf("GET: %+v", reply)
		}
	}
	c.leave()
	<-c.over
	stop(t, a, b)
}

// broken is a store of sessions that panics once.
type broken struct {
	session.Store
	was atomic.Bool
}

func (w *broken) Create(ctx context.Context, r session.Record) error {
	if !w.was.Swap(true) {
		panic("the store is broken")
	}
	return w.Store.Create(ctx, r)
}

// TestStorePanics: a connection for which the store panics takes no place, and holds up nothing
// at the end.
func TestStorePanics(t *testing.T) {
	t.Parallel()
	all := memory.New()
	e := legacysse.New(&server{
		hostFunc: echo, sessions: &broken{Store: all.Sessions()}, events: all.Events(), changes: all.Changes(),
	}, streamable.Config{MaxSessions: 1})
	func() {
		defer func() { _ = recover() }() // as carriers do
		t.Errorf("GET: %+v", ask(t, e, legacysse.Stream, "", "x:1", ""))
	}()
	c := carried(t, ask(t, e, legacysse.Stream, "", "x:1", ""))
	c.leave()
	<-c.over
	stop(t, e)
}

// forgetful is a log that has lost what it took.
type forgetful struct{ eventlog.Store }

func (forgetful) After(context.Context, string, uint64) ([]eventlog.Event, error) {
	return nil, eventlog.ErrExpired
}

// TestLostFrame: a client whose frame is lost sees its connection end, and one that has
// lost nothing does not.
func TestLostFrame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := memory.New()
		node := func() *legacysse.Endpoint {
			return legacysse.New(&server{hostFunc: echo, sessions: all.Sessions(), events: forgetful{all.Events()}, changes: all.Changes()}, streamable.Config{})
		}
		a, b := node(), node()
		c := carried(t, ask(t, a, legacysse.Stream, "", "x:1", ""))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		select {
		case <-c.over:
			t.Error("it ended for nothing")
		default:
		}
		ask(t, b, legacysse.Messages, c.query, "x:1", "{}")
		<-c.over
		stop(t, a, b)
	})
}

// TestLostInbox: after the log has lost the frames that were taken, and counts from 1 again, the next ones
// are taken, however many there are.
func TestLostInbox(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ before, after int }{{1, 1}, {1, 2}, {2, 1}, {2, 2}, {2, 3}, {3, 1}} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				all := memory.New()
				log := &named{Store: all.Events()}
				node := func() *legacysse.Endpoint {
					return legacysse.New(&server{hostFunc: echo, sessions: all.Sessions(), events: log, changes: all.Changes()}, streamable.Config{})
				}
				a, b := node(), node()
				c := carried(t, ask(t, a, legacysse.Stream, "", "x:1", ""))
				synctest.Wait()
				post := func(n int) {
					log.held.Store(true) // the frames are taken together
					for i := range n {
						ask(t, b, legacysse.Messages, c.query, "x:1", fmt.Sprint(i))
					}
					synctest.Wait()
					log.held.Store(false)
					time.Sleep(5 * time.Second)
					synctest.Wait()
					var got, want []string
					for len(c.parts) > 0 {
						number, _, _ := strings.Cut(strings.TrimPrefix(<-c.parts, "event: message\ndata: "), " ")
						got = append(got, number)
					}
					for i := range n {
						want = append(want, fmt.Sprint(i))
					}
					if slices.Sort(got); !slices.Equal(got, want) {
						t.Errorf("took %q, want %q", got, want)
					}
				}
				post(test.before)
				if err := log.Drop(t.Context(), log.name); err != nil {
					t.Fatal(err)
				}
				post(test.after)
				c.leave()
				<-c.over
				stop(t, a, b)
			})
		})
	}
}

// named is a log that remembers the stream that was written last, and cannot be read while held.
type named struct {
	eventlog.Store
	name string
	held atomic.Bool
}

func (n *named) Append(ctx context.Context, stream string, frame []byte) (uint64, error) {
	n.name = stream
	return n.Store.Append(ctx, stream, frame)
}

func (n *named) After(ctx context.Context, stream string, seq uint64) ([]eventlog.Event, error) {
	if n.held.Load() {
		return nil, errors.New("away")
	}
	return n.Store.After(ctx, stream, seq)
}

// TestRefusedElsewhere: what the host of the stream refuses, when 202 is sent already,
// is answered on the stream.
func TestRefusedElsewhere(t *testing.T) {
	t.Parallel()
	all := memory.New()
	shared := &server{sessions: all.Sessions(), events: all.Events(), changes: all.Changes()}
	a, b := legacysse.New(&stopping{shared}, streamable.Config{}), legacysse.New(shared, streamable.Config{})
	c := carried(t, ask(t, a, legacysse.Stream, "", "x:1", ""))
	ask(t, b, legacysse.Messages, c.query, "x:1", `{"jsonrpc":"2.0","id":7,"method":"x"}`)
	if got := <-c.parts; got != message(`{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"internal error"}}`) {
		t.Errorf("got %q", got)
	}
	c.leave()
	<-c.over
	stop(t, a, b)
}

// stopping takes no frames.
type stopping struct{ *server }

func (stopping) Accept(context.Context, []byte) (transport.Exchange, error) {
	return nil, errors.New("no more")
}

// TestMounted: while the host stops, answers to the questions of a call are taken from other nodes.
// Then everything ends, even if the endpoint is not shut down.
func TestMounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := memory.New()
		answered := make(chan struct{})
		host := hostFunc(func(ctx context.Context, frame []byte, out transport.Outbound) error {
			if strings.Contains(string(frame), "result") {
				close(answered)
				return nil
			}
			<-answered
			return out.Send(ctx, transport.Frame{JSON: []byte("answer"), Final: true})
		})
		node := func() *server {
			return &server{hostFunc: host, sessions: all.Sessions(), events: all.Events(), changes: all.Changes(), closing: make(chan struct{})}
		}
		stops := node()
		a, b := legacysse.New(stops, streamable.Config{}), legacysse.New(node(), streamable.Config{})
		c := carried(t, ask(t, a, legacysse.Stream, "", "x:1", ""))
		ask(t, a, legacysse.Messages, c.query, "x:1", `{"jsonrpc":"2.0","id":1,"method":"x"}`)
		close(stops.closing)
		time.Sleep(5 * time.Second)
		ask(t, b, legacysse.Messages, c.query, "x:1", `{"jsonrpc":"2.0","id":1,"result":{}}`)
		if got := <-c.parts; got != message("answer") {
			t.Errorf("got %q", got)
		}
		<-c.over
		time.Sleep(time.Second) // what goes on is found when the bubble ends
	})
}

// failing is a log that fails while it is away.
type failing struct {
	eventlog.Store
	away atomic.Bool
}

func (f *failing) After(ctx context.Context, name string, seq uint64) ([]eventlog.Event, error) {
	if f.away.Load() {
		return nil, errors.New("away")
	}
	return f.Store.After(ctx, name, seq)
}

// A log that was away for a while ends no connection, unless a message has announced a frame that
// the log does not have afterwards.
func TestLogAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := memory.New()
		log := &failing{Store: all.Events()}
		e := legacysse.New(&server{hostFunc: echo, sessions: all.Sessions(), events: log, changes: all.Changes()}, streamable.Config{})
		c := carried(t, ask(t, e, legacysse.Stream, "", "x:1", ""))
		log.away.Store(true)
		time.Sleep(90 * time.Second) // one look
		log.away.Store(false)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		select {
		case <-c.over:
			t.Error("it ended although no frame was posted")
		default:
		}
		c.leave()
		<-c.over
		stop(t, e)
	})
}

// slowHost accepts its first frame when the test lets it, and serves frames for a second each.
type slowHost struct {
	server
	accept           chan struct{}
	accepted, served atomic.Int32
}

func (h *slowHost) Accept(_ context.Context, frame []byte) (transport.Exchange, error) {
	if h.accepted.Add(1) == 1 {
		h.accept <- struct{}{}
		<-h.accept
	}
	return exchange{func(context.Context, []byte, transport.Outbound) error {
		time.Sleep(time.Second)
		h.served.Add(1)
		return nil
	}, frame}, nil
}

// Shutdown waits for the exchange of a frame that was posted on another node, even if the client has
// left in the meantime. A frame that is read later is not accepted.
func TestPostedBeforeTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := memory.New()
		h := &slowHost{server: server{sessions: all.Sessions(), events: all.Events(), changes: deaf{all.Changes()}}, accept: make(chan struct{})}
		a, b := legacysse.New(h, streamable.Config{}), legacysse.New(h, streamable.Config{})
		c := carried(t, ask(t, a, legacysse.Stream, "", "x:1", ""))
		synctest.Wait()
		for range 2 {
			ask(t, b, legacysse.Messages, c.query, "x:2", "{}")
		}
		<-h.accept // the first, of two that were read together
		c.leave()
		<-c.over
		go func() { h.accept <- struct{}{} }()
		stop(t, a)
		if accepted, served := h.accepted.Load(), h.served.Load(); accepted != 1 || served != 1 {
			t.Errorf("%d frames were accepted, and %d exchanges have ended with Shutdown, want 1 and 1", accepted, served)
		}
		stop(t, b)
	})
}
