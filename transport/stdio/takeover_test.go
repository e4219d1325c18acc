package stdio_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

// stamped keeps the time of each Write.
type stamped struct {
	writes
	start time.Time
	at    []time.Duration
}

func (s *stamped) Write(p []byte) (int, error) {
	s.at = append(s.at, time.Since(s.start)) // one Write at a time
	return s.writes.Write(p)
}

// serveLines serves what feed writes, in a bubble, and returns what was written.
func serveLines(t *testing.T, host transport.Host, feed func(w io.Writer), opts ...stdio.Option) *stamped {
	t.Helper()
	r, w := io.Pipe()
	out := &stamped{start: time.Now()}
	served := make(chan error, 1)
	go func() {
		served <- stdio.New(append([]stdio.Option{stdio.Streams(r, out), stdio.Inline()}, opts...)...).Serve(t.Context(), host)
	}()
	feed(w)
	_ = w.Close()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	return out
}

// TestTakeOverLetsMessagesPass: an exchange waits for one that comes later, such as a
// cancellation, or the answer to its question.
func TestTakeOverLetsMessagesPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		came := make(chan struct{})
		host := hostFunc(func(ctx context.Context, frame []byte, out transport.Outbound) error {
			switch string(frame) {
			case "{ask}":
				if err := out.Send(ctx, transport.Frame{JSON: []byte("{question}")}); err != nil {
					return err
				}
				<-came
				if d := time.Since(start); d > 2*stdio.TakeOver {
					t.Errorf("the answer came after %v", d)
				}
			case "{answer}":
				close(came)
				return nil
			}
			return out.Send(ctx, transport.Frame{JSON: frame})
		})
		out := serveLines(t, host, func(w io.Writer) {
			if _, err := io.WriteString(w, "{quick}\n{ask}\n{answer}\n{quick}\n"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(24 * time.Hour) // would take long if a timer ticked
		})
		lines := strings.Fields(strings.Join(out.all, ""))
		if len(lines) != 4 {
			t.Errorf("wrote %q", lines)
		}
	})
}

// TestTakeOverAfterSlowAccept: the timer of one exchange runs out before the next one
// begins, which is watched all the same.
func TestTakeOverAfterSlowAccept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		came := make(chan struct{})
		host := slowAccept(func(ctx context.Context, frame []byte, out transport.Outbound) error {
			switch string(frame) {
			case "{wait}":
				<-came
			case "{go}":
				close(came)
			}
			return out.Send(ctx, transport.Frame{JSON: frame})
		})
		out := serveLines(t, host, func(w io.Writer) {
			if _, err := io.WriteString(w, "{1}\n{wait}\n{go}\n"); err != nil {
				t.Fatal(err)
			}
		})
		if d := out.at[len(out.at)-1]; d > 10*stdio.TakeOver {
			t.Errorf("the last answer came after %v", d)
		}
	})
}

type slowAccept hostFunc

func (h slowAccept) Accept(_ context.Context, frame []byte) (transport.Exchange, error) {
	time.Sleep(2 * stdio.TakeOver)
	return exchange{hostFunc(h), frame}, nil
}

// TestTakeOverBringsOutWhatWasHeldBack: a quick answer waits for a slow exchange behind
// it no longer than that keeps the reading goroutine, and what is sent later goes out at
// once.
func TestTakeOverBringsOutWhatWasHeldBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		host := hostFunc(func(ctx context.Context, frame []byte, out transport.Outbound) error {
			if string(frame) == "{slow}" {
				for range 2 {
					time.Sleep(time.Second)
					_ = out.Send(ctx, transport.Frame{JSON: []byte("{progress}")})
				}
				time.Sleep(time.Second)
			}
			return out.Send(ctx, transport.Frame{JSON: frame})
		})
		out := serveLines(t, host, func(w io.Writer) {
			if _, err := io.WriteString(w, "{1}\n{2}\n{slow}\n{3}\n"); err != nil {
				t.Fatal(err)
			}
		})
		want := []struct {
			text string
			at   time.Duration
		}{
			{"{1}\n{2}\n", stdio.TakeOver},
			{"{3}\n", stdio.TakeOver},
			{"{progress}\n", time.Second},
			{"{progress}\n", 2 * time.Second},
			{"{slow}\n", 3 * time.Second},
		}
		if len(out.all) != len(want) {
			t.Fatalf("wrote %q", out.all)
		}
		for i, w := range want {
			if out.all[i] != w.text || out.at[i] != w.at {
				t.Errorf("Write %d: %q after %v, want %q after %v", i, out.all[i], out.at[i], w.text, w.at)
			}
		}
	})
}

