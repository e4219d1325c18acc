package testkit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// leakLabel is a profiler label on every goroutine that a session has started, directly or
// indirectly: goroutines inherit labels. It keeps tests that run at the same time from
// reporting each other's goroutines.
const leakLabel = "testkit"

// callLabel is a label with the frame that was sent, on goroutines that the carrier starts to serve
// it. It shows which tool has left a goroutine behind, even if the stack contains only libraries.
const callLabel = "testkit.call"

// labeled runs fn. The goroutines that fn starts have the label of the testServer.
func (st *testServer) labeled(t testing.TB, fn func() error) error {
	return st.owned(t.Context(), nil, fn)
}

// owned is like labeled, for work on one frame.
func (st *testServer) owned(ctx context.Context, sent []byte, fn func() error) (err error) {
	labels := pprof.Labels(leakLabel, st.label)
	if text, ok := (frame{sent: true, text: sent}).request(); ok {
		labels = pprof.Labels(leakLabel, st.label, callLabel, text)
	}
	pprof.Do(ctx, labels, func(context.Context) { err = fn() })
	return err
}

// lastLabel is the number in the label of the newest testServer. The address of a testServer cannot
// be the label: another testServer may get the same address later, and goroutines keep their
// labels.
var lastLabel atomic.Uint64

// newLabel returns a label that no other testServer has.
func newLabel() string { return strconv.FormatUint(lastLabel.Add(1), 10) }

// Patience of the check. Goroutines that were cancelled may take a while to end. The check looks at
// least leakLooks times, because goroutines do not end while a busy machine does not run the
// process.
const (
	leakPatience = 2 * time.Second
	leakLooks    = 100
)

// watchGoroutines fails the test if goroutines outlive its sessions. It must be called before
// any other t.Cleanup, so that it checks last.
func (st *testServer) watchGoroutines(t testing.TB, allowed []string) {
	t.Helper()
	t.Cleanup(func() {
		t.Helper()
		if t.Failed() {
			return // a test that ends early leaves calls behind
		}
		left := leaked(st.label, allowed)
		switch n := count(left); {
		case n == 1:
			t.Errorf("testkit: a goroutine outlives the session (MayLeave allows that by the name of a function):%s", stacks(left))
		case n > 1:
			t.Errorf("testkit: %d goroutines outlive the session (MayLeave allows that by the name of a function):%s", n, stacks(left))
		}
	})
}

// leaked returns the goroutines that are left. It returns when none is left, or when the patience
// ends.
func leaked(label string, allowed []string) []group {
	deadline := time.Now().Add(leakPatience)
	pause := time.Duration(0)
	for look := 1; ; look++ {
		left := slices.DeleteFunc(goroutinesOf(label), func(g group) bool {
			return slices.ContainsFunc(allowed, func(fn string) bool { return strings.Contains(g.stack, fn) })
		})
		if len(left) == 0 || look >= leakLooks && time.Now().After(deadline) {
			return left
		}
		hangUpIdle(left)
		runtime.Gosched()
		time.Sleep(pause)
		pause = min(2*pause+50*time.Microsecond, 20*time.Millisecond)
	}
}

// hangUpIdle closes the idle connections of http.DefaultClient. They are not a leak if a tool has
// asked another server. An idle connection of a handler's own transport is a leak.
func hangUpIdle(left []group) {
	if slices.ContainsFunc(left, func(g group) bool { return strings.Contains(g.stack, "net/http.") }) {
		http.DefaultClient.CloseIdleConnections()
	}
}

// group is a number of goroutines that have the same stack and serve the same frame.
type group struct {
	n     int
	sent  string // the frame that they serve; "" if unknown
	stack string // one line for each call, the innermost first
}

// goroutinesOf returns the goroutines with the label of a testServer.
func goroutinesOf(label string) []group {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return nil
	}
	labeled := fmt.Sprintf("%q:%q", leakLabel, label)
	var found []group
	for text := range strings.SplitSeq(profile.String(), "\n\n") {
		if strings.Contains(text, labeled) {
			found = append(found, groupOf(text))
		}
	}
	return found
}

// groupOf parses a paragraph of the profile: "2 @ 0x12 0x34", "# labels: {...}", and a line for
// each call with an address, a function and a place.
func groupOf(text string) group {
	g := group{n: 1}
	for line := range strings.SplitSeq(text, "\n") {
		if labels, ok := strings.CutPrefix(line, "# labels: "); ok {
			var all map[string]string
			if json.Unmarshal([]byte(labels), &all) == nil {
				g.sent = all[callLabel]
			}
		} else if call := strings.Split(line, "\t"); len(call) > 3 && call[0] == "#" {
			g.stack += "\n  " + strings.Join(call[2:], " ")
		} else if n, _, ok := strings.Cut(line, " @ "); ok {
			g.n, _ = strconv.Atoi(n)
		}
	}
	return g
}

func count(all []group) (n int) {
	for _, g := range all {
		n += g.n
	}
	return n
}

// stacks returns the stacks as text, for messages.
func stacks(all []group) string {
	var b strings.Builder
	for _, g := range all {
		if g.sent != "" {
			fmt.Fprintf(&b, "\nof %s", g.sent)
		}
		b.WriteString(g.stack)
	}
	return b.String()
}

// atWork returns, for messages, the goroutines that run code of a handler. The others wait for
// them.
func atWork(all []group) string {
	const handler = "framework.(*componentHandler)."
	left := slices.DeleteFunc(all, func(g group) bool { return !strings.Contains(g.stack, handler) })
	for i, g := range left {
		own, _, _ := strings.Cut(g.stack, "github.com/kagami-mcp/kagami/framework.")
		left[i].stack = strings.TrimRight(own, " \n")
	}
	if len(left) == 0 {
		return ""
	}
	return "\nstill at work:" + stacks(left)
}

// lasting returns functions of libraries. Their goroutines remain for some seconds after they are
// no longer needed, or until the process ends.
func lasting() []string {
	return []string{"fasthttp.updateServerDate", "fasthttp.(*workerPool).Start", "goleak."}
}
