package legacysse

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol/eventlog"
	port "github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/cluster"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// A frame may be posted on another node than the node with the stream. That node appends it to the
// event log, under a name that only its connection reads (the inbox). A message on the bus
// announces the frame. If the message is lost, the frame is still read later. While the stream is
// open, a record contains the principal of the connection.

// forRecord is the purpose of the digest of a connection's id; see [cluster.Digest].
const forRecord = "http+sse connection"

const (
	refresh  = time.Minute     // time between two touches of the record of an open stream
	lifetime = 3 * refresh     // lifetime of a record after its node has died
	patience = 5 * time.Second // for removing a connection from the store
	retry    = time.Second     // pause after the log could not be read
)

// joinNodes makes the endpoint a node if the host shares sessions, changes and events.
func (e *Endpoint) joinNodes(offered transport.Services) {
	if offered.Sessions == nil || offered.Changes == nil || offered.Events == nil {
		return
	}
	e.inbox = e.Log().Events(offered.Events)
	e.node = cluster.New(e.Log().Sessions(offered.Sessions), offered.Changes, cluster.Handlers{
		Receive: e.receive, Look: e.look, Period: refresh, Closing: e.Closing(), Idle: e.idle,
	})
}

// idle reports whether no stream is open. While a stream is open, calls that end while the host
// stops may still need frames that are posted on other nodes.
func (e *Endpoint) idle() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.sessions) == 0
}

// receive handles a message of another node.
func (e *Endpoint) receive(m cluster.Message) {
	if m.Kind != cluster.Post {
		return
	}
	e.mu.Lock()
	s := e.keys[m.Session]
	e.mu.Unlock()
	if s != nil {
		s.remote.wake(true)
	}
}

// look extends the life of the records, and reads frames whose message was lost.
func (e *Endpoint) look(ctx context.Context) {
	e.mu.Lock()
	all := slices.Collect(maps.Values(e.keys))
	e.mu.Unlock()
	for _, s := range all {
		err := e.node.Sessions.Touch(ctx, s.remote.key, time.Now().Add(lifetime))
		if errors.Is(err, port.ErrNotFound) && s.ctx.Err() == nil {
			_ = e.node.Sessions.Create(ctx, s.remote.record()) // the store has lost the record; the next look retries after an error
		}
		s.remote.wake(false)
	}
}

// remote is a connection that frames from other nodes can reach.
//
// At most one goroutine (read) reads the inbox, so that the frames keep their order. wake starts
// it, or sets again if it is already running. It ends when more finds again unset or gone set.
// unregister sets gone. more decides and clears reading in one step, so no wake is lost.
//
// The goroutine belongs to the node, whose End waits for it. It calls the host without mu. While the
// log is unavailable, it waits in later, at most until the context of the connection ends.
type remote struct {
	s   *session
	key string

	mu      sync.Mutex // guards the fields below
	reading bool       // a goroutine reads the inbox
	again   bool       // the goroutine must read once more
	told    bool       // a message has announced a frame
	gone    bool       // the connection has ended
	taken   uint64     // number of the last frame that was taken; used only by the goroutine
	last    string     // its name; used only by the goroutine
}

func newRemote(s *session) *remote {
	return &remote{s: s, key: cluster.Digest(forRecord, s.id)}
}

// home is the content of a record: the node with the stream.
type home struct {
	Node string `json:"node"`
}

func (r *remote) record() port.Record {
	data, _ := cluster.Join(home{Node: r.s.e.node.ID}, nil) // a string always marshals
	return port.Record{ID: r.key, Principal: r.s.principal, Expires: time.Now().Add(lifetime), Data: data}
}

// register stores the connection for the other nodes, before the client receives its id.
func (s *session) register(ctx context.Context) error {
	if s.remote == nil {
		return nil
	}
	// ErrExists means that the store's client has repeated a Create, because ids are random.
	if err := s.e.node.Sessions.Create(ctx, s.remote.record()); err != nil && !errors.Is(err, port.ErrExists) {
		return err
	}
	s.e.node.Begin(s.e.life)
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	s.e.keys[s.remote.key] = s
	return nil
}

// unregister undoes register.
func (s *session) unregister() {
	r := s.remote
	if r == nil {
		return
	}
	r.mu.Lock()
	r.gone = true
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), patience)
	defer cancel()
	_ = s.e.node.Sessions.Delete(ctx, r.key) // otherwise the record expires
	_ = s.e.inbox.Drop(ctx, inbox(r.key))
}

// inbox returns the name of a connection's inbox in the log.
func inbox(key string) string { return key + ".posted" }

// posted is what the node with the POST sends along with a frame.
type posted struct {
	Remote    string               `json:"remote,omitempty"`
	Header    http.Header          `json:"header,omitempty"`
	Principal *transport.Principal `json:"principal,omitempty"`
	Name      string               `json:"name,omitempty"` // no other frame has it
}

