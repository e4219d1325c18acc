package serve

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// roomy is what a heap may grow to before it is collected, however little of it lives.
	roomy = 32 << 20
	// mostPercent makes the runtime's own least heap, 4 MB at 100 %, that large, too.
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
		runtime.AddCleanup(new(cycle), look, percent) // after the next collection
	}
	look(leastPercent)
}

// cycle is garbage from the start: its cleanup tells of a collection. It has a pointer, so
// that it does not share memory with what lives on.
type cycle struct{ _ *cycle }

// percentFor is the growth by which so much becomes roomy. It is reckoned in whole
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
		return roomy // a runtime that does not tell: as if nobody had asked
	}
	return sample[0].Value.Uint64()
}
