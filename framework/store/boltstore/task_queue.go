package boltstore

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// taskQueue has all working tasks: those that wait for a worker and those leased to one. The
// file records which tasks are working, and which have been taken. The order and the leases are
// only in memory, because workers end with the process.
//
// Commits call apply in their order, which moves entries between waiting and leased. Between a
// commit and its apply, the queue may contain a task that is not working any more; Take therefore
// checks the file. next removes an entry from both lists, until a commit leases it or giveBack puts
// it in front again.
//
// mu guards everything but ready, which has room for one signal. Functions that say "the caller
// holds mu", and enter, wait, tell, forget and the methods of queueEntry, are used under mu only. mu is
// never held during a transaction that begins under it. Only the leader of the main file calls
// apply.
type taskQueue struct {
	life time.Duration
	// ready has an element when a task can be taken and no waiting Take has been woken for it.
	ready chan struct{}

	mu      sync.Mutex // guards all below
	entries map[string]*queueEntry
	waiting list.List // elements are *queueEntry; the task that has waited longest is first
	leased  list.List // elements are *queueEntry; the lease that ends first is first, because all have the same life
}

// queueEntry is one task's entry in the queue. It is in waiting or in leased; while a worker takes the
// task, it is in neither.
//
// taskQueue owns it. next gives it to the Take that leases it, as a reservation: no other Take gets the
// task. The reservation ends with apply (taken or leaves) or with giveBack. Take reads only its id
// without mu.
type queueEntry struct {
	id    string
	token string    // token of the lease, kept after its end until another worker takes the task
	end   time.Time // end of the lease
	list  *list.List
	at    *list.Element
}

// move is the effect of a commit on the queue. A transaction records it, and taskQueue.apply carries it
// out after the commit.
//
// It is a value. The transaction that noted it owns it until the commit.
type move struct {
	kind  moveKind
	id    string
	token string
}

type moveKind int

const (
	comes  moveKind = iota // the task is working now
	leaves                 // the task is not working any more
	taken                  // the task was leased under token
	back                   // the task was given back by the holder of token
)

func newTaskQueue(life time.Duration) *taskQueue {
	return &taskQueue{life: life, ready: make(chan struct{}, 1), entries: make(map[string]*queueEntry)}
}

// apply changes the queue after a commit. It must be called in the order of commits.
//
// It must not be called before the commit, which may fail.
func (l *taskQueue) apply(moves []move) {
	if len(moves) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range moves {
		p := l.entries[m.id]
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

// enter returns the task's entry. If there is none, it creates one.
func (l *taskQueue) enter(id string) *queueEntry {
	p := l.entries[id]
	if p == nil {
		p = &queueEntry{id: id}
		l.entries[id] = p
	}
	return p
}

// wait puts the task at the end of the waiting tasks.
func (l *taskQueue) wait(p *queueEntry) {
	p.put(&l.waiting)
	l.tell()
}

// tell wakes one waiting Take.
func (l *taskQueue) tell() {
	select {
	case l.ready <- struct{}{}:
	default: // one is awake already
	}
}

// passOn wakes another Take if tasks wait. A Take that leaves without a task calls it, because the
// signal that it has taken may have been the only one.
func (l *taskQueue) passOn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting.Len() > 0 {
		l.tell()
	}
}

func (p *queueEntry) put(in *list.List) {
	p.remove()
	p.list, p.at = in, in.PushBack(p)
}

func (p *queueEntry) remove() {
	if p.list != nil {
		p.list.Remove(p.at)
		p.list, p.at = nil, nil
	}
}

// forget removes a task from the queue. p may be nil.
func (l *taskQueue) forget(p *queueEntry) {
	if p != nil {
		p.remove()
		delete(l.entries, p.id)
	}
}

// next returns the task that has waited longest. The caller must lease it or give it back. If no
// task waits, next returns how long that remains so without further commits.
//
// If more tasks wait, it wakes the next Take, because one signal may stand for several tasks.
func (l *taskQueue) next() (p *queueEntry, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if wait = l.lapse(); wait == 0 {
		wait = l.life
	}
	first := l.waiting.Front()
	if first == nil {
		return nil, wait
	}
	p = first.Value.(*queueEntry)
	p.remove()
	p.token = ""
	if l.waiting.Len() > 0 {
		l.tell()
	}
	return p, 0
}

// lapse moves tasks whose lease has expired to the waiting tasks. It returns the time until the
// next lease ends, or 0 without leases. The caller holds mu.
func (l *taskQueue) lapse() time.Duration {
	now := time.Now()
	for {
		first := l.leased.Front()
		if first == nil {
			return 0
		}
		p := first.Value.(*queueEntry)
		if left := p.end.Sub(now); left > 0 {
			return left
		}
		p.put(&l.waiting)
	}
}

// giveBack puts a task that could not be leased in front again, unless it is in a list by now.
//
// A commit may have moved the task meanwhile. Its entry then stays where it is.
func (l *taskQueue) giveBack(p *queueEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.entries[p.id] == p && p.list == nil {
		p.list, p.at = &l.waiting, l.waiting.PushFront(p)
		l.tell()
	}
}

// holds reports whether token is the latest lease of the task.
//
// The answer may be out of date when holds returns. apply therefore compares the token again.
func (l *taskQueue) holds(id, token string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.entries[id]
	return p != nil && token != "" && p.token == token
}

// renew restarts the life of a lease. If the lease has expired but no other worker has taken the
// task, renew also succeeds, because the worker has lost nothing.
func (l *taskQueue) renew(id, token string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.entries[id]
	if p == nil || token == "" || p.token != token {
		return false
	}
	p.end = time.Now().Add(l.life)
	p.put(&l.leased)
	return true
}

// await returns when there may be a task, after d at the latest. d is at most the life of a lease,
// so that a lease that begins meanwhile cannot expire unnoticed.
func (l *taskQueue) await(ctx context.Context, d time.Duration, closed <-chan struct{}) error {
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
