package boltstore

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// mostTogether is how many writes share a commit at most: nobody waits for more.
const mostTogether = 256

// file is a bbolt file whose writers share commits: one of those who wait leads, and
// commits for all that are there, while the next ones gather. So a writer alone waits
// for nobody (bbolt's own Batch lets it wait in the hope of others), many share the
// disk's time, and there is no goroutine to end.
type file struct {
	db    *bbolt.DB
	moved func([]move) // told what a commit means for the line; nil: nobody

	writers sync.WaitGroup
	mu      sync.Mutex // guards all below
	waiting []*write
	led     bool
	fault   error // why there are no writes any more
}

// write is one of those who wait. What run does to the transaction stays even if it
// gives an error, which is its caller's only: so it must look first and write then. It
// may be run twice, in different transactions.
type write struct {
	run   func(t *txn) error
	moves []move
	err   error
	turn  chan bool // true: lead; false: it is done
}

// write returns when run is committed. The disk is not to be hurried: no context.
func (f *file) write(run func(t *txn) error) error {
	w := &write{run: run, turn: make(chan bool, 1)}
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
	if first || <-w.turn {
		f.lead()
	}
	return w.err
}

// lead commits what waits, of which the first is the caller's own, and lets the first
// that came meanwhile lead.
func (f *file) lead() {
	f.mu.Lock()
	n := min(len(f.waiting), mostTogether)
	together := f.waiting[:n:n]
	f.waiting = f.waiting[n:]
	f.mu.Unlock()

	f.commit(together)
	for _, w := range together {
		w.turn <- false
	}

	f.mu.Lock()
	defer f.mu.Unlock()
	clear(together) // what they wrote may be large, and f.waiting has the same array
	if f.led = len(f.waiting) > 0; f.led {
		f.waiting[0].turn <- true
	}
}

// commit tries all together; if that fails, one after the other, so that none fails for
// another's sake.
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

// try has the writes all done, or none.
func (f *file) try(together []*write) error {
	f.mu.Lock()
	err := f.fault
	f.mu.Unlock()
	if err != nil && !errors.Is(err, ErrClosed) { // those who came before Close are served
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

// end commits. If that fails, and bbolt goes on from what has failed all the same (the
// last page was written and could not be synced), nobody knows what is on the disk:
// then this process must not write any more.
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

// rollback does what it can.
func rollback(tx *bbolt.Tx) {
	defer func() { _ = recover() }() // what is damaged was told before
	_ = tx.Rollback()
}

// fail says why there are no writes any more. The first reason stays.
func (f *file) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault == nil {
		f.fault = err
	}
}

// view reads a state that was committed.
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

// close waits for those who write and read.
func (f *file) close() error {
	f.fail(ErrClosed)
	f.writers.Wait()
	if err := f.db.Close(); err != nil {
		return fmt.Errorf("boltstore: closing: %w", err)
	}
	return nil
}

// fault is an error of bbolt's as ours.
func fault(doing string, err error) error {
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	return fmt.Errorf("boltstore: %s: %w", doing, err)
}

// damaged is what bbolt panics with where a page is not what it should be.
func damaged(r any) error {
	return fmt.Errorf("%w: %v", ErrDamaged, r)
}
