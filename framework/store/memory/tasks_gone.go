package memory

import "container/list"

// goneTask is the trace of a task that is gone: a list may go on after it.
type goneTask struct {
	id     string
	owner  string
	number uint64
}

func (g *goneTask) cost() int { return goneCost + len(g.id) + len(g.owner) }

// goneTasks are the traces, one for an id.
type goneTasks struct {
	places map[string]*list.Element
	order  list.List // of *goneTask, oldest first
	bytes  int
}

func (g *goneTasks) len() int { return g.order.Len() }

func (g *goneTasks) find(id string) *goneTask {
	e := g.places[id]
	if e == nil {
		return nil
	}
	return e.Value.(*goneTask)
}

// add says how many bytes more that are.
func (g *goneTasks) add(t goneTask) int {
	before := g.bytes
	if e := g.places[t.id]; e != nil {
		g.remove(e)
	}
	if g.places == nil {
		g.places = make(map[string]*list.Element)
	}
	g.places[t.id] = g.order.PushBack(&t)
	g.bytes += t.cost()
	return g.bytes - before
}

// dropOldest says how many bytes less that are. There must be one.
func (g *goneTasks) dropOldest() int { return g.remove(g.order.Front()) }

func (g *goneTasks) remove(e *list.Element) int {
	t := g.order.Remove(e).(*goneTask)
	delete(g.places, t.id)
	g.bytes -= t.cost()
	return t.cost()
}
