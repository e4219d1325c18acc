package boltstore

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// mostTogether is the maximum number of writes that share a commit.
const mostTogether = 256

// file is a bbolt file. Its writers share commits. At most one writer leads (led): it commits the
// waiting writes, while the next ones gather in waiting. Then it makes the first of them the
// leader, or clears led. mu guards this hand-over and is not held during a commit.
//
// A single writer therefore never waits for others, as it would in bbolt's own Batch. Many writers
// share the disk's time, and there is no goroutine to end.
//
// writers counts the writers from before they queue until their commit, so that close can wait for
// them. close sets fault first, under mu. Every writer reads fault under mu before it counts
// itself. No writer is therefore added while close waits. db, moved and broken do not change after
// Open.
type file struct {
	db     *bbolt.DB
	moved  func([]move) // called in the order of commits with the moves of each write; may be nil
	broken func()       // called under mu when writing becomes impossible before close; may be nil

	writers sync.WaitGroup
	mu      sync.Mutex // guards all below
	waiting []*write
	led     bool
	fault   error // reason why all writes fail; nil if writing is possible
}

// write is one waiting writer. The changes that run has made are committed even if run returns an
// error, which only its caller receives. Therefore run must check first and write afterwards. It
// may be called twice, in different transactions.
//
// Its writer owns it until it is in waiting; then the leader owns run, moves and err, until it
// sends to turn. The channel has room for that one value, so the leader does not wait. The writer
// reads err only after it has received, or has led itself.
type write struct {
	run   func(t *txn) error
	moves []move
	err   error
	lead  chan bool // true if this writer must lead; false if its write is done
}

// write runs run in a transaction and returns after the commit. It has no context, because a commit
// cannot be interrupted.
//
// It must not be called inside a transaction. The error of run is returned as it is. After another
// error nothing was stored.
func (f *file) write(run func(t *txn) error) error {
	w := &write{run: run, lead: make(chan bool, 1)}
	f.mu.Lock()
	if err := f.fault; err != nil {
		f.mu.Unlock()
		return err
	}
	f.writers.Add(1)
	defer f.writers.Done()
	f.waiting = append(f.waiting, w)
	first := !f.led
	f.led = true
	f.mu.Unlock()
	if first || <-w.lead {
		f.lead()
	}
	return w.err
}

// lead commits the waiting writes. The first one is the caller's own. Then it makes the first
// writer that has arrived meanwhile the leader.
//
// Only one goroutine at a time is in lead: the one whose turn it is. mu is released during the
// commit, so that other writers can queue. lead hands over at most once, to a writer that waits in
// write.
func (f *file) lead() {
	f.mu.Lock()
	n := min(len(f.waiting), mostTogether)
	together := f.waiting[:n:n]
	f.waiting = f.waiting[n:]
	f.mu.Unlock()

	f.commit(together)
	for _, w := range together {
		w.lead <- false
	}

	f.mu.Lock()
	defer f.mu.Unlock()
	clear(together) // the written data may be large, and f.waiting has the same array
	if f.led = len(f.waiting) > 0; f.led {
		f.waiting[0].lead <- true
	}
}

// commit tries all writes in one transaction. If that fails, it commits them one after the other,
// so that no write fails because of another.
//
// Each of the writes has its err set when commit returns.
func (f *file) commit(together []*write) {
	err := f.try(together)
	if err == nil {
		return
	}
	for _, w := range together {
		if len(together) > 1 {
			err = f.try([]*write{w})
		}
		if err != nil {
			w.err = err
		}
	}
}

// try commits all of the writes or none.
//
// Only the leader calls it. moved runs after the commit and without a lock of the file; the next
// commit begins after it has returned.
func (f *file) try(together []*write) error {
	f.mu.Lock()
	err := f.fault
	f.mu.Unlock()
	if err != nil && !errors.Is(err, ErrClosed) { // writers that came before Close are served
		return err
	}
	if err := f.transact(together); err != nil {
		return err
	}
	if f.moved == nil {
		return nil
	}
	for _, w := range together {
		f.moved(w.moves)
	}
	return nil
}

// transact runs the writes in one transaction and commits it, unless they have changed nothing. A
// panic rolls back and makes all later writes fail. The err and moves of the writes count only if
// transact returns nil.
func (f *file) transact(together []*write) (err error) {
	tx, err := f.db.Begin(true)
	if err != nil {
		return fault("beginning to write", err)
	}
	defer func() {
		if r := recover(); r != nil {
			err = damaged(r)
			f.fail(err)
			rollback(tx)
		}
	}()
	t := &txn{tx: tx}
	for _, w := range together {
		t.now, t.moves = time.Now().UnixNano(), nil
		w.err = w.run(t)
		w.moves = t.moves
		if t.err != nil {
			rollback(tx)
			return fault("writing", t.err)
		}
	}
	if !t.wrote {
		rollback(tx)
		return nil
	}
	return f.end(tx)
}

// end commits. The commit may fail after bbolt has written the last page, because the page could
// not be synced; bbolt continues nevertheless. The content of the disk is then unknown, so this
// process must not write any more.
//
// It may take f.mu while bbolt's lock is free: Commit and rollback have released it.
func (f *file) end(tx *bbolt.Tx) error {
	id := tx.ID()
	err := tx.Commit()
	if err == nil {
		return nil
	}
	err = fault("committing", err)
	rollback(tx)
	_ = f.db.View(func(now *bbolt.Tx) error {
		if now.ID() >= id {
			f.fail(fmt.Errorf("boltstore: the file must be opened again: %w", err))
		}
		return nil
	})
	return err
}

// rollback rolls tx back. It ignores failures, because the changes were never committed.
func rollback(tx *bbolt.Tx) {
	defer func() { _ = recover() }() // the damage was reported before
	_ = tx.Rollback()
}

// fail sets the reason why all writes fail. The first reason stays.
//
// It may be called inside a transaction. Writes that are already in waiting fail, too, unless err
// is ErrClosed.
func (f *file) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault != nil {
		return
	}
	f.fault = err
	if f.broken != nil && !errors.Is(err, ErrClosed) {
		f.broken()
	}
}

// view runs read on the last committed state.
//
// read must not write, and must copy what it returns. view does not wait for writers. Its error is
// the error of read, or ErrClosed, or ErrDamaged after a panic.
func (f *file) view(read func(t *txn) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = damaged(r)
		}
	}()
	var refused error
	err = f.db.View(func(tx *bbolt.Tx) error {
		refused = read(&txn{tx: tx, now: time.Now().UnixNano()})
		return nil
	})
	if err != nil {
		return fault("reading", err)
	}
	return refused
}

// close makes further writes fail, waits for readers and writers, and closes the file.
//
// It may be called more than once.
func (f *file) close() error {
	f.fail(ErrClosed)
	f.writers.Wait()
	if err := f.db.Close(); err != nil {
		return fmt.Errorf("boltstore: closing: %w", err)
	}
	return nil
}

// fault returns the package's error for an error of bbolt. doing is the operation that failed.
func fault(doing string, err error) error {
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	return fmt.Errorf("boltstore: %s: %w", doing, err)
}

// damaged returns the error for a panic of bbolt. bbolt panics if a page is malformed.
func damaged(r any) error {
	return fmt.Errorf("%w: %v", ErrDamaged, r)
}
