package dialect_test

import (
	"encoding/json"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

var (
	callNoMeta = []byte(`{"name":"get_weather","arguments":{"location":"New York","days":3}}`)
	callModern = []byte(`{"name":"get_weather","arguments":{"location":"New York","days":3},"_meta":{` + modernMeta +
		`,"io.modelcontextprotocol/clientInfo":{"name":"ExampleClient","version":"1.0.0"}}}`)
)

// The numbers are the cost that a tools/call pays here; a change must be meant.
func TestAllocations(t *testing.T) {
	d, modern := dialect.Of(revD), dialect.Of(revE)
	buf := make([]byte, 0, 4096)
	result := protocol.Result(&protocol.CallToolResult{
		Content:    []protocol.Block{protocol.Text{Text: "Partly cloudy"}},
		Structured: json.RawMessage(`{"conditions":"Partly cloudy"}`),
	})
	server := modern.AppendImplementation(nil, exampleServer)
	for name, c := range map[string]struct {
		most float64
		run  func()
	}{
		"DecodeMeta without _meta":   {0, func() { _, _ = d.DecodeMeta(callNoMeta) }},
		"DecodeMeta nil":             {0, func() { _, _ = d.DecodeMeta(nil) }},
		"DecodeMeta 2026-07-28":      {3, func() { _, _ = modern.DecodeMeta(callModern) }}, // all of it, and the two strings of Client
		"Peek":                       {0, func() { _, _ = dialect.Peek(callModern) }},
		"DecodeParams tools/call":    {2, func() { _, _ = d.DecodeParams("tools/call", callNoMeta) }}, // the params and the name
		"AppendResult of tools/call": {0, func() { buf, _ = modern.AppendResult(buf[:0], result, server) }},
	} {
		if got := testing.AllocsPerRun(100, c.run); got > c.most {
			t.Errorf("%s: %v allocations, want %v at most", name, got, c.most)
		} else {
			t.Logf("%s: %v", name, got)
		}
	}
}

func BenchmarkDecodeCallTool(b *testing.B) {
	modern := dialect.Of(revE)
	b.SetBytes(int64(len(callModern)))
	b.ReportAllocs()
	for b.Loop() {
		if _, fault := modern.DecodeMeta(callModern); fault != nil {
			b.Fatal(fault)
		}
		if _, fault := modern.DecodeParams("tools/call", callModern); fault != nil {
			b.Fatal(fault)
		}
	}
}

func BenchmarkAppendCallToolResult(b *testing.B) {
	modern := dialect.Of(revE)
	server := modern.AppendImplementation(nil, exampleServer)
	result := &protocol.CallToolResult{Structured: json.RawMessage(`{"temperature":22.5,"conditions":"Partly cloudy"}`)}
	buf := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = modern.AppendResult(buf[:0], result, server); err != nil {
			b.Fatal(err)
		}
	}
}
