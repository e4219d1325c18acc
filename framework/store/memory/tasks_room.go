package memory

import (
	"fmt"
	"time"

	"github.com/kagami-mcp/kagami/protocol/task"
)

// need is by how much a record is larger than the one it replaces.
type need struct {
	records, bytes int
	open           int        // bytes, if the task is not terminal; else 0 or less
	owner          *taskOwner // nil: it has no tasks yet
	keep           *heldTask  // the task being replaced, which must not be dropped; nil: the record is new
}

func (s *tasks) needs(old *heldTask, r *task.Record) need {
	n := need{bytes: recordCost(r), owner: s.owners[r.Owner], keep: old}
	if !r.Terminal() {
		n.open = n.bytes
	}
	if old == nil {
		n.records, n.bytes = 1, n.bytes+ownerCost+len(r.Owner)
		return n
	}
	n.bytes -= old.cost()
	if old.over == nil {
		n.open -= old.cost()
	}
	return n
}

// makeRoom drops tasks that may be dropped until there is enough room. If that is not possible,
// it drops only expired ones.
func (s *tasks) makeRoom(n need, now time.Time) error {
	for !s.fits(n.records, n.bytes) || !s.fair(n) {
		if s.dropExpired(now) { // never n.keep, which has not expired
			continue
		}
		return s.push(n)
	}
	return nil
}

func (s *tasks) fits(records, bytes int) bool {
	return len(s.held)+records <= s.bounds.taskRecords && s.bytes+bytes <= s.bounds.taskBytes
}

// fair says whether the owner's tasks that are not terminal stay within its share of the room.
// For a new task the share is as much as all such tasks leave free: half of the room for a
// single owner, half of the rest for the next one, and so on. A task that grows has been
// accepted already: its owner may use another quarter of the room.
func (s *tasks) fair(n need) bool {
	own := n.open
	if n.owner != nil {
		own += n.owner.open
	}
	share := s.bounds.taskBytes / 4 * 3
	if n.keep == nil {
		share = s.bounds.taskBytes - (s.bytes - s.loose - s.gone.bytes) - n.open
	}
	return n.open <= 0 || own <= share
}

// push drops terminal tasks, first the one that ended first, of the owner that has most of
// them. It terminates, because each step removes a record or a trace.
func (s *tasks) push(n need) error {
	if n.keep != nil && n.keep.over != nil {
		n.bytes += n.keep.cost()
		s.count(n.keep, -1)
		defer s.count(n.keep, 1)
	}
	if !s.fits(n.records-s.ended, n.bytes-s.loose-s.gone.bytes) || !s.fair(n) {
		return fmt.Errorf("%w for the task (%w): %d tasks in %d bytes are held, %d bytes more are needed",
			ErrFull, task.ErrFull, len(s.held), s.bytes, n.bytes)
	}
	for !s.fits(n.records, n.bytes) {
		if s.bytes+n.bytes > s.bounds.taskBytes && s.gone.len() > 0 {
			s.bytes -= s.gone.dropOldest()
			continue
		}
		s.forget(s.over[0].firstOver(n.keep))
	}
	return nil
}
