package memory

import (
	"errors"

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

// New returns an empty Store with the default bounds.
func New() *Store { return Sized(Bounds{}) }

// Sized returns an empty Store with the bounds of b.
func Sized(b Bounds) *Store {
	b = b.Filled()
	return &Store{
		events: events{bounds: b}, claims: claims{bounds: b}, sessions: sessions{bounds: b}, tasks: tasks{bounds: b},
	}
}

// Events returns the store for events. A stream that exceeds its bounds loses its oldest events.
//
// When all streams together are too large, one stream loses all of its events. Streams are grouped
// into size classes that end at the powers of four (1 KiB, 4 KiB, 16 KiB and so on), bookkeeping
// included. In the class that uses the most memory, the stream whose newest event is the oldest
// loses its events. Large streams therefore displace each other. While the streams of a class take
// less than a sixteenth of Bounds.TotalBytes together, they keep their events whatever other
// streams do.
//
// A stream that takes more than any other class loses its events first, even if it has just
// received one. The store remembers the number of a stream that lost its events, so that its
// numbers continue from there. The oldest of these streams are forgotten when they take more than
// an eighth of it.
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
// Bounds.TaskBytes.
//
// A list can continue after a removed task as long as the store remembers the task's position. It
// remembers the last removed tasks, an eighth as many as Bounds.TaskRecords.
func (s *Store) Tasks() task.Store { return &s.tasks }

// Changes returns the bus for all users of the Store. Up to 1,024 messages with 4 MiB in total wait
// for each subscriber. If there are more, all of them are dropped, and the subscriber receives nil
// instead.
func (s *Store) Changes() change.Bus { return &s.changes }
