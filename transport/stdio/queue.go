package stdio

import (
	"sync"

	"github.com/kagami-mcp/kagami/transport"
)

// queue bounds the calls that run at the same time. Further calls wait in the order of arrival.
// Answers, notifications and subscriptions are not calls: they neither wait nor count.
//
// Only the leader calls full and enter, so enter does not fail if full has returned false before.
type queue struct {
	most int

	mu      sync.Mutex // guards the fields below
	running int
	waiting []acceptedFrame
}

// isCall reports whether the exchange is a call. An exchange without a plan counts as one.
func isCall(exchange transport.Exchange) bool {
	planned, ok := exchange.(transport.Planned)
	if !ok {
		return true
	}
	plan := planned.Plan()
	return plan.Answered && !plan.LongLived
}

// full reports whether a call would have to wait.
func (q *queue) full() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running >= q.most
}

// enter counts a call that may run now. If the call has to wait, enter keeps it for leave, and returns
// false.
func (q *queue) enter(call acceptedFrame) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running >= q.most {
		q.waiting = append(q.waiting, call)
		return false
	}
	q.running++
	return true
}

// leave must be called when a call has ended. It returns the call to run in its place, if one waits.
func (q *queue) leave() (next acceptedFrame, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.waiting = nil
		q.running--
		return acceptedFrame{}, false
	}
	next, q.waiting[0] = q.waiting[0], acceptedFrame{}
	q.waiting = q.waiting[1:]
	return next, true
}
