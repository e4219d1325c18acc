package taskwatch

import (
	"maps"
	"sync"
	"time"
)

const (
	// Patience is how long a process leaves a task that it cannot run to other processes. During a
	// rolling update, old processes also take the tasks of new tools, and new processes take the
	// tasks of removed tools.
	Patience = 5 * time.Minute
	// maxForeign bounds the number of tasks in a Foreign. Further tasks must wait until some of
	// these have failed.
	maxForeign = 1024
)

// Foreign records since when this process has seen each task that it cannot run. If it has not seen
// a task for Patience, it forgets the task, because another process may have run it.
type Foreign struct {
	mu   sync.Mutex // guards the field below
	seen map[string]sighting
}

type sighting struct{ first, last time.Time }

// Since records that this process has seen the task now, and returns the time since the first
// record of the task.
func (f *Foreign) Since(id string, now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.seen, func(_ string, s sighting) bool { return now.Sub(s.last) >= Patience })
	s, known := f.seen[id]
	if !known {
		if len(f.seen) == maxForeign {
			return 0
		}
		if f.seen == nil {
			f.seen = make(map[string]sighting)
		}
		s.first = now
	}
	s.last = now
	f.seen[id] = s
	return now.Sub(s.first)
}
