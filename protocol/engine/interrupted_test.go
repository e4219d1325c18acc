package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/transport"
)

// TestInterruptedWait: a wait for a task has no effect, so its client is asked to wait again.
func TestInterruptedWait(t *testing.T) {
	t.Parallel()
	c := newSite(t, "2025-11-25")
	ctx := transport.WithRequest(t.Context(), &transport.Request{Fields: transport.HeaderFields{}, Sessions: c})
	x, err := c.e.Accept(ctx, []byte(`{"jsonrpc":"2.0","id":7,"method":"tasks/result","params":{"taskId":"x"}}`))
	if err != nil {
		t.Fatal(err)
	}
	answer := string(x.(transport.Planned).Interrupted())
	if !strings.Contains(answer, "send tasks/result again") || strings.Contains(answer, "may have been done") {
		t.Errorf("got %s", answer)
	}
	if err := x.Serve(ctx, transport.OutboundFunc(func(context.Context, transport.Frame) error { return nil })); err != nil {
		t.Error(err)
	}
}

// TestInterrupted: what a client hears if the process ends before the answer.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	const call, note = `"method":"tools/call","params":{"name":"echo"}}`, `{"jsonrpc":"2.0","method":"notifications/none"}`
	for frame, want := range map[string][]string{
		`{"jsonrpc":"2.0","id":7,` + call:   {`7`},
		`{"jsonrpc":"2.0","id":"x",` + call: {`"x"`},
		note:                                nil,
		`[` + note + `,{"jsonrpc":"2.0","id":1,` + call + `,7,{"jsonrpc":"2.0","id":2,` + call + `]`: {`1`, `2`},
		`[` + note + `]`: nil,
	} {
		s := newSite(t, "2025-03-26")
		ctx := transport.WithRequest(t.Context(), &transport.Request{Fields: transport.HeaderFields{}, Sessions: s})
		x, err := s.e.Accept(ctx, []byte(frame))
		if err != nil {
			t.Fatal(err)
		}
		will, ok := x.(transport.Planned)
		if !ok {
			t.Fatalf("%T is not interruptible", x)
		}
		answer := will.Interrupted()
		if err := x.Serve(ctx, transport.OutboundFunc(func(context.Context, transport.Frame) error { return nil })); err != nil {
			t.Error(err)
		}
		if (answer == nil) != (want == nil) {
			t.Errorf("%s: %s", frame, answer)
		}
		if answer == nil {
			continue
		}
		if frame[0] != '[' {
			answer = append(append([]byte{'['}, answer...), ']')
		}
		var got []struct {
			ID    json.RawMessage
			Error protocol.Error
		}
		if err := json.Unmarshal(answer, &got); err != nil || len(got) != len(want) {
			t.Fatalf("%s: %s, %v", frame, answer, err)
		}
		for i, e := range got {
			if string(e.ID) != want[i] || e.Error.Code != protocol.CodeInterrupted || e.Error.Message == "" {
				t.Errorf("%s: %s", frame, answer)
			}
		}
	}
}
