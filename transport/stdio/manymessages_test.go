package stdio_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

type gated struct {
	writes
	gate chan struct{}
}

func (g *gated) Write(p []byte) (int, error) {
	<-g.gate
	return g.writes.Write(p)
}

// TestManyMessages is many messages, 64 at a time, with exchanges that are slow, panic
// or end their goroutine by chance: each is answered once, and after what it sent before.
func TestManyMessages(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) pipe{"io.Pipe": ioPipe, "os.Pipe": osPipe} {
		for how, opts := range map[string][]stdio.Option{"": nil, " inline": {stdio.Inline()}} {
			t.Run(name+how, func(t *testing.T) {
				t.Parallel()
				manyMessages(t, open(t), opts)
			})
		}
	}
}

// unsteady is slow now and then. It keeps the order of Accept.
type unsteady struct {
	accepted atomic.Int64
	running  atomic.Int64
	lost     atomic.Int64 // exchanges that have ended their goroutine
}

func (h *unsteady) Accept(_ context.Context, frame []byte) (transport.Exchange, error) {
	id, err := strconv.Atoi(string(frame[1 : len(frame)-1]))
	if n := h.accepted.Add(1); err != nil || int(n) != id {
		return nil, fmt.Errorf("frame %q in place %d", frame, n)
	}
	return exchange{h.serve, frame}, nil
}

func (h *unsteady) serve(ctx context.Context, frame []byte, out transport.Outbound) error {
	defer h.running.Add(-1)
	if n := h.running.Add(1); n > 64 {
		return fmt.Errorf("%d exchanges at once", n)
	}
	note := "[note " + string(frame[1:len(frame)-1]) + "]"
	switch chance := rand.IntN(1000); {
	case chance < 20:
		time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
	case chance < 40:
		if err := out.Send(ctx, transport.Frame{JSON: []byte(note)}); err != nil {
			return err
		}
	case chance < 45:
		h.lost.Add(1)
		panic("by chance")
	case chance < 50:
		h.lost.Add(1)
		runtime.Goexit()
	}
	err := out.Send(ctx, transport.Frame{JSON: frame})
	for i := range frame {
		frame[i] = '#' // it is ours
	}
	return err
}

func manyMessages(t *testing.T, p pipe, opts []stdio.Option) {
	const messages, depth = 10_000, 64
	var host unsteady
	served := make(chan error, 1)
	go func() {
		defer p.closeServer()
		served <- stdio.New(append(opts,
			stdio.Streams(p.serverIn, p.serverOut),
			stdio.MaxConcurrent(depth),
		)...).Serve(t.Context(), &host)
	}()
	go func() {
		for i := 0; i < messages; {
			var burst strings.Builder
			for range 1 + rand.IntN(depth) {
				if i++; i <= messages {
					fmt.Fprintf(&burst, "{%d}\n", i)
				}
			}
			_, _ = io.WriteString(p.clientOut, burst.String())
		}
		_ = p.clientOut.(io.Closer).Close()
	}()
	answered := make([]bool, messages+1)
	n := 0
	lines := bufio.NewScanner(p.clientIn)
	for lines.Scan() {
		var id int
		if _, err := fmt.Sscanf(lines.Text(), "{%d}", &id); err == nil {
			if answered[id] {
				t.Fatalf("%d was answered twice", id)
			}
			answered[id] = true
			n++
		} else if _, err := fmt.Sscanf(lines.Text(), "[note %d]", &id); err == nil {
			if answered[id] {
				t.Fatalf("%d went on after its answer", id)
			}
		} else if !strings.Contains(lines.Text(), `"internal error"`) {
			t.Fatalf("read %q", lines.Text())
		}
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	_ = p.clientIn.(io.Closer).Close()
	if lost := int(host.lost.Load()); n != messages-lost || host.accepted.Load() != messages {
		t.Errorf("%d answers, %d without, %d accepted, of %d", n, lost, host.accepted.Load(), messages)
	}
}
