package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

// firstID is the id of a client's first request. Exchange sends frames unchanged, and may use
// smaller ids.
const firstID = 1001

// Bounds of JSON from the server and from the caller. Servers send values of up to 1,000 levels, and
// the frame around a value adds a few. Some readers scan a value once for each level, so a large text
// may have fewer levels.
const (
	mostLevels   = 1100
	leastLevels  = 100
	levelBytes   = 1 << 30 // levels times bytes
	mostElements = 4 << 20
)

// limits returns the limits for a JSON text of a size in bytes, which the carrier limits.
func limits(size int) jsontext.Limits {
	return jsontext.Limits{Depth: min(max(levelBytes/max(size, 1), leastLevels), mostLevels), Elements: mostElements}
}

// link is the JSON-RPC half of a Client. It matches answers to requests, and keeps the order
// between answers and notifications. Two goroutines run until Close: the reader (read) and the
// dispatcher (dispatcher.run). All goroutines are started by spawn, and close waits for them.
//
// await registers a waiter. One of three functions removes it from pending or
// anonymous, under mu. take hands it to the reader, which sends the one answer. failPending sends
// an error. forget drops it.
//
// The link is open until fail sets err and closes lost, both under mu. After that, await fails.
//
// The reader is the only goroutine that calls Conn.Read, request, notice, answered and
// dispatch.push. Write may be called by any goroutine, and Conn orders the writes. mu is never held
// during Read, Write, or a function of the Client. Sends to the channel of a waiter happen under mu
// in failPending; they do not block, because each waiter gets one answer at most.
//
// A panic in one of the goroutines ends the program. If the process of the server dies, Read fails,
// and the reader ends all calls (fail) and itself.
type link struct {
	conn   transport.Conn
	life   context.Context //nolint:containedctx // the link's own life, which no single call bounds
	cancel context.CancelFunc

	// The reader calls the three functions below, so they must not block. request handles a request
	// of the server. notice handles a notification, and returns work for the dispatcher or nil.
	// answered gets the id of each request whose answer has arrived.
	request  func(jsonrpc.Message)
	notice   func(jsonrpc.Message) func(context.Context)
	answered func(jsonrpc.ID)

	// seen is the function of OnFrame; it may be nil.
	seen func(context.Context, Frame)

	dispatch dispatcher
	lastID   atomic.Int64

	mu        sync.Mutex         // guards the fields below
	pending   map[string]*waiter // by id; see waiter
	anonymous []*waiter          // requests of Exchange, which may also be answered by an error without an id
	greeted   bool               // notifications/initialized was sent, and no answer has arrived since
	err       error              // why nothing can be sent any more; nil while the link is open
	reason    error              // error of the last Write that failed
	explained time.Time          // when reason was set

	lost chan struct{} // closed when err is set

	workers
	closing sync.Once // stops the dispatcher and closes conn
	closed  error     // error of closing conn; set by closing
}

// waiter is a request that waits for its answer.
//
// The goroutine of the call owns it and is the only receiver. It is registered from await to take,
// failPending or forget.
type waiter struct {
	id     jsonrpc.ID
	answer chan answer // one, buffered
	during uint64      // number of the handler that ran when the request was made
	ahead  bool        // the answer does not wait for handlers, which may wait for the renewal of the session

	watching bool // a listen stream that the server has acknowledged, so no answer is due; guarded by link.mu
}

// answer is a response, or the reason why there is none.
//
// The receiver owns it, with the memory of frame.
type answer struct {
	msg     jsonrpc.Message
	frame   []byte          // the whole frame that carried msg
	settled <-chan struct{} // closed when all earlier notifications have been handled; nil if they already are
	status  error           // carrier's error that came with a JSON-RPC error; may be nil
	err     error
}

func newLink(life context.Context, cancel context.CancelFunc, conn transport.Conn) *link {
	l := &link{
		conn: conn, life: life, cancel: cancel,
		pending: map[string]*waiter{},
		lost:    make(chan struct{}),
	}
	l.lastID.Store(firstID - 1)
	l.dispatch.init(l)
	return l
}

// start starts the reader and the dispatcher. The functions that they call must have been set.
func (l *link) start() {
	_ = l.spawn(l.read)
	_ = l.spawn(l.dispatch.run)
}

func (l *link) nextID() jsonrpc.ID { return jsonrpc.IntID(l.lastID.Add(1)) }

// read is the reader goroutine. It ends when the connection does.
func (l *link) read() {
	defer close(l.dispatch.queue)
	for {
		frame, err := l.conn.Read(l.life)
		if errors.Is(err, stdio.ErrFrameTooLong) {
			l.failPending(fmt.Errorf("client: an answer was lost: %w", err))
			continue
		}
		if one, ok := errors.AsType[*callError](err); ok {
			l.endCall(one)
			continue
		}
		if err != nil {
			l.fail(lostError(err))
			return
		}
		l.show(l.life, Frame{Text: frame})
		l.receive(frame)
	}
}

