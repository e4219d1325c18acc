package memory

import "container/list"

// goneTask is the trace of a removed task, so that a list can continue after it.
type goneTask struct {
	id     string
	owner  string
	number uint64
}

func (g *goneTask) cost() int { return goneCost + len(g.id) + len(g.owner) }

// goneTasks holds the traces, at most one per ID.
type goneTasks struct {
	entries map[string]*list.Element
	order   list.List // elements are *goneTask, oldest first
	bytes   int
}

func (g *goneTasks) len() int { return g.order.Len() }

func (g *goneTasks) find(id string) *goneTask {
	e := g.entries[id]
	if e == nil {
		return nil
	}
	return e.Value.(*goneTask)
}

// add adds a trace and returns by how many bytes the traces have grown.
func (g *goneTasks) add(t goneTask) int {
	before := g.bytes
	if e := g.entries[t.id]; e != nil {
		g.remove(e)
	}
	if g.entries == nil {
		g.entries = make(map[string]*list.Element)
	}
	g.entries[t.id] = g.order.PushBack(&t)
	g.bytes += t.cost()
	return g.bytes - before
}

// dropOldest removes the oldest trace and returns by how many bytes the traces have shrunk. There
// must be a trace.
func (g *goneTasks) dropOldest() int { return g.remove(g.order.Front()) }

func (g *goneTasks) remove(e *list.Element) int {
	t := g.order.Remove(e).(*goneTask)
	delete(g.entries, t.id)
	g.bytes -= t.cost()
	return t.cost()
}
