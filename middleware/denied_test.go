package middleware_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap/zapcore"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware"
)

// Calls that scopes refuse are in the audit, the log, the metrics and the trace: who
// wanted what, and that it was denied; never with what the caller must not write there.
func TestDeniedCallsAreSeen(t *testing.T) {
	t.Parallel()
	b, traced, measured := &book{}, &spans{}, &meters{}
	app, logs := watched()
	ran := false
	inner := framework.Middleware{Name: "inner", Phase: framework.PhaseLimit, Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			ran = true
			return next(ctx, call)
		}
	}}
	type visit struct {
		Card string `uri:"card" secret:"true"`
	}
	s := build(t, app.Use(
		middleware.TraceWith(traced, nil), middleware.MetricsWith(measured), middleware.Logging(middleware.Sample(1000)), middleware.Audit(b), inner,
	).Add(
		doing(nothing, framework.Scopes("orders:write")),
		framework.ResourceTemplate("cards://{card}", func(context.Context, visit) (string, error) { return "", nil }, framework.Scopes("cards")),
	))
	ctx := as(from(t.Context(), "192.0.2.1:4711", nil), "bob\nforged")
	denied, absent := call(ctx, t, s, `{"password":"hunter2"}`), request(from(t.Context(), "192.0.2.1:4711", map[string]string{"Mcp-Name": "u"}), t, s, "tools/call", "", `"name":"u",`)
	if denied.code() != absent.code() || denied.Error.Message != strings.ReplaceAll(absent.Error.Message, `"u"`, `"t"`) {
		t.Errorf("the caller is told %s, and of what is not there %s", denied.raw, absent.raw)
	}
	request(as(from(t.Context(), "192.0.2.1:4711", map[string]string{"Mcp-Method": "resources/read", "Mcp-Name": "cards://4711081512341234"}), "bob"),
		t, s, "resources/read", "", `"uri":"cards://4711081512341234",`)

	lines := b.take(t)
	if len(lines) != 2 || lines[0]["subject"] != "bob\nforged" || lines[0]["issuer"] != "https://id.example" || lines[0]["address"] != "192.0.2.1:4711" ||
		lines[0]["method"] != "tools/call" || lines[0]["name"] != "t" || lines[0]["outcome"] != "denied" || lines[0]["call"] == "" ||
		lines[1]["name"] != "cards://{card}" || lines[1]["outcome"] != "denied" {
		t.Errorf("audited %v", lines)
	}
	entries := logs.FilterMessage("call").All()
	if len(entries) != 2 || entries[0].Level != zapcore.WarnLevel || entries[0].ContextMap()["outcome"] != "denied" ||
		entries[0].ContextMap()["error"] != "the caller lacks some of the scopes orders:write" || entries[0].ContextMap()["arguments"] != nil {
		t.Errorf("logged %+v", entries)
	}
	if len(measured.kept) != 2 || !strings.HasPrefix(measured.kept[0], "error.type=denied,") || !strings.Contains(measured.kept[1], "mcp.resource.uri=cards://{card}") {
		t.Errorf("measured %v", measured.kept)
	}
	if all := traced.all(); len(all) != 2 || all[0].attrs["kagami.call.outcome"] != "denied" || all[0].ended != 1 {
		t.Errorf("traced %+v", all)
	}
	text, err := json.Marshal([]any{lines, entries, measured.kept})
	if err != nil || strings.Contains(string(text), "hunter2") || strings.Contains(string(text), "4711081512341234") {
		t.Errorf("%v: a secret is in %s", err, text)
	}
	if ran {
		t.Error("a step of another phase saw it")
	}
}

// TestTraceNamesDeniedCalls: the span of a refused call is named after the method of the call, also if the one before
// had another.
func TestTraceNamesDeniedCalls(t *testing.T) {
	t.Parallel()
	type in struct {
		X string `json:"x,omitempty"`
	}
	traced := &spans{}
	s := build(t, quiet().Use(middleware.TraceWith(traced, nil)).Add(
		framework.Prompt("p", func(context.Context, in) (framework.Messages, error) { return nil, nil }, framework.Scopes("orders"))))
	request(t.Context(), t, s, "prompts/get", "", `"name":"p",`)
	request(t.Context(), t, s, "completion/complete", "", `"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"x","value":""},`)
	var names []string
	for _, span := range traced.all() {
		names = append(names, span.name)
	}
	if want := []string{"prompts/get p", "completion/complete p"}; !slices.Equal(names, want) {
		t.Errorf("spans %q, want %q", names, want)
	}
}
