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

// counters is a middleware of this program. It counts calls by name and outcome, on a page that
// Prometheus reads. It shows what is possible without a library. For times and other values, use
// middleware.Metrics or middleware/prometheus.
type counters struct {
	mu    sync.Mutex // guards the fields below
	calls map[series]int
}

// series has only a few values, and none of them comes from a client. It therefore uses
// Component.Name and not Call.Name, which may be any URI that matches a template.
type series struct {
	method, name string
	outcome      framework.Outcome
}

func newCounters() *counters { return &counters{calls: make(map[series]int)} }

func (c *counters) step() framework.Middleware {
	return framework.Middleware{Name: "counters", Phase: framework.PhaseTrace, Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (result *framework.Result, err error) {
			outcome := framework.Outcome("panic") // until next has returned
			defer func() {
				if outcome != framework.OutcomePending { // the call asks a question and continues in a later round
					c.add(series{call.Method, call.Component.Name, outcome})
				}
			}()
			result, err = next(ctx, call)
			outcome = framework.OutcomeOf(ctx, result, err)
			return result, err
		}
	}}
}

func (c *counters) add(s series) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[s]++
}

// ServeHTTP serves the page.
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
