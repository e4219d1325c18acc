package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/feed"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/nodebus"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/storeerror"
	"github.com/kagami-mcp/kagami/transport"
)

// keptSession is the stored state of a session, which every node that serves it needs.
//
// The store decides which of two changes comes first, and counts versions. A node applies a state
// only if its version is newer than conn.version, so states may arrive in any order: by a frame of
// the session, or by a message of the bus.
//
// A program reads the state, changes it and writes it back. This drops members that the program
// does not know. If a version of the program adds a member that must not be dropped, or changes a
// member, it must raise V. Older versions then leave the state unchanged.
type keptSession struct {
	V     int             `json:"v,omitempty"` // 0: the members below
	ID    string          `json:"id"`
	Init  json.RawMessage `json:"init,omitempty"` // the parameters of initialize, as received
	Ready bool            `json:"ready,omitempty"`
	Level protocol.Level  `json:"level,omitempty"`
	URIs  []string        `json:"uris,omitempty"`
}

var errKept = errors.New("engine: the stored state of a session is unreadable")

// readKept decodes a stored state. It returns errKept if the state is unreadable. If a newer
// version of the program has written the state, the error is also transport.ErrUnavailable, because
// another node may be able to read it.
func readKept(state []byte) (keptSession, error) {
	var k keptSession
	if err := json.Unmarshal(state, &k); err != nil {
		return k, errors.Join(errKept, err)
	}
	if k.V > 0 {
		return k, fmt.Errorf("%w: a newer version of the program has written it: %w", errKept, transport.ErrUnavailable)
	}
	return k, nil
}

// connection returns the state of a connection, and makes it at the first frame. The state is dropped
// when the connection has ended.
func (e *Engine) connection(link *transport.Connection) *conn {
	c := e.connected(link)
	c.sync()
	return c
}

// sync applies changes that other nodes have made in the session since the last frame. If another
// node has opened the session, sync opens it here.
//
// The state is loaded without conn.mu, because the carrier has a lock of its own. A state that
// another goroutine has applied meanwhile is newer, and takeOver ignores this one. Accept calls
// sync, so it must not block: Load returns what the carrier has read before.
func (c *conn) sync() {
	kept := c.kept()
	if kept == nil {
		return
	}
	state, version := kept.Load()
	if err := c.takeOver(state, version, true); err != nil {
		c.background(c.link.Context(), err)
	}
}

// unopened returns why the connection has no session although the carrier has found one. It returns
// nil if the session has ended since.
func (c *conn) unopened() error {
	kept := c.kept()
	if kept == nil {
		return nil
	}
	state, _ := kept.Load()
	_, err := readKept(state)
	return err
}

// takeOver applies a newer state to the session. If there is no session, takeOver opens it with open.
// The state in a message of another node cannot open one, because it lacks the parameters of
// initialize.
//
// If the state cannot be read, version is not recorded, and the next frame tries again.
func (c *conn) takeOver(state []byte, version uint64, open bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version <= c.version {
		return nil
	}
	k, err := readKept(state)
	if err != nil {
		return err
	}
	s := c.current()
	if s == nil && !open {
		return nil
	}
	if s == nil {
		if s, err = c.e.restored(&k); err != nil {
			return err
		}
		s.feed.Attach(c.link.Context(), c.link.Out)
		c.begin(s)
	}
	c.version = version
	s.apply(&k)
	return nil
}

// Adopt makes this node serve the session of the connection, which another node has opened, so that
// its client is notified of changes here. Each further call applies changes that other nodes have
// made in the session. If missed is true, the client is sent an update of each resource that it
// watches, because no node could send updates for a while.
func (e *Engine) Adopt(link *transport.Connection, missed bool) {
	c := e.connection(link)
	if s := c.current(); missed && s != nil {
		s.feed.UpdateAll()
	}
}

// restored makes a session from the parameters of an initialize that another node has answered.
//
// The session is not registered, and its feed is not attached. The caller does both, or keeps the
// session for a task only.
func (e *Engine) restored(k *keptSession) (*session, error) {
	p, fault := dialect.Handshake("").DecodeParams(protocol.MethodInitialize, k.Init)
	if fault != nil {
		return nil, errors.Join(errKept, fault)
	}
	init, _ := p.(*protocol.InitializeParams)
	s := e.newSession(k.ID, init, k.Init)
	s.init = string(k.Init)
	s.opened.Release()
	return s, nil
}

