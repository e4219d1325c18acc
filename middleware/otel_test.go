package middleware_test

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware"
	"github.com/kagami-mcp/kagami/protocol"
)

// spans is a provider that keeps what was traced.
type spans struct {
	tracenoop.TracerProvider

	mu   sync.Mutex // guards all below
	kept []*span
}

func (s *spans) Tracer(string, ...trace.TracerOption) trace.Tracer { return tracer{spans: s} }

type tracer struct {
	tracenoop.Tracer
	spans *spans
}

func (s *spans) all() []*span {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.kept)
}

func (r tracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	config := trace.NewSpanStartConfig(opts...)
	parent := trace.SpanContextFromContext(ctx)
	c := trace.SpanContextConfig{TraceID: parent.TraceID(), TraceFlags: trace.FlagsSampled, TraceState: parent.TraceState()}
	if !parent.IsValid() {
		_, _ = rand.Read(c.TraceID[:])
	}
	_, _ = rand.Read(c.SpanID[:])
	made := &span{name: name, kind: config.SpanKind(), links: config.Links(), parent: parent, context: trace.NewSpanContext(c), attrs: map[string]string{}}
	r.spans.mu.Lock()
	defer r.spans.mu.Unlock()
	r.spans.kept = append(r.spans.kept, made)
	return trace.ContextWithSpan(ctx, made), made
}

type span struct {
	tracenoop.Span
	name    string
	kind    trace.SpanKind
	links   []trace.Link
	parent  trace.SpanContext
	context trace.SpanContext
	attrs   map[string]string
	status  codes.Code
	said    string
	ended   int
}

func (s *span) SpanContext() trace.SpanContext { return s.context }
func (s *span) IsRecording() bool              { return true }
func (s *span) End(...trace.SpanEndOption)     { s.ended++ }
func (s *span) SetStatus(code codes.Code, said string) {
	s.status, s.said = code, said
}

func (s *span) SetAttributes(attrs ...attribute.KeyValue) {
	for _, a := range attrs {
		s.attrs[string(a.Key)] = a.Value.String()
	}
}

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	sent    = "00-" + traceID + "-b7ad6b7169203331-01"
	sentTwo = "00-11111111111111111111111111111111-2222222222222222-01"
)

func TestTrace(t *testing.T) {
	t.Parallel()
	ambient := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{9}, SpanID: trace.SpanID{9}, TraceFlags: trace.FlagsSampled})
	for name, tt := range map[string]struct {
		meta    string
		header  map[string]string
		ambient bool
		parent  string // trace id; "": a new trace
		linked  bool
	}{
		"nothing":                    {},
		"_meta":                      {meta: `"traceparent":"` + sent + `","tracestate":"a=1",`, parent: traceID},
		"header":                     {header: map[string]string{"Traceparent": sent}, parent: traceID},
		"_meta before header":        {meta: `"traceparent":"` + sent + `",`, header: map[string]string{"Traceparent": sentTwo}, parent: traceID},
		"a span in front":            {ambient: true, parent: ambient.TraceID().String()},
		"a span before the header":   {ambient: true, header: map[string]string{"Traceparent": sentTwo}, parent: ambient.TraceID().String()},
		"_meta, and a span in front": {ambient: true, meta: `"traceparent":"` + sent + `",`, parent: traceID, linked: true},
		"no text":                    {meta: `"traceparent":{"x":1},`},
		"garbage":                    {meta: `"traceparent":"00-` + strings.Repeat("z", 32) + `-b7ad6b7169203331-01",`},
		"zeros":                      {meta: `"traceparent":"00-00000000000000000000000000000000-b7ad6b7169203331-01",`},
		"endless":                    {meta: `"traceparent":"` + strings.Repeat("0", 100_000) + `",`},
		"an endless state":           {meta: `"traceparent":"` + sent + `","tracestate":"a=` + strings.Repeat("x", 100_000) + `",`, parent: traceID},
		"garbage, but a header's":    {meta: `"traceparent":"x",`, header: map[string]string{"Traceparent": sent}, parent: traceID},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			traced := &spans{}
			var inside trace.SpanContext
			s := build(t, quiet().Use(middleware.TraceWith(traced, nil)).Add(doing(func(ctx context.Context) error {
				inside = trace.SpanContextFromContext(ctx)
				return nil
			})))
			ctx := from(t.Context(), "192.0.2.1:1", tt.header)
			if tt.ambient {
				ctx = trace.ContextWithSpanContext(ctx, ambient)
			}
			got := request(ctx, t, s, "tools/call", tt.meta, `"name":"t","arguments":{},`)
			all := traced.all()
			if got.text() != "done" || len(all) != 1 {
				t.Fatalf("answered %s, %d spans", got.raw, len(all))
			}
			parent := ""
			if all[0].parent.IsValid() {
				parent = all[0].parent.TraceID().String()
			}
			if parent != tt.parent || len(all[0].links) > 0 != tt.linked || !inside.Equal(all[0].context) {
				t.Errorf("parent %s, want %s; links %v; inside %v", parent, tt.parent, all[0].links, inside)
			}
		})
	}
}

