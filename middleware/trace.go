package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
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

// Trace traces calls with OpenTelemetry. Each execution has a span of kind server, made by the
// program's provider (otel.SetTracerProvider). The context of all later steps and the handler
// contains the span.
//
// The parent of the span is the W3C trace context (traceparent and tracestate) in the request's
// _meta (2026-07-28 basic, "Trace Context"). Without it, the parent is the span of an HTTP server
// in front, and without that, the traceparent header. If there are both a trace context in _meta
// and a span of an HTTP server, that span becomes a link.
//
// A call that asks in rounds has one span per round, all with the ID of the call (kagami.call.id).
// A round that waits for answers is not an error. Attributes have the names of the semantic
// conventions for MCP. A session and a task are recorded as digests of their IDs, because anyone who
// has the ID itself can use the session or the task. Arguments and texts of errors are not recorded.
//
// Trace does not accept baggage from clients, because it would be passed on to other servers. A
// caller can demand that its trace is sampled; a sampler that ignores remote parents prevents that.
// Phase: trace; if Trace is given first, its span covers the other steps.
func Trace() framework.Middleware { return TraceWith(nil, nil) }

// TraceWith is like Trace, but uses the given provider and propagator. A nil argument selects the
// default that Trace uses.
func TraceWith(provider trace.TracerProvider, propagator propagation.TextMapPropagator) framework.Middleware {
	t := &tracing{propagator: propagator}
	if isNil(propagator) {
		t.propagator = propagation.TraceContext{}
	}
	for _, key := range t.propagator.Fields() {
		t.keys = append(t.keys, [2]string{key, http.CanonicalHeaderKey(key)})
	}
	wrap := func(next framework.Handler) framework.Handler {
		p := provider
		if isNil(p) {
			p = otel.GetTracerProvider() // it forwards to a provider that is set later
		}
		return t.wrap(p.Tracer(scope), next)
	}
	return framework.Middleware{Name: "trace", Phase: framework.PhaseTrace, Wrap: wrap}
}

type tracing struct {
	propagator propagation.TextMapPropagator
	keys       [][2]string // the propagator's keys, as spelled in _meta and in headers
}

func (t *tracing) wrap(tracer trace.Tracer, next framework.Handler) framework.Handler {
	var name atomic.Pointer[string] // name of the component's spans; nil until the first call
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
		defer span.End() // also after a panic, which the server recovers
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

// parent returns the context with the parent span. If there is a second candidate, it also returns
// that one as the span to link to.
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

// sent reports whether carrier has any of the keys. Most requests have none of them, and this check
// is cheaper than Extract. spelling selects the form of the keys. If there are no keys, sent
// returns true.
func sent[C propagation.TextMapCarrier](keys [][2]string, spelling int, carrier C) bool {
	return len(keys) == 0 || slices.ContainsFunc(keys, func(key [2]string) bool { return carrier.Get(key[spelling]) != "" })
}

// spanName returns the name of a span, such as "tools/call search". The latest one is kept in known,
// because most calls of a component have one method. It contains nothing that a client chooses, such
// as a URI.
func spanName(known *atomic.Pointer[string], call *framework.Call) string {
	if call.Component.Name == "" || call.Component.Name == call.Method {
		return call.Method
	}
	// Calls that scopes refuse pass one chain, whatever their method.
	if name := known.Load(); name != nil && len(*name) == len(call.Method)+1+len(call.Component.Name) && strings.HasPrefix(*name, call.Method) {
		return *name
	}
	name := call.Method + " " + call.Component.Name
	known.Store(&name)
	return name
}

// requestID returns a JSON-RPC id as the semantic conventions have it: without the quotes of JSON.
func requestID(id string) string {
	if text, ok := jsontext.String([]byte(id)); ok {
		id = text
	}
	return jsontext.Clip(id, maxName)
}

func spanAttributes(ctx context.Context, call *framework.Call) []attribute.KeyValue {
	info := framework.Caller(ctx)
	attrs := append(make([]attribute.KeyValue, 0, 12),
		attribute.String(attrMethod, call.Method), attribute.String(attrRevision, info.Revision),
		attribute.String(attrRequest, requestID(info.Request)), attribute.String(attrCall, call.ID))
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
		add(attrUser, jsontext.Clip(info.Principal.Subject, maxName))
	}
	address, port := clientOf(info.RemoteAddr)
	add(attrAddress, address)
	if port > 0 {
		attrs = append(attrs, attribute.Int(attrPort, port))
	}
	if info.Task != "" {
		add(attrTask, digest(info.Task))
	}
	if call.Round > 0 {
		attrs = append(attrs, attribute.Int(attrRound, call.Round))
	}
	return attrs
}

// clientOf returns the address and the port of a client separately, as the semantic conventions require.
// If the port is unknown, for example behind a proxy, it is 0.
func clientOf(remote string) (address string, port int) {
	end, err := netip.ParseAddrPort(remote)
	if err != nil { // an address of another kind, or none
		return remote, 0
	}
	return end.Addr().String(), int(end.Port())
}

// ended records the outcome of a call on its span. The text of an error is only in the log, under
// the call's ID.
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

// isError reports whether the semantic conventions treat the outcome as an error. They also treat
// isError results as errors.
func isError(outcome framework.Outcome) bool {
	return outcome != framework.OutcomeOK && outcome != framework.OutcomePending
}

// metaCarrier is a TextMapCarrier that reads a _meta object.
type metaCarrier []byte

// maxTraceContext bounds the length of a value that is parsed. By W3C Trace Context section 3.3.1.5
// a tracestate may be cut beyond 512 characters.
const maxTraceContext = 2 << 10

// Get returns the member key if it is a string, and "" otherwise.
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

// headerCarrier is a TextMapCarrier that reads the header of a request.
type headerCarrier struct{ fields transport.Fields }

// Get returns the field key if the header contains it exactly once, and "" otherwise.
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
	return slices.Collect(maps.Keys(c.fields.Header()))
}
