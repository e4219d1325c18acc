package streamable_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// valve is a client's end that takes a write only when it is let through. It demands what
// a carrier may rely on: one call at a time, and nothing after the last.
type valve struct {
	t     *testing.T
	let   chan error // a write comes to that; closed: to nothing
	panic bool       // instead of an error

	busy  atomic.Bool
	mu    sync.Mutex
	parts []string
	last  bool
}

func newValve(t *testing.T) *valve { return &valve{t: t, let: make(chan error)} }

func (v *valve) Open(int, []streamable.Field, int) error { return nil }
func (v *valve) Write(part []byte) error                 { return v.take(part, false) }
func (v *valve) Last(part []byte) error                  { return v.take(part, true) }

func (v *valve) take(part []byte, last bool) error {
	if v.busy.Swap(true) {
		v.t.Error("two writes at a time")
	}
	defer v.busy.Store(false)
	text := string(part)
	if err := <-v.let; err != nil {
		if v.panic {
			panic(err)
		}
		return err
	}
	if text != string(part) {
		v.t.Error("a part changed while it was written")
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.last {
		v.t.Errorf("%q after the last", part)
	}
	v.parts, v.last = append(v.parts, text), last
	return nil
}

// numbers returns the numbers of the events that were taken, with -1 for the answer.
func (v *valve) numbers() (all []int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	body := sink{}
	body.body.WriteString(strings.Join(v.parts, ""))
	for _, e := range body.events() {
		n := -1
		if e.data == "" || e.data != `{"a":1}` && !parsed(e.data, &n) {
			continue
		}
		all = append(all, n)
	}
	return all
}

func parsed(data string, n *int) bool {
	_, err := fmt.Sscanf(data, `{"n":%d`, n)
	return err == nil
}

func upTo(n int) string {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return fmt.Sprint(all)
}

// flood is a host whose handler sends events as fast as it can; more is done between them
// and the answer.
func flood(plan transport.Plan, n int, size int, told chan<- error, more func()) *host {
	return &host{plan: plan, handle: func(_ context.Context, _ string, send func(string) error) (int, string) {
		for i := range n {
			err := send(fmt.Sprintf(`{"n":%d,"pad":%q}`, i, strings.Repeat("x", size)))
			told <- err
			time.Sleep(time.Nanosecond) // who writes for it gets to it
			if err != nil {
				return http.StatusOK, ""
			}
		}
		if more != nil {
			more()
		}
		return http.StatusOK, `{"a":1}`
	}}
}

// beginFlood carries a stream as a carrier without goroutines does.
func beginFlood(t *testing.T, r *streamable.Reply, v *valve) (gone func(), over chan struct{}) {
	t.Helper()
	if r.Stream == nil {
		t.Fatalf("no stream: %d %s", r.Status, r.Body)
	}
	over = make(chan struct{})
	began := make(chan func(), 1)
	go func() { began <- r.Stream.Begin(t.Context(), v, func() { close(over) }) }()
	return func() { (<-began)() }, over
}

// single is how many events are written one by one before it is clear that they come in a
// hurry. The next is written for who sends it, and then all that have come meanwhile.
const single = 9

// settle lets all go on that can, for less time than makes events come without hurry.
func settle() { time.Sleep(2 * time.Microsecond) }

// TestFlood: events in quick succession are written together, all of them, in order. The answer is at
// the end of the last write, and Send does not wait for a write without need.
func TestFlood(t *testing.T) {
	t.Parallel()
	for name, plan := range map[string]transport.Plan{"modern": modern, "resumable": resumable, "polling": polling} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const n = 1000
				told := make(chan error, n)
				h := flood(plan, n, 0, told, nil)
				h.log = &keeper{}
				s := newSite(t, h, streamable.Config{Heartbeat: time.Second})
				defer s.stop()
				v := newValve(t)
				_, over := beginFlood(t, s.do(http.MethodPost, "x"), v)
				for range single {
					v.let <- nil
					settle()
				}
				time.Sleep(3 * time.Second) // heartbeats must not come between
				close(v.let)
				<-over
				got := v.numbers()
				if fmt.Sprint(got) != strings.TrimSuffix(upTo(n), "]")+" -1]" || len(v.parts) > 20 || !v.last {
					t.Errorf("%d events in %d writes, the last at the end: %v; %v", len(got), len(v.parts), v.last, got)
				}
			})
		})
	}
}