// forward puts a frame into the inbox of a connection on another node, if there is such a
// connection. It does so even if the client does not wait for the response.
func (v *PendingRequest) forward(id string, body []byte) *streamable.Reply {
	e, ctx := v.e, context.WithoutCancel(v.Context())
	if id == "" || e.node == nil {
		return v.noSession()
	}
	key := cluster.Digest(forRecord, id)
	kept, err := e.node.Sessions.Get(ctx, key)
	switch {
	case errors.Is(err, port.ErrNotFound), err == nil && kept.Principal != v.Principal():
		return v.noSession()
	case err != nil:
		return v.Unavailable()
	}
	p := posted{Remote: v.r.RemoteAddr, Header: v.r.Fields.Header().Clone(), Principal: transport.PrincipalFrom(ctx), Name: rand.Text()}
	// A handler needs the principal, but credentials must not get into the log.
	maps.DeleteFunc(p.Header, func(name string, _ []string) bool { return proves(name) })
	data, err := cluster.Join(p, body)
	if err != nil {
		return v.Refuse(http.StatusInternalServerError, "internal error")
	}
	if _, err := e.inbox.Append(ctx, inbox(key), data); err != nil {
		return v.Unavailable()
	}
	// If the message is lost, the next look finds the frame. A retry by the client would run it
	// twice.
	_ = e.node.Publish(ctx, cluster.Message{Kind: cluster.Post, Session: key})
	return v.Accepted()
}

// proves reports whether a header field may hold a credential. Gateways and programs use many
// names for it.
func proves(field string) bool {
	field = strings.ToLower(field)
	for _, part := range []string{"auth", "cookie", "key", "token", "secret", "password", "credential", "signature", "assertion", "dpop", "session", "cert"} {
		if strings.Contains(field, part) {
			return true
		}
	}
	return false
}

// wake makes a goroutine read the inbox, one at a time to keep the order of the frames. told
// reports whether a message has announced a frame.
func (r *remote) wake(told bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.again, r.told = true, r.told || told
	if r.reading || r.gone {
		return
	}
	r.reading = true
	r.s.e.node.Go(r.read)
}

// more reports whether to read once more, and whether a message has announced a frame.
func (r *remote) more() (again, told bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	again, told = r.again && !r.gone, r.told
	r.reading, r.again, r.told = again, false, false
	return again, told
}

func (r *remote) read() {
	for again, told := r.more(); again; again, told = r.more() {
		events, err := r.untaken()
		if told && errors.Is(err, eventlog.ErrExpired) {
			r.s.out.Finish() // a frame is lost, and the client must notice
		}
		if err != nil && !errors.Is(err, eventlog.ErrExpired) && r.later(told) {
			continue
		}
		for _, event := range events {
			r.taken = event.Seq
			r.last = r.s.takePosted(event.Frame)
		}
	}
}

// untaken returns the frames that were not taken yet. The log may have lost the inbox and number it from
// 1 again. untaken therefore reads the last frame that was taken, too: if another frame has its number,
// all frames are new.
func (r *remote) untaken() ([]eventlog.Event, error) {
	after := func(seq uint64) ([]eventlog.Event, error) { return r.s.e.inbox.After(r.s.ctx, inbox(r.key), seq) }
	if r.taken > 0 {
		events, err := after(r.taken - 1)
		if err == nil && len(events) > 0 && nameOf(events[0].Frame) == r.last {
			return events[1:], nil
		}
		if err == nil {
			return after(0)
		}
		if !errors.Is(err, eventlog.ErrExpired) {
			return nil, err
		}
	}
	events, err := after(r.taken)
	if errors.Is(err, eventlog.ErrExpired) { // nothing was posted yet, or the log has lost the inbox
		return after(0)
	}
	return events, err
}

// nameOf returns the name of a frame in an inbox.
func nameOf(data []byte) string {
	p, _, _ := cluster.Split[posted](data) // what cannot be read has no name
	return p.Name
}

// later waits before another attempt, because the log is unavailable. told reports whether a message
// had announced a frame before this attempt. later returns false if the connection has ended.
func (r *remote) later(told bool) bool {
	timer := time.NewTimer(retry)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.s.ctx.Done():
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.again, r.told = true, r.told || told
	return true
}

// takePosted passes a frame that was posted on another node to the host. The client has already
// received 202, so a frame that cannot be served is answered on the stream. It returns the name of the
// frame.
func (s *session) takePosted(data []byte) (name string) {
	p, body, err := cluster.Split[posted](data)
	if err != nil {
		return p.Name // another program has written it
	}
	ctx := s.ctx
	if p.Principal != nil {
		ctx = transport.WithPrincipal(ctx, p.Principal)
	}
	ctx, end := s.within(ctx, &transport.Request{Fields: transport.HeaderFields(p.Header), RemoteAddr: p.Remote})
	body = append([]byte(nil), body...) // the log shares its memory, but the host owns a frame
	if exit, ok := s.enter(body); !ok || !s.start(ctx, body, func() { end(); exit() }) {
		s.refuse(s.ctx, body)
	}
	return p.Name
}
