package nodebus

import (
	"context"
	"sync"

	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
)

// Changes collects what may have changed on other nodes, until one goroutine takes it with Next.
type Changes struct {
	look chan struct{} // 1-buffered: changed is not empty

	mu      sync.Mutex // guards changed
	changed Changed
}

// Changed is what Next has taken.
type Changed struct {
	Tasks  map[string]bool // ids of tasks to read again; nil: none
	All    bool            // messages may have been lost: read all tasks again
	Resync bool            // with All: also notify clients of all watched resources
}

// NewChanges returns an empty collection.
func NewChanges() *Changes { return &Changes{look: make(chan struct{}, 1)} }

// Task adds a task. It never blocks.
func (c *Changes) Task(id string) {
	c.mu.Lock()
	if c.changed.Tasks == nil {
		c.changed.Tasks = make(map[string]bool)
	}
	c.changed.Tasks[id] = true
	c.mu.Unlock()
	wait.Signal(c.look)
}

// All adds all tasks, because messages may have been lost. If resync is set, clients may also have
// missed updates of resources. All never blocks.
func (c *Changes) All(resync bool) {
	c.mu.Lock()
	c.changed.All = true
	c.changed.Resync = c.changed.Resync || resync
	c.mu.Unlock()
	wait.Signal(c.look)
}

// Next waits for changes and takes them. It returns false when ctx ends.
func (c *Changes) Next(ctx context.Context) (Changed, bool) {
	select {
	case <-c.look:
	case <-ctx.Done():
		return Changed{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.changed
	c.changed = Changed{}
	return taken, true
}