// TestLoneEvent checks that a single event is sent at once, like the last event of a flood.
func TestLoneEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		told, goOn := make(chan error, 99), make(chan struct{})
		s := newSite(t, flood(modern, 50, 0, told, func() { <-goOn }), streamable.Config{})
		defer s.stop()
		v := newValve(t)
		close(v.let)
		_, over := beginFlood(t, s.do(http.MethodPost, "x"), v)
		settle()
		if got := v.numbers(); fmt.Sprint(got) != upTo(50) {
			t.Errorf("while the handler goes on: %v", got)
		}
		close(goOn)
		<-over
	})
}

// TestFloodWaits checks that a client that does not read makes the handler wait, and the memory
// does not grow. When the carrier has given up, the handler gets an error.
func TestFloodWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n, size = 1000, 1 << 10
		told := make(chan error, n)
		s := newSite(t, flood(modern, n, size, told, nil), streamable.Config{})
		defer s.stop()
		v := newValve(t)
		_, over := beginFlood(t, s.do(http.MethodPost, "x"), v)
		for range single {
			v.let <- nil
			settle()
		}
		time.Sleep(time.Hour)
		if taken := len(told); taken < 32 || taken > 160 {
			t.Errorf("%d KB were taken that nobody reads", taken)
		}
		v.let <- errCut
		<-over
		settle()
		var failed error
		for len(told) > 0 {
			failed = <-told
		}
		if failed == nil {
			t.Error("the handler was not told")
		}
	})
}

// TestFloodIsCut: what was written to a connection before it broke is not written again,
// and all else is, be it that an event was being written, or waited, when it broke.
func TestFloodIsCut(t *testing.T) {
	t.Parallel()
	for _, panics := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			told := make(chan error, 99)
			s := newSite(t, &host{plan: resumable, log: &keeper{}, handle: standaloneFlood(40, told)}, streamable.Config{})
			defer s.stop()
			old := newValve(t)
			old.panic = panics
			_, over := beginFlood(t, s.do(http.MethodGet, ""), old)
			old.let <- nil // the greeting
			s.do(http.MethodPost, "notifications/flood")
			for range single + 1 {
				old.let <- nil
				settle()
			}
			old.let <- errCut
			<-over
			now := newValve(t)
			close(now.let)
			gone, over := beginFlood(t, s.do(http.MethodGet, ""), now)
			settle()
			if got := append(old.numbers(), now.numbers()...); fmt.Sprint(got) != upTo(40) {
				t.Errorf("panics %v: %v and %v", panics, old.numbers(), now.numbers())
			}
			gone()
			<-over
		})
	}
}

// standaloneFlood sends what belongs to no exchange.
func standaloneFlood(n int, told chan<- error) func(context.Context, string, func(string) error) (int, string) {
	return func(ctx context.Context, _ string, _ func(string) error) (int, string) {
		out := transport.ConnectionFrom(ctx).Out
		for i := range n {
			told <- out.Send(ctx, transport.Frame{JSON: fmt.Appendf(nil, `{"n":%d}`, i)})
			time.Sleep(time.Nanosecond)
		}
		return http.StatusOK, ""
	}
}

// TestFloodMoves: a client that opens its stream again, before the old connection was seen
// to break, gets what was not written there, with a log and without.
func TestFloodMoves(t *testing.T) {
	t.Parallel()
	for _, log := range []*keeper{nil, {}} {
		synctest.Test(t, func(t *testing.T) {
			told := make(chan error, 99)
			h := &host{plan: resumable, handle: standaloneFlood(40, told)}
			if log != nil {
				h.log = log
			}
			s := newSite(t, h, streamable.Config{})
			defer s.stop()
			old, now := newValve(t), newValve(t)
			_, oldOver := beginFlood(t, s.do(http.MethodGet, ""), old)
			old.let <- nil
			s.do(http.MethodPost, "notifications/flood")
			for range single {
				old.let <- nil
				settle()
			}
			close(now.let)
			gone, over := beginFlood(t, s.do(http.MethodGet, ""), now)
			settle() // it waits for the write that is on its way
			old.let <- nil
			<-oldOver
			settle()
			if got := append(old.numbers(), now.numbers()...); fmt.Sprint(got) != upTo(40) || len(now.numbers()) == 0 {
				t.Errorf("%v and %v", old.numbers(), now.numbers())
			}
			gone()
			<-over
		})
	}
}

