package stdio_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

// TestEOFWaitsForExchanges: `printf ... | server` gets its answers.
func TestEOFWaitsForExchanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out writes
		host := hostFunc(func(ctx context.Context, frame []byte, o transport.Outbound) error {
			time.Sleep(4 * time.Second)
			return o.Send(ctx, transport.Frame{JSON: frame})
		})
		start := time.Now()
		err := stdio.New(stdio.Streams(strings.NewReader("{1}\n{2}"), &out)).Serve(t.Context(), host)
		if d := time.Since(start); err != nil || d != 4*time.Second || len(out.all) != 2 {
			t.Errorf("Serve returned %v after %v with %q", err, d, out.all)
		}
	})
}

// TestGrace: both ends of the input, and what is left after the grace period.
func TestGrace(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		opts   []stdio.Option
		obeys  bool // the exchange ends when it is cancelled
		endCtx bool // ctx ends, and not the input
		took   time.Duration
	}{
		{"EOF", nil, true, false, 5 * time.Second},
		{"end of ctx", nil, true, true, 5 * time.Second},
		{"shorter", []stdio.Option{stdio.Grace(time.Second)}, true, false, time.Second},
		{"none", []stdio.Option{stdio.Grace(0)}, true, true, 0},
		{"an exchange that does not obey is left behind", nil, false, true, 6 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, w := io.Pipe()
				ctx, cancel := context.WithCancel(t.Context())
				release := make(chan struct{})
				defer close(release)
				gone := make(chan time.Time, 1)
				host := hostFunc(func(ctx context.Context, _ []byte, _ transport.Outbound) error {
					transport.ConnectionFrom(ctx).OnClose(func() { gone <- time.Now() })
					<-ctx.Done()
					if errors.Is(context.Cause(ctx), context.Canceled) {
						t.Error("the exchange was cancelled without a cause")
					}
					if !test.obeys {
						<-release
					}
					return nil
				})
				served := make(chan error, 1)
				go func() {
					served <- stdio.New(append(test.opts, stdio.Streams(r, io.Discard))...).Serve(ctx, host)
				}()
				if _, err := io.WriteString(w, "{}\n"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				time.Sleep(time.Minute) // nothing ends an exchange while the connection lasts
				start := time.Now()
				if test.endCtx {
					cancel()
				} else {
					_ = w.Close()
				}
				if err := <-served; err != nil {
					t.Errorf("Serve: %v", err)
				}
				if d := time.Since(start); d != test.took {
					t.Errorf("the end took %v, want %v", d, test.took)
				}
				if at := <-gone; !at.Equal(start) {
					t.Errorf("the connection was gone %v after the end of its input", at.Sub(start))
				}
				cancel()
			})
		})
	}
}

// TestNothingAcceptedAfterTheEnd: a Read that cannot be interrupted outlives Serve;
// what it still gets is dropped.
func TestNothingAcceptedAfterTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		var host collect
		served := make(chan error, 1)
		go func() {
			served <- stdio.New(stdio.Streams(onlyReader{r}, io.Discard)).Serve(ctx, &host)
		}()
		synctest.Wait()
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if _, err := io.WriteString(w, "{}\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(host.frames) != 0 {
			t.Errorf("accepted %q", host.frames)
		}
	})
}

type onlyReader struct{ io.Reader }

// TestNothingAcceptedFromLeftBehind: an exchange that Serve has left behind gives
// its slot back when Serve has ended. It is done many times because select would take either.
func TestNothingAcceptedFromLeftBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for range 50 {
			r, w := io.Pipe()
			ctx, cancel := context.WithCancel(t.Context())
			release := make(chan struct{})
			var begun atomic.Int64
			host := hostFunc(func(context.Context, []byte, transport.Outbound) error {
				begun.Add(1)
				<-release
				return nil
			})
			served := make(chan error, 1)
			go func() {
				served <- stdio.New(stdio.Streams(onlyReader{r}, io.Discard)).Serve(ctx, host)
			}()
			if _, err := io.WriteString(w, "{1}\n"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // the exchange runs, and the reader reads
			cancel()
			if err := <-served; err != nil {
				t.Errorf("Serve: %v", err)
			}
			close(release)
			synctest.Wait()
			if _, err := io.WriteString(w, "{2}\n"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if n := begun.Load(); n != 1 {
				t.Fatalf("%d exchanges, want 1", n)
			}
		}
	})
}

