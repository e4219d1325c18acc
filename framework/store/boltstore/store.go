package boltstore

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"go.etcd.io/bbolt"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// Errors of this package, possibly wrapped.
var (
	// ErrInUse is returned if the file is already open, in another process or in this one.
	ErrInUse = errors.New("boltstore: in use by another process")
	// ErrDamaged is returned if the file does not contain the data that was written. Restore a
	// backup.
	ErrDamaged = errors.New("boltstore: the file is damaged")
	// ErrNewer is returned if a later version of the program has written the file.
	ErrNewer = errors.New("boltstore: the file has a newer format")
	// ErrClosed is returned by methods of a closed store.
	ErrClosed = errors.New("boltstore: closed")
	// ErrFull is returned if there is no space for a task and no other task may be evicted. The
	// error also matches task.ErrFull. For sessions and claims, the errors are session.ErrFull and
	// claim.ErrFull.
	ErrFull = errors.New("boltstore: no space")
)

// Store holds the state of a server in a file. Open returns one. A Store is safe for concurrent
// use.
type Store struct {
	main     *file
	logged   *file // the events
	sessions sessions
	tasks    tasks
	events   events
	claims   claims
	changes  change.Bus

	failed  chan struct{} // closed when a file takes no more writes
	closing chan struct{}
	close   func() error // once
}

// Open opens the store in the file at path, or creates the file. The events of streams are in a
// second file, named path plus ".events". Open deletes expired items, and puts each working task
// into the queue again.
//
// The error matches [ErrInUse], [ErrDamaged] or [ErrNewer], or is an error of the operating system. If
// another program has written the file, Open returns another error and does not change the file. The
// caller closes the store.
func Open(path string, opts ...Option) (*Store, error) {
	set := settle(opts)
	main, err := openFile(path, mainKind(), set.lockWait, true)
	if err != nil {
		return nil, err
	}
	logged, err := openEvents(main, path+".events", set)
	if err != nil {
		return nil, errors.Join(err, main.close())
	}
	s := newStore(main, logged, set)
	if err := s.recover(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// newStore makes a store of two open files and owns them. It sets moved before the first write that
// has moves. It sets broken before the first write that Open does not wait for.
func newStore(main, logged *file, set *settings) *Store {
	line := newTaskQueue(set.LeaseLife)
	main.moved = line.apply
	s := &Store{main: main, logged: logged, changes: memory.New().Changes(), failed: make(chan struct{}), closing: make(chan struct{})}
	main.broken = sync.OnceFunc(func() { close(s.failed) })
	logged.broken = main.broken
	s.sessions = sessions{table{main, sessionsName, set.SessionRecords, set.SessionBytes, session.ErrFull, 0}, rand.Text()}
	spare := set.ClaimBytes / 4 // for the marks that prevent an action from happening twice
	s.claims = claims{table{main, claimsName, set.ClaimEntries, set.ClaimBytes, claim.ErrFull, spare}}
	s.tasks = tasks{file: main, queue: line, most: taskBounds{set.TaskRecords, set.TaskBytes}, closed: s.closing}
	s.events = events{logged, set}
	s.close = sync.OnceValue(func() error {
		close(s.closing)
		return errors.Join(closeEvents(main, logged), main.close())
	})
	return s
}

// Sessions returns the store for sessions, which is also a session.Exclusive. When the store is
// full, it refuses new sessions.
func (s *Store) Sessions() session.Store { return &s.sessions }

// Tasks returns the store for tasks, which is also a task.Queue. When the store is full, it evicts
// ended tasks. It chooses the owner with the most of them, by number and bytes, and evicts the task
// that ended first. If a new or growing task does not fit even then, it is refused with [ErrFull].
// The same applies to a task beyond its owner's quota: see TaskBytes of [memory.Bounds].
//
// A list can continue after a removed task as long as the store remembers the task's position. It
// remembers the last removed tasks, an eighth as many as TaskRecords.
func (s *Store) Tasks() task.Store { return &s.tasks }

// Events returns the store for events. A stream that exceeds its bounds loses its oldest events.
// Events have no lifetime: they stay until the store is full.
//
// When all streams together are too large, one stream loses all of its events. Streams are grouped
// into size classes that end at the powers of four (1 KiB, 4 KiB, 16 KiB and so on), bookkeeping
// included. In the class that uses the most space, the stream whose newest event is the oldest
// loses its events. Large streams therefore displace each other. While the streams of a class take
// less than a sixteenth of TotalBytes together, they keep their events whatever other streams do.
//
// A stream that takes more than any other class loses its events first, even if it has just
// received one. The store remembers the number of a stream that lost its events. The oldest of
// these streams are forgotten when they take more than an eighth of TotalBytes.
func (s *Store) Events() eventlog.Store { return &s.events }

// Changes returns the bus for changes. It is in memory, because no other process uses the store.
func (s *Store) Changes() change.Bus { return s.changes }

// Claims returns the store for claims. When the store is full, it refuses new claims. A claim can
// always be renewed, or replaced by a value that is not longer.
func (s *Store) Claims() claim.Store { return &s.claims }

// Failed returns a channel that is closed when all writes to one of the files will fail until the
// store is opened again. Serve of a server with this store then returns an error, so that the program
// can be started again. A program without Serve, which mounts its server, must wait for the channel itself.
// Close does not close the channel.
func (s *Store) Failed() <-chan struct{} { return s.failed }

// Backup writes a copy of the file to w, as of one moment and without the events. It first copies the
// file within its directory, so that other operations do not wait for w, and removes that copy at the
// end. The directory needs the space.
func (s *Store) Backup(w io.Writer) error {
	var spool *os.File
	err := s.main.db.View(func(tx *bbolt.Tx) (err error) {
		if spool, err = os.CreateTemp(filepath.Dir(tx.DB().Path()), "backup-*"); err != nil {
			return err
		}
		_, err = tx.WriteTo(spool)
		return err
	})
	if spool != nil {
		defer func() { _, _ = spool.Close(), os.Remove(spool.Name()) }()
	}
	if err == nil {
		_, err = spool.Seek(0, io.SeekStart)
	}
	if err == nil {
		_, err = io.Copy(w, spool)
	}
	if err != nil {
		return fault("copying", err)
	}
	return nil
}

// Close waits for operations that have begun, and ends those that wait for a task. Later operations
// return [ErrClosed]. Close can be called again and then returns the same error.
func (s *Store) Close() error { return s.close() }

// atOnce is the maximum number of expired rows that one transaction drops when the store is opened.
const atOnce = 1000

// recover drops expired items and puts the working tasks into the queue.
//
// It runs before Open returns the store, in one goroutine.
func (s *Store) recover() error {
	for _, dropSome := range []func() (more bool, err error){s.sessions.table.sweep, s.claims.table.sweep, s.tasks.sweep} {
		for more := true; more; {
			var err error
			if more, err = dropSome(); err != nil {
				return err
			}
		}
	}
	return s.tasks.enqueueWorking()
}

func (tb *table) sweep() (more bool, err error) {
	err = tb.write(func(r *rows) error {
		more = sweep(atOnce, r.dropExpired)
		return nil
	})
	return more, err
}

func (s *tasks) sweep() (more bool, err error) {
	err = s.write(func(x *taskRows) error {
		more = sweep(atOnce, x.dropExpired)
		return nil
	})
	return more, err
}
