package target

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"time"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/load"
)

// PipeCommand is the first argument of a program that calls itself through a pipe:
// pipe TOOL ARGUMENTS CALLS.
const PipeCommand = "pipe"

// Piped is the cost of a call in one process, client side included, which allocates
// nothing. It is printed as JSON.
type Piped struct {
	Nanoseconds float64 `json:"ns"`
	Bytes       float64 `json:"bytes"`
	Allocations float64 `json:"allocations"`
}

// Pipe measures calls of serve, one after another, and prints a Piped.
func Pipe(ctx context.Context, args []string, out io.Writer, serve func(ctx context.Context, in io.Reader, out io.Writer) error) error {
	if len(args) != 3 || serve == nil {
		return errors.New("want: pipe TOOL ARGUMENTS CALLS")
	}
	calls, err := strconv.Atoi(args[2])
	if err != nil || calls < 1 {
		return fmt.Errorf("%q is not a number of calls", args[2])
	}
	in, write := io.Pipe()
	read, reply := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, in, reply) }()
	p := &piped{w: write, r: read, buf: make([]byte, 0, 64<<10)}
	cost, err := p.measure(load.Handshake().Call(args[0], args[1]).Line(), calls)
	_ = write.Close()
	go func() { _, _ = io.Copy(io.Discard, read) }()
	if err != nil {
		return err
	}
	if err := <-ended; err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("serving the pipe: %w", err)
	}
	return json.NewEncoder(out).Encode(cost)
}

// piped is the client: it writes ready bytes and reads lines.
type piped struct {
	w   io.Writer
	r   io.Reader
	buf []byte
}

func (p *piped) measure(call *load.Request, calls int) (Piped, error) {
	initialize, initialized := load.Handshake().Open()
	if err := p.roundTrip(initialize.Line()); err != nil {
		return Piped{}, err
	}
	if _, err := p.w.Write(initialized.Line().Bytes()); err != nil {
		return Piped{}, err
	}
	for range calls/10 + 10 {
		if err := p.roundTrip(call); err != nil {
			return Piped{}, err
		}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	for range calls {
		if err := p.roundTrip(call); err != nil {
			return Piped{}, err
		}
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	n := float64(calls)
	return Piped{
		Nanoseconds: float64(took.Nanoseconds()) / n,
		Bytes:       float64(after.TotalAlloc-before.TotalAlloc) / n,
		Allocations: float64(after.Mallocs-before.Mallocs) / n,
	}, nil
}

// roundTrip sends a request and waits for the line with its answer.
func (p *piped) roundTrip(r *load.Request) error {
	r.Next()
	if _, err := p.w.Write(r.Bytes()); err != nil {
		return err
	}
	for {
		line, err := p.line()
		if err != nil {
			return err
		}
		if load.Notification(line) {
			continue
		}
		return r.Check(line)
	}
}

func (p *piped) line() ([]byte, error) {
	p.buf = p.buf[:0]
	for {
		if len(p.buf) == cap(p.buf) {
			p.buf = append(p.buf, 0)[:len(p.buf)]
		}
		n, err := p.r.Read(p.buf[len(p.buf):cap(p.buf)])
		seen := len(p.buf)
		p.buf = p.buf[:seen+n]
		// One request is open at a time: nothing can follow the newline.
		if n > 0 && bytes.IndexByte(p.buf[seen:], '\n') >= 0 {
			return p.buf, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