// TestFloodAtTheEnd: a session that ends has sent what was taken.
func TestFloodAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		told := make(chan error, 99)
		s := newSite(t, &host{plan: resumable, handle: standaloneFlood(40, told)}, streamable.Config{})
		defer s.stop()
		v := newValve(t)
		_, over := beginFlood(t, s.do(http.MethodGet, ""), v)
		v.let <- nil
		s.do(http.MethodPost, "notifications/flood")
		for range single {
			v.let <- nil
			settle()
		}
		if r := s.do(http.MethodDelete, ""); r.Status != http.StatusNoContent {
			t.Errorf("DELETE: %d", r.Status)
		}
		close(v.let)
		<-over
		if got := v.numbers(); fmt.Sprint(got) != upTo(40) {
			t.Errorf("%v", got)
		}
	})
}

// TestEndedStreamIsReplayed checks that an ended stream is replayed as one body, and that the body
// ends with the last event.
func TestEndedStreamIsReplayed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		told := make(chan error, 99)
		h := flood(polling, 20, 8<<10, told, nil)
		h.log = &keeper{}
		s := newSite(t, h, streamable.Config{})
		defer s.stop()
		first := newValve(t)
		_, over := beginFlood(t, s.do(http.MethodPost, "x"), first)
		first.let <- nil // the priming event, and one more
		first.let <- errCut
		<-over
		settle()
		e := sink{}
		e.body.WriteString(first.parts[0])
		again := newValve(t)
		close(again.let)
		_, over = beginFlood(t, s.do(http.MethodGet, "", "Last-Event-ID: "+e.events()[0].id), again)
		<-over
		if got := again.numbers(); fmt.Sprint(got) != strings.TrimSuffix(upTo(20), "]")+" -1]" || !again.last {
			t.Errorf("%v, the last at the end: %v", got, again.last)
		}
		if len(again.parts) > 6 {
			t.Errorf("in %d writes", len(again.parts))
		}
	})
}

// TestAnswerOfACutFlood: the sender of an answer learns that it was not written, unless the
// client may come back for it.
func TestAnswerOfACutFlood(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plan transport.Plan
		want bool
	}{"modern": {modern, true}, "resumable": {resumable, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				answered := make(chan error, 1)
				h := &flooding{host: &host{plan: c.plan, log: &keeper{}}, answered: answered}
				s := &site{t: t, e: streamable.New(h, streamable.Config{})}
				if !c.plan.CancelByClose {
					s.session = field(s.do(http.MethodPost, "initialize").Header, "Mcp-Session-Id")
				}
				defer s.stop()
				v := newValve(t)
				_, over := beginFlood(t, s.do(http.MethodPost, "x"), v)
				for range single {
					v.let <- nil
					settle()
				}
				v.let <- errCut
				<-over
				if err := <-answered; (err != nil) != c.want || errors.Is(err, context.Canceled) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// flooding is a host that tells what became of its answers.
type flooding struct {
	*host
	answered chan error
}

func (h *flooding) Accept(ctx context.Context, frame []byte) (transport.Exchange, error) {
	x, err := h.host.Accept(ctx, frame)
	if e, ok := x.(*exchange); ok && e.method != "initialize" {
		return &floods{e, h.answered}, err
	}
	return x, err
}

type floods struct {
	*exchange
	answered chan error
}

func (x *floods) Serve(ctx context.Context, out transport.Outbound) error {
	for i := range 12 {
		_ = out.Send(ctx, transport.Frame{JSON: fmt.Appendf(nil, `{"n":%d}`, i)})
		time.Sleep(time.Nanosecond)
	}
	x.answered <- out.Send(ctx, transport.Frame{JSON: []byte(`{"a":1}`), Final: true})
	return nil
}