// Baggage is for those who ask for it.
func TestTraceBaggage(t *testing.T) {
	t.Parallel()
	for want, propagator := range map[string]propagation.TextMapPropagator{
		"":         nil,
		"tenant=a": propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
	} {
		got := "none"
		s := build(t, quiet().Use(middleware.TraceWith(&spans{}, propagator)).Add(doing(func(ctx context.Context) error {
			got = baggage.FromContext(ctx).String()
			return nil
		})))
		request(t.Context(), t, s, "tools/call", `"traceparent":"`+sent+`","baggage":"tenant=a",`, `"name":"t","arguments":{},`)
		if got != want {
			t.Errorf("baggage %q, want %q", got, want)
		}
	}
}

func TestTraceAttributes(t *testing.T) {
	t.Parallel()
	traced := &spans{}
	s := build(t, quiet().Use(middleware.TraceWith(traced, nil)).Add(
		doing(func(context.Context) error { return &protocol.Error{Code: -7, Message: "secret text"} }),
		framework.Resource("a://b", func(context.Context) (string, error) { return "x", nil }),
		framework.ResourceTemplate("c://{x}", func(context.Context, struct{ X string }) (string, error) { return "x", nil }),
	))
	ctx := as(from(t.Context(), "192.0.2.1:1", nil), "ann")
	call(ctx, t, s, `{}`)
	request(t.Context(), t, s, "resources/read", "", `"uri":"c://`+strings.Repeat("y", 3000)+`",`)
	request(t.Context(), t, s, "tools/list", "", "")
	all := traced.all()
	tool, read, list := all[0], all[1], all[2]
	for key, want := range map[string]string{
		"mcp.method.name": "tools/call", "mcp.protocol.version": "2026-07-28", "gen_ai.tool.name": "t", "gen_ai.operation.name": "execute_tool",
		"error.type": "rejected", "rpc.response.status_code": "-7", "client.address": "192.0.2.1", "client.port": "1", "enduser.id": "ann", "kagami.call.outcome": "rejected",
	} {
		if tool.attrs[key] != want {
			t.Errorf("%s is %q, want %q", key, tool.attrs[key], want)
		}
	}
	if tool.name != "tools/call t" || tool.kind != trace.SpanKindServer || tool.status != codes.Error || tool.said != "rejected" || tool.ended != 1 {
		t.Errorf("span %+v", tool)
	}
	if tool.attrs["kagami.call.id"] == "" || tool.attrs["jsonrpc.request.id"] == "" {
		t.Errorf("attributes %v", tool.attrs)
	}
	if read.name != "resources/read c://{x}" || len(read.attrs["mcp.resource.uri"]) > 300 || read.status != codes.Unset {
		t.Errorf("span %+v", read)
	}
	if list.name != "tools/list" || list.attrs["kagami.call.outcome"] != "ok" {
		t.Errorf("span %+v", list)
	}
}

