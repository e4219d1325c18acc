package serve

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// roomy is a size. A heap may grow to it before it is collected, even if little of it is in use.
	roomy = 32 << 20
	// mostPercent also raises the runtime's minimum heap, which is 4 MB at 100 %, to roomy.
	mostPercent  = 800
	leastPercent = 100
)

// keepRoomy makes the runtime collect small heaps less often, until ctx ends. A server with little
// state has 2 MB of live objects. The runtime would collect them at 4 MB, which is 150 times a
// second under load (ADR 16). If more than half of roomy is live, the percentage is the runtime's
// default. If GOGC or GOMEMLIMIT is set, keepRoomy does nothing.
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

// cycle becomes garbage at once, so that its cleanup runs after the next collection. It has a
// pointer field, so that it does not share memory with objects that are in use.
type cycle struct{ _ *cycle }

// percentFor returns the GC percentage that lets a heap of live bytes grow to roomy. It rounds to
// whole megabytes, so that the percentage does not change with every collection.
func percentFor(live uint64) int {
	megabytes := int(live>>20) + 1
	return max(leastPercent, min(mostPercent, (roomy>>20)*100/megabytes-100))
}

// liveHeap returns the size of the objects that the last collection has left.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return roomy // unknown to the runtime, so select the default percentage
	}
	return sample[0].Value.Uint64()
}
