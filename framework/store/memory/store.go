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

// ErrFull is returned if there is no space for a claim, a session or a task. Existing items are not
// evicted for it, because each of them is in use.
var ErrFull = errors.New("memory: no space")

// Store holds the state of a server. A server without another store has its own Store with the
// default bounds. A Store is safe for concurrent use. Create it with New or Sized.
type Store struct {
	events   events
	claims   claims
	sessions sessions
	tasks    tasks
	changes  changes
}

// Option sets a bound of a Store. Other packages cannot implement it.
type Option func(*bounds)

// bounds holds the bounds of all stores.
type bounds struct {
	streamBytes    int // frames of one stream
	streamEvents   int // events of one stream
	totalBytes     int // all streams
	claimEntries   int
	claimBytes     int // all claims
	sessionRecords int
	sessionBytes   int // all sessions
	taskRecords    int
	taskBytes      int // all tasks
	leaseLife      time.Duration
}

// StreamBytes sets the maximum size of all frames of one stream; the default is 8 MiB. The newest
// event is kept even if it alone is larger, so that a client can fetch a large answer. If n is
// below 1, it counts as 1.
func StreamBytes(n int) Option { return func(b *bounds) { b.streamBytes = max(n, 1) } }

// StreamEvents sets the maximum number of events of one stream; the default is 16,384. If n is
// below 1, it counts as 1.
func StreamEvents(n int) Option { return func(b *bounds) { b.streamEvents = max(n, 1) } }

// TotalBytes sets the maximum size of all streams, including their names and bookkeeping; the
// default is 256 MiB. If one event is larger than that, only its number is kept. If n is below 1,
// it counts as 1.
func TotalBytes(n int) Option { return func(b *bounds) { b.totalBytes = max(n, 1) } }

// ClaimEntries sets the maximum number of claims, including counters; the default is 262,144. If n
// is below 1, it counts as 1.
func ClaimEntries(n int) Option { return func(b *bounds) { b.claimEntries = max(n, 1) } }

// ClaimBytes sets the maximum size of all claims, including their keys and bookkeeping; the default
// is 64 MiB. A quarter of it is reserved for values of at most 1 KiB. If n is below 1, it counts as
// 1.
func ClaimBytes(n int) Option { return func(b *bounds) { b.claimBytes = max(n, 1) } }

// SessionRecords sets the maximum number of sessions; the default is 262,144. If n is below 1, it
// counts as 1.
func SessionRecords(n int) Option { return func(b *bounds) { b.sessionRecords = max(n, 1) } }

// SessionBytes sets the maximum size of all sessions, including their IDs and bookkeeping; the
// default is 256 MiB. If n is below 1, it counts as 1.
func SessionBytes(n int) Option { return func(b *bounds) { b.sessionBytes = max(n, 1) } }

// TaskRecords sets the maximum number of tasks; the default is 100,000. If n is below 1, it counts
// as 1.
func TaskRecords(n int) Option { return func(b *bounds) { b.taskRecords = max(n, 1) } }

// TaskBytes sets the maximum size of all tasks, including their owners and bookkeeping; the default
// is 256 MiB. The unfinished tasks of one owner take at most three quarters of it. A new task is
// accepted only if the owner's unfinished tasks then take no more than all unfinished tasks leave
// free. If n is below 1, it counts as 1.
func TaskBytes(n int) Option { return func(b *bounds) { b.taskBytes = max(n, 1) } }

// LeaseLife sets how long a worker has a task without renewing its lease. If d is 0 or less, the
// default of 30 s applies.
func LeaseLife(d time.Duration) Option {
	return func(b *bounds) {
		if d > 0 {
			b.leaseLife = d
		}
	}
}

// New returns an empty Store with the default bounds.
func New() *Store { return Sized() }

// Sized returns an empty Store with the default bounds, changed by the options. Nil options are
// ignored.
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

// Events returns the store for events. A stream that exceeds its bounds loses its oldest events.
//
// When all streams together are too large, one stream loses all of its events. Streams are grouped
// into size classes that end at the powers of four (1 KiB, 4 KiB, 16 KiB and so on), bookkeeping
// included. In the class that uses the most memory, the stream whose newest event is the oldest
// loses its events. Large streams therefore displace each other. While the streams of a class take
// less than a sixteenth of TotalBytes together, they keep their events whatever other streams do.
//
// A stream that takes more than any other class loses its events first, even if it has just
// received one. The store remembers the number of a stream that lost its events, so that its
// numbers continue from there. The oldest of these streams are forgotten when they take more than
// an eighth of TotalBytes.
func (s *Store) Events() eventlog.Store { return &s.events }

// Claims returns the store for claims. It never evicts a claim before its time; if a claim does not
// fit, the operation returns [ErrFull]. A claim can always be renewed, or replaced by a value that
// is not longer. If a counter would overflow, it stays unchanged and Add returns an error.
func (s *Store) Claims() claim.Store { return &s.claims }

// Sessions returns the store for sessions. It never evicts a session before its time; if a session
// does not fit, the operation returns [ErrFull]. A session can always be touched, or replaced by
// data that are not longer.
func (s *Store) Sessions() session.Store { return &s.sessions }

// Tasks returns the store for tasks, which is also a task.Queue. When the store is full, it evicts
// ended tasks. It chooses the owner with the most of them, by number and bytes, and evicts the task
// that ended first. If a new or growing task does not fit even then, the operation returns an error
// that matches [ErrFull] and task.ErrFull. The same applies to a task beyond its owner's quota, see
// [TaskBytes].
//
// A list can continue after a removed task as long as the store remembers the task's position. It
// remembers the last removed tasks, an eighth as many as TaskRecords.
func (s *Store) Tasks() task.Store { return &s.tasks }

// Changes returns the bus for all users of the Store. Up to 1,024 messages with 4 MiB in total wait
// for each subscriber. If there are more, all of them are dropped, and the subscriber receives nil
// instead.
func (s *Store) Changes() change.Bus { return &s.changes }
