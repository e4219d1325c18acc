package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
)

// Trace traces calls with OpenTelemetry: a span of kind server for each execution, by the
// provider that the program has set (otel.SetTracerProvider). Its parent is the W3C trace
// context (traceparent and tracestate) of the request's _meta (2026-07-28 basic, "Trace
// Context"), else the span of an HTTP server in front, else the traceparent header; if
// there are both of the first two, the second is a link. The span is in the context of
// everything further in.
//
// A call that is asked in rounds has a span in each, all with its id (kagami.call.id); one
// that waits for answers is not an error. Attributes have the names of the semantic
// conventions for MCP. A session is written as a digest of its id (the id itself would let
// in whoever has it); arguments and texts of errors are not written. Baggage is not taken
// from clients: it would be passed on to other servers. A caller can demand that its trace
// is sampled; a sampler that ignores remote parents prevents that. Phase: trace; given
// first, it spans the other steps.
func Trace() framework.Middleware { return TraceWith(nil, nil) }

// TraceWith is Trace with a provider and a propagator of your own; nil stands for those of
// Trace.
func TraceWith(provider trace.TracerProvider, propagator propagation.TextMapPropagator) framework.Middleware {
	t := &tracing{propagator: propagator}
	if propagator == nil {
		t.propagator = propagation.TraceContext{}
	}
	for _, key := range t.propagator.Fields() {
		t.keys = append(t.keys, [2]string{key, http.CanonicalHeaderKey(key)})
	}
	wrap := func(next framework.Handler) framework.Handler {
		p := provider
		if p == nil {
			p = otel.GetTracerProvider() // which passes calls on to a provider that is set later
		}
		return t.wrap(p.Tracer(scope), next)
	}
	return framework.Middleware{Name: "trace", Phase: framework.PhaseTrace, Wrap: wrap}
}

type tracing struct {
	propagator propagation.TextMapPropagator
	keys       [][2]string // the keys that it reads, from _meta and from headers
}

func (t *tracing) wrap(tracer trace.Tracer, next framework.Handler) framework.Handler {
	var name atomic.Pointer[string] // the name of the component's spans
	plain := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)}
	return func(ctx context.Context, call *framework.Call) (result *framework.Result, err error) {
		lite := framework.CallerLite(ctx)
		if lite.ReplayCheck {
			return next(ctx, call)
		}
		parent, link := t.parent(ctx, lite.Meta)
		opts := plain
		if link.IsValid() {
			opts = append(plain[:1:1], trace.WithLinks(trace.Link{SpanContext: link}))
		}
		inner, span := tracer.Start(parent, spanName(&name, call), opts...)
		defer span.End() // also after a panic, which the engine recovers
		if !span.IsRecording() {
			return next(inner, call)
		}
		span.SetAttributes(spanAttributes(ctx, call)...)
		returned := false
		defer func() {
			if !returned {
				ended(span, outcomePanic, nil)
			}
		}()
		result, err = next(inner, call)
		returned = true
		ended(span, framework.OutcomeOf(ctx, result, err), err)
		return result, err
	}
}

// parent is the context with the parent span, and a span to link to, if there is another one.
func (t *tracing) parent(ctx context.Context, meta json.RawMessage) (parent context.Context, link trace.SpanContext) {
	ambient := trace.SpanContextFromContext(ctx)
	if meta != nil && sent(t.keys, 0, metaCarrier(meta)) {
		extracted := t.propagator.Extract(ctx, metaCarrier(meta))
		if sent := trace.SpanContextFromContext(extracted); sent.IsRemote() && !sent.Equal(ambient) {
			return extracted, ambient
		}
	}
	if request := transport.RequestFrom(ctx); !ambient.IsValid() && request != nil && sent(t.keys, 1, headerCarrier{request.Fields}) {
		return t.propagator.Extract(ctx, headerCarrier{request.Fields}), link
	}
	return ctx, link
}

