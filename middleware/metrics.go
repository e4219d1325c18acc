package middleware

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/kagami-mcp/kagami/framework"
)

// Metrics measures calls with OpenTelemetry, by the provider that the program has set
// (otel.SetMeterProvider): the histogram mcp.server.operation.duration, in seconds, of
// everything further in. A call that is asked in rounds counts once, with the time of its
// last round.
//
// The attributes are mcp.method.name, mcp.protocol.version, gen_ai.tool.name,
// gen_ai.prompt.name or mcp.resource.uri (for a template, the template), and error.type, a
// framework.Outcome, if the call failed. Each has few values, all of them the server's own:
// calls of what does not exist never get here. If the provider does not record, nothing is
// measured. Phase: trace.
func Metrics() framework.Middleware { return MetricsWith(nil) }

// MetricsWith is Metrics with a provider of your own; nil stands for that of Metrics.
func MetricsWith(provider metric.MeterProvider) framework.Middleware {
	wrap := func(next framework.Handler) framework.Handler {
		p := provider
		if p == nil {
			p = otel.GetMeterProvider() // which passes calls on to a provider that is set later
		}
		duration, err := p.Meter(scope).Float64Histogram(metricDuration,
			metric.WithUnit("s"),
			metric.WithDescription("How long the server took for a request."),
			metric.WithExplicitBucketBoundaries(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300))
		if err != nil {
			otel.Handle(err)
			return next
		}
		m := &measuring{duration: duration}
		return m.around(next)
	}
	return framework.Middleware{Name: "metrics", Phase: framework.PhaseTrace, Wrap: wrap}
}

// measuring is the instrument of one component. Its sets of attributes are bounded by the
// number of methods, revisions and outcomes.
type measuring struct {
	duration metric.Float64Histogram
	sets     sync.Map                 // labels -> *labelled
	last     atomic.Pointer[labelled] // most calls have the labels of the one before, which needs no hash
}

// labelled is one set of labels with the options to record it. Immutable.
type labelled struct {
	labels
	options []metric.RecordOption
}

type labels struct {
	method, revision string
	outcome          framework.Outcome
}

func (m *measuring) around(next framework.Handler) framework.Handler {
	return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
		if !m.duration.Enabled(ctx) {
			return next(ctx, call)
		}
		began := call.Began()
		outcome := outcomePanic
		defer func() { // deferred, because the engine recovers panics: a call that panics is counted, too
			if outcome != framework.OutcomePending {
				l := labels{call.Method, framework.CallRevision(ctx), outcome}
				m.duration.Record(ctx, time.Since(began).Seconds(), m.options(l, call)...)
			}
		}()
		result, err := next(ctx, call)
		outcome = framework.OutcomeOf(ctx, result, err)
		return result, err
	}
}

// options are made once for each set of labels.
func (m *measuring) options(l labels, call *framework.Call) []metric.RecordOption {
	if last := m.last.Load(); last != nil && last.labels == l {
		return last.options
	}
	known, ok := m.sets.Load(l)
	if !ok {
		made := []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attributesOf(l, call)...))}
		known, _ = m.sets.LoadOrStore(l, &labelled{l, made})
	}
	found := known.(*labelled)
	m.last.Store(found)
	return found.options
}

func attributesOf(l labels, call *framework.Call) []attribute.KeyValue {
	attrs := []attribute.KeyValue{attribute.String(attrMethod, l.method), attribute.String(attrRevision, l.revision)}
	switch call.Component.Kind {
	case "tool":
		attrs = append(attrs, attribute.String(attrTool, call.Component.Name), attribute.String(attrOperation, operationTool))
	case "prompt":
		attrs = append(attrs, attribute.String(attrPrompt, call.Component.Name))
	case "resource", "template":
		attrs = append(attrs, attribute.String(attrResource, call.Component.Name))
	}
	if isError(l.outcome) {
		attrs = append(attrs, attribute.String(attrError, string(l.outcome)))
	}
	return attrs
}
