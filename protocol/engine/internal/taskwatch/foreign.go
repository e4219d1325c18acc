package taskwatch

import (
	"maps"
	"sync"
	"time"
)

const (
	// Patience is how long a process leaves a task that it cannot run to other processes. While
	// processes are replaced one by one, old ones also take the tasks of new tools, and new ones the
	// tasks of tools that only the old ones have.
	Patience = 5 * time.Minute
	// maxForeign bounds the tasks that are remembered. Others have to wait until some of these have
	// failed.
	maxForeign = 1024
)

// Foreign remembers since when this process has met tasks that it cannot run. A task that it has not
// met for Patience is forgotten, because another process may have run it meanwhile.
type Foreign struct {
	mu   sync.Mutex // guards the field below
	seen map[string]sighting
}

type sighting struct{ first, last time.Time }

// Since records that this process has met the task, and returns how long it has known the task.
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
