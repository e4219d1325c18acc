package memory

import (
	"errors"
	"time"

	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// ErrFull says that there is no room for a claim, a session or a task, and that none of the
// others can go: somebody relies on each of them.
var ErrFull = errors.New("memory: no room")

// Store keeps what a server must remember. A server without another store has one of its
// own, with the default bounds. Safe for concurrent use; made by New.
type Store struct {
	events   events
	claims   claims
	sessions sessions
	tasks    tasks
	changes  changes
}

// Option bounds a Store. Sealed.
type Option func(*bounds)

// bounds of all ports.
type bounds struct {
	streamBytes    int // of the frames of one stream
	streamEvents   int // of one stream
	totalBytes     int // of all streams
	claimEntries   int
	claimBytes     int // of all claims
	sessionRecords int
	sessionBytes   int // of all sessions
	taskRecords    int
	taskBytes      int // of all tasks
	leaseLife      time.Duration
}

// StreamBytes bounds the frames of one stream together; default 8 MiB. The newest
// event is kept even if it alone is larger, so that a large answer can be fetched.
// n below 1 is 1.
func StreamBytes(n int) Option { return func(b *bounds) { b.streamBytes = max(n, 1) } }

// StreamEvents bounds the number of events of one stream; default 16,384. n below
// 1 is 1.
func StreamEvents(n int) Option { return func(b *bounds) { b.streamEvents = max(n, 1) } }

// TotalBytes bounds all streams together, their names and the bookkeeping included; default
// 256 MiB. If an event does not fit into it at all, only its number is kept. n below 1 is
// 1.
func TotalBytes(n int) Option { return func(b *bounds) { b.totalBytes = max(n, 1) } }

// ClaimEntries bounds the number of claims, counters among them; default 262,144.
// n below 1 is 1.
func ClaimEntries(n int) Option { return func(b *bounds) { b.claimEntries = max(n, 1) } }

// ClaimBytes bounds all claims together, their keys and the bookkeeping included;
// default 64 MiB. Values of more than 1 KiB leave a quarter of it to smaller ones. n below
// 1 is 1.
func ClaimBytes(n int) Option { return func(b *bounds) { b.claimBytes = max(n, 1) } }

// SessionRecords bounds the number of sessions; default 262,144. n below 1 is 1.
func SessionRecords(n int) Option { return func(b *bounds) { b.sessionRecords = max(n, 1) } }

// SessionBytes bounds all sessions together, their ids and the bookkeeping included;
// default 256 MiB. n below 1 is 1.
func SessionBytes(n int) Option { return func(b *bounds) { b.sessionBytes = max(n, 1) } }

// TaskRecords bounds the number of tasks; default 100,000. n below 1 is 1.
func TaskRecords(n int) Option { return func(b *bounds) { b.taskRecords = max(n, 1) } }

// TaskBytes bounds all tasks together, their owners and the bookkeeping included; default
// 256 MiB. The tasks of one owner that have not ended take three quarters of it at most,
// and a new one is accepted only while they take no more than all unfinished tasks leave
// free. n below 1 is 1.
func TaskBytes(n int) Option { return func(b *bounds) { b.taskBytes = max(n, 1) } }

// LeaseLife sets how long a worker has a task without renewing its lease; default 30 s. If
// d is 0 or less, the default applies.
func LeaseLife(d time.Duration) Option {
	return func(b *bounds) {
		if d > 0 {
			b.leaseLife = d
		}
	}
}

// New returns an empty Store, bounded by the defaults of the options.
func New() *Store { return Sized() }

// Sized is New with bounds of your own.
func Sized(opts ...Option) *Store {
	s := &Store{}
	b := &s.events.bounds
	*b = bounds{
		streamBytes: 8 << 20, streamEvents: 16384, totalBytes: 256 << 20,
		claimEntries: 1 << 18, claimBytes: 64 << 20,
		sessionRecords: 1 << 18, sessionBytes: 256 << 20,
		taskRecords: 100_000, taskBytes: 256 << 20, leaseLife: 30 * time.Second,
	}
	for _, o := range opts {
		if o != nil {
			o(b)
		}
	}
	s.claims.bounds = *b
	s.sessions.bounds = *b
	s.tasks.bounds = *b
	return s
}

// Events returns the eventlog.Store. A stream that is too long loses its oldest events.
// When all streams together are too large, one of them loses all of its events: of the
// size whose streams take most, the one that was longest without a new event. Sizes end at
// the powers of four (1 KiB, 4 KiB, 16 KiB and so on), bookkeeping included. So large
// streams, and those that are many, push out one another: while the streams of a size take
// less than a sixteenth of TotalBytes together, they keep their events whatever others do.
// A stream that takes more than any other size goes first, even if its event has just come.
//
// The number of a stream that lost its events is remembered, so that it goes on counting
// where it was, until an eighth of TotalBytes is full of such numbers.
func (s *Store) Events() eventlog.Store { return &s.events }

// Claims returns the claim.Store. Nothing goes before its time: what does not fit is
// refused with [ErrFull]. A claim can always be renewed, or replaced by one that is no
// longer. A counter that would overflow stays as it is; Add says so.
func (s *Store) Claims() claim.Store { return &s.claims }

// Sessions returns the session.Store. Nothing goes before its time: what does not fit is
// refused with [ErrFull]. A session can always be touched, or replaced by one that is no
// longer.
func (s *Store) Sessions() session.Store { return &s.sessions }

// Tasks returns the task.Store, which is also a task.Queue. When there is no room, tasks
// that have ended go first: from the owner who has most of them, by number and bytes, the
// one that ended first. What does not fit even then, a new task or one that grows, is
// refused with [ErrFull] and task.ErrFull; so is what goes beyond its owner's share, see
// [TaskBytes]. A list can be continued after a task that is gone as long as the store
// remembers where it was: it remembers the last ones, an eighth as many as TaskRecords.
func (s *Store) Tasks() task.Store { return &s.tasks }

// Changes returns the bus for all who share the Store. Up to 1,024 messages in 4 MiB wait
// for each subscriber; if there are more, all of them are dropped, and the subscriber is
// told.
func (s *Store) Changes() change.Bus { return &s.changes }