// TestTraceRequestID: the id is the text that the client's own span has.
func TestTraceRequestID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{`"a\"b"`: `a"b`, `17`: "17"} {
		traced := &spans{}
		s := build(t, quiet().Use(middleware.TraceWith(traced, nil)).Add(doing(func(context.Context) error { return nil })))
		frame := `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"t","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
		send(t.Context(), t, s, frame)
		if got := traced.all()[0].attrs["jsonrpc.request.id"]; got != want {
			t.Errorf("the id %s is written as %q", id, got)
		}
	}
}

func TestTraceSession(t *testing.T) {
	t.Parallel()
	traced := &spans{}
	var id string
	s := build(t, quiet().Use(middleware.TraceWith(traced, nil)).Add(doing(func(ctx context.Context) error {
		id = framework.Caller(ctx).Session
		return nil
	})))
	shake(t, s).call(t, `{}`)
	if got := traced.all()[0].attrs["mcp.session.id"]; got == "" || id == "" || strings.Contains(id, got) {
		t.Errorf("the session %q is written as %q", id, got)
	}
}

// A span a round, all of one call; none is an error because it waits.
func TestTraceRounds(t *testing.T) {
	t.Parallel()
	traced := &spans{}
	s := build(t, quiet().Use(middleware.TraceWith(traced, nil)).Add(asking(1)))
	again(t.Context(), t, s, call(t.Context(), t, s, `{}`), true)
	all := traced.all()
	if len(all) != 2 || all[0].attrs["kagami.call.id"] != all[1].attrs["kagami.call.id"] || all[1].attrs["kagami.call.round"] != "1" {
		t.Fatalf("%d spans: %+v", len(all), all)
	}
	if all[0].status != codes.Unset || all[0].attrs["kagami.call.outcome"] != "pending" || all[1].attrs["kagami.call.outcome"] != "ok" {
		t.Errorf("spans %+v, %+v", all[0], all[1])
	}
}

var boom = framework.Middleware{Name: "boom", Wrap: func(framework.Handler) framework.Handler {
	return func(context.Context, *framework.Call) (*framework.Result, error) { panic("boom") }
}}

func TestTracePanics(t *testing.T) {
	t.Parallel()
	traced := &spans{}
	s := build(t, quiet().Use(middleware.TraceWith(traced, nil), boom).Add(doing(nothing)))
	call(t.Context(), t, s, `{}`)
	if got := traced.all()[0]; got.ended != 1 || got.attrs["error.type"] != "panic" {
		t.Errorf("span %+v", got)
	}
}

// meters is a provider that keeps what was measured.
type meters struct {
	metricnoop.MeterProvider

	mu   sync.Mutex // guards all below
	kept []string
}

func (m *meters) Meter(string, ...metric.MeterOption) metric.Meter { return meter{meters: m} }

type meter struct {
	metricnoop.Meter
	meters *meters
}

func (r meter) Float64Histogram(name string, opts ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	if c := metric.NewFloat64HistogramConfig(opts...); name != "mcp.server.operation.duration" || c.Unit() != "s" {
		return nil, errors.New("not as the conventions say: " + name + " in " + c.Unit())
	}
	return histogram{meters: r.meters}, nil
}

type histogram struct {
	metricnoop.Float64Histogram
	meters *meters
}

func (histogram) Enabled(context.Context) bool { return true }

func (h histogram) Record(_ context.Context, _ float64, opts ...metric.RecordOption) {
	m, set := h.meters, metric.NewRecordConfig(opts).Attributes()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = append(m.kept, set.Encoded(attribute.DefaultEncoder()))
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	m := &meters{}
	s := build(t, quiet().Use(middleware.MetricsWith(m)).Add(
		framework.Tool("fail", func(context.Context, struct{}) (string, error) { return "", framework.UserErrorf("no") }),
		framework.ResourceTemplate("c://{x}", func(context.Context, struct{ X string }) (string, error) { return "x", nil }),
		asking(1),
	))
	again(t.Context(), t, s, call(t.Context(), t, s, `{}`), true)
	request(t.Context(), t, s, "tools/call", "", `"name":"fail","arguments":{},`)
	request(t.Context(), t, s, "tools/call", "", `"name":"made up","arguments":{},`)
	for _, x := range []string{"1", "2", "3"} {
		request(t.Context(), t, s, "resources/read", "", `"uri":"c://`+x+`",`)
	}
	request(t.Context(), t, s, "tools/list", "", "")
	read := `mcp.method.name=resources/read,mcp.protocol.version=2026-07-28,mcp.resource.uri=c://{x}`
	want := []string{
		`gen_ai.operation.name=execute_tool,gen_ai.tool.name=t,mcp.method.name=tools/call,mcp.protocol.version=2026-07-28`,
		`error.type=tool_error,gen_ai.operation.name=execute_tool,gen_ai.tool.name=fail,mcp.method.name=tools/call,mcp.protocol.version=2026-07-28`,
		read, read, read,
		`mcp.method.name=tools/list,mcp.protocol.version=2026-07-28`,
	}
	if !slices.Equal(m.kept, want) {
		t.Errorf("measured\n%s\nwant\n%s", strings.Join(m.kept, "\n"), strings.Join(want, "\n"))
	}
}

func TestMetricsPanics(t *testing.T) {
	t.Parallel()
	m := &meters{}
	s := build(t, quiet().Use(middleware.MetricsWith(m), boom).Add(doing(nothing)))
	call(t.Context(), t, s, `{}`)
	if len(m.kept) != 1 || !strings.Contains(m.kept[0], "error.type=panic") {
		t.Errorf("measured %v", m.kept)
	}
}

// Without a provider nothing happens, and nothing fails.
func TestTelemetryUnset(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Use(middleware.Trace(), middleware.Metrics(), middleware.MetricsWith((*meters)(nil))).Add(doing(nothing)))
	if got := call(t.Context(), t, s, `{}`); got.text() != "done" {
		t.Errorf("answered %s", got.raw)
	}
}
