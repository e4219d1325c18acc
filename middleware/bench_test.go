package middleware_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware"
	"github.com/kagami-mcp/kagami/protocol"
)

// inside runs fn with a call's context and a chain of steps around nothing.
func inside(tb testing.TB, steps []framework.Middleware, fn func(run func())) {
	tb.Helper()
	logger := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(io.Discard), zapcore.InfoLevel))
	reached := false
	s, err := framework.New("test", "1", framework.WithLogger(logger)).Add(doing(func(ctx context.Context) error {
		reached = true
		chain := framework.Handler(func() framework.Handler {
			r := &framework.Result{Body: &protocol.CallToolResult{Content: []protocol.Block{protocol.Text{Text: "x"}}}}
			return func(context.Context, *framework.Call) (*framework.Result, error) { return r, nil }
		}())
		for _, step := range slices.Backward(steps) {
			chain = step.Wrap(chain)
		}
		c := &framework.Call{
			Method: "tools/call", Name: "t", ID: framework.Caller(ctx).Call, Arguments: []byte(`{"query":"go","limit":3}`),
			Component: framework.ComponentInfo{Kind: "tool", Name: "t", Annotations: protocol.ToolAnnotations{ReadOnly: new(true), Idempotent: new(true)}},
		}
		fresh := new(framework.Call) // a new one would count as an allocation of the steps
		fn(func() {
			*fresh = *c
			if _, err := chain(ctx, fresh); err != nil {
				tb.Error(err)
			}
		})
		return nil
	})).Build()
	if err != nil {
		tb.Fatal(err)
	}
	call(as(from(tb.Context(), "192.0.2.1:1", nil), "ann"), tb, s, `{}`)
	if err := s.Shutdown(tb.Context()); err != nil || !reached {
		tb.Fatal(err, reached)
	}
}

// deaf is a provider that wants everything and keeps nothing.
type deaf struct{ metricnoop.MeterProvider }

func (*deaf) Meter(string, ...metric.MeterOption) metric.Meter { return deafMeter{} }

type deafMeter struct{ metricnoop.Meter }

func (deafMeter) Float64Histogram(string, ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return deafHistogram{}, nil
}

type deafHistogram struct{ metricnoop.Float64Histogram }

func (deafHistogram) Enabled(context.Context) bool { return true }

// each is what a step costs, and how many allocations it may make.
func each() map[string]struct {
	most  float64
	steps []framework.Middleware
} {
	type row = struct {
		most  float64
		steps []framework.Middleware
	}
	plenty := middleware.Rate{Events: 1 << 30, Per: 1 << 30} // one each nanosecond
	one := func(most float64, mw ...framework.Middleware) row { return row{most, mw} }
	return map[string]row{
		"Timeout":            one(6, middleware.Timeout(time.Hour)),
		"Concurrency":        one(1, middleware.Concurrency(10, 10)),
		"RateLimit":          one(0, middleware.RateLimit(plenty)),
		"Logging":            one(20, middleware.Logging()),
		"Logging/sampled":    one(0, middleware.Logging(middleware.Sample(1<<30))),
		"Audit":              one(2, middleware.Audit(io.Discard)),
		"Trace/unset":        one(6, middleware.Trace()),
		"Metrics":            one(0, middleware.MetricsWith(&deaf{})),
		"Metrics/unset":      one(0, middleware.Metrics()),
		"Cache/hit":          one(9, middleware.Cache(time.Hour, 10)),
		"MaxResult":          one(0, middleware.MaxResult(1<<20)),
		"five":               one(6, middleware.Trace(), middleware.MetricsWith(&deaf{}), middleware.Logging(middleware.Sample(1<<30)), middleware.RateLimit(plenty), middleware.MaxResult(1<<20)),
		"five without Trace": one(1, middleware.MetricsWith(&deaf{}), middleware.Logging(middleware.Sample(1<<30)), middleware.RateLimit(plenty), middleware.Concurrency(10, 10), middleware.MaxResult(1<<20)),
	}
}

func BenchmarkSteps(b *testing.B) {
	for name, row := range each() {
		b.Run(name, func(b *testing.B) {
			inside(b, row.steps, func(run func()) {
				b.ReportAllocs()
				for b.Loop() {
					run()
				}
			})
		})
	}
}

// The allocations of each step, so that a growth shows.
func TestAllocations(t *testing.T) {
	for name, row := range each() {
		inside(t, row.steps, func(run func()) {
			run() // the first call makes buffers, buckets and entries
			if got := testing.AllocsPerRun(100, run); got > row.most && !raceEnabled {
				t.Errorf("%s makes %v allocations, documented are at most %v", name, got, row.most)
			}
		})
	}
}

func ExampleRateLimit() {
	limit := middleware.RateLimit(middleware.Rate{
		Events: 100, Per: time.Minute, Burst: 20,
		By: func(c *framework.CallInfo, name string) string {
			if c.Principal == nil {
				return "anybody"
			}
			return c.Principal.Subject + " " + name
		},
	})
	fmt.Println(limit.Name)
	// Output: rate-limit
}