// show calls the function of OnFrame. It runs in the goroutine that reads or writes, without a
// lock.
func (l *link) show(ctx context.Context, f Frame) {
	if l.seen != nil {
		l.seen(ctx, f)
	}
}

// receive handles a frame. It ignores frames that are not JSON, because some servers print to their
// standard output, and the next line may be a message.
func (l *link) receive(frame []byte) {
	frame = jsontext.TrimBOM(frame)
	if err := jsontext.Check(frame, limits(len(frame))); err != nil {
		l.unreadable(frame, err)
		return
	}
	if !jsonrpc.IsBatch(frame) {
		l.one(frame, frame)
		return
	}
	for text := range jsontext.Elements(frame) {
		l.one(text, frame)
	}
}

// unreadable ends the call if frame is an answer that Check refuses and other programs read.
func (l *link) unreadable(frame []byte, reason error) {
	if id := answeredBy(frame); !id.IsZero() {
		l.finish(id, answer{err: fmt.Errorf("client: malformed answer: %w", reason)})
	}
}

// one handles one message of frame, in the reader.
func (l *link) one(text, frame []byte) {
	msg, fault := decodeMessage(text)
	if fault != nil {
		l.malformed(text, fault)
		return
	}
	switch msg.Kind {
	case jsonrpc.Request:
		l.request(msg)
	case jsonrpc.Notification:
		if work := l.notice(msg); work != nil {
			l.dispatch.push(work)
		}
	default:
		l.finish(msg.ID, answer{msg: msg, frame: frame})
	}
}

// finish ends the call with this id, in the reader. An answer without a waiter is dropped: its call
// has ended. The barrier is made after the waiter was removed, and includes all notifications that
// the reader has pushed.
func (l *link) finish(id jsonrpc.ID, a answer) {
	w := l.take(id, a.msg.Error)
	if w == nil {
		return
	}
	l.answered(w.id)
	if a.err == nil {
		a.settled = l.dispatch.barrier()
	}
	w.answer <- a
}

// endCall ends one call with an error of the carrier.
func (l *link) endCall(one *callError) {
	if one.frame == nil {
		l.finish(one.id, answer{err: fmt.Errorf("client: %w", one.error)})
		return
	}
	l.show(l.life, Frame{Text: one.frame})
	msg, _ := decodeMessage(one.frame) // the carrier has decoded it before
	l.finish(one.id, answer{msg: msg, frame: one.frame, status: one.error})
}

// malformed ends the call if text is an answer that cannot be decoded. It ignores a malformed request
// of the server, which has a method.
func (l *link) malformed(text []byte, f *jsonrpc.Fault) {
	if f.ID.IsZero() {
		return
	}
	if method, asks := jsontext.Member(text, "method"); asks && jsontext.KindOf(method) != jsontext.KindNull {
		return
	}
	err := fmt.Errorf("client: malformed answer: %s", f.Reason)
	if said, failed := jsontext.Member(text, "error"); failed && jsontext.KindOf(said) != jsontext.KindNull {
		err = fmt.Errorf("%w: %s", err, jsontext.Clip(string(said), maxErrorText)) // it may say what to do
	}
	l.finish(f.ID, answer{err: err})
}

// take removes and returns the waiter for an answer, or nil. failure is the error in the answer, or
// nil. If the server could not read the id of a frame, its error has no id. It goes to the
// oldest Exchange. Without one, it goes to the call in flight if there is exactly one.
func (l *link) take(id jsonrpc.ID, failure *jsonrpc.Error) *waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.pending[id.Key()]
	if w == nil { // rare: unquoted allocates another key
		w = l.pending[unquoted(id)]
	}
	switch {
	case id.IsZero():
		w = l.suspect(failure)
	case w != nil:
		l.greeted = false
	}
	if w != nil {
		l.forgetLocked(w)
	}
	return w
}

// unquoted returns the key of an id or a token, without its quotes if it is a string. Some servers
// write the client's numbers as strings.
func unquoted(id jsonrpc.ID) string { return strings.Trim(id.Key(), `"`) }

// greet notes that notifications/initialized is sent. Some servers answer it with the error that they
// do not know the method.
func (l *link) greet() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.greeted = true
}

// suspect returns the waiter for an error without an id, or nil if that is not clear. The caller holds
// l.mu.
func (l *link) suspect(failure *jsonrpc.Error) *waiter {
	if len(l.anonymous) > 0 {
		return l.anonymous[0]
	}
	if l.greeted && failure != nil && failure.Code == jsonrpc.CodeMethodNotFound {
		l.greeted = false
		return nil
	}
	var only *waiter
	for _, w := range l.pending {
		switch {
		case w.watching:
		case only != nil:
			return nil
		default:
			only = w
		}
	}
	return only
}

// watches marks the request of a listen stream that the server has acknowledged.
func (l *link) watches(w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.watching = true
}

// forget drops a waiter whose call has ended. An answer may already be in its channel. It has no
// effect if the waiter was removed before.
func (l *link) forget(w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgetLocked(w)
}

