package streamable

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/lazyctx"
	"github.com/kagami-mcp/kagami/transport"
)

var errEnded = errors.New("streamable: the stream has ended")

// stream is the response of one exchange, or the standalone stream of a session, for messages that
// do not belong to an exchange. At most one connection at a time carries it. It is the
// transport.Outbound of the exchange.
//
// At first the kind of the response is not decided. If the first frame is the answer, compose makes
// it the whole response (answer). Any other frame makes the response an SSE stream (streaming). The
// goroutine of the request then hands the stream to a carrier, which attaches a connection
// (attach). The answer, or the end of the exchange, ends the stream (ended).
//
// Until a connection is attached, and while it is broken, frames of a resumable stream go only to
// the log. On other streams Send waits, or fails.
//
// mu guards the state. It is held during I/O on the connection and the log, to keep the order of
// the frames. Locks are taken in the order stream.mu, session.mu, expiryQueue.mu; record.mu is
// taken after stream.mu.
//
// These functions unlock mu in between, so their callers must look at the state again:
// awaitCarrier, leaveOld, room, drain, and giveAway with its callers stream and Release.
//
// A connection owns the sink. The stream only borrows it under mu, or in pour. When at changes, the
// old connection is closed, and its end gives its uses back. life ends at most once.
type stream struct {
	admitter   *Admitter
	session    *session // nil without a session
	plan       transport.Plan
	standalone bool             // it does not belong to an exchange
	json, sse  bool             // response types that the client accepts
	log        eventlog.Store   // nil if the stream is not resumable
	onClosing  func()           // called when the host begins to stop or the token expires; if nil, the connection ends instead
	greeting   []byte           // first bytes of a standalone stream; nil for a comment
	life       *lazyctx.Context // life of the exchange, which ends when the client disconnects; nil if the exchange goes on

	mu        sync.Mutex         // guards the fields below, and the order of what is written
	settled   bool               // a carrier has attached, or never will
	begun     bool               // begin was called
	streaming bool               // the response is an SSE stream; otherwise not decided yet, or answer is the response
	releasing bool               // Release was called before a connection has attached, so the next one ends at once
	ended     bool               // nothing more is sent
	lost      bool               // the connection ended before the stream
	numbered  bool               // number was assigned; see name
	number    uint64             // unique in the session; 0 is the standalone stream
	seq       uint64             // number of the last event
	kept      bool               // the log has the answer
	delivered uint64             // the highest seq that was written to a connection
	exchange  transport.Exchange // constant until it was served, then nil; nil without an exchange
	timer     *responseTimer     // timer of the request until its response is decided, then nil
	inline    *postedExchange    // exchange that the goroutine of the request serves while it may still write the response; otherwise nil
	hijacked  chan struct{}      // closed after Hijacker.Hijack; nil if that was not called
	buffers   BufferSource       // of the request while it waits; otherwise nil
	attached  chan struct{}      // closed by settle; nil if no sender waits
	answer    Reply              // the whole response, if the answer is the first message; otherwise Status is 0
	at        *streamConn        // the connection that carries the stream now; may be nil
	flow      *flow              // nil until an event is written
}

// answering returns the response for the answer f, without its body.
//
// header is shared and is not modified.
func answering(f *transport.Frame, status int, header []Field) Reply {
	r := Reply{Status: status, Header: header}
	if f.RetryAfter > 0 {
		seconds := int64((f.RetryAfter-1)/time.Second) + 1 // rounded up
		r.add(Field{retryAfter.Name, strconv.FormatInt(seconds, 10)})
	} else if status == http.StatusServiceUnavailable {
		r.add(retryAfter)
	}
	if f.Challenge != "" {
		r.add(Field{"WWW-Authenticate", f.Challenge})
	}
	return r
}

// compose makes a copy of f the answer, as an event if the client accepts only SSE. The caller
// holds st.mu.
func (st *stream) compose(f *transport.Frame) {
	status := cmp.Or(f.Status, http.StatusOK)
	if st.json || status != http.StatusOK { // a refusal has its status even if the client accepts only SSE
		st.answer = answering(f, status, jsonHeader)
		st.answer.Body = append(st.borrow(len(f.JSON)), f.JSON...)
		return
	}
	st.answer = answering(f, status, eventsHeader)
	st.answer.Body = appendEvent(st.borrow(len(eventStart)+len(f.JSON)+len(eventEnd)), nil, f.JSON)
}

