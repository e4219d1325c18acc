package serve

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// roomy is a size. A heap may grow to it before it is collected, even if little of it is in use.
	roomy = 16 << 20
	// mostPercent also raises the runtime's minimum heap, which is 4 MB at 100 %, to roomy.
	mostPercent  = 400
	leastPercent = 100

	// A program that allocates at most few bytes within quiet is idle.
	quiet = 2 * time.Second
	few   = 1 << 20
)

// keepRoomy makes the runtime collect small heaps less often, until ctx ends. A server with little
// state has 2 MB of live objects. The runtime would collect them at 4 MB, which is 150 times a
// second under load (ADR 16). If more than half of roomy is live, the percentage is the runtime's
// default. When the program is idle, keepRoomy returns unused memory. If GOGC or GOMEMLIMIT is set,
// keepRoomy does nothing.
func keepRoomy(ctx context.Context) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	t := newTrimmer(ctx)
	var look func(percent int)
	look = func(percent int) {
		if ctx.Err() != nil {
			return
		}
		t.timer.Reset(quiet)
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

// trimmer collects the garbage of a program that has become idle, and returns free memory to the
// operating system. By itself the runtime collects an idle program's heap only after two minutes,
// although a burst of large requests may have left hundreds of megabytes in it.
type trimmer struct {
	timer *time.Timer // runs check; set again after each collection

	mu     sync.Mutex // guards the fields below
	allocs uint64     // bytes that were ever allocated, at the last check
	cycles uint64     // collections that the runtime had decided on when memory was last returned
}

func newTrimmer(ctx context.Context) *trimmer {
	t := new(trimmer)
	t.mu.Lock() // check uses timer
	defer t.mu.Unlock()
	t.timer = time.AfterFunc(quiet, func() {
		if ctx.Err() == nil {
			t.check()
		}
	})
	return t
}

// check returns memory if the program is idle and the runtime has collected since memory was last
// returned. While the program is not idle, check runs again later.
func (t *trimmer) check() {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/cycles/automatic:gc-cycles"}}
	metrics.Read(samples)
	if samples[0].Value.Kind() != metrics.KindUint64 || samples[1].Value.Kind() != metrics.KindUint64 {
		return // unknown to the runtime
	}
	allocs, cycles := samples[0].Value.Uint64(), samples[1].Value.Uint64()
	t.mu.Lock()
	defer t.mu.Unlock()
	busy := allocs-t.allocs > few
	t.allocs = allocs
	switch {
	case cycles == t.cycles: // the collection was FreeOSMemory's own
	case busy:
		t.timer.Reset(quiet)
	default:
		t.cycles = cycles
		debug.FreeOSMemory()
	}
}

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
