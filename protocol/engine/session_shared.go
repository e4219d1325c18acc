package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/transport"
)

// keptSession is what every node that serves a session must know of it.
type keptSession struct {
	ID    string          `json:"id"`
	Init  json.RawMessage `json:"init"` // the parameters of initialize, as they came
	Ready bool            `json:"ready,omitempty"`
	Level protocol.Level  `json:"level,omitempty"`
	URIs  []string        `json:"uris,omitempty"`
}

var errKept = errors.New("engine: the kept state of a session is unreadable")

// kept is where the session's state is; nil: nowhere but here.
func (c *conn) kept() transport.Kept {
	if c.link == nil {
		return nil
	}
	return c.link.Kept
}

// alter changes what is kept of the session, and then what is known here. Without a
// keeper it does only that.
func (c *conn) alter(ctx context.Context, s *session, change func(*keptSession)) error {
	kept := c.kept()
	if kept == nil {
		s.altering.Lock()
		defer s.altering.Unlock()
		k := keptSession{Level: s.logLevel(), URIs: s.feed.watched()}
		change(&k)
		s.apply(&k)
		return nil
	}
	var unreadable error
	err := kept.Change(ctx, func(data []byte) []byte {
		var k keptSession
		if data == nil {
			k.ID, k.Init = s.id, s.init
		} else if unreadable = json.Unmarshal(data, &k); unreadable != nil {
			return data // for those who can read it
		}
		change(&k)
		data, unreadable = json.Marshal(k)
		return data
	})
	if err = errors.Join(err, unreadable); err != nil {
		return unavailable("keeping a session", err)
	}
	c.sync()
	c.tellKept(ctx, s.id)
	return nil
}

// tellKept lets the other nodes know what changed. The one that the client listens to
// may get no frame of the session before the next thing that it must tell. It waits for
// the bus: whoever has the answer is told of all that happens afterwards.
func (c *conn) tellKept(ctx context.Context, id string) {
	data, version := c.kept().State()
	var k keptSession
	if c.e.cfg.Changes == nil || version <= 1 || json.Unmarshal(data, &k) != nil { // 1: nobody else knows it yet
		return
	}
	k.Init = nil // they have it
	state, err := json.Marshal(k)
	if err == nil {
		err = c.e.tellNow(ctx, news{Kind: newsKept, Session: id, Frame: state, Version: version})
	}
	if err != nil { // they learn it with the next frame
		c.e.failed(ctx, nil, fmt.Errorf("engine: telling the other nodes: %w", err))
	}
}

// learn is sync for what another node has told.
func (c *conn) learn(state []byte, version uint64) {
	var k keptSession
	if json.Unmarshal(state, &k) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.current()
	if s == nil || version <= c.version {
		return
	}
	c.version = version
	s.apply(&k)
}

// sync learns what other nodes have changed of the session since the last frame, and
// the whole of it where another node has opened it.
func (c *conn) sync() {
	kept := c.kept()
	if kept == nil {
		return
	}
	if err := c.takeOver(kept.State()); err != nil {
		c.e.failed(c.link.Context(), nil, err)
	}
}

// takeOver makes a newer state the session's, and opens the session if there is none.
func (c *conn) takeOver(state []byte, version uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version <= c.version {
		return nil
	}
	var k keptSession
	if err := json.Unmarshal(state, &k); err != nil {
		return errors.Join(errKept, err)
	}
	s := c.current()
	if s == nil {
		var err error
		if s, err = c.e.restored(&k); err != nil {
			return err
		}
		s.feed.attach(c.link.Context(), c.link.Out)
		c.session.Store(s)
		c.e.register(c)
	}
	c.version = version
	s.apply(&k)
	return nil
}

// Adopt makes the session of the connection, which another node has opened, one that is
// told of changes here, and learns what other nodes have changed of it.
func (e *Engine) Adopt(link *transport.Connection) { e.connection(link) }

// restored is the session of an initialize that another node has answered.
func (e *Engine) restored(k *keptSession) (*session, error) {
	p, fault := dialect.Handshake("").DecodeParams(protocol.MethodInitialize, k.Init)
	if fault != nil {
		return nil, errors.Join(errKept, fault)
	}
	init, _ := p.(*protocol.InitializeParams)
	s := e.newSession(k.ID, init, k.Init)
	s.opened.release()
	return s, nil
}

// apply makes the session what is kept of it.
func (s *session) apply(k *keptSession) {
	if k.Level != "" {
		s.level.Store(&k.Level)
	}
	s.feed.watchAll(k.URIs)
	if k.Ready {
		s.begin()
	}
}

// begin: the client has said that it is initialized.
func (s *session) begin() {
	s.ready.release()
	s.feed.start()
}

// watchAll replaces what the client watches; no uri is there twice. Mostly one is new or
// gone: what is the same before it stays in the index as it is.
func (f *feed) watchAll(uris []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.filter.URIs
	same := 0
	for same < min(len(before), len(uris)) && before[same] == uris[same] {
		same++
	}
	f.filter.URIs = slices.Clone(uris)
	if f.stopped {
		return
	}
	f.e.resources.replace(f, before[same:], uris[same:])
	if same < len(uris) {
		f.learned = f.e.learned.Add(1)
	}
}

// watched is what the client watches.
func (f *feed) watched() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.filter.URIs)
}

// register makes the session of a connection known to the other nodes' messages.
// Callers hold c.mu.
func (e *Engine) register(c *conn) {
	if !e.shares() {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sessions == nil {
		e.sessions = make(map[string]*conn)
	}
	e.sessions[c.current().id] = c
}

// unregister undoes register.
func (e *Engine) unregister(c *conn) {
	s := c.current()
	if s == nil || !e.shares() {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sessions[s.id] == c {
		delete(e.sessions, s.id)
	}
}

// sessionOf is a session that is served here; nil: it is not.
func (e *Engine) sessionOf(id string) *session {
	if c := e.connOf(id); c != nil {
		return c.current()
	}
	return nil
}

// connOf is the connection of a session that is served here; nil: it is not.
func (e *Engine) connOf(session string) *conn {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sessions[session]
}
