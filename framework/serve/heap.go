package serve

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// roomy is the size up to which a heap may grow before it is collected, however little of
	// it is in use.
	roomy = 32 << 20
	// mostPercent also raises the runtime's minimum heap, 4 MB at 100 %, to that size.
	mostPercent  = 800
	leastPercent = 100
)

// keepRoomy has small heaps collected as rarely as if they were larger, until ctx ends: what
// lives in a server without much state is 2 MB, which the runtime would collect at 4 MB,
// 150 times a second under load (ADR 16). Where more lives than half of roomy, nothing is
// different; and nothing at all where the environment says how to collect.
func keepRoomy(ctx context.Context) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	var look func(percent int)
	look = func(percent int) {
		if ctx.Err() != nil {
			return
		}
		if now := percentFor(liveHeap()); now != percent {
			percent = now
			debug.SetGCPercent(percent)
		}
		runtime.AddCleanup(new(cycle), look, percent) // runs after the next collection
	}
	look(leastPercent)
}

// cycle is garbage at once, so that its cleanup runs after the next collection. It has a
// pointer, so that it does not share memory with what is in use.
type cycle struct{ _ *cycle }

// percentFor is the GC percentage at which a live heap grows to roomy. It is rounded to whole
// megabytes, so that it does not change with every collection.
func percentFor(live uint64) int {
	megabytes := int(live>>20) + 1
	return max(leastPercent, min(mostPercent, (roomy>>20)*100/megabytes-100))
}

// liveHeap is what the last collection has left.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return roomy // the runtime does not know: change nothing
	}
	return sample[0].Value.Uint64()
}
