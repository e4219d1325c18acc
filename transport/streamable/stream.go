package streamable

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/transport"
)

var (
	errNoStream = errors.New("streamable: the client takes no stream")
	errEnded    = errors.New("streamable: the stream has ended")
)

// stream is the response of one exchange, or of a session for what belongs to
// none: where its messages go, and at most one connection that carries them.
//
// It is the transport.Outbound of the exchange. Until a carrier has attached,
// and while the connection is broken, messages of a resumable stream go to the log
// only; those of another wait, or fail.
type stream struct {
	gate       *Gate
	session    *session // nil without one
	plan       transport.Plan
	log        eventlog.Store  // nil: not resumable
	standalone bool            // it belongs to no exchange
	closing    <-chan struct{} // the host begins to stop; nil: never
	onClosing  func()          // what then; nil: the stream ends
	greeting   []byte          // of a standalone one; nil: a comment
	json, sse  bool            // what the client takes
	cancel     context.CancelCauseFunc

	first    chan struct{} // closed when there is something to respond with
	attached chan struct{} // closed when a carrier has attached, or never will
	told     sync.Once
	settled  sync.Once

	mu        sync.Mutex // guards the fields below, and the order of what is written
	number    uint64     // in the session; 0 is the standalone one
	numbered  bool
	seq       uint64 // of the last event
	delivered uint64 // the highest that was written to a connection
	streaming bool   // it is an SSE stream
	releasing bool   // the connection shall be given back as soon as it attaches
	ended     bool
	lost      bool    // nothing can reach the client any more
	answer    *answer // of an exchange that sent nothing else
	at        *attachment
	buf       []byte
}

// answer is a whole response.
type answer struct {
	status    int
	retry     time.Duration // of Retry-After; 0: the status's own
	challenge string        // of WWW-Authenticate; empty: none
	frame     []byte
}

func (a *answer) reply() *Reply {
	reply := &Reply{Status: a.status, Header: []Field{contentJSON}, Body: a.frame}
	switch {
	case a.retry > 0:
		seconds := int64((a.retry + time.Second - 1) / time.Second)
		reply.Header = append(reply.Header, Field{retryAfter.Name, strconv.FormatInt(seconds, 10)})
	case a.status == http.StatusServiceUnavailable:
		reply.Header = append(reply.Header, retryAfter)
	}
	if a.challenge != "" {
		reply.Header = append(reply.Header, Field{"WWW-Authenticate", a.challenge})
	}
	return reply
}

// Send takes one frame of the exchange. Frames are written in the order of the
// calls; a client that does not read makes its own calls wait, until the carrier
// gives up on it.
func (st *stream) Send(ctx context.Context, frame []byte) error {
	status, final := transport.FinalFrom(ctx)
	final = final && !st.standalone
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended || st.lost && st.log == nil {
		return errEnded
	}
	if final && !st.streaming && (!st.onlySSE() || status != http.StatusOK) {
		return st.respond(&answer{status, transport.RetryAfterFrom(ctx), transport.ChallengeFrom(ctx), bytes.Clone(frame)})
	}
	if !st.sse {
		return errNoStream
	}
	if err := st.stream(ctx); err != nil {
		return err
	}
	err := st.event(frame)
	if final {
		st.endLocked()
	}
	return err
}

// waits says whether a resumable stream holds what nobody has seen.
func (st *stream) waits() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.log != nil && st.streaming && st.delivered < st.seq
}

// onlySSE: the client takes no JSON, so that even a lone answer is an event. A
// refusal has its status whatever the client takes.
func (st *stream) onlySSE() bool { return !st.json }

// respond makes the answer the whole response.
func (st *stream) respond(a *answer) error {
	st.answer = a
	st.ended = true
	st.tell()
	if st.at == nil {
		return nil
	}
	return st.writeAnswer(st.at)
}

// stream makes the response an SSE stream. It waits for the carrier: a handler that
// sends much at once could outrun the bounds of the log before the first event is
// on the wire, and the client would get none of it.
func (st *stream) stream(ctx context.Context) error {
	st.streaming = true
	st.name()
	st.tell()
	if st.standalone || st.at != nil || st.log != nil && st.wasAttached() {
		return nil
	}
	st.mu.Unlock()
	select {
	case <-st.attached:
	case <-ctx.Done():
	}
	st.mu.Lock()
	if st.ended || st.at == nil && st.log == nil {
		return errEnded
	}
	return nil
}

// event writes a frame to the log and to the connection, as far as there are any.
func (st *stream) event(frame []byte) error {
	if st.standalone && st.session != nil && st.session.record.elsewhere(st.session.ctx) {
		if st.at != nil {
			st.detachLocked(st.at) // the client has gone there
		}
		return nil
	}
	if st.log != nil {
		seq, err := st.log.Append(st.session.ctx, st.key(), frame)
		switch {
		case err == nil:
			st.seq = seq
		case st.at != nil: // who is here gets it all the same; nobody can come back for it
			return st.unlogged(st.at, frame)
		default:
			return err
		}
	}
	if st.at == nil {
		return nil
	}
	return st.write(st.at, st.seq, frame)
}

// unlogged writes a frame that the log did not take: without an id, lest a client come
// back with one that the log gives to another.
func (st *stream) unlogged(a *attachment, frame []byte) error {
	err := a.put(appendEvent(nil, nil, frame))
	if err != nil {
		st.detachLocked(a)
	}
	return err
}

// tell wakes the request that waits for what to respond.
func (st *stream) tell() {
	if st.first != nil {
		st.told.Do(func() { close(st.first) })
	}
}

// settle lets those go on who wait for a carrier.
func (st *stream) settle() {
	if st.attached != nil {
		st.settled.Do(func() { close(st.attached) })
	}
}

// whole is the response if it is one answer; nil: a stream.
func (st *stream) whole() *Reply {
	st.mu.Lock()
	defer st.mu.Unlock()
	switch {
	case st.answer != nil:
		return st.answer.reply()
	case st.ended && !st.streaming: // the exchange had nothing to say after all
		return &Reply{Status: http.StatusAccepted}
	}
	return nil
}

// finish ends the stream: nothing more will be sent.
func (st *stream) finish() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.ended {
		st.endLocked()
	}
}

func (st *stream) endLocked() {
	st.ended = true
	st.tell()
	if st.at != nil {
		st.at.close()
	}
	if st.numbered {
		st.mark()
		st.session.retire(st.number)
	}
}

// gone looks whether a connection carries the stream still. On 2026-07-28 one that
// is closed cancels the call (basic/transports/streamable-http "Cancellation").
func (st *stream) gone(cause error) {
	st.mu.Lock()
	lost := st.at == nil && !st.ended
	st.lost = lost
	st.mu.Unlock()
	st.settle()
	if lost && st.plan.CancelByClose && st.cancel != nil {
		st.cancel(cause)
	}
}

// release gives the connection back before the answer is there: the client polls
// for it (2025-11-25 basic/transports, SEP-1699).
func (st *stream) release() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.plan.Polls || st.log == nil || st.ended || !st.sse {
		return
	}
	st.streaming = true
	st.name()
	st.tell()
	if st.at == nil {
		st.releasing = !st.wasAttached()
		return
	}
	st.detachLocked(st.at)
}

// wasAttached says whether a carrier has ever attached.
func (st *stream) wasAttached() bool {
	select {
	case <-st.attached:
		return true
	default:
		return false
	}
}
