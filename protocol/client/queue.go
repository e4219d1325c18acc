package client

import (
	"context"
	"slices"
	"sync"
)

// OneByOne passes the server's questions to the handlers one after another, in the order of
// arrival. It is for handlers that ask a person, or that use prepared answers. Without it, each
// question is handled at once, in a goroutine of its own. A handler must not make a call if
// the server asks something in it, because that question would wait for the handler.
func OneByOne() Option { return optionFunc(func(c *config) { c.oneByOne = true }) }

// queue holds the places of the open questions, in the order of arrival. With OneByOne, each
// question gets a place when it arrives (Client.place). It waits until the place is the first
// (inTurn), and leaves the queue when its handler has returned (leave).
//
// The reader adds the places of requests of the server, and callers add the places of questions
// in results. first is closed under mu, by call alone, so it is closed once. A place that was never
// left blocks all later ones: who gets a place must call leave, also if the handler ends its
// goroutine.
type queue struct {
	mu     sync.Mutex // guards the fields below
	places []*place
	last   uint64 // number of the last question
}

// place is the position of one question in the queue.
type place struct {
	queue  *queue
	number uint64
	first  chan struct{} // closed when all earlier questions are over; nil if the question need not wait
}

// place returns a place at the end of the queue. It is called in the order of the questions. Without
// OneByOne the place has a number, and is not in the queue.
func (c *Client) place() *place {
	q := &c.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last++
	p := &place{queue: q, number: q.last}
	if c.config.oneByOne {
		p.first = make(chan struct{})
		q.places = append(q.places, p)
		q.call()
	}
	return p
}

// QuestionNumber returns the number of a question of the server. ctx is the context of its handler,
// such as one of OnElicit. The first question of a connection has number 1, the next one that the
// server asks number 2. Handlers run concurrently and may begin in any order. With the number a
// program can show the questions in the order of the server. It is 0 for other contexts.
func QuestionNumber(ctx context.Context) uint64 {
	p := placeOf(ctx)
	if p == nil {
		return 0
	}
	return p.number
}

// call wakes the first question. The caller holds q.mu.
func (q *queue) call() {
	if len(q.places) == 0 {
		return
	}
	select {
	case <-q.places[0].first:
	default:
		close(q.places[0].first)
	}
}

// leave removes the place and wakes the next question. The place need not be the first one.
func (p *place) leave() {
	if p == nil || p.first == nil {
		return
	}
	p.queue.mu.Lock()
	defer p.queue.mu.Unlock()
	p.queue.places = slices.DeleteFunc(p.queue.places, func(other *place) bool { return other == p })
	p.queue.call()
}

type placeKey struct{}

// at returns a context with the place, for the handler of its question.
func (p *place) at(ctx context.Context) context.Context {
	if p == nil {
		return ctx
	}
	return context.WithValue(ctx, placeKey{}, p)
}

func placeOf(ctx context.Context) *place {
	p, _ := ctx.Value(placeKey{}).(*place)
	return p
}

// inTurn waits until all earlier questions are over, or ctx ends.
func inTurn(ctx context.Context) error {
	p := placeOf(ctx)
	if p == nil || p.first == nil {
		return nil
	}
	select {
	case <-p.first:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
