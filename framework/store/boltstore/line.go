package boltstore

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// line is the tasks that are working: those in line and those that are leased. The file
// says which there are, and who was taken before; where they stand, and whose they are,
// is only here, for with the process its workers are gone, too.
//
// It is told of each commit, in their order. Between a commit and that it may have a task
// that does not work any more: who takes looks into the file.
type line struct {
	life time.Duration
	// ready holds something whenever a task is in line and nobody has been told yet.
	ready chan struct{}

	mu      sync.Mutex // guards all below
	places  map[string]*place
	waiting list.List // of *place; that waited longest in front
	leased  list.List // of *place; whose lease runs out first in front: all have the same life
}

// place of a task. It is in one of the lists, or in none while it is being taken.
type place struct {
	id    string
	token string    // of the lease; it outlives that until somebody else takes the task
	end   time.Time // of the lease
	list  *list.List
	at    *list.Element
}

// move is what a commit means for the line.
type move struct {
	kind  moveKind
	id    string
	token string
}

type moveKind int

const (
	comes  moveKind = iota // is working now
	leaves                 // is not any more
	taken                  // by token
	back                   // from token
)

func newLine(life time.Duration) *line {
	return &line{life: life, ready: make(chan struct{}, 1), places: make(map[string]*place)}
}

// apply is called in the order of commits.
func (l *line) apply(moves []move) {
	if len(moves) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range moves {
		p := l.places[m.id]
		switch {
		case m.kind == leaves:
			l.forget(p)
		case m.kind == taken:
			p = l.enter(m.id)
			p.token, p.end = m.token, time.Now().Add(l.life)
			p.put(&l.leased)
		case m.kind == comes:
			l.wait(l.enter(m.id))
		case p != nil && p.token == m.token:
			p.token = ""
			l.wait(p)
		}
	}
}

// enter gives a task its place.
func (l *line) enter(id string) *place {
	p := l.places[id]
	if p == nil {
		p = &place{id: id}
		l.places[id] = p
	}
	return p
}

// wait puts it at the end.
func (l *line) wait(p *place) {
	p.put(&l.waiting)
	l.tell()
}

// tell one of those who wait for a task.
func (l *line) tell() {
	select {
	case l.ready <- struct{}{}:
	default: // they are told
	}
}

func (p *place) put(in *list.List) {
	p.remove()
	p.list, p.at = in, in.PushBack(p)
}

func (p *place) remove() {
	if p.list != nil {
		p.list.Remove(p.at)
		p.list, p.at = nil, nil
	}
}

func (l *line) forget(p *place) {
	if p != nil {
		p.remove()
		delete(l.places, p.id)
	}
}

// next is the task that waited longest, to be leased or given back, or how long there
// will be none if nothing happens.
func (l *line) next() (p *place, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if wait = l.lapse(); wait == 0 {
		wait = l.life
	}
	first := l.waiting.Front()
	if first == nil {
		return nil, wait
	}
	p = first.Value.(*place)
	p.remove()
	p.token = ""
	if l.waiting.Len() > 0 {
		l.tell()
	}
	return p, 0
}

// lapse puts those whose lease ran out in line, and says when the next does; 0: there is
// none.
func (l *line) lapse() time.Duration {
	now := time.Now()
	for {
		first := l.leased.Front()
		if first == nil {
			return 0
		}
		p := first.Value.(*place)
		if left := p.end.Sub(now); left > 0 {
			return left
		}
		p.put(&l.waiting)
	}
}

// giveBack puts what could not be leased where it was, unless it has another place.
func (l *line) giveBack(p *place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.places[p.id] == p && p.list == nil {
		p.list, p.at = &l.waiting, l.waiting.PushFront(p)
		l.tell()
	}
}

// holds says whether the lease is the task's last.
func (l *line) holds(id, token string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.places[id]
	return p != nil && token != "" && p.token == token
}

// renew lets the life of a lease begin anew, also of one that ran out if nobody else has
// taken the task since: its worker has lost nothing.
func (l *line) renew(id, token string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.places[id]
	if p == nil || token == "" || p.token != token {
		return false
	}
	p.end = time.Now().Add(l.life)
	p.put(&l.leased)
	return true
}

// await returns when there may be a task, after d at the latest. A task whose lease
// begins meanwhile is not given away before that: d is at most the life of a lease.
func (l *line) await(ctx context.Context, d time.Duration, closed <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-closed:
		return ErrClosed
	case <-l.ready:
	case <-timer.C:
	}
	return nil
}