// TestNothingIsHeldBackForLong: exchanges that are just quick enough, one after another.
func TestNothingIsHeldBackForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const each = 40 * time.Microsecond
		var sent []time.Duration
		start := time.Now()
		host := hostFunc(func(ctx context.Context, frame []byte, out transport.Outbound) error {
			time.Sleep(each)
			sent = append(sent, time.Since(start))
			return out.Send(ctx, transport.Frame{JSON: frame})
		})
		out := serveLines(t, host, func(w io.Writer) {
			if _, err := io.WriteString(w, strings.Repeat("{}\n", 64)); err != nil {
				t.Fatal(err)
			}
		})
		frame := 0
		for i, text := range out.all {
			if waited := out.at[i] - sent[frame]; waited > 2*each {
				t.Errorf("frame %d was held back for %v", frame, waited)
			}
			frame += strings.Count(text, "\n")
		}
		if frame != 64 {
			t.Errorf("%d frames", frame)
		}
	})
}

// TestNotQuickEnough: two in a row that are not quick, and those behind them run at once.
func TestNotQuickEnough(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const each = 100 * time.Microsecond
		host := hostFunc(func(ctx context.Context, frame []byte, out transport.Outbound) error {
			if string(frame) == "{slow}" {
				time.Sleep(each)
			}
			return out.Send(ctx, transport.Frame{JSON: frame})
		})
		r, w := io.Pipe()
		out := stamped{start: time.Now()}
		go func() {
			_, _ = io.WriteString(w, strings.Repeat("{quick}\n", 16))
			synctest.Wait() // a Write beside a slow exchange would excuse it: the peer may be slow
			_, _ = io.WriteString(w, strings.Repeat("{slow}\n", 2+16))
			_ = w.Close()
		}()
		if err := stdio.New(stdio.Streams(r, &out)).Serve(t.Context(), host); err != nil {
			t.Errorf("Serve: %v", err)
		}
		if d := time.Since(out.start); d != 3*each {
			t.Errorf("18 exchanges of %v each took %v", each, d)
		}
	})
}

// TestTakeOverOfMany: slow exchanges that came at once run at once, and the host is not
// trusted for a while.
func TestTakeOverOfMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const frames = 1 + 16 // those after the first slow one
		host := hostFunc(func(ctx context.Context, frame []byte, out transport.Outbound) error {
			if string(frame) == "{slow}" {
				time.Sleep(time.Second)
			}
			return out.Send(ctx, transport.Frame{JSON: frame})
		})
		var out stamped
		out.start = time.Now()
		in := strings.NewReader(strings.Repeat("{quick}\n", 16) + strings.Repeat("{slow}\n", frames))
		if err := stdio.New(stdio.Streams(in, &out)).Serve(t.Context(), host); err != nil {
			t.Errorf("Serve: %v", err)
		}
		if d := time.Since(out.start); d != time.Second+stdio.TakeOver {
			t.Errorf("%d exchanges of a second each took %v", frames, d)
		}
	})
}