// forgetLocked is like forget. The caller holds l.mu.
func (l *link) forgetLocked(w *waiter) {
	if l.pending[w.id.Key()] == w {
		delete(l.pending, w.id.Key())
	}
	l.anonymous = slices.DeleteFunc(l.anonymous, func(a *waiter) bool { return a == w })
}

// await registers a waiter for the answer with this id. A waiter with a zero id is not in pending.
// The waiter of an Exchange is anonymous: an error without an id may also be its answer, because the
// server may be unable to read the id of the frame.
//
// The caller must send the frame afterwards, or call forget. An error means that the connection has
// ended, that ctx has ended, or that the id is in flight.
func (l *link) await(ctx context.Context, id jsonrpc.ID, anonymous bool) (*waiter, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &waiter{id: id, answer: make(chan answer, 1), during: l.dispatch.current.Load()}
	if l.err != nil {
		return nil, l.err
	}
	if ctx.Err() != nil {
		return nil, endOf(ctx)
	}
	if !id.IsZero() {
		if l.pending[id.Key()] != nil {
			return nil, fmt.Errorf("client: a request with id %s is in flight", id)
		}
		l.pending[id.Key()] = w
	}
	if anonymous {
		l.anonymous = append(l.anonymous, w)
	}
	return w, nil
}

// send writes one frame. If Write fails after ctx has ended, send returns the reason of that end.
//
// It must not be called while a mutex is held. frame stays with the caller.
func (l *link) send(ctx context.Context, frame []byte) error {
	l.show(ctx, Frame{Sent: true, Text: frame})
	err := l.conn.Write(ctx, frame)
	if err == nil {
		return nil
	}
	one, own := errors.AsType[*callError](err)
	switch ended := ctx.Err(); {
	case ended != nil:
		if !own && !errors.Is(err, ended) && !errors.Is(err, context.Cause(ctx)) {
			l.explain(err)
		}
		return endOf(ctx)
	case own && l.failure() == nil:
		return fmt.Errorf("client: %w", one.error)
	}
	return l.untaken(ctx, err)
}

// untaken returns why the connection does not accept frames. It waits a moment for the reader,
// because the other side may have sent the reason before it ended the connection.
func (l *link) untaken(ctx context.Context, err error) error {
	l.explain(err)
	waitFor(ctx, l.lost, linger)
	return cmp.Or(l.failure(), lostError(err))
}

// waitFor waits for event, which may be nil, until ctx ends, for at most d.
func waitFor(ctx context.Context, event <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-event:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// explain records why a Write has failed. If the reader finds only the end of the connection,
// shortly before or after, this error is reported as the reason.
func (l *link) explain(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reason, l.explained = lostError(err), time.Now()
	if errors.Is(l.err, errLost) {
		l.err = l.reason
	}
}

// roundTrip sends the frame of a registered waiter and waits for the answer. If ctx ends first,
// roundTrip removes the waiter and returns the error of ctx.
func (l *link) roundTrip(ctx context.Context, w *waiter, frame []byte) (answer, error) {
	if err := l.send(ctx, frame); err != nil {
		l.forget(w)
		return answer{}, err
	}
	return l.wait(ctx, w)
}

// wait returns the answer to w after the handlers of all earlier notifications have returned; see
// dispatcher.settle. If ctx ends first, it removes w.
func (l *link) wait(ctx context.Context, w *waiter) (answer, error) {
	var got answer
	select {
	case got = <-w.answer:
	case <-ctx.Done():
		l.forget(w)
		select {
		case got = <-w.answer: // the answer had already arrived
		default:
			return answer{}, endOf(ctx)
		}
	}
	if got.err != nil {
		return answer{}, got.err
	}
	return got, l.dispatch.settle(ctx, w, got.settled)
}

// fail ends all running and future calls with err. Only the first error counts.
func (l *link) fail(err error) {
	l.mu.Lock()
	if l.err == nil {
		if errors.Is(err, errLost) && l.reason != nil && time.Since(l.explained) <= linger {
			err = l.reason
		}
		l.err = err
		close(l.lost)
	}
	err = l.err
	l.mu.Unlock()
	l.failPending(err)
}

// failPending ends all calls in flight with err, and leaves the link open. While the link is open,
// acknowledged listen streams continue, because no answer to them is due.
func (l *link) failPending(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, w := range l.pending {
		if l.err == nil && w.watching {
			continue
		}
		w.answer <- answer{err: err}
		delete(l.pending, key)
	}
	for _, w := range l.anonymous {
		if w.id.IsZero() {
			w.answer <- answer{err: err}
		}
	}
	l.anonymous = nil
}

// failure returns why nothing can be sent any more, or nil while the link is open.
func (l *link) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// close closes the connection and waits for all goroutines. It may be called several times.
//
// Functions that spawn has started may still use the connection after conn.Close, and get errors.
// Handlers must not call close, because it waits for them.
func (l *link) close() error {
	l.fail(ErrClosed)
	l.closing.Do(func() {
		close(l.dispatch.stopped)
		l.closed = l.conn.Close()
	})
	l.cancel()
	l.join()
	return l.closed
}
