package streamable

import (
	"context"

	"github.com/kagami-mcp/kagami/transport/internal/guarded"
)

// Taker is a carrier that can take a connection over while the goroutine that reads it is still in
// Visit.Serve. That goroutine then runs handlers itself, since waking another one costs more than a
// small call (ADR 20).
type Taker interface {
	// Take carries s as the response of the request. It is called at most once, while Serve runs,
	// which then returns a Reply that is Taken; where the handler has ended its goroutine
	// (runtime.Goexit), Serve does not return.
	Take(ctx context.Context, s *Stream)
}

// direct serves the exchange in the calling goroutine. If the exchange sends something before its
// answer, takes longer than Config.Patience, or ends the goroutine, the Taker takes the connection.
func (x *postedExchange) direct() *Reply {
	e, st := x.v.e, &x.stream
	st.direct = x
	w := e.waiting.add(x)
	returned := false
	defer func() {
		e.waiting.remove(w)
		if !returned {
			x.deserted()
		}
		if st.taken != nil {
			e.running.End() // see giveAway
		}
	}()
	x.serve()
	returned = true
	if reply := st.whole(); reply != nil {
		return reply.with(x.issued())
	}
	<-st.taken
	return &Reply{Taken: true}
}

// overdue is called when the exchange has kept its goroutine for Config.Patience.
func (x *postedExchange) overdue() {
	x.stream.mu.Lock()
	defer x.stream.mu.Unlock()
	x.stream.giveAway()
}

// deserted is called when the handler has ended the goroutine. The carrier has lost it, so that no
// other handler may do the same: from now on they get goroutines of their own.
func (x *postedExchange) deserted() {
	x.v.e.apart.Store(true)
	x.v.e.running.Join() // Visit.Serve, which is ending, counts one out, and so does the stream
	x.overdue()
	<-x.stream.taken
}

// giveAway has the Taker take the connection, if the exchange is served by the goroutine that read
// it, and still may answer there. The caller holds st.mu, which is unlocked meanwhile.
func (st *stream) giveAway() {
	x := st.direct
	if x == nil {
		return
	}
	st.direct, st.lender, st.taken = nil, nil, make(chan struct{})
	x.v.e.running.Join() // Visit.Serve leaves counting out to the stream, which may be over before the exchange is
	st.mu.Unlock()
	defer st.mu.Lock()
	x.give()
}

func (x *postedExchange) give() {
	defer close(x.stream.taken)
	defer guarded.Recover()
	x.v.r.Taker.Take(context.WithoutCancel(x.v.ctx), x.v.open(&Stream{st: &x.stream}, &x.posting).Stream)
}