// TestTrust: after many quick exchanges a slow one is taken for an accident, after which
// the reading goroutine goes on serving; a few of them are enough to lose that.
func TestTrust(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		quick, slow int
		apart       int           // quick ones with goroutines of their own, of 100 behind the slow ones
		took        time.Duration // beyond the one second that the slow ones take
	}{
		{200, 1, 1, stdio.TakeOver},
		{200, 2, 0, stdio.TakeOver},
		{200, 3, 2, 2 * stdio.TakeOver},
		{200, 64, 5, 6 * stdio.TakeOver},
		{0, 1 + 16, 0, stdio.TakeOver},
		{0, 2*16 + 2, 16, 2 * stdio.TakeOver},
	} {
		t.Run(fmt.Sprint(tt.quick, tt.slow), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const behind = 100
				var mu sync.Mutex
				served := make(map[string]int)
				host := hostFunc(func(_ context.Context, frame []byte, _ transport.Outbound) error {
					switch string(frame) {
					case "{slow}":
						time.Sleep(time.Second)
					case "{behind}":
						name, _, _ := bytes.Cut(debug.Stack(), []byte(" ["))
						mu.Lock()
						served[string(name)]++
						mu.Unlock()
					}
					return nil
				})
				start := time.Now()
				in := strings.NewReader(strings.Repeat("{quick}\n", 16+tt.quick) +
					strings.Repeat("{slow}\n", tt.slow) + strings.Repeat("{behind}\n", behind))
				if err := stdio.New(stdio.Streams(in, io.Discard)).Serve(t.Context(), host); err != nil {
					t.Errorf("Serve: %v", err)
				}
				most := 0
				for _, n := range served {
					most = max(most, n)
				}
				if most < behind-tt.apart {
					t.Errorf("served by the reading goroutine: %d of %d", most, behind)
				}
				if d := time.Since(start) - time.Second; d > tt.took {
					t.Errorf("took %v beyond the slow ones, want %v", d, tt.took)
				}
			})
		})
	}
}

// TestTakeOverAtTheEnd: the input ends, or ctx does, while an exchange has the reading
// goroutine, and does or does not obey.
func TestTakeOverAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name          string
		endCtx, obeys bool
		took          time.Duration
	}{
		{"EOF", false, true, 5 * time.Second},
		{"ctx", true, true, 5 * time.Second},
		{"EOF, and it does not obey", false, false, 6 * time.Second},
		{"ctx, and it does not obey", true, false, 6 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, w := io.Pipe()
				ctx, cancel := context.WithCancel(t.Context())
				release := make(chan struct{})
				begun := make(chan struct{})
				host := hostFunc(func(ctx context.Context, _ []byte, _ transport.Outbound) error {
					close(begun)
					<-ctx.Done()
					if !test.obeys {
						<-release
					}
					return nil
				})
				served := make(chan error, 1)
				go func() {
					served <- stdio.New(stdio.Streams(r, io.Discard), stdio.Inline()).Serve(ctx, host)
				}()
				if _, err := io.WriteString(w, "{}\n"); err != nil {
					t.Fatal(err)
				}
				<-begun // and no other goroutine has taken over yet
				start := time.Now()
				if test.endCtx {
					cancel()
				} else {
					go func() { _ = w.Close() }()
				}
				if err := <-served; err != nil {
					t.Errorf("Serve: %v", err)
				}
				if d := time.Since(start); d < test.took || d > test.took+stdio.TakeOver {
					t.Errorf("the end took %v, want %v", d, test.took)
				}
				close(release)
				cancel()
			})
		})
	}
}

// TestGoexit: a host that ends the goroutine has ended the one that reads, or one that
// did.
func TestGoexit(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]time.Duration{"at once": 0, "after another took over": time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				host := hostFunc(func(ctx context.Context, frame []byte, out transport.Outbound) error {
					if string(frame) == "{exit}" {
						time.Sleep(after)
						runtime.Goexit()
					}
					return out.Send(ctx, transport.Frame{JSON: frame})
				})
				out := serveLines(t, host, func(w io.Writer) {
					for _, lines := range []string{"{1}\n{exit}\n{2}\n", "{exit}\n", "{3}\n"} {
						if _, err := io.WriteString(w, lines); err != nil {
							t.Fatal(err)
						}
					}
				}, stdio.MaxConcurrent(3))
				if got := strings.Join(out.all, ""); got != "{1}\n{2}\n{3}\n" {
					t.Errorf("wrote %q", got)
				}
				if d := time.Since(out.start); d > 2*after+4*stdio.TakeOver {
					t.Errorf("Serve took %v: somebody waited in vain", d)
				}
			})
		})
	}
}

// TestGoexitInAccept costs the frame.
func TestGoexitInAccept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := serveLines(t, exitInAccept{}, func(w io.Writer) {
			if _, err := io.WriteString(w, "{1}\n{exit}\n{2}\n"); err != nil {
				t.Fatal(err)
			}
		})
		if got := strings.Join(out.all, ""); got != "{1}\n{2}\n" || time.Since(out.start) != 0 {
			t.Errorf("wrote %q in %v", got, time.Since(out.start))
		}
	})
}

type exitInAccept struct{}

