package stdio_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

// A burst begins with so many frames that go out at once, and holds back what follows for
// so long.
const (
	burstStart = 8
	burstDelay = 100 * time.Microsecond
)

// report sends n reports as fast as can be.
func report(ctx context.Context, t testing.TB, out transport.Outbound, n int) {
	t.Helper()
	for i := range n {
		if err := out.Send(ctx, transport.Frame{JSON: fmt.Appendf(nil, "{%d}", i)}); err != nil {
			t.Errorf("report %d: %v", i, err)
		}
	}
}

// reports is what arrives of them.
func reports(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "{%d}\n", i)
	}
	return all.String()
}

// slowWrites is a stream that takes a while for each Write.
type slowWrites struct {
	stamped
	each time.Duration
}

func (s *slowWrites) Write(p []byte) (int, error) {
	time.Sleep(s.each)
	return s.stamped.Write(p)
}

// serveOne serves one frame in a bubble, whose exchange is serve, and what it writes to
// out.
func serveOne(t *testing.T, out io.Writer, serve hostFunc) error {
	t.Helper()
	return stdio.New(stdio.Streams(strings.NewReader("{}\n"), out)).Serve(t.Context(), serve)
}

// TestBurstIsWrittenTogether, however long a Write takes.
func TestBurstIsWrittenTogether(t *testing.T) {
	t.Parallel()
	for _, each := range []time.Duration{0, 10 * time.Microsecond, time.Millisecond} {
		t.Run(each.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const n = 10_000
				out := slowWrites{each: each}
				if err := serveOne(t, &out, func(ctx context.Context, _ []byte, out transport.Outbound) error {
					report(ctx, t, out, n)
					return nil
				}); err != nil {
					t.Errorf("Serve: %v", err)
				}
				got := strings.Join(out.all, "")
				if got != reports(n) {
					t.Errorf("wrote %.200q...", got)
				}
				// That the input ends is something that has been read.
				if most := 2*burstStart + len(got)/(16<<10) + 2; len(out.all) > most {
					t.Errorf("%d Writes, want at most %d", len(out.all), most)
				}
			})
		})
	}
}

// TestNoBurst: what is no burst goes out by itself, before Send returns.
func TestNoBurst(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		n     int
		pause time.Duration
	}{
		{"one", 1, 0},
		{"few", burstStart, 0},
		{"steady", 100, 60 * time.Microsecond},
		{"now and then", 100, 40 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				out := stamped{start: time.Now()}
				if err := serveOne(t, &out, func(ctx context.Context, _ []byte, to transport.Outbound) error {
					for i := range tt.n {
						report(ctx, t, to, 1)
						if len(out.all) != i+1 {
							t.Fatalf("%d Writes after report %d", len(out.all), i+1)
						}
						time.Sleep(tt.pause)
					}
					return nil
				}); err != nil {
					t.Errorf("Serve: %v", err)
				}
			})
		})
	}
}

