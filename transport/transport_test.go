package transport_test

import (
	"context"
	"testing"

	"github.com/kagami-mcp/kagami/transport"
)

// A final frame is sent even if the context has ended, any other one is not waited for.
func TestBound(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	answer, note := transport.Frame{Final: true}, transport.Frame{}
	if err := answer.Bound(ctx).Err(); err != nil {
		t.Errorf("the answer's context has ended: %v", err)
	}
	if note.Bound(ctx) != ctx {
		t.Error("a frame that is not final waits for another context than that of Send")
	}
}

type key struct{ name string }

// What goes on after an exchange keeps the program's values and the connection, not the request.
func TestOutlive(t *testing.T) {
	t.Parallel()
	program := context.WithValue(t.Context(), key{"program"}, "p")
	connected := transport.Connect(program, transport.Peer{Carrier: "test"})
	request := context.WithValue(connected, key{"request"}, "r")
	for name, test := range map[string]struct {
		outer context.Context
		kept  any // of the request's value
	}{
		"outer is known":     {program, nil},
		"outer is not known": {nil, "r"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(transport.WithRequest(request, &transport.Request{Outer: test.outer}))
			outlives := transport.WithoutRequest(ctx)
			cancel()
			if outlives.Err() != nil || outlives.Done() != nil {
				t.Error("it ends with the exchange")
			}
			if transport.RequestFrom(outlives) != nil {
				t.Error("it has the request")
			}
			if transport.ConnectionFrom(outlives) != transport.ConnectionFrom(connected) {
				t.Error("it has lost the connection")
			}
			if p, r := outlives.Value(key{"program"}), outlives.Value(key{"request"}); p != "p" || r != test.kept {
				t.Errorf("its values are %v and %v", p, r)
			}
		})
	}
	if plain := transport.WithoutRequest(request); plain.Value(key{"request"}) != "r" {
		t.Error("without a request there is nothing to let go of")
	}
}

// The text of a refusal is never empty.
func TestAuthErrorText(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{0: "Unauthorized", 200: "Unauthorized", 403: "Forbidden"} {
		if got := (&transport.AuthError{Status: status}).Error(); got != want {
			t.Errorf("%d: %q, want %q", status, got, want)
		}
	}
}
