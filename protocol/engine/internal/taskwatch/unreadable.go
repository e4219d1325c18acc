package taskwatch

import "sync"

// maxUnreadable bounds the unreadable tasks that are remembered. When there are more, all are
// forgotten, and each is reported once more.
const maxUnreadable = 1024

// Unreadable remembers the unreadable tasks of the store. Lists leave them out and workers give them
// back, so they occur again and again, but each is reported once.
type Unreadable struct {
	mu    sync.Mutex // guards the fields below
	told  map[string]struct{}
	count int
}

// First counts an unreadable task and returns how many there were so far. If the task was counted
// before, First returns 0.
func (u *Unreadable) First(id string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, again := u.told[id]; again {
		return 0
	}
	if u.told == nil || len(u.told) == maxUnreadable {
		u.told = make(map[string]struct{})
	}
	u.told[id] = struct{}{}
	u.count++
	return u.count
}