// TestBurstIsNoneWhileThePeerAsks: an answer to each of its requests is written before Send
// returns.
func TestBurstIsNoneWhileThePeerAsks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out writes
		r, w := io.Pipe()
		served := make(chan error, 1)
		go func() {
			served <- stdio.New(stdio.Streams(r, &out), stdio.Inline()).
				Serve(t.Context(), hostFunc(func(ctx context.Context, frame []byte, to transport.Outbound) error {
					err := to.Send(ctx, transport.Frame{JSON: frame})
					if last := out.all[len(out.all)-1]; err != nil || last != string(frame)+"\n" {
						t.Errorf("%q was sent (%v), %q was written", frame, err, last)
					}
					return err
				}))
		}()
		for i := range 100 {
			if _, err := fmt.Fprintf(w, "{%d}\n", i); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		_ = w.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

// TestBurstIsNotHeldForLong checks that a burst is written if its sender then works for long, or
// ends.
func TestBurstIsNotHeldForLong(t *testing.T) {
	t.Parallel()
	const n = 100
	crash := `{"jsonrpc":"2.0","error":{"code":-32603,"message":"internal error"}}` + "\n"
	for _, tt := range []struct {
		name, more string
		late       time.Duration
		then       func(ctx context.Context, out transport.Outbound)
	}{
		{"waits", "", burstDelay, func(context.Context, transport.Outbound) { time.Sleep(time.Second) }},
		{"ends", "", 0, func(context.Context, transport.Outbound) {}},
		{"answers", "{answer}\n", 0, func(ctx context.Context, out transport.Outbound) {
			_ = out.Send(ctx, transport.Frame{JSON: []byte("{answer}")})
		}},
		{"panics", crash, 0, func(context.Context, transport.Outbound) { panic("as asked") }},
		{"ends its goroutine", "", 0, func(context.Context, transport.Outbound) { runtime.Goexit() }},
	} {
		for how, opts := range map[string][]stdio.Option{"": nil, " inline": {stdio.Inline()}} {
			t.Run(tt.name+how, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					out := stamped{start: time.Now()}
					r, w := io.Pipe()
					served := make(chan error, 1)
					go func() {
						served <- stdio.New(append(opts, stdio.Streams(r, &out))...).
							Serve(t.Context(), hostFunc(func(ctx context.Context, _ []byte, out transport.Outbound) error {
								report(ctx, t, out, n)
								tt.then(ctx, out)
								return nil
							}))
					}()
					if _, err := io.WriteString(w, `{"id":1,"method":"x"}`+"\n"); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Minute) // the input goes on
					synctest.Wait()
					want := reports(n) + tt.more
					if got := strings.Join(out.all, ""); len(got) != len(want) && !strings.HasPrefix(got, reports(n)) {
						t.Errorf("wrote %q", got)
					}
					if late := out.at[len(out.at)-1]; late > tt.late {
						t.Errorf("the last went out after %v, want %v", late, tt.late)
					}
					_ = w.Close()
					if err := <-served; err != nil {
						t.Errorf("Serve: %v", err)
					}
				})
			})
		}
	}
}

// outOf is what belongs to no exchange of the connection of ctx.
func outOf(ctx context.Context) transport.Outbound { return transport.ConnectionFrom(ctx).Out }

// TestBurstOfNoExchange: only the timer ends it, even if calls are served meanwhile.
func TestBurstOfNoExchange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 100
		out := stamped{start: time.Now()}
		r, w := io.Pipe()
		connected := make(chan context.Context, 1)
		served := make(chan error, 1)
		go func() {
			served <- stdio.New(stdio.Streams(r, &out), stdio.Inline()).
				Serve(t.Context(), hostFunc(func(ctx context.Context, _ []byte, _ transport.Outbound) error {
					connected <- ctx
					return nil
				}))
		}()
		if _, err := io.WriteString(w, "{}\n"); err != nil {
			t.Fatal(err)
		}
		ctx := <-connected
		synctest.Wait() // the end of the exchange would bring it out
		for round := range 3 {
			start := time.Since(out.start)
			report(ctx, t, outOf(ctx), n)
			time.Sleep(time.Second)
			synctest.Wait()
			if got := strings.Join(out.all, ""); got != strings.Repeat(reports(n), round+1) {
				t.Fatalf("round %d: wrote %q", round, got)
			}
			if late := out.at[len(out.at)-1] - start; late != burstDelay {
				t.Errorf("round %d: the last went out after %v, want %v", round, late, burstDelay)
			}
		}
		_ = w.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

// TestBurstAmongFramesThatAreHeldBack: two reasons for one frame, and it is not held for
// longer than the longer of both.
func TestBurstAmongFramesThatAreHeldBack(t *testing.T) {
	t.Parallel()
	for _, before := range []time.Duration{0, burstDelay / 2, burstDelay - time.Microsecond, burstDelay, 2 * burstDelay} {
		for _, during := range []time.Duration{0, burstDelay / 2, time.Second} {
			t.Run(fmt.Sprint(before, during), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { burstAmongHeld(t, before, during) })
			})
		}
	}
}

