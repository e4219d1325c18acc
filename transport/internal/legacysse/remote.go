package legacysse

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol/eventlog"
	port "github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/cluster"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// A frame may be posted on another node than the one that has the stream. Then it is appended to the
// event log, under a name that only its connection reads (the inbox). A message on the bus tells when
// to read it; if the message is lost, the frame is not. As long as the stream is open, a record says
// which principal the connection belongs to.

// forRecord is the purpose for which the id of a connection is digested; see [cluster.Digest].
const forRecord = "http+sse connection"

const (
	refresh  = time.Minute     // how often the record of an open stream is touched
	lifetime = 3 * refresh     // of a record whose node is gone
	patience = 5 * time.Second // for cleaning up in the store after a connection
	retry    = time.Second     // the pause after the log could not be read
)

// joinNodes makes the endpoint a node if the host shares everything that this needs.
func (e *Endpoint) joinNodes(offered transport.Services) {
	if offered.Sessions == nil || offered.Changes == nil || offered.Events == nil {
		return
	}
	e.inbox = offered.Events
	e.node = cluster.New(offered.Sessions, offered.Changes, cluster.Handlers{
		Receive: e.receive, Look: e.look, Period: refresh, Closing: e.Closing(), Idle: e.idle,
	})
}

// idle reports whether no stream is open. While one is, calls that end as the host stops may still
// need frames that are posted on other nodes.
func (e *Endpoint) idle() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.sessions) == 0
}

func (e *Endpoint) leaveNodes() {
	if e.node != nil {
		e.node.End()
	}
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
	all := make([]*session, 0, len(e.keys))
	for _, s := range e.keys {
		all = append(all, s)
	}
	e.mu.Unlock()
	for _, s := range all {
		err := e.node.Sessions.Touch(ctx, s.remote.key, time.Now().Add(lifetime))
		if errors.Is(err, port.ErrNotFound) && s.ctx.Err() == nil {
			_ = e.node.Sessions.Create(ctx, s.remote.record()) // the store has lost it; an error is retried next time
		}
		s.remote.wake(false)
	}
}

// remote is a connection as other nodes see it.
type remote struct {
	s   *session
	key string

	mu      sync.Mutex // guards the fields below
	reading bool       // a goroutine reads the inbox
	again   bool       // the goroutine is to read once more
	told    bool       // a message has said that there is a frame
	gone    bool       // the connection has ended
	taken   uint64     // number of the last frame; used by the goroutine only
}

func newRemote(s *session) *remote {
	return &remote{s: s, key: cluster.Digest(forRecord, s.id)}
}

// home is the content of a record: the node that has the stream.
type home struct {
	Node string `json:"node"`
}

func (r *remote) record() port.Record {
	data, _ := cluster.Join(home{Node: r.s.e.node.ID}, nil) // a string is no failure
	return port.Record{ID: r.key, Principal: r.s.principal, Expires: time.Now().Add(lifetime), Data: data}
}

// register stores the connection for the other nodes, before the client learns its id.
func (s *session) register(ctx context.Context) error {
	if s.remote == nil {
		return nil
	}
	// ErrExists is of a Create that the store's client has sent twice: ids are random.
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
	_ = s.e.node.Sessions.Delete(ctx, r.key) // it expires by itself
	_ = s.e.inbox.Drop(ctx, r.inbox())
}

func (r *remote) inbox() string { return inbox(r.key) }

// inbox returns the name under which a connection's frames are in the log.
func inbox(key string) string { return key + ".posted" }

// posted goes with a frame from the node where it was posted.
type posted struct {
	Remote    string               `json:"remote,omitempty"`
	Header    http.Header          `json:"header,omitempty"`
	Principal *transport.Principal `json:"principal,omitempty"`
}

// forward puts a frame into the inbox of a connection of another node, if there is such a connection.
func (v *PendingRequest) forward(id string, body []byte) *streamable.Reply {
	e := v.e
	if id == "" || e.node == nil {
		return v.noSession()
	}
	key := cluster.Digest(forRecord, id)
	kept, err := e.node.Sessions.Get(v.Context(), key)
	switch {
	case errors.Is(err, port.ErrNotFound), err == nil && kept.Principal != v.Principal():
		return v.noSession()
	case err != nil:
		return v.Unavailable()
	}
	p := posted{Remote: v.r.RemoteAddr, Header: v.r.Fields.Header().Clone(), Principal: transport.PrincipalFrom(v.Context())}
	// A handler needs the principal, but credentials must not get into the log.
	maps.DeleteFunc(p.Header, func(name string, _ []string) bool { return proves(name) })
	data, err := cluster.Join(p, body)
	if err != nil {
		return v.Refuse(http.StatusInternalServerError, "internal error")
	}
	if _, err := e.inbox.Append(v.Context(), inbox(key), data); err != nil {
		return v.Unavailable()
	}
	// If the message is lost, the next look finds the frame: a retry would run it twice.
	_ = e.node.Publish(v.Context(), cluster.Message{Kind: cluster.Post, Session: key})
	return v.Accepted()
}

// proves reports whether a header field may hold a credential. Gateways and programs have many names
// for them.
func proves(field string) bool {
	field = strings.ToLower(field)
	for _, part := range []string{"auth", "cookie", "key", "token", "secret", "password", "credential", "signature", "assertion", "dpop", "session", "cert"} {
		if strings.Contains(field, part) {
			return true
		}
	}
	return false
}

// wake makes a goroutine read the inbox, one at a time to keep the order of the frames. told says that
// a message has announced a frame.
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
		events, err := r.s.e.inbox.After(r.s.ctx, r.inbox(), r.taken)
		if errors.Is(err, eventlog.ErrExpired) {
			// Nothing was posted yet, or the log has forgotten the inbox and begins anew.
			events, err = r.s.e.inbox.After(r.s.ctx, r.inbox(), 0)
		}
		if told && errors.Is(err, eventlog.ErrExpired) {
			r.s.out.Finish() // a frame is lost: the client must notice
		}
		if err != nil && !errors.Is(err, eventlog.ErrExpired) && r.later() {
			continue
		}
		for _, event := range events {
			r.taken = event.Seq
			r.s.takePosted(event.Frame)
		}
	}
}

// later waits before another attempt, because the log is unavailable. It returns false if the
// connection has ended.
func (r *remote) later() bool {
	timer := time.NewTimer(retry)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.s.ctx.Done():
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.again, r.told = true, true
	return true
}

// takePosted passes a frame that was posted on another node to the host. The client has got its 202,
// so a frame that cannot be served is answered on the stream.
func (s *session) takePosted(data []byte) {
	p, body, err := cluster.Split[posted](data)
	if err != nil {
		return // not written by this program
	}
	ctx := s.ctx
	if p.Principal != nil {
		ctx = transport.WithPrincipal(ctx, p.Principal)
	}
	ctx = s.within(ctx, &transport.Request{Fields: transport.HeaderFields(p.Header), RemoteAddr: p.Remote})
	body = append([]byte(nil), body...) // the log's are shared, this is the host's
	if exit, ok := s.enter(body); !ok || !s.start(ctx, body, exit) {
		s.refuse(ctx, body)
	}
}
