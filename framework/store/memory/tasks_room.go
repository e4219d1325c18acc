package memory

import (
	"fmt"
	"time"

	"github.com/kagami-mcp/kagami/protocol/task"
)

// need is what a record needs more than the one in its place.
type need struct {
	records, bytes int
	open           int        // of the bytes, by a task that is not terminal
	owner          *taskOwner // nil: it has no tasks yet
	keep           *heldTask  // must not go for it; nil: it is a new one
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

// makeRoom drops what may go until there is what is needed. If that is not enough, it drops
// only what has expired.
func (s *tasks) makeRoom(n need, now time.Time) error {
	for !s.fits(n.records, n.bytes) || !s.fair(n) {
		if s.dropExpired(now) { // never n.keep, which is alive
			continue
		}
		return s.push(n)
	}
	return nil
}

func (s *tasks) fits(records, bytes int) bool {
	return len(s.held)+records <= s.bounds.taskRecords && s.bytes+bytes <= s.bounds.taskBytes
}

// fair says whether the owner has, by tasks that are not terminal, no more than a share of
// the room. For a new one that is as much as all such tasks leave: half of the room for who
// is alone, half of the rest for the next, and so on. One that grows has been
// accepted: its owner has a quarter of the room more.
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

// push drops terminal tasks: the one that ended first, of the owner who has most of them.
// It ends: each step takes a record away, or the trace of one.
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
