package framework

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine"
)

// The two tools that the peers are measured with.
type (
	addIn struct {
		A int `json:"a" validate:"required"`
		B int `json:"b" validate:"required"`
	}
	addOut struct {
		Sum int `json:"sum"`
	}
	words struct {
		Min int `json:"min" validate:"min=0"`
		Max int `json:"max" validate:"max=1000000"`
	}
	filter struct {
		Authors   []string `json:"authors" validate:"max=16"`
		Published bool     `json:"published"`
		Words     words    `json:"words"`
	}
	findIn struct {
		Query    string            `json:"query" validate:"min=1,max=256"`
		Mode     string            `json:"mode" validate:"oneof=exact fuzzy semantic"`
		Lang     string            `json:"lang" validate:"oneof=en de fr es ja"`
		Limit    int               `json:"limit" validate:"min=1,max=100"`
		Offset   int               `json:"offset" validate:"min=0,max=10000"`
		MinScore float64           `json:"min_score" validate:"min=0,max=1"`
		Tags     []string          `json:"tags" validate:"max=16,dive,min=1"`
		IDs      []int             `json:"ids" validate:"max=64"`
		Filter   filter            `json:"filter"`
		Labels   map[string]string `json:"labels"`
	}
	hit struct {
		ID      string   `json:"id"`
		Title   string   `json:"title"`
		URL     string   `json:"url"`
		Score   float64  `json:"score"`
		Snippet string   `json:"snippet"`
		Tags    []string `json:"tags"`
		Words   int      `json:"words"`
	}
	findOut struct {
		Total   int            `json:"total"`
		TookMs  float64        `json:"took_ms"`
		Mode    string         `json:"mode"`
		Hits    []hit          `json:"hits"`
		Facets  map[string]int `json:"facets"`
		HasMore bool           `json:"has_more"`
	}
)

const (
	addArguments  = `{"a":2,"b":3}`
	findArguments = `{"query":"lock-free queues","mode":"fuzzy","lang":"en","limit":20,"offset":40,"min_score":0.25,` +
		`"tags":["go","concurrency","queues"],"ids":[17,42,1099],"filter":{"authors":["Ada","Grace"],"published":true,` +
		`"words":{"min":200,"max":20000}},"labels":{"team":"search","origin":"web"}}`
)

func add(_ context.Context, in addIn) (addOut, error) { return addOut{in.A + in.B}, nil }

// found is made once: what a handler allocates is its own affair.
func found() findOut {
	out := findOut{Total: 311, TookMs: 12.25, Mode: "fuzzy", HasMore: true, Facets: map[string]int{"article": 200, "book": 11, "paper": 100}}
	for i := range 8 {
		out.Hits = append(out.Hits, hit{
			ID: fmt.Sprintf("doc-%d", i), Title: "A queue without locks", URL: "https://example.com/docs/" + fmt.Sprint(i), Score: 0.93,
			Snippet: strings.Repeat("nobody waits for anybody ", 4), Tags: []string{"go", "queues"}, Words: 1200 + i,
		})
	}
	return out
}

// hop is a call from the engine's hands to the result.
func hop(tb testing.TB, arguments string, tool Component) func() {
	tb.Helper()
	s, err := New("hop", "1.0.0", WithLogger(zap.NewNop())).Add(tool).Build()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Shutdown(tb.Context()) })
	handler := s.registry.Entries()[0].Handler
	all := dialect.All()
	p := &protocol.CallToolParams{Name: "t", Arguments: json.RawMessage(arguments)}
	ctx := tb.Context()
	return func() {
		call := engine.Call{Params: p, Dialect: all[len(all)-1], Meta: noMeta}
		result, err := handler.Handle(ctx, &call)
		if err != nil {
			tb.Fatal(err)
		}
		if r, ok := result.(*protocol.CallToolResult); !ok || r.IsError {
			tb.Fatalf("%+v", result)
		}
	}
}

var noMeta = engine.Meta{RequestMeta: dialect.NoMeta}

// reads is resources/read of one of a hundred templates, the search included.
func reads(tb testing.TB) func() {
	tb.Helper()
	type page struct {
		ID   string `uri:"id"`
		Page int    `uri:"page"`
	}
	app := New("hop", "1.0.0", WithLogger(zap.NewNop()))
	for i := range 100 {
		app.Add(ResourceTemplate(fmt.Sprintf("shelf%d://{id}/{page}", i), func(_ context.Context, p page) (string, error) { return p.ID, nil }))
	}
	s, err := app.Build()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Shutdown(tb.Context()) })
	p := &protocol.ReadResourceParams{URI: "shelf77://moby-dick/12"}
	ctx := tb.Context()
	return func() {
		call := engine.Call{Params: p, Dialect: dialect.Handshake(""), Meta: noMeta}
		handler, err := s.registry.Snapshot().Find(ctx, &call, p)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := handler.Handle(ctx, &call); err != nil {
			tb.Fatal(err)
		}
	}
}

func hops(tb testing.TB) map[string]func() {
	tb.Helper()
	out := found()
	return map[string]func(){
		"small":      hop(tb, addArguments, Tool("t", add)),
		"text":       hop(tb, addArguments, Tool("t", func(context.Context, addIn) (string, error) { return "five", nil })),
		"template":   reads(tb),
		"ten fields": hop(tb, findArguments, Tool("t", func(context.Context, findIn) (findOut, error) { return out, nil })),
	}
}

// TestHopAllocations of a call from Handle to the result. The engine's Call, which
// escapes here, is one of them; then the handling, the values of the call and the
// result's bytes, which a call of an engine writes into memory of the answer instead. Ten
// fields have four containers, of which a map is two, and the texts in them. A template has
// its variables, as a map and as JSON, and contents.
func TestHopAllocations(t *testing.T) {
	for name, most := range map[string]float64{"small": 4, "text": 4, "template": 14, "ten fields": 10} {
		got := testing.AllocsPerRun(200, hops(t)[name])
		if got > most && !raceEnabled {
			t.Errorf("%s makes %v allocations, documented are at most %v", name, got, most)
		}
		t.Logf("%s: %v", name, got)
	}
}

func BenchmarkHop(b *testing.B) {
	for name, run := range hops(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}
