package streamable_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// interrupted is the will of the exchanges of a pair.
const interrupted = `{"jsonrpc":"2.0","id":1,"error":{"code":502,"message":"interrupted"}}`

// dying is a call that node a of a pair never answers, although it lives; what it sends is in the
// log.
type dying struct {
	*pair
	first event // that the client got
}

// newDying has the handler send those frames and hang. polls is the plan of 2025-11-25.
func newDying(t *testing.T, plan transport.Plan, all *memory.Store, frames ...string) *dying {
	t.Helper()
	d := &dying{}
	d.pair = pairOver(t, plan, streamable.Config{SessionIdle: time.Hour}, all, all.Changes(),
		func(ctx context.Context, _ string, send func(string) error) (int, string) {
			for _, frame := range frames {
				if err := send(frame); err != nil {
					t.Errorf("%s: %v", frame, err)
				}
			}
			<-ctx.Done()
			return 0, ""
		})
	d.first = d.a.carry(d.a.do(http.MethodPost, "x"), 1).wait().events()[0]
	synctest.Wait()
	return d
}

func (d *dying) end() {
	d.a.do(http.MethodDelete, "") // what hangs ends
	d.stop()
}

// resume is a client that comes to the other node.
func (d *dying) resume(after event) *streamable.Reply {
	return d.b.do(http.MethodGet, "", "Last-Event-ID: "+after.id)
}

// TestWriterDied checks a client that comes to another node after the node with its call has died.
// It gets what it missed, and at once the end: the answer, or the prepared error. Both are repeated
// until the client has received them.
func TestWriterDied(t *testing.T) {
	t.Parallel()
	const result, batch = `{"jsonrpc":"2.0","id":1,"result":{}}`, `[{"jsonrpc":"2.0","id":1,"result":{}}]`
	const refusal, question = `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	const note = `{"jsonrpc":"2.0","method":"notifications/x"}`
	tests := map[string]struct {
		plan transport.Plan
		log  memory.Bounds
		sent []string // the client gets the first event only; of a client that polls that is the priming event
		want []string // none: there is nothing to resume
	}{
		"nothing was sent":           {plan: polling, want: []string{interrupted}},
		"the client has all":         {plan: resumable, sent: []string{note}, want: []string{interrupted}},
		"the client missed some":     {plan: resumable, sent: []string{note, question, note}, want: []string{question, note, interrupted}},
		"killed after the answer":    {plan: polling, sent: []string{note, result}, want: []string{note, result}},
		"killed after the refusal":   {plan: polling, sent: []string{refusal}, want: []string{refusal}},
		"killed after the answers":   {plan: polling, sent: []string{batch}, want: []string{batch}},
		"the log has no beginning":   {plan: resumable, log: memory.Bounds{StreamEvents: 1}, sent: []string{note}},
		"the log has lost the event": {plan: polling, log: memory.Bounds{StreamEvents: 1}, sent: []string{note, note}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDying(t, tt.plan, memory.Sized(tt.log), tt.sent...)
				defer d.end()
				d.store.dead.Store(true)
				start, after := time.Now(), d.first
				for range 2 {
					r := d.resume(d.first)
					if len(tt.want) == 0 && r.Status == http.StatusBadRequest {
						continue
					}
					got := d.b.carry(r, -1).wait().events()
					var data []string
					for _, e := range got {
						data, after = append(data, e.data), e
					}
					if fmt.Sprint(data) != fmt.Sprint(tt.want) || after.id == "" {
						t.Errorf("got %v", got)
					}
				}
				if took := time.Since(start); took > 0 {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// TestWriterDies while other nodes carry its stream: each of them ends it, in the same way, whatever
// the writer does when it is not dead after all.
func TestWriterDies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDying(t, polling, memory.New())
		defer d.end()
		one, two := d.b.carry(d.resume(d.first), -1), d.b.carry(d.resume(d.first), -1)
		time.Sleep(time.Minute)
		start := time.Now()
		d.store.dead.Store(true)
		for _, c := range []*connection{one, two} {
			if got := c.wait().events(); len(got) != 1 || got[0].data != interrupted {
				t.Errorf("got %v", got)
			}
		}
		if one.events()[0] != two.events()[0] {
			t.Errorf("%v is not %v", one.events()[0], two.events()[0])
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
		if r := d.resume(one.events()[0]); r.Status != http.StatusBadRequest {
			t.Errorf("after that: %d", r.Status)
		}
		d.store.dead.Store(false) // it was suspended, and the client finds it again
		c := d.a.carry(d.a.do(http.MethodGet, "", "Last-Event-ID: "+d.first.id), -1)
		synctest.Wait()
		if got := c.events(); len(got) != 0 {
			t.Errorf("the writer sent %v", got)
		}
		c.cancel()
		c.wait()
	})
}

// TestWriterStops: a node that stops while a call runs, whatever its handler does, leaves the client of
// the call an answer at the other nodes.
func TestWriterStops(t *testing.T) {
	t.Parallel()
	const note = `{"jsonrpc":"2.0","method":"notifications/x"}`
	for name, tt := range map[string]struct {
		plan transport.Plan
		sent []string
	}{"nothing was sent": {plan: polling}, "the client has all": {plan: resumable, sent: []string{note}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				all, over := memory.New(), make(chan struct{})
				p := pairOver(t, tt.plan, streamable.Config{}, all, all.Changes(),
					func(_ context.Context, _ string, send func(string) error) (int, string) {
						for _, frame := range tt.sent {
							_ = send(frame)
						}
						<-over
						return http.StatusOK, `{"jsonrpc":"2.0","id":1,"result":{}}`
					})
				first := p.a.carry(p.a.do(http.MethodPost, "x"), 1).wait().events()[0]
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				_ = p.a.e.Shutdown(ctx) // the call still runs
				for range 2 {
					got := p.b.carry(p.b.do(http.MethodGet, "", "Last-Event-ID: "+first.id), -1).wait().events()
					if len(got) != 1 || got[0].data != interrupted {
						t.Errorf("got %v", got)
					}
				}
				close(over)
				p.b.stop()
			})
		})
	}
}

// away is a log that accepts no answers for a while.
type away struct {
	eventlog.Store
	down atomic.Bool
}

func (a *away) Append(ctx context.Context, stream string, frame []byte) (uint64, error) {
	if a.down.Load() && bytes.Contains(frame, []byte(`"result"`)) {
		return 0, errors.New("away")
	}
	return a.Store.Append(ctx, stream, frame)
}

// TestAnswerWithoutLog: an answer that the log did not accept is kept for a client that comes back to
// its node. At other nodes the client gets an error.
func TestAnswerWithoutLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const result = `{"jsonrpc":"2.0","id":1,"result":{}}`
		all, over := memory.New(), make(chan struct{})
		log := &away{Store: all.Events()}
		p := pairLogged(t, polling, streamable.Config{SessionIdle: time.Hour}, all, all.Changes(), log,
			func(context.Context, string, func(string) error) (int, string) {
				<-over
				return http.StatusOK, result
			})
		defer p.stop()
		first := p.a.carry(p.a.do(http.MethodPost, "x"), 1).wait().events()[0]
		log.down.Store(true)
		close(over)
		time.Sleep(time.Minute)
		log.down.Store(false)
		for range 2 {
			for s, want := range map[*site]string{p.a: result, p.b: interrupted} {
				got := s.carry(s.do(http.MethodGet, "", "Last-Event-ID: "+first.id), -1).wait().events()
				if len(got) != 1 || got[0].data != want {
					t.Errorf("got %v, want %s", got, want)
				}
			}
		}
	})
}
