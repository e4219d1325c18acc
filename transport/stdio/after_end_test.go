package stdio_test

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

// counting ends the context of Serve with its first frame, and counts those that are
// accepted when the connection is over.
type counting struct {
	cancel context.CancelFunc
	late   atomic.Int64
}

func (c *counting) Accept(ctx context.Context, frame []byte) (transport.Exchange, error) {
	if transport.ConnectionFrom(ctx).Context().Err() != nil {
		c.late.Add(1)
	}
	return exchange{func(context.Context, []byte, transport.Outbound) error {
		c.cancel()
		return nil
	}, frame}, nil
}

// TestNothingIsAcceptedAfterTheEnd: what has been read already is no exception.
func TestNothingIsAcceptedAfterTheEnd(t *testing.T) {
	t.Parallel()
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		host := &counting{cancel: cancel}
		r, w := io.Pipe()
		go func() { _, _ = io.WriteString(w, strings.Repeat("{}\n", 10_000)) }()
		err := stdio.New(stdio.Streams(r, io.Discard), stdio.Inline()).Serve(ctx, host)
		cancel()
		if n := host.late.Load(); err != nil || n > 1 { // one may be on its way
			t.Fatalf("%d frames were accepted after the end: %v", n, err)
		}
	}
}
