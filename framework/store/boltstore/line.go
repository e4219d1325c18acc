package boltstore

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// line is the queue of tasks that are working, those waiting for a worker as well as those
// leased to one. The file knows which tasks these are and which have been taken before. The
// order, and who holds a lease, are only in memory: when the process ends, so do its workers.
//
// It is told of each commit, in order. Between a commit and that call it may still have a task
// that is not working any more; so whoever takes a task looks into the file.
type line struct {
	life time.Duration
	// ready has an element whenever a task can be taken and no waiting Take has been told yet.
	ready chan struct{}

	mu      sync.Mutex // guards all below
	places  map[string]*place
	waiting list.List // of *place, the task that has waited longest in front
	leased  list.List // of *place, the lease that runs out first in front: all leases have the same life
}

// place is that of one task. It is in one of the lists, or in neither while the task is being
// taken.
type place struct {
	id    string
	token string    // of the lease, kept after its end until somebody else takes the task
	end   time.Time // when the lease runs out
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
	leaves                 // is not working any more
	taken                  // was leased to the holder of token
	back                   // was given back by the holder of token
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

// enter gives a task a place, unless it has one.
func (l *line) enter(id string) *place {
	p := l.places[id]
	if p == nil {
		p = &place{id: id}
		l.places[id] = p
	}
	return p
}

// wait puts the task at the end of those that wait.
func (l *line) wait(p *place) {
	p.put(&l.waiting)
	l.tell()
}

// tell wakes one waiting Take.
func (l *line) tell() {
	select {
	case l.ready <- struct{}{}:
	default: // one is awake already
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

// next is the task that has waited longest, which the caller must lease or give back. If there
// is none, it says for how long that remains so if nothing happens.
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

// lapse moves tasks whose lease has run out to those that wait, and says when the next lease
// runs out; 0: there is none.
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

// giveBack puts a task that could not be leased in front again, unless it has another place by
// now.
func (l *line) giveBack(p *place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.places[p.id] == p && p.list == nil {
		p.list, p.at = &l.waiting, l.waiting.PushFront(p)
		l.tell()
	}
}

// holds says whether this is the latest lease of the task.
func (l *line) holds(id, token string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.places[id]
	return p != nil && token != "" && p.token == token
}

// renew restarts the life of a lease, also if it has run out but nobody else has taken the task
// since: its worker has lost nothing.
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

// await returns when there may be a task, after d at the latest. d is at most the life of a
// lease, so a lease that begins meanwhile cannot run out unnoticed.
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