// TestEndOfContextEndsReading: by deadline or by Close; goleak looks on.
func TestEndOfContextEndsReading(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) pipe{"Close": ioPipe, "file": osPipe, "deadline": netPipe} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t)
			defer p.closeServer()
			defer func() { _ = p.clientOut.(io.Closer).Close() }()
			defer func() { _ = p.clientIn.(io.Closer).Close() }()
			ctx, cancel := context.WithCancel(t.Context())
			began := make(chan struct{})
			served := make(chan error, 1)
			go func() {
				host := hostFunc(func(context.Context, []byte, transport.Outbound) error {
					close(began)
					return nil
				})
				served <- stdio.New(stdio.Streams(p.serverIn, p.serverOut)).Serve(ctx, host)
			}()
			if _, err := io.WriteString(p.clientOut, "{}\n"); err != nil {
				t.Fatal(err)
			}
			<-began
			cancel()
			if err := <-served; err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
	}
}

// TestAnswersAfterEndOfContext: where input and output are one stream, ending the
// reading must not cut off the answers.
func TestAnswersAfterEndOfContext(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(net.Conn) io.ReadWriteCloser{
		"deadlines":  func(c net.Conn) io.ReadWriteCloser { return c },
		"only Close": func(c net.Conn) io.ReadWriteCloser { return onlyCloser{c} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server, client := net.Pipe()
				defer func() { _ = client.Close() }()
				defer func() { _ = server.Close() }()
				stream := wrap(server)
				ctx, cancel := context.WithCancel(t.Context())
				began := make(chan struct{})
				host := hostFunc(func(ctx context.Context, frame []byte, out transport.Outbound) error {
					close(began)
					time.Sleep(time.Second)
					return out.Send(ctx, transport.Frame{JSON: frame})
				})
				served := make(chan error, 1)
				go func() { served <- stdio.New(stdio.Streams(stream, stream)).Serve(ctx, host) }()
				if _, err := io.WriteString(client, "{}\n"); err != nil {
					t.Fatal(err)
				}
				<-began
				cancel()
				answer := make([]byte, 3)
				if _, err := io.ReadFull(client, answer); err != nil || string(answer) != "{}\n" {
					t.Errorf("read %q, %v", answer, err)
				}
				if err := <-served; err != nil {
					t.Errorf("Serve: %v", err)
				}
			})
		})
	}
}

// onlyCloser hides the deadlines of a stream.
type onlyCloser struct{ io.ReadWriteCloser }

func TestMaxConcurrent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running, most, done atomic.Int64
		host := hostFunc(func(context.Context, []byte, transport.Outbound) error {
			n := running.Add(1)
			for m := most.Load(); n > m; m = most.Load() {
				most.CompareAndSwap(m, n)
			}
			time.Sleep(time.Second)
			running.Add(-1)
			done.Add(1)
			return nil
		})
		in := strings.NewReader(strings.Repeat("{}\n", 10))
		start := time.Now()
		if err := stdio.New(stdio.Streams(in, io.Discard), stdio.MaxConcurrent(3)).Serve(t.Context(), host); err != nil {
			t.Errorf("Serve: %v", err)
		}
		if most.Load() != 3 || done.Load() != 10 || time.Since(start) != 4*time.Second {
			t.Errorf("%d at once, %d in all, in %v; want 3, 10, 4s", most.Load(), done.Load(), time.Since(start))
		}
	})
}

// TestEndWhileFull: the reader waits for a slot when ctx ends.
func TestEndWhileFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var served atomic.Int64
		host := hostFunc(func(ctx context.Context, _ []byte, _ transport.Outbound) error {
			served.Add(1)
			<-ctx.Done()
			return nil
		})
		ended := make(chan error, 1)
		go func() {
			in := strings.NewReader("{}\n{}\n{}\n")
			ended <- stdio.New(stdio.Streams(in, io.Discard), stdio.MaxConcurrent(1)).Serve(ctx, host)
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil || served.Load() != 1 {
			t.Errorf("Serve: %v; %d exchanges", err, served.Load())
		}
	})
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
func (f failing) Read([]byte) (int, error)  { return 0, f.err }