// burstAmongHeld has a burst begin, and so much later three frames come at once, whose
// exchanges report, take so long, and report again.
func burstAmongHeld(t *testing.T, before, during time.Duration) {
	const n = 20
	out := stamped{start: time.Now()}
	var mu sync.Mutex
	var sent []time.Duration // of each line
	stamp := func() {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, time.Since(out.start))
	}
	connected := make(chan context.Context, 1)
	host := hostFunc(func(ctx context.Context, frame []byte, to transport.Outbound) error {
		if string(frame) == "{first}" {
			connected <- ctx
			return nil
		}
		for range n {
			report(ctx, t, to, 1)
			stamp()
		}
		time.Sleep(during)
		report(ctx, t, to, 1)
		stamp()
		return nil
	})
	r, w := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- stdio.New(stdio.Streams(r, &out), stdio.Inline()).Serve(t.Context(), host) }()
	for i, lines := range []string{"{first}\n", "{}\n{}\n{}\n"} {
		if _, err := io.WriteString(w, lines); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			ctx := <-connected
			report(ctx, t, outOf(ctx), n)
			for range n {
				stamp()
			}
			time.Sleep(before)
		}
	}
	time.Sleep(time.Minute)
	synctest.Wait()
	line := 0
	for i, text := range out.all {
		for range strings.Count(text, "\n") {
			if waited := out.at[i] - sent[line]; waited > stdio.TakeOver+burstDelay {
				t.Errorf("line %d was held back for %v", line, waited)
			}
			line++
		}
	}
	if line != n+3*(n+1) {
		t.Errorf("%d lines", line)
	}
	_ = w.Close()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// TestBurstToWhoDoesNotRead stops the sender, who learns of the end.
func TestBurstToWhoDoesNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := ioPipe(t)
		sent := 0
		host := hostFunc(func(ctx context.Context, _ []byte, out transport.Outbound) error {
			for {
				if err := out.Send(ctx, transport.Frame{JSON: []byte(`{"method":"x"}`)}); err != nil {
					return err
				}
				sent++
			}
		})
		served := make(chan error, 1)
		go func() {
			served <- stdio.New(stdio.Streams(p.serverIn, p.serverOut)).Serve(t.Context(), host)
		}()
		if _, err := io.WriteString(p.clientOut, "{}\n"); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(p.clientIn)
		for range 2 * burstStart {
			lines.Scan()
		}
		time.Sleep(24 * time.Hour) // would take long if a timer ticked
		synctest.Wait()
		if sent > 2*burstStart+2*(16<<10)/len(`{"method":"x"}`) {
			t.Errorf("%d reports were taken although the client does not read", sent)
		}
		_ = p.clientIn.(io.Closer).Close()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		p.closeServer()
	})
}

// fullDisk is a stream that takes some Writes.
type fullDisk struct {
	writes
	left int
}

var errDisk = errors.New("no space left")

func (f *fullDisk) Write(p []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errDisk
	}
	return f.writes.Write(p)
}

// TestBurstThatCannotBeWritten ends the connection, and the sender learns of it by its next
// Send.
func TestBurstThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := fullDisk{left: burstStart}
		r, w := io.Pipe()
		served := make(chan error, 1)
		go func() {
			served <- stdio.New(stdio.Streams(r, &out)).Serve(t.Context(), hostFunc(func(ctx context.Context, _ []byte, out transport.Outbound) error {
				report(ctx, t, out, burstStart+1)
				time.Sleep(burstDelay + 1)
				if err := out.Send(ctx, transport.Frame{JSON: []byte("{}")}); !errors.Is(err, errDisk) {
					t.Errorf("Send: %v", err)
				}
				return nil
			}))
		}()
		if _, err := io.WriteString(w, "{}\n"); err != nil {
			t.Fatal(err)
		}
		if err := <-served; !errors.Is(err, errDisk) {
			t.Errorf("Serve: %v", err)
		}
		if len(out.all) != burstStart {
			t.Errorf("wrote %q", out.all)
		}
	})
}