func (exitInAccept) Accept(_ context.Context, frame []byte) (transport.Exchange, error) {
	if string(frame) == "{exit}" {
		runtime.Goexit()
	}
	return exchange{echo, frame}, nil
}

// TestPeerThatDoesNotRead holds the host up, and nothing else.
func TestPeerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]stdio.Option{"goroutines": nil, "inline": {stdio.Inline()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const frames, most, size = 2000, 8, 1000
				p := ioPipe(t)
				var accepted atomic.Int64
				long := []byte("{" + strings.Repeat("x", size) + "}")
				host := hostFunc(func(ctx context.Context, _ []byte, out transport.Outbound) error {
					accepted.Add(1)
					return out.Send(ctx, transport.Frame{JSON: long})
				})
				served := make(chan error, 1)
				go func() {
					defer p.closeServer()
					served <- stdio.New(append(opts, stdio.Streams(p.serverIn, p.serverOut), stdio.MaxConcurrent(most))...).
						Serve(t.Context(), host)
				}()
				go func() {
					_, _ = io.WriteString(p.clientOut, strings.Repeat("{}\n", frames))
					_ = p.clientOut.(io.Closer).Close()
				}()
				time.Sleep(24 * time.Hour) // would take long if a timer ticked
				// What is held back and what waits for its turn.
				if n := accepted.Load(); n > most+16<<10/size+1 {
					t.Errorf("%d exchanges have begun although the client does not read", n)
				}
				lines := bufio.NewScanner(p.clientIn)
				n := 0
				for ; lines.Scan(); n++ {
					if lines.Text() != string(long) {
						t.Fatalf("line %d: %.40q", n, lines.Text())
					}
				}
				if err := <-served; err != nil || n != frames {
					t.Errorf("Serve: %v; %d lines, want %d", err, n, frames)
				}
			})
		})
	}
}

// TestCoalesced checks that frames that arrive during a Write go out by one Write, in order, and
// without the frames of senders that gave up.
func TestCoalesced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		out := gated{gate: gate}
		host := hostFunc(func(ctx context.Context, _ []byte, o transport.Outbound) error {
			var senders sync.WaitGroup
			send := func(ctx context.Context, frame string, want error) {
				senders.Go(func() {
					if err := o.Send(ctx, transport.Frame{JSON: []byte(frame)}); !errors.Is(err, want) {
						t.Errorf("Send(%s): %v, want %v", frame, err, want)
					}
				})
				synctest.Wait()
			}
			over, cancel := context.WithCancel(ctx)
			send(ctx, "{1}", nil)
			send(over, "{2}", context.Canceled)
			send(ctx, "{3}", nil)
			send(over, "{4}", context.Canceled)
			send(ctx, "{5}", nil)
			cancel()
			synctest.Wait()
			close(gate)
			senders.Wait()
			return nil
		})
		in := strings.NewReader("{}\n")
		if err := stdio.New(stdio.Streams(in, &out)).Serve(t.Context(), host); err != nil {
			t.Errorf("Serve: %v", err)
		}
		if got := fmt.Sprintf("%q", out.all); got != `["{1}\n" "{3}\n{5}\n"]` {
			t.Errorf("wrote %s", got)
		}
	})
}

// TestTurnOfOneWhoGaveUp: it is passed on. Which comes first is chance, so it is done
// many times.
func TestTurnOfOneWhoGaveUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for range 500 {
			gate := make(chan struct{})
			out := gated{gate: gate}
			host := hostFunc(func(ctx context.Context, _ []byte, o transport.Outbound) error {
				over, cancel := context.WithCancel(ctx)
				defer cancel()
				var senders sync.WaitGroup
				for i, ctx := range []context.Context{ctx, over, ctx} {
					senders.Go(func() { _ = o.Send(ctx, transport.Frame{JSON: fmt.Appendf(nil, "{%d}", i)}) })
					synctest.Wait()
				}
				senders.Go(cancel)
				close(gate)
				senders.Wait()
				return nil
			})
			in := strings.NewReader("{}\n")
			if err := stdio.New(stdio.Streams(in, &out)).Serve(t.Context(), host); err != nil {
				t.Errorf("Serve: %v", err)
			}
			switch got := strings.Join(out.all, ""); got {
			case "{0}\n{2}\n", "{0}\n{1}\n{2}\n":
			default:
				t.Fatalf("wrote %q", got)
			}
		}
	})
}