// apply applies a stored state to the session.
//
// It may be called under conn.mu. It takes the lock of the feed.
func (s *session) apply(k *keptSession) {
	if k.Level != "" {
		s.level.Store(&k.Level)
	}
	s.feed.WatchAll(k.URIs)
	if k.Ready {
		s.begin()
	}
}

// alter changes the stored state of the session, and then the state of this node. If the state is not
// stored, alter changes only this node's.
//
// It must not be called with conn.mu, because Update reads and writes the store. change may be
// called several times, if another node changes the state at the same time, and must only change
// its argument. If alter returns an error, the state of this node is unchanged; the stored state
// may have changed.
func (c *conn) alter(ctx context.Context, s *session, change func(*keptSession)) error {
	kept := c.kept()
	if kept == nil {
		s.altering.Lock()
		defer s.altering.Unlock()
		k := keptSession{Level: s.logLevel(), URIs: s.feed.Watched()}
		change(&k)
		s.apply(&k)
		return nil
	}
	var unreadable error
	err := kept.Update(ctx, func(data []byte) []byte {
		k := keptSession{ID: s.id, Init: json.RawMessage(s.init)}
		if data != nil {
			if k, unreadable = readKept(data); unreadable != nil {
				return data // another version of the program may be able to read it
			}
		}
		change(&k)
		data, unreadable = json.Marshal(k)
		return data
	})
	if err = errors.Join(err, unreadable); err != nil {
		return storeerror.New("keeping a session", err)
	}
	c.sync()
	c.broadcastKept(ctx, s.id)
	return nil
}

// broadcastKept sends the new state to the other nodes. The node that the client listens to may not get a
// frame of the session before the next notification that it must send. broadcastKept waits for the bus, so
// that a client that has the answer, for example to a subscription, is notified of all later changes.
func (c *conn) broadcastKept(ctx context.Context, id string) {
	data, version := c.kept().Load()
	k, err := readKept(data)
	if c.e.cfg.Changes == nil || version <= 1 || err != nil { // at version 1, no other node has the session
		return
	}
	k.Init = nil // the other nodes have it
	state, err := json.Marshal(k)
	if err == nil {
		err = c.e.node.BroadcastNow(ctx, nodebus.Message{Kind: nodebus.Kept, Session: id, Frame: state, Version: version})
	}
	if err != nil { // the other nodes read the state with the session's next frame
		c.background(ctx, fmt.Errorf("engine: notifying the other nodes: %w", err))
	}
}

// background reports an error of work for the session that no request waits for. It ignores the end
// of the session, because a client may end it during the work, here or on another node.
func (c *conn) background(ctx context.Context, err error) {
	if errors.Is(err, transport.ErrNoSession) || ctx.Err() != nil {
		return
	}
	c.e.failed(ctx, nil, err)
}

// notifySession sends one notification to the client of a session at once, before the pending changes
// of its feed.
//
// It may block in Send. A task calls it with job.telling read-locked. It takes the locks of the
// feed, of the node and Engine.mu one after the other.
func (e *Engine) notifySession(ctx context.Context, s *session, p protocol.Params, m *protocol.RequestMeta) error {
	out, live := s.feed.Outbound()
	if s.shared == "" && !live {
		return errGone
	}
	if !e.running.Begin() {
		return ErrShutdown
	}
	defer e.running.Done()
	frame, err := feed.Notification(s.dialect, p, m)
	if err != nil {
		return err
	}
	if s.shared != "" { // another node may have the session's stream
		e.node.Broadcast(nodebus.Message{Kind: nodebus.Notify, Session: s.shared, Frame: frame})
	}
	// The session of a task that was taken from the queue has no stream, and neither has a session
	// that this node has ended and restored since. If the session is served here, the session of its
	// connection has one.
	if served := e.sessionOf(s.shared); !live && served != nil && served != s {
		served.feed.Push(frame)
	}
	if !live {
		return nil
	}
	return out.Send(ctx, transport.Frame{JSON: frame})
}
