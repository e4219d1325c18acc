package middleware

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/kagami-mcp/kagami/framework"
)

// Metrics measures calls with OpenTelemetry, using the program's provider (otel.SetMeterProvider).
// It records the histogram mcp.server.operation.duration, in seconds, which covers all later steps
// and the handler. A call that asks in rounds counts once, with the duration of its last round.
//
// The attributes are mcp.method.name, mcp.protocol.version, gen_ai.tool.name with
// gen_ai.operation.name, gen_ai.prompt.name or mcp.resource.uri (of a template, the template), and
// error.type. If the call failed, error.type is a framework.Outcome or "panic". Each attribute has
// few values, and the server defines all of them: calls of unknown components do not reach
// middleware. If the provider does not record, Metrics measures nothing. Phase: trace.
func Metrics() framework.Middleware { return MetricsWith(nil) }

// MetricsWith is like Metrics, but uses the given provider. A nil provider selects the one that
// Metrics uses.
func MetricsWith(provider metric.MeterProvider) framework.Middleware {
	wrap := func(next framework.Handler) framework.Handler {
		p := provider
		if isNil(p) {
			p = otel.GetMeterProvider() // it forwards to a provider that is set later
		}
		duration, err := p.Meter(scope).Float64Histogram(metricDuration,
			metric.WithUnit("s"),
			metric.WithDescription("How long the server took for a request."),
			metric.WithExplicitBucketBoundaries(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300))
		if err != nil {
			otel.Handle(err)
			return next
		}
		return (&measuring{duration: duration}).around(next)
	}
	return framework.Middleware{Name: "metrics", Phase: framework.PhaseTrace, Wrap: wrap}
}

// measuring has the histogram for one component. The number of methods, revisions and outcomes
// bounds its attribute sets.
type measuring struct {
	duration metric.Float64Histogram
	sets     sync.Map                // labels -> *labeled
	last     atomic.Pointer[labeled] // set of the previous call; most calls have the same labels, and comparing them needs no hash
}

// labeled is a set of labels with the options that record it. Immutable.
type labeled struct {
	labels
	options []metric.RecordOption
}

type labels struct {
	method, revision string
	outcome          framework.Outcome
}

func (m *measuring) around(next framework.Handler) framework.Handler {
	measured := watched(next, m.record)
	return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
		if !m.duration.Enabled(ctx) {
			return next(ctx, call)
		}
		return measured(ctx, call)
	}
}

func (m *measuring) record(ctx context.Context, call *framework.Call, _ json.RawMessage, outcome framework.Outcome, _ error) {
	l := labels{call.Method, framework.CallerLite(ctx).Revision, outcome}
	m.duration.Record(ctx, time.Since(call.Began()).Seconds(), m.options(l, call)...)
}

// options returns the options for a set of labels. They are made once per set.
func (m *measuring) options(l labels, call *framework.Call) []metric.RecordOption {
	if last := m.last.Load(); last != nil && last.labels == l {
		return last.options
	}
	known, ok := m.sets.Load(l)
	if !ok {
		made := []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attributesOf(l, call)...))}
		known, _ = m.sets.LoadOrStore(l, &labeled{l, made})
	}
	found := known.(*labeled)
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
