package stdio_test

import (
	"context"
	"io"
	"testing"
	"testing/iotest"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

// constant answers every frame with the same one, and allocates nothing.
type constant struct{ frame []byte }

func (c *constant) Accept(context.Context, []byte) (transport.Exchange, error) { return c, nil }

func (c *constant) Serve(ctx context.Context, out transport.Outbound) error {
	return out.Send(ctx, transport.Frame{JSON: c.frame})
}

// TestAllocations checks that a frame and its answer cost one allocation, for the frame itself,
// which belongs to the host. It is not parallel, because it counts what is allocated.
func TestAllocations(t *testing.T) {
	const frames = 1000
	line := []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	host := &constant{line[:len(line)-1]}
	for name, reader := range map[string]func(io.Reader) io.Reader{
		"many at once": func(r io.Reader) io.Reader { return r },
		"one by one":   iotest.OneByteReader,
	} {
		serve := func(n int) float64 {
			return testing.AllocsPerRun(5, func() {
				in := reader(&repeated{line: line, left: n})
				if err := stdio.New(stdio.Streams(in, io.Discard), stdio.Inline()).Serve(t.Context(), host); err != nil {
					t.Fatal(err)
				}
			})
		}
		// One more now and then: a timer, and the goroutine that it starts.
		if each := (serve(2*frames) - serve(frames)) / frames; each > 1.05 {
			t.Errorf("%s: %.2f allocations a frame, documented is 1", name, each)
		}
	}
}
