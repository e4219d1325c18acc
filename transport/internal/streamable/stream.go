package streamable

import (
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

// stream is the response of one exchange, or the standalone stream of a session, for messages
// that belong to no exchange. At most one connection at a time carries it.
//
// It is the transport.Outbound of the exchange. Until a carrier has attached, and while the
// connection is broken, messages of a resumable stream go to the log only; on other streams Send
// waits, or fails.
//
// Locks are taken in the order stream.mu, session.mu, expiryQueue.mu; record.mu after stream.mu. mu is
// held during I/O on the connection and the log: it keeps their order.
type stream struct {
	admitter   *Admitter
	session    *session // nil without one
	plan       transport.Plan
	standalone bool             // it belongs to no exchange
	json, sse  bool             // response types that the client accepts
	log        eventlog.Store   // nil: not resumable
	onClosing  func()           // called when the host begins to stop or the token expires, instead of ending the connection; nil: that ends
	greeting   []byte           // the first bytes of a standalone stream; nil: a comment
	life       *lazyctx.Context // the exchange's, ended when the client disconnects; nil: the exchange goes on

	mu        sync.Mutex         // guards the fields below, and the order of what is written
	settled   bool               // a carrier has attached, or never will
	begun     bool               // begin was called
	streaming bool               // the response is an SSE stream; false: not decided yet
	releasing bool               // release was called before a connection had attached: the next one is given back
	ended     bool               // nothing more is sent
	lost      bool               // the connection has gone before the stream ended
	numbered  bool               // number was assigned; see name
	number    uint64             // unique in the session; 0 is the standalone stream
	seq       uint64             // of the last event
	delivered uint64             // the highest seq that was written to a connection
	exchange  transport.Exchange // constant until it was served, then nil; nil: the stream belongs to none
	timer     *responseTimer     // of the request, until its response is decided; then nil
	inline    *postedExchange    // that the goroutine of the request serves, while it may still write the response; else nil
	hijacked  chan struct{}      // closed after Hijacker.Hijack; nil: that was not called
	buffers   BufferSource       // of the request, while it waits; else nil
	attached  chan struct{}      // closed when settled; nil: nobody waits for it
	answer    Reply              // the whole response, if the exchange sent nothing before its answer; Status 0: none
	at        *streamConn        // the connection that carries the stream now; nil: none
	flow      *flow              // nil: no event was written yet
}

// answering returns the response that f is, but without its body.
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
	if st.json || status != http.StatusOK { // a refusal has its status whatever the client takes
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

// Send sends one frame of the exchange. Frames are written in the order of the calls. A client
// that does not read blocks its own calls, until the carrier gives up on it. Frames in quick
// succession may be written after Send has returned, but before the Send of the answer returns;
// see flow.
func (st *stream) Send(ctx context.Context, frame transport.Frame) error {
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
	if err := st.stream(frame.Bound(ctx)); err != nil {
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

// forgiven returns err, of writing to a connection, or nil if the log has what was not written:
// the client may come back for it.
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
func (st *stream) respond() error {
	st.ended = true
	st.tell()
	if st.at == nil {
		return nil
	}
	return st.writeAnswer(st.at)
}

// stream makes the response an SSE stream and waits for the carrier. Without the wait a handler
// that sends much at once could exceed the bounds of the log before the first event is on the
// wire, and the client could not get any of it.
func (st *stream) stream(ctx context.Context) error {
	st.streaming = true
	st.name()
	st.tell()
	st.giveAway()
	if st.standalone || st.at != nil || st.log != nil && st.settled {
		return nil
	}
	if !st.settled {
		st.awaitCarrier(ctx)
	}
	if st.ended || st.at == nil && st.log == nil {
		return errEnded
	}
	return nil
}

// awaitCarrier waits until a carrier has attached or it is certain that none will. The caller
// holds st.mu, which is unlocked during the wait.
func (st *stream) awaitCarrier(ctx context.Context) {
	if st.attached == nil {
		st.attached = make(chan struct{})
	}
	attached := st.attached
	st.mu.Unlock()
	defer st.mu.Lock()
	select {
	case <-attached:
	case <-ctx.Done():
	}
}

// event writes a frame to the log and to the connection, if there are such.
func (st *stream) event(frame []byte) error {
	if st.standalone && st.session != nil && st.session.record.writtenElsewhere(st.session.ctx) {
		if st.at != nil {
			st.detachLocked(st.at) // the client has opened the stream on that node
		}
		return nil
	}
	if st.log != nil {
		st.begin()
		seq, err := st.log.Append(st.session.ctx, st.key(), frame)
		switch {
		case err == nil:
			st.seq = seq
		case st.at != nil: // the connected client gets it; it cannot be resumed from
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

// unlogged writes a frame that the log did not take. It has no id, since the log will give that
// number to another event.
func (st *stream) unlogged(a *streamConn, frame []byte) error {
	seq := st.delivered
	if st.pours() {
		seq = st.flow.seq
	}
	return st.pass(a, nil, seq, frame)
}

// tell fires the timer of the request whose response is now decided. The caller holds st.mu.
func (st *stream) tell() {
	if st.timer != nil {
		st.timer.fire()
		st.timer = nil
	}
}

// settle notes that a carrier has attached or none will, and wakes awaitCarrier.
func (st *stream) settle() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.settled = true
	if st.attached != nil {
		close(st.attached)
		st.attached = nil
	}
}

// whole returns the response if it is a single answer, or nil if it is a stream, or hijacked. From now
// on the request does not wait: its timer does not fire, and the memory of its BufferSource belongs to
// the carrier again.
func (st *stream) whole() *Reply {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.timer, st.inline, st.buffers = nil, nil, nil
	switch {
	case st.hijacked != nil:
		return nil
	case st.answer.Status != 0:
		return &st.answer
	case st.ended && !st.streaming: // the exchange has sent no answer
		return &Reply{Status: http.StatusAccepted}
	}
	return nil
}

// finish ends the stream: nothing more will be sent.
func (st *stream) finish() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.finishLocked()
}

// finishLocked is finish. The caller holds st.mu.
func (st *stream) finishLocked() {
	if !st.ended {
		st.endLocked()
	}
}

// served is finish, and lets the exchange go, which has been served.
func (st *stream) served() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.exchange = nil
	st.finishLocked()
}

// endLocked is finish for a stream whose ended may be set already. The caller holds st.mu.
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

// gone is called when a connection has detached from the stream. If no other connection carries
// the stream, the client is lost. On 2026-07-28 that cancels the call
// (basic/transports/streamable-http "Cancellation").
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

// Release closes the connection before the answer exists: the client polls for the answer
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
