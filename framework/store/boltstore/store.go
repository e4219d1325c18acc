package boltstore

import (
	"crypto/rand"
	"errors"
	"io"
	"sync"

	"go.etcd.io/bbolt"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// Sentinels, possibly wrapped.
var (
	// ErrInUse: another process has the file open, or this one has already.
	ErrInUse = errors.New("boltstore: in use by another process")
	// ErrDamaged: the file is not what was written. A copy from before helps.
	ErrDamaged = errors.New("boltstore: the file is damaged")
	// ErrNewer: a later version of this program has written the file.
	ErrNewer = errors.New("boltstore: the file is of a newer format")
	// ErrClosed: the store is closed.
	ErrClosed = errors.New("boltstore: closed")
	// ErrFull: there is no room for a task, and all the others are kept: somebody relies
	// on each of them. It comes with task.ErrFull. For sessions and claims there are
	// session.ErrFull and claim.ErrFull.
	ErrFull = errors.New("boltstore: no room")
)

// Store keeps what a server must remember in a file. Made by Open. Safe for concurrent
// use.
type Store struct {
	main     *file
	logged   *file // the events
	sessions sessions
	tasks    tasks
	events   events
	claims   claims
	changes  change.Bus

	closing chan struct{}
	close   func() error // once
}

// Open opens the store whose file is at path, or makes a new one if there is none; the
// events of streams are in a second file, named path plus ".events". It drops what has
// expired meanwhile, and puts each task that was working in line again.
//
// The error is [ErrInUse], [ErrDamaged], [ErrNewer], or one of the operating system. A file
// that this package has not written is left alone. The caller closes the store.
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

func newStore(main, logged *file, set *settings) *Store {
	line := newLine(set.leaseLife)
	main.moved = line.apply
	s := &Store{main: main, logged: logged, changes: memory.New().Changes(), closing: make(chan struct{})}
	s.sessions = sessions{main, newTable(sessionsName, set.sessionRecords, set.sessionBytes, session.ErrFull), rand.Text()}
	s.claims = claims{main, newTable(claimsName, set.claimEntries, set.claimBytes, claim.ErrFull)}
	s.claims.table.spare = set.claimBytes / 4 // for the marks by which nothing happens twice
	s.tasks = tasks{file: main, line: line, most: taskBounds{set.taskRecords, set.taskBytes}, closed: s.closing}
	s.events = events{logged, set}
	s.close = sync.OnceValue(func() error {
		close(s.closing)
		return errors.Join(closeEvents(main, logged), main.close())
	})
	return s
}

// Sessions returns the session.Store, which is also a session.Exclusive. When there is no room, a
// new session is refused.
func (s *Store) Sessions() session.Store { return &s.sessions }

// Tasks returns the task.Store, which is also a task.Queue. When there is no room, tasks
// that have ended go first: from the owner who has most of them, by number and bytes, the
// one that ended first. What does not fit even then, a new task or one that grows, is
// refused; so is what goes beyond its owner's share, see [TaskBytes]. A list can be
// continued after a task that is gone as long as the store remembers where it was: it
// remembers the last ones, an eighth as many as TaskRecords.
func (s *Store) Tasks() task.Store { return &s.tasks }

// Events returns the eventlog.Store. A stream that is too long loses its oldest events.
// When all streams together are too large, one of them loses all of its events: of the
// size whose streams take most, the one that was longest without a new event. Sizes end at
// the powers of four (1 KiB, 4 KiB, 16 KiB and so on), bookkeeping included. So large
// streams, and those that are many, push out one another: while the streams of a size take
// less than a sixteenth of TotalBytes together, they keep their events whatever others do.
// A stream that takes more than any other size goes first, even if its event has just come.
// Nothing goes by time: what is not dropped stays until there is no room.
//
// The number of a stream that lost its events is remembered, until an eighth of TotalBytes
// is full of such numbers.
func (s *Store) Events() eventlog.Store { return &s.events }

// Changes returns the change.Bus. It is in memory: there is nobody else to tell.
func (s *Store) Changes() change.Bus { return s.changes }

// Claims returns the claim.Store. When there is no room, a new claim is refused. A claim
// can always be renewed, or replaced by one that is no longer.
func (s *Store) Claims() claim.Store { return &s.claims }

// Backup writes a copy of the file, as of one moment and without the events, to w while the
// store goes on. During a long backup the file grows, since space that it still reads
// cannot be used again.
func (s *Store) Backup(w io.Writer) error {
	err := s.main.db.View(func(tx *bbolt.Tx) error {
		_, err := tx.WriteTo(w)
		return err
	})
	if err != nil {
		return fault("copying", err)
	}
	return nil
}

// Close waits for operations that have begun and ends those that wait for a task. Calls
// after it return [ErrClosed]. It can be called again.
func (s *Store) Close() error { return s.close() }

// atOnce bounds the expired rows that one transaction drops when the store is opened.
const atOnce = 1000

// recover drops what has expired, and puts the working tasks in line.
func (s *Store) recover() error {
	for _, sweep := range []func() (more bool, err error){s.sessions.sweep, s.claims.sweep, s.tasks.sweep} {
		for {
			more, err := sweep()
			if err != nil {
				return err
			}
			if !more {
				break
			}
		}
	}
	return s.tasks.lineUp()
}

func (s *sessions) sweep() (more bool, err error) { return s.table.sweep(s.file) }

func (c *claims) sweep() (more bool, err error) { return c.table.sweep(c.file) }

func (tb *table) sweep(f *file) (more bool, err error) {
	err = tb.write(f, func(r *rows) error {
		more = r.sweep(atOnce)
		return nil
	})
	return more, err
}

func (s *tasks) sweep() (more bool, err error) {
	err = s.write(func(x *taskRows) error {
		n := 0
		for n < atOnce && x.dropExpired() {
			n++
		}
		more = n == atOnce
		return nil
	})
	return more, err
}