// borrow returns memory for size bytes of the answer, from the request's BufferSource if it has one.
func (st *stream) borrow(size int) []byte {
	source := st.buffers
	if source == nil {
		return make([]byte, 0, size)
	}
	st.answer.Borrowed, st.buffers = true, nil
	return source.Buffer(size)[:0]
}

// Send sends one frame of the exchange. Frames are written in the order of the calls. A client that
// does not read blocks its own calls, until the write to the carrier fails. If frames are sent in
// quick succession, Send may return before its frame is written. The Send of the answer returns
// only after all frames were written; see flow.
func (st *stream) Send(ctx context.Context, frame transport.Frame) error {
	if ctx = frame.Bound(ctx); ctx.Err() != nil {
		return context.Cause(ctx)
	}
	final := frame.Final && !st.standalone
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended || st.lost && st.log == nil {
		return errEnded
	}
	if final && !st.streaming {
		st.compose(&frame)
		return st.respond()
	}
	if !st.sse {
		return transport.ErrNoStream
	}
	if err := st.stream(ctx); err != nil {
		return err
	}
	if st.room(); st.ended || st.lost && st.log == nil {
		return errEnded
	}
	st.ended = final
	err := st.event(frame.JSON)
	if final {
		st.endLocked()
	}
	if final && err == nil {
		err = st.forgiven(st.drain())
	}
	return err
}

// forgiven returns err, an error of writing to a connection. If the log has the frames that were
// not written, it returns nil, because the client may come back for them.
func (st *stream) forgiven(err error) error {
	if st.log != nil {
		return nil
	}
	return err
}

// waits reports whether a resumable stream has events that were not delivered.
func (st *stream) waits() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.log != nil && st.streaming && st.delivered < st.seq
}

// respond ends the stream with answer as the whole response. The caller holds st.mu.
//
// If no connection has attached yet, the goroutine of the request gets the answer from whole.
func (st *stream) respond() error {
	st.ended = true
	st.tell()
	if st.at == nil {
		return nil
	}
	return st.writeAnswer(st.at)
}

// stream makes the response an SSE stream and waits for the carrier. Without the wait, a handler
// that sends many frames could exceed the bounds of the log before the first event is written. The
// client could then not get any of them. The caller holds st.mu.
func (st *stream) stream(ctx context.Context) error {
	st.streaming = true
	st.name()
	st.tell()
	st.giveAway()
	if st.standalone || st.at != nil || st.log != nil && st.settled {
		return nil
	}
	if !st.settled {
		if err := st.awaitCarrier(ctx); err != nil {
			return err
		}
	}
	if st.ended || st.at == nil && st.log == nil {
		return errEnded
	}
	return nil
}

