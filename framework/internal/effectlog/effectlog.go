// Package effectlog reports to the page, in the process of the server, what framework.Once has done.
package effectlog

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Mark is the member of _meta that the page puts into its own calls. Effects of calls without it are not
// reported.
const Mark = "kagami/page"

// What became of an effect.
const (
	Ran       = "ran"
	Journal   = "journal" // its result came from the journal: it did not run
	Failed    = "failed"
	Uncertain = "uncertain" // it may have happened
)

// Effect is one Once of a call.
type Effect struct {
	Mark  string // of the call
	Round int    // of the call, from 0
	Key   string
	How   string
	Took  time.Duration
}

// watchers are the functions to call. An app without a page costs one atomic load for each Once.
var (
	mu       sync.Mutex // held while watchers is replaced
	watchers atomic.Pointer[[]*func(Effect)]
)

// Watch calls fn for each effect of a marked call, in the goroutine of the call, until stop is called. fn may
// be called concurrently, also once after stop.
func Watch(fn func(Effect)) (stop func()) {
	change(func(all []*func(Effect)) []*func(Effect) { return append(all, &fn) })
	return func() {
		change(func(all []*func(Effect)) []*func(Effect) {
			return slices.DeleteFunc(all, func(one *func(Effect)) bool { return one == &fn })
		})
	}
}

func change(edit func([]*func(Effect)) []*func(Effect)) {
	mu.Lock()
	defer mu.Unlock()
	var all []*func(Effect)
	if now := watchers.Load(); now != nil {
		all = slices.Clone(*now)
	}
	if all = edit(all); len(all) == 0 {
		watchers.Store(nil)
		return
	}
	watchers.Store(&all)
}

// Watched reports whether anybody watches.
func Watched() bool { return watchers.Load() != nil }

// Tell calls the watchers.
func Tell(e Effect) {
	if all := watchers.Load(); all != nil {
		for _, fn := range *all {
			(*fn)(e)
		}
	}
}