// sent says whether there is anything to extract. Most requests have nothing, and finding that
// out is cheaper than extracting.
func sent[C propagation.TextMapCarrier](keys [][2]string, spelling int, carrier C) bool {
	return len(keys) == 0 || slices.ContainsFunc(keys, func(key [2]string) bool { return carrier.Get(key[spelling]) != "" })
}

// spanName is such as "tools/call search". It is made once for each component and kept in
// known. It contains nothing that clients choose, such as URIs.
func spanName(known *atomic.Pointer[string], call *framework.Call) string {
	if call.Component.Name == "" || call.Component.Name == call.Method {
		return call.Method
	}
	if name := known.Load(); name != nil {
		return *name
	}
	name := call.Method + " " + call.Component.Name
	known.Store(&name)
	return name
}

func spanAttributes(ctx context.Context, call *framework.Call) []attribute.KeyValue {
	info := framework.Caller(ctx)
	attrs := append(make([]attribute.KeyValue, 0, 12),
		attribute.String(attrMethod, call.Method), attribute.String(attrRevision, info.Revision),
		attribute.String(attrRequest, bounded(info.Request, maxName)), attribute.String(attrCall, call.ID))
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, attribute.String(key, value))
		}
	}
	switch call.Component.Kind {
	case "tool":
		add(attrTool, call.Component.Name)
		add(attrOperation, operationTool)
	case "prompt":
		add(attrPrompt, call.Component.Name)
	case "resource", "template":
		var r redactor
		add(attrResource, r.bounded(framework.RedactName(ctx, call), maxName, nil))
	}
	if info.Session != "" {
		add(attrSession, digest(info.Session))
	}
	if info.Principal != nil {
		add(attrUser, bounded(info.Principal.Subject, maxName))
	}
	add(attrAddress, info.RemoteAddr)
	add(attrTask, info.Task)
	if call.Round > 0 {
		attrs = append(attrs, attribute.Int(attrRound, call.Round))
	}
	return attrs
}

// ended records the outcome. The text of an error is only in the log, under the call's id.
func ended(span trace.Span, outcome framework.Outcome, err error) {
	span.SetAttributes(attribute.String(attrOutcome, string(outcome)))
	if !isError(outcome) {
		return
	}
	span.SetAttributes(attribute.String(attrError, string(outcome)))
	span.SetStatus(codes.Error, string(outcome))
	if plain, ok := errors.AsType[*protocol.Error](err); ok {
		span.SetAttributes(attribute.String(attrStatus, strconv.Itoa(plain.Code)))
	}
}

// isError says whether the conventions call the outcome an error: an isError result, too.
func isError(outcome framework.Outcome) bool {
	return outcome != framework.OutcomeOK && outcome != framework.OutcomePending
}

// metaCarrier reads a _meta object.
type metaCarrier []byte

// maxTraceContext bounds what is parsed: a tracestate has at most 512 characters by
// W3C Trace Context section 3.3.1.5, beyond which it may be cut.
const maxTraceContext = 2 << 10

// Get returns the member if it is a string, else "".
func (c metaCarrier) Get(key string) string {
	raw, _ := jsontext.Member(c, key)
	text, ok := jsontext.String(raw)
	if !ok || len(text) > maxTraceContext {
		return ""
	}
	return text
}

// Set does nothing: a request is read only.
func (metaCarrier) Set(string, string) {}

// Keys returns the names of all members.
func (c metaCarrier) Keys() []string {
	var keys []string
	for key := range jsontext.Members(c) {
		keys = append(keys, key.String())
	}
	return keys
}

// headerCarrier reads the header of a request.
type headerCarrier struct{ fields transport.Fields }

// Get returns the field if it is there exactly once.
func (c headerCarrier) Get(key string) string {
	value, times := c.fields.Value(key)
	if times != 1 || len(value) > maxTraceContext {
		return ""
	}
	return value
}

// Set does nothing: a request is read only.
func (headerCarrier) Set(string, string) {}

// Keys returns the names of all fields.
func (c headerCarrier) Keys() []string {
	var keys []string
	for key := range c.fields.Header() {
		keys = append(keys, key)
	}
	return keys
}
