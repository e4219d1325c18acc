// Package effectlog reports to the page, in the process of the server, what framework.Once has done in a
// call, and how long the steps of its chain took.
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
	Step      = "step"      // not an effect: a step of the chain has ended
)

// Handler is the key of the innermost step.
const Handler = "handler"

// Effect is one Once of a call, or one step of its chain.
type Effect struct {
	Mark  string // of the call
	Round int    // of the call, from 0
	Key   string // of a step: its name
	How   string
	At    int           // of a step: its position in the chain, outermost first
	Took  time.Duration // of a step: with all steps further in
}

// watchers are the functions to call. An app without a page costs one atomic load for each Once and
// each step.
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