// TestNothingIsWrittenAfterTheEnd checks that nothing is written after Serve has returned, not even
// a frame outside of an exchange. What was sent before is not lost, even if some of it was held
// back.
func TestNothingIsWrittenAfterTheEnd(t *testing.T) {
	t.Parallel()
	for _, each := range []time.Duration{0, burstDelay / 2, burstDelay, time.Millisecond} {
		t.Run(each.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				out := slowWrites{each: each}
				sent := make(chan error, 1)
				taken := 0
				r, w := io.Pipe()
				ctx, cancel := context.WithCancel(t.Context())
				served := make(chan error, 1)
				go func() {
					served <- stdio.New(stdio.Streams(r, &out)).Serve(ctx, hostFunc(func(ctx context.Context, _ []byte, _ transport.Outbound) error {
						go func() {
							for ; ; taken++ {
								if err := outOf(ctx).Send(context.WithoutCancel(ctx), transport.Frame{JSON: []byte("{}")}); err != nil {
									sent <- err
									return
								}
								time.Sleep(time.Microsecond)
							}
						}()
						return nil
					}))
				}()
				if _, err := io.WriteString(w, "{}\n"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10*time.Millisecond + burstDelay/4)
				cancel()
				end := time.Now()
				if err := <-served; err != nil {
					t.Errorf("Serve: %v", err)
				}
				if took := time.Since(end); took > 2*each {
					t.Errorf("the end took %v", took)
				}
				n := len(out.all)
				if err := <-sent; !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("Send: %v", err)
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if len(out.all) != n {
					t.Errorf("wrote %q", out.all[n:])
				}
				// The end may be faster than the word that the last one has been written.
				if lines := strings.Count(strings.Join(out.all, ""), "\n"); lines != taken && lines != taken+1 {
					t.Errorf("%d frames were taken, %d were written", taken, lines)
				}
			})
		})
	}
}

// TestManyBursts is many senders within exchanges and outside, who are fast and slow by
// chance: all arrives, in the order of each, and its answer after it.
func TestManyBursts(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) pipe{"io.Pipe": ioPipe, "os.Pipe": osPipe} {
		for how, opts := range map[string][]stdio.Option{"": nil, " inline": {stdio.Inline()}} {
			t.Run(name+how, func(t *testing.T) {
				t.Parallel()
				manyBursts(t, open(t), opts)
			})
		}
	}
}

func manyBursts(t *testing.T, p pipe, opts []stdio.Option) {
	const senders, each = 100, 100
	var others sync.WaitGroup
	others.Add(senders)
	host := hostFunc(func(ctx context.Context, frame []byte, out transport.Outbound) error {
		id := string(frame[1 : len(frame)-1])
		go func() {
			defer others.Done()
			flood(context.WithoutCancel(ctx), outOf(ctx), "b"+id, each)
		}()
		flood(ctx, out, "a"+id, each)
		return out.Send(ctx, transport.Frame{JSON: fmt.Appendf(nil, "a%s %d", id, each)})
	})
	served := make(chan error, 1)
	go func() {
		defer p.closeServer()
		served <- stdio.New(append(opts, stdio.Streams(p.serverIn, p.serverOut), stdio.MaxConcurrent(16))...).Serve(t.Context(), host)
	}()
	next := make(map[string]int)
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(p.clientIn); lines.Scan(); {
			id, number, _ := strings.Cut(lines.Text(), " ")
			if n, err := strconv.Atoi(number); err != nil || n != next[id] {
				t.Errorf("read %q, want number %d", lines.Text(), next[id])
			}
			if next[id]++; len(next) == 2*senders && rand.IntN(1000) == 0 {
				time.Sleep(time.Millisecond)
			}
		}
	}()
	for i := 0; i < senders; {
		var burst strings.Builder
		for range 1 + rand.IntN(20) {
			if i++; i <= senders {
				fmt.Fprintf(&burst, "{%d}\n", i)
			}
		}
		_, _ = io.WriteString(p.clientOut, burst.String())
	}
	others.Wait()
	_ = p.clientOut.(io.Closer).Close()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	<-read
	_ = p.clientIn.(io.Closer).Close()
	for i := range senders {
		if a, b := next[fmt.Sprint("a", i+1)], next[fmt.Sprint("b", i+1)]; a != each+1 || b != each {
			t.Errorf("of %d: %d and %d", i+1, a, b)
		}
	}
}

// flood numbers what it sends.
func flood(ctx context.Context, out transport.Outbound, id string, n int) {
	for i := range n {
		_ = out.Send(ctx, transport.Frame{JSON: fmt.Appendf(nil, "%s %d", id, i)})
		if rand.IntN(50) == 0 {
			time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
		}
	}
}
