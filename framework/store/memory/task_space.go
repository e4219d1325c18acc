package memory

import (
	"fmt"
	"time"

	"github.com/kagami-mcp/kagami/protocol/task"
)

// spaceNeeded is the space that a new record needs, or the growth of a record that replaces another.
type spaceNeeded struct {
	records, bytes int
	open           int        // growth of the owner's unfinished tasks in bytes; 0 or less if the new record is terminal
	owner          *taskOwner // nil if the owner has no tasks yet
	keep           *taskEntry // the task to replace, which must not be dropped; nil for a new record
}

func (s *tasks) spaceFor(old *taskEntry, r *task.Record) spaceNeeded {
	n := spaceNeeded{bytes: recordCost(r), owner: s.owners[r.Owner], keep: old}
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

// makeSpace evicts tasks until the need is met. If that is not possible, it drops only expired tasks
// and returns an error.
func (s *tasks) makeSpace(n spaceNeeded, now time.Time) error {
	for !s.fits(n.records, n.bytes) || !s.fair(n) {
		if s.dropExpired(now) { // never n.keep, which has not expired
			continue
		}
		return s.push(n)
	}
	return nil
}

func (s *tasks) fits(records, bytes int) bool {
	return len(s.held)+records <= s.bounds.TaskRecords && s.bytes+bytes <= s.bounds.TaskBytes
}

// fair reports whether the owner's unfinished tasks stay within the owner's quota. For a new task,
// the quota is as much as all unfinished tasks leave free. A single owner can thus use half of the
// space, the next owner half of the rest, and so on. For a task that grows, the quota is three
// quarters of the space, because the task was already accepted.
func (s *tasks) fair(n spaceNeeded) bool {
	own := n.open
	if n.owner != nil {
		own += n.owner.open
	}
	share := s.bounds.TaskBytes / 4 * 3
	if n.keep == nil {
		share = s.bounds.TaskBytes - (s.bytes - s.loose - s.gone.bytes) - n.open
	}
	return n.open <= 0 || own <= share
}

// push evicts terminal tasks of the owner that has the most of them; the task that ended first goes
// first. It terminates, because each step removes a record or a trace.
func (s *tasks) push(n spaceNeeded) error {
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
		if s.bytes+n.bytes > s.bounds.TaskBytes && s.gone.len() > 0 {
			s.bytes -= s.gone.dropOldest()
			continue
		}
		s.forget(s.over[0].firstOver(n.keep))
	}
	return nil
}