func TestWriteFailureEndsServe(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	tests := []struct{ fails, want error }{
		{full, full},
		{io.ErrClosedPipe, nil},
		{os.ErrClosed, nil},
	}
	for _, closed := range stdio.ClosedByPeer() {
		tests = append(tests, struct{ fails, want error }{os.NewSyscallError("write", closed), nil})
	}
	for _, test := range tests {
		t.Run(test.fails.Error(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, w := io.Pipe() // the input does not end
				causes := make(chan error, 2)
				host := hostFunc(func(ctx context.Context, frame []byte, out transport.Outbound) error {
					if string(frame) == "{1}" {
						<-ctx.Done()
						causes <- context.Cause(ctx)
						return nil
					}
					err := out.Send(ctx, transport.Frame{JSON: frame})
					if again := out.Send(ctx, transport.Frame{JSON: frame}); !errors.Is(again, err) {
						t.Errorf("the second Send failed with %v, the first with %v", again, err)
					}
					return err
				})
				served := make(chan error, 1)
				start := time.Now()
				go func() {
					served <- stdio.New(stdio.Streams(r, failing{test.fails})).Serve(t.Context(), host)
				}()
				if _, err := io.WriteString(w, "{1}\n{2}\n"); err != nil {
					t.Fatal(err)
				}
				if err := <-served; !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
					t.Errorf("Serve: %v, want %v", err, test.want)
				}
				if d := time.Since(start); d != 0 {
					t.Errorf("the end took %v although the client does not read", d)
				}
				if cause := <-causes; cause == nil {
					t.Error("the other exchange was not cancelled")
				}
			})
		})
	}
}

// TestPipeWithoutReader: the system's own error for a client that has ended.
func TestPipeWithoutReader(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	_ = r.Close()
	in, asks := io.Pipe() // the input does not end
	defer func() { _ = asks.Close() }()
	host := hostFunc(func(ctx context.Context, frame []byte, out transport.Outbound) error {
		return out.Send(ctx, transport.Frame{JSON: frame})
	})
	served := make(chan error, 1)
	go func() { served <- stdio.New(stdio.Streams(in, w)).Serve(t.Context(), host) }()
	if _, err := io.WriteString(asks, "{}\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-served:
		if err != nil {
			t.Errorf("Serve: %v, want nil", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("Serve does not end")
	}
}

func TestReadFailure(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	if err := stdio.New(stdio.Streams(failing{broken}, io.Discard)).Serve(t.Context(), &collect{}); !errors.Is(err, broken) {
		t.Errorf("Serve: %v, want %v", err, broken)
	}
	// What a failure cuts off is not a frame.
	var host collect
	in := io.MultiReader(strings.NewReader("{1}\n{2"), failing{broken})
	if err := stdio.New(stdio.Streams(in, io.Discard)).Serve(t.Context(), &host); !errors.Is(err, broken) || len(host.frames) != 1 {
		t.Errorf("Serve: %v; frames %q", err, host.frames)
	}
}

// TestSendAfterServe checks that Send returns an error after Serve has returned.
func TestSendAfterServe(t *testing.T) {
	t.Parallel()
	var out writes
	var kept transport.Outbound
	host := hostFunc(func(ctx context.Context, _ []byte, _ transport.Outbound) error {
		kept = transport.ConnectionFrom(ctx).Out
		return nil
	})
	if err := stdio.New(stdio.Streams(strings.NewReader("{}\n"), &out)).Serve(t.Context(), host); err != nil {
		t.Fatal(err)
	}
	if err := kept.Send(t.Context(), transport.Frame{JSON: []byte("{}")}); !errors.Is(err, io.ErrClosedPipe) || len(out.all) != 0 {
		t.Errorf("Send: %v; wrote %q", err, out.all)
	}
}

// cutting is a stream whose first Write lasts until the gate opens, and then ends a context.
type cutting struct {
	gate chan struct{}
	cut  context.CancelFunc
	n    atomic.Int64
	bytes.Buffer
}

func (c *cutting) Write(p []byte) (int, error) {
	if c.n.Add(1) == 1 {
		<-c.gate
		c.cut()
	}
	return c.Buffer.Write(p)
}

// TestTurnToWrite: if a waiting Send is cancelled while it receives the turn to write, the next Send
// gets the turn.
func TestTurnToWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for range 1000 {
			out := &cutting{gate: make(chan struct{})}
			err := serveOne(t, out, func(ctx context.Context, _ []byte, send transport.Outbound) error {
				first, cut := context.WithCancel(ctx)
				defer cut()
				out.cut = cut
				sent := make(chan error, 3)
				for i, of := range []context.Context{ctx, first, ctx} {
					go func() { sent <- send.Send(of, transport.Frame{JSON: fmt.Appendf(nil, "{%d}", i)}) }()
					synctest.Wait()
				}
				close(out.gate)
				synctest.Wait()
				if len(sent) != 3 {
					t.Fatalf("%d of 3 have returned: the turn is lost", len(sent))
				}
				return nil
			})
			if got := out.String(); err != nil || got != "{0}\n{2}\n" && got != "{0}\n{1}\n{2}\n" {
				t.Fatalf("written is %q, %v", got, err)
			}
		}
	})
}

