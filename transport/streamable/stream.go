package streamable

import (
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

// Sink is the response that a carrier gave away. The endpoint calls it from one
// goroutine at a time, and not after Stream.Serve has returned.
type Sink interface {
	// Open writes status and header; length is that of the body, -1 where it is
	// not known.
	Open(status int, header []Field, length int) error
	// Write sends a part of the body at once, whole or not at all. It must give
	// up after a while on a client that does not read.
	Write(part []byte) error
}

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
	status int
	frame  []byte
}

// attachment is one connection that carries the stream.
type attachment struct {
	sink      Sink
	header    []Field
	committed bool
	wrote     bool          // since the last beat
	over      chan struct{} // closed when the connection is not needed any more
	closed    bool
}

func (a *attachment) close() {
	if !a.closed {
		a.closed = true
		close(a.over)
	}
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
		return st.respond(status, frame)
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
func (st *stream) respond(status int, frame []byte) error {
	st.answer = &answer{status: status, frame: append([]byte(nil), frame...)}
	st.ended = true
	st.tell()
	if st.at == nil {
		return nil
	}
	return st.writeAnswer(st.at)
}

func (st *stream) writeAnswer(a *attachment) error {
	defer a.close()
	a.committed = true
	return (&Reply{Status: st.answer.status, Header: []Field{contentJSON}, Body: st.answer.frame}).write(a)
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

// name numbers a resumable stream. Answers that are whole need no number.
func (st *stream) name() {
	if st.numbered || st.log == nil || st.standalone {
		return
	}
	st.numbered = true
	st.number = st.session.number()
	st.session.remember(st)
}

// key is the stream's name in the log: the session's id makes it unguessable.
func (st *stream) key() string {
	return st.session.id + "." + strconv.FormatUint(st.number, 10)
}

// event writes a frame to the log and to the connection, as far as there are any.
func (st *stream) event(frame []byte) error {
	if st.log != nil {
		seq, err := st.log.Append(st.session.ctx, st.key(), frame)
		if err != nil {
			return err
		}
		st.seq = seq
	}
	if st.at == nil {
		return nil
	}
	return st.write(st.at, st.seq, frame)
}

// write sends one event on a connection; a failure detaches it.
func (st *stream) write(a *attachment, seq uint64, frame []byte) error {
	st.buf = appendEvent(st.buf[:0], st.eventID(seq), frame)
	err := st.put(a, st.buf)
	if cap(st.buf) > 64<<10 {
		st.buf = nil
	}
	if err == nil {
		st.delivered = seq
		return nil
	}
	st.detachLocked(a)
	if st.log != nil {
		return nil // the client may come back for it
	}
	return err
}

func (st *stream) eventID(seq uint64) []byte {
	if st.log == nil {
		return nil
	}
	return appendEventID(make([]byte, 0, 48), st.session.prefix(), st.number, seq)
}

// put writes bytes of an SSE stream, the header before the first.
func (st *stream) put(a *attachment, part []byte) error {
	if !a.committed {
		a.committed = true
		header := append(a.header, Field{"Content-Type", typeSSE}, Field{"Cache-Control", "no-cache"}, Field{"X-Accel-Buffering", "no"})
		if err := a.sink.Open(http.StatusOK, header, -1); err != nil {
			return err
		}
	}
	a.wrote = true
	return a.sink.Write(part)
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
		reply := &Reply{Status: st.answer.status, Header: []Field{contentJSON}, Body: st.answer.frame}
		if reply.Status == http.StatusServiceUnavailable {
			reply.Header = append(reply.Header, retryAfter)
		}
		return reply
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
		st.session.retire(st.number)
	}
}

// forget drops what the log holds.
func (st *stream) forget() {
	if st.log != nil {
		_ = st.log.Drop(context.WithoutCancel(st.session.ctx), st.key())
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

func (st *stream) detachLocked(a *attachment) {
	a.close()
	if st.at == a {
		st.at = nil
	}
}

// position is where in a stream a connection begins.
type position struct {
	fresh   bool // of the standalone stream: with what nobody has seen
	resumed bool
	after   uint64
}

// Stream is an open response, to be served exactly once.
type Stream struct {
	st     *stream
	from   position
	header []Field
	leave  func()
}

// Serve carries the stream on sink until there is nothing more to send on this
// connection. ctx ends when the client is gone.
func (s *Stream) Serve(ctx context.Context, sink Sink) {
	defer s.leave()
	st := s.st
	a := &attachment{sink: sink, header: s.header, over: make(chan struct{})}
	defer st.gone(errClientGone) // unless it has ended, or another connection carries it
	defer st.part(a)
	if !st.attach(a, s.from) {
		return
	}
	beat := time.NewTicker(st.gate.cfg.Heartbeat)
	defer beat.Stop()
	closing := st.closing
	for {
		select {
		case <-a.over:
			return
		case <-closing:
			if st.onClosing == nil {
				return
			}
			st.onClosing()
			closing = nil
		case <-ctx.Done():
			return
		case <-beat.C:
			st.beat(a)
		}
	}
}

// attach makes a the connection of the stream and writes what it has missed.
func (st *stream) attach(a *attachment, from position) bool {
	defer st.settle()
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.answer != nil {
		_ = st.writeAnswer(a) // a client that is gone does not matter any more
		return false
	}
	if st.at != nil {
		st.at.close() // the client came back before its old connection was seen to break
	}
	st.at, st.lost = a, false
	if !st.greet(a, from) || !st.replay(a, from) || st.ended || st.releasing {
		st.releasing = false
		st.detachLocked(a)
		return false
	}
	return true
}

// greet writes the header at once where the client waits for it, and primes it.
func (st *stream) greet(a *attachment, from position) bool {
	polls := st.sse && st.log != nil && st.plan.Polls
	if st.standalone {
		polls = st.log != nil && st.session.negotiatedPolls()
	}
	switch {
	case polls && !from.resumed:
		st.streaming = true
		st.name()
		after := uint64(0)
		if from.fresh {
			after = st.delivered
		}
		return st.put(a, appendPriming(nil, st.eventID(after), st.gate.cfg.Retry.Milliseconds())) == nil
	case st.greeting != nil:
		return st.put(a, st.greeting) == nil
	case from.fresh, from.resumed:
		return st.put(a, []byte(comment)) == nil
	}
	return true
}

func (s *session) negotiatedPolls() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.polls
}

// replay writes what the log holds beyond the place where the client is.
func (st *stream) replay(a *attachment, from position) bool {
	after := from.after
	if from.fresh {
		after = st.delivered
	}
	if st.log == nil || after >= st.seq {
		return true
	}
	events, err := st.log.After(st.session.ctx, st.key(), after)
	if errors.Is(err, eventlog.ErrExpired) && from.fresh {
		return true // nobody has seen them, and nobody will
	}
	if err != nil {
		return false
	}
	for _, event := range events {
		if st.write(a, event.Seq, event.Frame) != nil || a.closed {
			return false
		}
	}
	return true
}

// part lets go of the connection. If the stream ended before anything was said
// there, a response is due all the same.
func (st *stream) part(a *attachment) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !a.committed && st.ended {
		a.committed = true
		_ = st.nothing().write(a) // a client that is gone does not matter any more
	}
	st.detachLocked(a)
}

func (st *stream) nothing() *Reply {
	if st.standalone {
		return refuse(http.StatusNotFound, "no such session")
	}
	return &Reply{Status: http.StatusAccepted}
}

// write makes r the response of a connection that a carrier gave away.
func (r *Reply) write(a *attachment) error {
	if err := a.sink.Open(r.Status, append(a.header, r.Header...), len(r.Body)); err != nil || len(r.Body) == 0 {
		return err
	}
	return a.sink.Write(r.Body)
}

// beat shows the client, and the proxies between, that the stream lives.
func (st *stream) beat(a *attachment) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.at != a || !st.sse || a.wrote {
		a.wrote = false
		return
	}
	st.streaming = true
	if st.put(a, []byte(comment)) != nil {
		st.detachLocked(a)
	}
	a.wrote = false
}
