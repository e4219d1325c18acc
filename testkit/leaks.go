package testkit

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"
)

// leakLabel is on every goroutine that a session has started, and on those that they
// have started: goroutines inherit it. So tests that run at the same time do not
// accuse each other.
const leakLabel = "testkit"

// labelled runs fn, whose goroutines are the site's.
func (st *site) labelled(t testing.TB, fn func()) {
	pprof.Do(t.Context(), pprof.Labels(leakLabel, st.name()), func(context.Context) { fn() })
}

// owned is labelled for what is done for the test all the time.
func (st *site) owned(ctx context.Context, fn func() error) (err error) {
	pprof.Do(ctx, pprof.Labels(leakLabel, st.name()), func(context.Context) { err = fn() })
	return err
}

// name is no other site's.
func (st *site) name() string { return fmt.Sprintf("%p", st) }

// patience of the check: what has been told to end may take a while.
const leakPatience = 2 * time.Second

// watchGoroutines fails the test for goroutines that outlive its sessions. It is to be
// called first, so that it looks last.
func (st *site) watchGoroutines(t testing.TB, allowed []string) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			return // a test that ends early leaves calls behind
		}
		if left := leaked(st.name(), allowed); len(left) > 0 {
			t.Errorf("testkit: %d goroutines outlive the session (MayLeave allows that by the name of a function):\n%s", len(left), strings.Join(left, "\n\n"))
		}
	})
}

// leaked looks until nothing is left, or for a while.
func leaked(name string, allowed []string) []string {
	deadline := time.Now().Add(leakPatience)
	for pause := time.Duration(0); ; pause = min(2*pause+50*time.Microsecond, 20*time.Millisecond) {
		left := slices.DeleteFunc(goroutinesOf(name), func(stack string) bool {
			return slices.ContainsFunc(allowed, func(fn string) bool { return strings.Contains(stack, fn) })
		})
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		runtime.Gosched()
		time.Sleep(pause)
	}
}

// goroutinesOf are the stacks with the label of a site.
func goroutinesOf(name string) []string {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return nil
	}
	label := fmt.Sprintf("%q:%q", leakLabel, name)
	var found []string
	for stack := range strings.SplitSeq(profile.String(), "\n\n") {
		if strings.Contains(stack, label) {
			found = append(found, stack)
		}
	}
	return found
}

// lasting are goroutines of libraries that sleep on for some seconds after their end,
// or for the life of the process.
func lasting() []string {
	return []string{"fasthttp.updateServerDate", "fasthttp.(*workerPool).Start", "goleak."}
}