// TestSendWhileBlocked: those who wait for a peer that does not read end with
// their context.
func TestSendWhileBlocked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := ioPipe(t)
		host := hostFunc(func(ctx context.Context, frame []byte, out transport.Outbound) error {
			var senders sync.WaitGroup
			var returned atomic.Int64
			for range 3 {
				senders.Go(func() {
					ctx, cancel := context.WithTimeout(ctx, time.Second)
					defer cancel()
					_ = out.Send(ctx, transport.Frame{JSON: frame})
					returned.Add(1)
				})
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if n := returned.Load(); n != 2 {
				t.Errorf("%d of 3 have returned, want all but the one that writes", n)
			}
			go func() { _, _ = io.Copy(io.Discard, p.clientIn) }()
			senders.Wait()
			return nil
		})
		served := make(chan error, 1)
		go func() {
			defer p.closeServer()
			served <- stdio.New(stdio.Streams(p.serverIn, p.serverOut)).Serve(t.Context(), host)
		}()
		if _, err := io.WriteString(p.clientOut, "{}\n"); err != nil {
			t.Fatal(err)
		}
		_ = p.clientOut.(io.Closer).Close()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

func TestPanic(t *testing.T) {
	t.Parallel()
	const failure = `"error":{"code":-32603,"message":"internal error"}}` + "\n"
	tests := []struct{ in, want string }{
		{`{"jsonrpc":"2.0","id":"a\u0062","method":"x"}`, `{"jsonrpc":"2.0","id":"a\u0062",` + failure},
		{`{"jsonrpc":"2.0","method":"x"}`, ""},
		{`{"jsonrpc":"2.0","id":1,"result":{}}`, ""},
		{`[{"jsonrpc":"2.0","id":1,"method":"x"}]`, `{"jsonrpc":"2.0",` + failure},
		{`{"jsonrpc":"1.0","id":7,"method":"x"}`, `{"jsonrpc":"2.0","id":7,` + failure},
		{`{]`, `{"jsonrpc":"2.0",` + failure},
	}
	for _, test := range tests {
		for name, host := range map[string]transport.Host{
			"Accept": panicking{},
			"Serve":  hostFunc(func(context.Context, []byte, transport.Outbound) error { panic("secret") }),
		} {
			t.Run(name+"/"+test.in, func(t *testing.T) {
				t.Parallel()
				var out writes
				if err := stdio.New(stdio.Streams(strings.NewReader(test.in), &out)).Serve(t.Context(), host); err != nil {
					t.Errorf("Serve: %v", err)
				}
				if got := strings.Join(out.all, ""); got != test.want {
					t.Errorf("answered %q, want %q", got, test.want)
				}
			})
		}
	}
}

type panicking struct{}

func (panicking) Accept(context.Context, []byte) (transport.Exchange, error) { panic("secret") }

func TestPeer(t *testing.T) {
	t.Parallel()
	given := transport.Peer{Carrier: "unix", RemoteAddr: "@x", Principal: &transport.Principal{Subject: "alice"}}
	for _, test := range []struct {
		opts []stdio.Option
		want transport.Peer
	}{
		{nil, transport.Peer{Carrier: "stdio"}},
		{[]stdio.Option{stdio.Peer(given)}, given},
	} {
		host := hostFunc(func(ctx context.Context, _ []byte, out transport.Outbound) error {
			got := transport.ConnectionFrom(ctx).Peer
			if got.Out != out {
				t.Error("Peer.Out is not that of the connection")
			}
			if got.Carrier != test.want.Carrier || got.RemoteAddr != test.want.RemoteAddr || got.Principal != test.want.Principal {
				t.Errorf("Peer %+v, want %+v", got, test.want)
			}
			return nil
		})
		opts := append(test.opts, stdio.Streams(strings.NewReader("{}\n"), io.Discard))
		if err := stdio.New(opts...).Serve(t.Context(), host); err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
}
