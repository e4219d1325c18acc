package streamable

import "context"

// Hijacker is a carrier that can hijack a connection while the goroutine that reads the connection
// is still in PendingRequest.Serve. That goroutine can then run handlers itself. Waking another
// goroutine costs more than a small call (ADR 39).
type Hijacker interface {
	// Hijack makes s the response of the request. It is called at most once, while Serve runs. Serve
	// then returns a Reply that is Hijacked. If the handler has ended its goroutine
	// (runtime.Goexit), Serve does not return.
	Hijack(ctx context.Context, s *Stream)
}

// inline serves the exchange in the calling goroutine. If the exchange sends something before its
// answer, takes longer than Config.StreamDelay, or ends the goroutine, the Hijacker hijacks the
// connection.
//
// While the exchange runs, three goroutines may want the connection: this one with the answer, a
// handler that sends first, and the timer. stream.mu decides: giveAway takes st.inline, and whole
// clears it. The second of them does nothing. hijacked is closed when the carrier has the
// connection, and inline does not return before.
func (x *postedExchange) inline() *Reply {
	e, st := x.v.e, &x.stream
	st.inline = x
	w := e.timers.add(x)
	returned := false
	defer func() {
		e.timers.remove(w)
		if !returned {
			x.deserted()
		}
		if st.hijacked != nil {
			e.running.Done() // see giveAway
		}
	}()
	x.serve()
	returned = true
	if reply := st.whole(); reply != nil {
		return reply.with(x.issued())
	}
	<-st.hijacked
	return &Reply{Hijacked: true}
}

// overdue is called when the exchange has kept its goroutine for Config.StreamDelay.
//
// The timer calls it in a goroutine of its own. It may run after the exchange has ended, and then
// does nothing.
func (x *postedExchange) overdue() {
	x.stream.mu.Lock()
	defer x.stream.mu.Unlock()
	x.stream.giveAway()
}

// deserted is called when the handler has ended the goroutine (runtime.Goexit). The connection must
// have another owner before the goroutine is gone.
func (x *postedExchange) deserted() {
	x.v.e.running.Add() // PendingRequest.Serve, which is ending, calls Done once, and so does the stream
	x.overdue()
	<-x.stream.hijacked
}

// giveAway lets the Hijacker hijack the connection, if the goroutine that reads the connection
// serves the exchange and may still answer there. The caller holds st.mu, which is unlocked during
// the hijack.
//
// It may be called more than once; only the first call hijacks. While st.mu is unlocked, the
// exchange may send or end.
func (st *stream) giveAway() {
	x := st.inline
	if x == nil {
		return
	}
	st.inline, st.buffers, st.hijacked = nil, nil, make(chan struct{})
	x.v.e.running.Add() // the stream calls Done instead of PendingRequest.Serve, and may be over before the exchange
	st.mu.Unlock()
	defer st.mu.Lock()
	x.give()
}

// give calls the Hijacker, which takes the connection over in its own way. It closes hijacked in
// any case, so that inline does not wait forever.
func (x *postedExchange) give() {
	defer close(x.stream.hijacked)
	defer x.v.e.log.Recover()
	x.v.r.Hijacker.Hijack(context.WithoutCancel(x.v.ctx), x.v.open(&Stream{st: &x.stream}, &x.posting).Stream)
}
