package boltstore

import "bytes"

// traceCost returns the size of a trace. A trace is the number of the task, the number of the
// trace, and the owner.

func traceCost(id string, owner []byte) int { return rowCost + 2*len(id) + len(owner) }

// leaveTrace adds a trace. There is at most one trace for an ID; the oldest traces are removed if
// there are too many.
func (x *taskRows) leaveTrace(id string, owner []byte, number uint64) {
	key := taskKey(id)
	if x.gone.get(key) != nil {
		x.removeTrace(key)
	}
	seq := x.traces.next()
	x.gone.put(key, append(appendNumber(appendNumber(nil, number), seq), owner...))
	x.traces.put(appendNumber(nil, seq), key)
	x.countTrace(1, traceCost(id, owner))
	for x.counts.gone > max(x.most.records/goneShare, 1) {
		x.dropTrace()
	}
}

// dropTrace drops the oldest trace. There must be one.
func (x *taskRows) dropTrace() {
	_, key := x.traces.first()
	x.removeTrace(bytes.Clone(key))
}

func (x *taskRows) removeTrace(key []byte) {
	trace := x.gone.get(key)
	x.countTrace(-1, -traceCost(string(key[1:]), trace[16:]))
	x.traces.remove(bytes.Clone(trace[8:16]))
	x.gone.remove(key)
}

func (x *taskRows) countTrace(n, size int) {
	x.counts.gone += n
	x.counts.goneSize += size
	x.counts.bytes += size
}