// awaitCarrier waits until a carrier has attached or it is certain that none will. If ctx ends
// first, it returns the cause. The caller holds st.mu, which is unlocked during the wait.
func (st *stream) awaitCarrier(ctx context.Context) error {
	if st.attached == nil {
		st.attached = make(chan struct{})
	}
	attached := st.attached
	st.mu.Unlock()
	defer st.mu.Lock()
	select {
	case <-attached:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// event writes a frame to the log and to the connection, as far as the stream has them. The caller
// holds st.mu.
//
// The sequence number is assigned by the log, under st.mu, so numbers have the order of
// writing.
func (st *stream) event(frame []byte) error {
	if st.standalone && st.session != nil && st.session.record.writtenElsewhere(st.session.ctx) {
		if st.at != nil {
			st.detachLocked(st.at) // the client has opened the stream on the other node
		}
		return nil
	}
	if st.log != nil {
		st.begin()
		seq, err := st.logged(frame)
		if err != nil && st.ended { // a client that comes back to this node gets it
			st.flows().rest = appendEvent(nil, nil, frame)
		}
		switch {
		case err == nil:
			st.seq, st.kept = seq, st.ended
		case st.at != nil: // the connected client gets the frame, but cannot resume from it
			return st.unlogged(st.at, frame)
		default:
			return err
		}
	}
	if st.at == nil {
		return nil
	}
	return st.forgiven(st.pass(st.at, st.eventID(st.seq), st.seq, frame))
}

// answerPause is the pause before the second attempt to log an answer; doubled for each.
const answerPause = 50 * time.Millisecond

// logged appends a frame to the log. If that fails for an answer that no connection carries, logged
// tries again for up to markTime, because other nodes can get the answer from nowhere else. The
// caller holds st.mu.
func (st *stream) logged(frame []byte) (seq uint64, err error) {
	ctx, began := st.session.ctx, time.Now()
	if st.ended { // the answer of the last call may come when the endpoint has stopped
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), markTime)
		defer cancel()
	}
	for pause := answerPause; ; pause *= 2 {
		seq, err = st.log.Append(ctx, st.key(), frame)
		if err == nil || !st.ended || st.at != nil || time.Since(began)+pause > markTime {
			return seq, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return seq, err
		case <-timer.C:
		}
		events, _ := st.log.After(ctx, st.key(), st.seq)
		for _, e := range events {
			if bytes.Equal(e.Frame, frame) { // it was stored, and only the response was lost
				return e.Seq, nil
			}
		}
	}
}

// unlogged writes a frame that the log did not accept. The frame has no id, because the log will
// give its number to another event.
func (st *stream) unlogged(a *streamConn, frame []byte) error {
	seq := st.delivered
	if st.pours() {
		seq = st.flow.seq
	}
	return st.pass(a, nil, seq, frame)
}

// tell fires the timer of the request whose response is now decided. The caller holds st.mu.
//
// After whole has been called, there is no timer any more.
func (st *stream) tell() {
	if st.timer != nil {
		st.timer.fire()
		st.timer = nil
	}
}

// settle records that a carrier has attached or never will, and wakes awaitCarrier.
//
// It may be called more than once.
func (st *stream) settle() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.settled = true
	if st.attached != nil {
		close(st.attached)
		st.attached = nil
	}
}

// whole returns the response if it is a single answer, or nil if it is a stream or was hijacked.
// From then on the request does not wait: its timer does not fire, and the carrier may reuse the
// memory of its BufferSource.
func (st *stream) whole() *Reply {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.timer, st.inline, st.buffers = nil, nil, nil
	switch {
	case st.hijacked != nil:
		return nil
	case st.answer.Status != 0:
		return &st.answer
	case st.ended && !st.streaming: // the exchange has not sent an answer
		return &Reply{Status: http.StatusAccepted}
	}
	return nil
}

// finish ends the stream. No more frames can be sent.
func (st *stream) finish() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.finishLocked()
}

// finishLocked is like finish. The caller holds st.mu.
func (st *stream) finishLocked() {
	if !st.ended {
		st.endLocked()
	}
}

// served is like finish, and drops the reference to the exchange, which has been served.
func (st *stream) served() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.exchange = nil
	st.finishLocked()
}

// endLocked is like finish, for a stream whose field ended may already be set. The caller holds st.mu.
//
// It closes the connection but does not wait for its end. mark and retire use the log and
// session.mu.
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

// gone is called when a connection has detached from the stream. If no other connection carries the
// stream, the client is lost. On 2026-07-28 this cancels the call (basic/transports/streamable-http
// "Cancellation").
//
// It must be called without st.mu, because the end of life may run functions that send.
func (st *stream) gone(cause error) {
	st.mu.Lock()
	st.lost = st.at == nil && !st.ended
	lost := st.lost
	st.mu.Unlock()
	if lost && st.life != nil {
		st.life.End(cause)
	}
	st.settle()
}

// Release closes the connection before the answer exists. The client then polls for the answer
// (2025-11-25 basic/transports, SEP-1699).
func (st *stream) Release() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.plan.Polls || st.log == nil || st.ended || !st.sse {
		return
	}
	st.streaming = true
	st.name()
	st.tell()
	st.giveAway()
	if st.at == nil {
		st.releasing = !st.settled
		return
	}
	st.detachLocked(st.at)
}
