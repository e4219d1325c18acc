package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/kagami-mcp/kagami/framework"
)

// counters are a middleware of one's own: how often what was called, and how it ended, as
// a page that Prometheus reads. It is all that can be had without a library; times, and
// whatever else the program measures, are middleware.Metrics and middleware/prometheus.
type counters struct {
	mu    sync.Mutex // guards all below
	calls map[series]int
}

// series has few values, none of them a client's: Component.Name, not Call.Name, which is
// any URI that a template matches.
type series struct {
	method, name string
	outcome      framework.Outcome
}

func newCounters() *counters { return &counters{calls: make(map[series]int)} }

func (c *counters) step() framework.Middleware {
	return framework.Middleware{Name: "counters", Phase: framework.PhaseTrace, Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			result, err := next(ctx, call)
			outcome := framework.OutcomeOf(ctx, result, err)
			if outcome != framework.OutcomePending { // it is asking, and will be here again
				c.add(series{call.Method, call.Component.Name, outcome})
			}
			return result, err
		}
	}}
}

func (c *counters) add(s series) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[s]++
}

// ServeHTTP is the page.
func (c *counters) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	calls := maps.Clone(c.calls)
	c.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = fmt.Fprintln(w, "# HELP secured_calls_total Calls that are over.\n# TYPE secured_calls_total counter")
	for _, s := range slices.SortedFunc(maps.Keys(calls), func(a, b series) int {
		return cmp.Or(cmp.Compare(a.method, b.method), cmp.Compare(a.name, b.name), cmp.Compare(a.outcome, b.outcome))
	}) {
		_, _ = fmt.Fprintf(w, "secured_calls_total{method=%q,name=%q,outcome=%q} %d\n", s.method, s.name, s.outcome, calls[s])
	}
}
