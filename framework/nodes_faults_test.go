package framework_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/transport"
)

// The tests of this file let stores and nodes fail at the worst moment.

// 1. an answer while the worker that asked is still on its way out
func TestNodesResumeBesideTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var effects atomic.Int32
		h := &hooks{}
		h.updated = func(r task.Record) {
			if r.Status == protocol.TaskInputRequired {
				time.Sleep(50 * time.Millisecond) // the answer of the store is on its way
			}
		}
		app := quiet(framework.WithStore(hooked{memory.New(), h}))
		app.Add(framework.Tool("film", func(ctx context.Context, _ struct{}) (string, error) {
			answer, err := framework.Elicit[name](ctx, "Who?")
			if err != nil {
				return "", err
			}
			_, err = framework.Once(ctx, "count", func(context.Context) (int32, error) {
				n := effects.Add(1)
				time.Sleep(20 * time.Millisecond)
				return n, nil
			})
			return answer.Name, err
		}, framework.Describe("d"), framework.Task(framework.TaskOptional)))
		s := build(t, app)
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		p := dialTasks(t, s, withCaps(declares))
		id := p.task("film", `{}`)
		for range 100 {
			if p.get(id).Status == "input_required" {
				break
			}
			time.Sleep(time.Millisecond)
		}
		p.answer(id, `{"q1":`+accepted+`}`).ok()
		time.Sleep(time.Second)
		if n := effects.Load(); n != 1 {
			t.Errorf("%d effects", n)
		}
		if got := p.get(id); got.Status != "completed" || !strings.Contains(string(got.Result), "Ada") {
			t.Errorf("%s: %s", got.Status, got.Result)
		}
	})
}

// 2. a worker that lost its lease in the pause before a repetition goes on under the other's number
func TestNodesRetryUnderAnothersNumber(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := memory.Sized(memory.Bounds{LeaseLife: 50 * time.Millisecond})
		stuck := &hooks{renew: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }} // node 1's renewals hang
		ran := make(chan string, 10)
		var effects atomic.Int32
		for i, h := range []*hooks{stuck, {}} {
			app := quiet(framework.WithStore(hooked{store, h}), framework.WithTaskWorkers(1))
			var runs atomic.Int32
			app.Add(framework.Tool("film", func(ctx context.Context, _ struct{}) (string, error) {
				n := runs.Add(1)
				ran <- fmt.Sprint("node ", i, " run ", n)
				if i == 0 && n == 1 {
					return "", errors.New("try again")
				}
				if _, err := framework.Once(ctx, "pay", func(context.Context) (int32, error) { time.Sleep(200 * time.Millisecond); return effects.Add(1), nil }); err != nil {
					return "", err
				}
				return fmt.Sprint("by node ", i), nil
			}, framework.Describe("d"), framework.Task(framework.TaskOptional, framework.Retry(5))))
			s := build(t, app)
			if i == 0 {
				if err := s.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				p := dialTasks(t, s)
				id := p.task("film", `{}`)
				<-ran
				defer func() {
					time.Sleep(3 * time.Second)
					if got := p.get(id); got.Status != "completed" || !strings.Contains(string(got.Result), "by node 1") {
						t.Errorf("%s: %s", got.Status, got.Result)
					}
					close(ran)
					for r := range ran {
						if strings.HasPrefix(r, "node 0") {
							t.Error("node 0 runs it again although node 1 has it")
						}
					}
					if effects.Load() != 1 {
						t.Error("effects", effects.Load())
					}
				}()
				continue
			}
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// 3. status messages of a worker that has lost its lease
func TestNodesStaleMessage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := memory.Sized(memory.Bounds{LeaseLife: 50 * time.Millisecond})
		stuck := &hooks{renew: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		begun := make(chan struct{}, 10)
		var p *peer
		var id string
		for i, h := range []*hooks{stuck, {}} {
			app := quiet(framework.WithStore(hooked{store, h}), framework.WithTaskWorkers(1))
			app.Add(framework.Tool("film", func(ctx context.Context, _ struct{}) (string, error) {
				begun <- struct{}{}
				if i == 0 {
					time.Sleep(time.Second)
					framework.Progress(ctx, 1, 2, "of the stale one")
					return "stale", nil
				}
				framework.Progress(ctx, 1, 2, "of the new one")
				time.Sleep(10 * time.Second)
				return "new", nil
			}, framework.Describe("d"), framework.Task(framework.TaskOptional)))
			s := build(t, app)
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				p = dialTasks(t, s)
				id = p.task("film", `{}`)
			}
			<-begun
		}
		time.Sleep(2 * time.Second)
		if m := string(p.byID("tasks/get", id).ok().Result); strings.Contains(m, "stale") {
			t.Errorf("%s", m)
		}
		time.Sleep(20 * time.Second)
		if got := p.get(id); got.Status != "completed" || !strings.Contains(string(got.Result), "new") {
			t.Errorf("%s: %s", got.Status, got.Result)
		}
	})
}

// 4. Start that fails once
func TestNodesStartFailsOnce(t *testing.T) {
	h := &hooks{}
	var n atomic.Int32
	h.claim = func(string) error {
		if n.Add(1) == 1 {
			return errors.New("away for a moment")
		}
		return nil
	}
	s := build(t, quiet(framework.WithStore(hooked{memory.New(), h})))
	if _, err := s.Accept(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)); err == nil {
		t.Error("the first frame is taken although the store was away")
	}
	x, err := s.Accept(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		t.Errorf("the second frame: %v", err)
		return
	}
	_ = x.Serve(t.Context(), transport.OutboundFunc(func(context.Context, transport.Frame) error { return nil }))
}

// 5. stopJobs misses a job that is on its way
func TestNodesShutdownMissesAJob(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &hooks{}
		hold := make(chan struct{})
		var held atomic.Bool
		h.get = func(context.Context, string) error {
			if held.CompareAndSwap(false, true) {
				<-hold
			}
			return nil
		}
		app := quiet(framework.WithStore(hooked{memory.New(), h}))
		var ran, over atomic.Bool
		app.Add(framework.Tool("film", func(ctx context.Context, _ struct{}) (string, error) {
			ran.Store(true)
			select {
			case <-ctx.Done():
			case <-time.After(time.Hour):
			}
			over.Store(true)
			return "", ctx.Err()
		}, framework.Describe("d"), framework.Task(framework.TaskOptional)))
		s, err := app.Build()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		dialTasks(t, s).task("film", `{}`)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go func() { time.Sleep(3500 * time.Millisecond); close(hold) }() // the store answers right after the grace
		_ = s.Shutdown(ctx)
		time.Sleep(time.Second)
		synctest.Wait()
		if ran.Load() && !over.Load() {
			t.Error("the handler runs after Shutdown, with nothing that ends it")
		}
		time.Sleep(2 * time.Hour)
	})
}

// 6. a record that cannot be read
func TestNodesHotLoop(t *testing.T) {
	h := &hooks{}
	var takes atomic.Int32
	h.take = func() { takes.Add(1) }
	h.get = func(context.Context, string) error { return errors.New("no key opens it") }
	store := hooked{memory.New(), h}
	s := build(t, quiet(framework.WithStore(store)))
	now := time.Now()
	_ = store.Store.Tasks().Create(t.Context(), task.Record{ID: "x", Status: protocol.TaskWorking, Created: now, Updated: now, TTL: time.Hour})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	if n := takes.Load(); n > 20 {
		t.Errorf("taken %d times in half a second", n)
	}
}

type faultTenantKey struct{}

// 7. the context of the first request
func TestNodesFirstRequestsContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		app := quiet(framework.WithStore(memory.New()))
		app.Add(framework.Tool("who", func(ctx context.Context, _ struct{}) (string, error) {
			return fmt.Sprint(framework.Caller(ctx).Principal, " ", ctx.Value(faultTenantKey{})), nil
		}, framework.Describe("d"), framework.Task(framework.TaskOptional)))
		s := build(t, app) // mounted: the first frame starts it
		first := dialTasks(t, s, ada(nil), func(p *peer) { p.ctx = context.WithValue(p.ctx, faultTenantKey{}, "adas tenant") })
		first.call("tools/list", "").ok()
		nobody := dialTasks(t, s)
		id := nobody.task("who", `{}`)
		synctest.Wait()
		if got := string(nobody.get(id).Result); strings.Contains(got, "ada") {
			t.Errorf("a task of nobody runs as: %s", got)
		}
	})
}

// 8. progress after the end that another node has made
func TestNodesProgressAfterEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		over := make(chan struct{})
		all := nodes(t, 2, func(app *framework.App, _ int) {
			app.Add(framework.Tool("stubborn", func(ctx context.Context, _ struct{}) (string, error) {
				framework.Progress(ctx, 1, 3, "before")
				time.Sleep(time.Minute)
				framework.Progress(ctx, 2, 3, "after the end")
				close(over)
				return "", nil
			}, framework.Describe("d"), framework.Task(framework.TaskOptional)))
		})
		p := dial(t, all[0], core, withMeta("progressToken", `"p"`))
		id := p.start("stubborn", `{}`, `{}`).TaskID
		synctest.Wait()
		p.byID("tasks/cancel", id).ok()
		<-over
		synctest.Wait()
		if got := fmt.Sprintf("%s", p.notifications("notifications/progress")); strings.Contains(got, "after the end") {
			t.Errorf("%s", got)
		}
	})
}

// 9. answers without a question fill the claims
func TestNodesAnswersFillTheClaims(t *testing.T) {
	store := memory.Sized(memory.Bounds{ClaimEntries: 100})
	app := quiet(framework.WithStore(store))
	app.Add(framework.Tool("pay", func(ctx context.Context, _ struct{}) (string, error) {
		_, err := framework.Once(ctx, "pay", func(context.Context) (int, error) { return 1, nil }, framework.AtMostOnce())
		return fmt.Sprint(err), nil
	}, framework.Describe("d")))
	s := build(t, app)
	evil := dial(t, s, core)
	for i := range 200 {
		evil.frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":"made up %d","result":{}}`, i))
	}
	p := dial(t, s, protocol.Rev20260728)
	if got := p.tool("pay", `{}`).ok(); !strings.Contains(string(got.Result), "nil") {
		t.Errorf("another client: %s", got.Result)
	}
}

// TestNodesLostReplies checks changes of a task that the store makes without a reply. A listener
// still receives each status, and a handler that was cancelled ends at once.
func TestNodesLostReplies(t *testing.T) {
	for what, lost := range map[string]int32{"question": 1, "answer": 2, "end": 3} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p, updates := losing(t, lost, func(ctx context.Context, _ struct{}) (string, error) {
					time.Sleep(time.Second) // until the client listens
					answer, err := framework.Elicit[name](ctx, "Who?")
					return answer.Name, err
				})
				id := p.task("film", `{}`)
				end := p.listen(id)
				defer end()
				time.Sleep(5 * time.Second)
				p.answer(id, `{"q1":`+accepted+`}`)
				time.Sleep(5 * time.Second)
				synctest.Wait()
				var told []string
				for _, m := range p.notifications("notifications/tasks") {
					told = append(told, as2[taskState](t, m).Status)
				}
				if got := strings.Join(told, " "); updates.Load() < 3 || !strings.HasSuffix(got, "input_required working completed") && !strings.HasSuffix(got, "input_required completed") {
					t.Errorf("after %d updates: %s", updates.Load(), got)
				}
			})
		})
	}
	t.Run("cancellation", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			ended := make(chan struct{})
			p, _ := losing(t, 1, func(ctx context.Context, _ struct{}) (string, error) {
				<-ctx.Done()
				close(ended)
				return "", ctx.Err()
			})
			id := p.task("film", `{}`)
			synctest.Wait()
			p.byID("tasks/cancel", id).code(-32603)
			begun := time.Now()
			<-ended
			if d := time.Since(begun); d != 0 {
				t.Errorf("the handler ends %v after the cancellation", d)
			}
		})
	})
}

// losing is a client of a server on a store that does not answer an update.
func losing(t *testing.T, lost int32, film func(context.Context, struct{}) (string, error)) (*peer, *atomic.Int32) {
	t.Helper()
	updates, h := new(atomic.Int32), &hooks{}
	h.lost = func() error {
		if updates.Add(1) == lost {
			return errors.New("no answer")
		}
		return nil
	}
	s := build(t, quiet(framework.WithStore(hooked{memory.New(), h})).Add(
		framework.Tool("film", film, framework.Describe("d"), framework.Task(framework.TaskOptional))))
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dialTasks(t, s), updates
}

// listen begins a stream that tells of the task.
func (p *peer) listen(id string) (end func()) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		p.frame(`{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":` +
			p.params("subscriptions/listen", `{"notifications":{"taskIds":["`+id+`"]}}`) + `}`)
	}()
	synctest.Wait()
	return func() {
		p.frame(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"l"}}`)
		<-over
	}
}

// TestNodesRoundIsKept: a store that is away when a round is to be renewed, and back the
// next time, does not let the round run twice.
func TestNodesRoundIsKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var away, runs atomic.Int32
		h := &hooks{swap: func(key string) error {
			if strings.HasPrefix(key, "round/") && away.Add(1) == 1 {
				return errors.New("away")
			}
			return nil
		}}
		s := build(t, quiet(framework.WithStore(hooked{memory.New(), h})).Add(framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
			answer, err := framework.Elicit[name](ctx, "Who?")
			if err == nil {
				runs.Add(1)
				time.Sleep(time.Minute)
			}
			return answer.Name, err
		}, framework.Describe("d"))))
		p := dial(t, s, protocol.Rev20260728, withCaps(canElicit))
		state := as2[struct{ RequestState string }](t, p.tool("ask", `{}`).ok().Result).RequestState
		params := fmt.Sprintf(`{"name":"ask","arguments":{},"requestState":%q,"inputResponses":{"q1":%s}}`, state, accepted)
		var sent sync.WaitGroup
		for range 2 {
			sent.Go(func() {
				if got := dial(t, s, protocol.Rev20260728, withCaps(canElicit)).call("tools/call", params).text(); got != "Ada" {
					t.Errorf("%s", got)
				}
			})
			time.Sleep(45 * time.Second)
		}
		sent.Wait()
		if n := runs.Load(); n != 1 || away.Load() < 2 {
			t.Errorf("it ran %d times, with %d attempts to keep it", n, away.Load())
		}
	})
}

// TestNodesOutcomeIsKept: a store that is away when the outcome of a round is to be recorded
// has it as soon as it is back: the round does not run twice, and its client is not held up.
func TestNodesOutcomeIsKept(t *testing.T) {
	for _, seconds := range []int{1, 5, 20} {
		bubble(t, func(t *testing.T) {
			var runs atomic.Int32
			var back time.Time
			h := &hooks{swap: func(key string) error {
				if strings.HasPrefix(key, "round/") && time.Now().Before(back) {
					return errors.New("away")
				}
				return nil
			}}
			s := build(t, quiet(framework.WithStore(hooked{memory.New(), h})).Add(framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
				answer, err := framework.Elicit[name](ctx, "Who?")
				return fmt.Sprint(answer.Name, runs.Add(1)), err
			}, framework.Describe("d"))))
			p := dial(t, s, protocol.Rev20260728, withCaps(canElicit))
			state := as2[struct{ RequestState string }](t, p.tool("ask", `{}`).ok().Result).RequestState
			params := fmt.Sprintf(`{"name":"ask","arguments":{},"requestState":%q,"inputResponses":{"q1":%s}}`, state, accepted)
			begun := time.Now()
			back = begun.Add(time.Duration(seconds) * time.Second)
			for i := range 3 {
				if got := p.call("tools/call", params).text(); got != "Ada2" {
					t.Errorf("away for %d s, sent for the %d. time: %s", seconds, i, got)
				}
				if i == 0 && time.Since(begun) > 0 {
					t.Errorf("it is answered after %v", time.Since(begun))
				}
			}
		})
	}
}

// 11. the store is away when a question is answered, or when a large journal is kept: the
// call has not failed, and may be sent again as it was
func TestNodesRoundsWithoutClaims(t *testing.T) {
	for begin, size := range map[string]int{"round/": 1, "state/": 20_000} {
		var away atomic.Bool
		var over atomic.Int32
		h := &hooks{claim: func(key string) error {
			if away.Load() && strings.HasPrefix(key, begin) {
				return errors.New("connection refused")
			}
			return nil
		}}
		s := build(t, quiet(framework.WithStore(hooked{memory.New(), h})).Use(framework.Middleware{
			Name: "count", Wrap: func(next framework.Handler) framework.Handler {
				return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
					r, err := next(ctx, call)
					if !errors.Is(err, framework.ErrPending) {
						over.Add(1)
					}
					return r, err
				}
			},
		}).Add(framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
			if _, err := framework.Once(ctx, "large", func(context.Context) (string, error) { return strings.Repeat("x", size), nil }); err != nil {
				return "", err
			}
			answer, err := framework.Elicit[name](ctx, "Who?")
			return answer.Name, err
		}, framework.Describe("d"))))
		p := dial(t, s, protocol.Rev20260728, withCaps(canElicit))
		send := func(params string) reply {
			t.Helper()
			away.Store(true)
			r := p.call("tools/call", params)
			if away.Store(false); r.Error != nil {
				r.code(protocol.CodeInternal).mentions("cannot reach its store now: try again")
				r = p.call("tools/call", params)
			} else if strings.Contains(params, "State") == (begin == "round/") {
				t.Errorf("without the store of %s: %s", begin, r.Result)
			}
			return r.ok()
		}
		state := as2[struct{ RequestState string }](t, send(`{"name":"ask","arguments":{}}`).Result).RequestState
		if got := send(fmt.Sprintf(`{"name":"ask","arguments":{},"requestState":%q,"inputResponses":{"q1":%s}}`, state, accepted)).text(); got != "Ada" {
			t.Errorf("%s: %s", begin, got)
		}
		if n := over.Load(); n != 1 {
			t.Errorf("%s: for middleware %d calls are over", begin, n)
		}
	}
}

// 12. a process that stood still for longer than its lease (as a machine does that is moved)
// does nothing more in Once: another has done it
func TestNodesOnceAfterAStandstill(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := memory.Sized(memory.Bounds{LeaseLife: time.Second})
		back := make(chan struct{})
		stuck := &hooks{renew: func(ctx context.Context) error {
			select {
			case <-back:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
		var effects [2]atomic.Int32
		var first *peer
		var id string
		for i, h := range []*hooks{stuck, {}} {
			s := build(t, quiet(framework.WithStore(hooked{store, h}), framework.WithTaskWorkers(1)).Add(framework.Tool("film", func(ctx context.Context, _ struct{}) (string, error) {
				if i == 0 {
					time.Sleep(10 * time.Second) // whatever its context says
					close(back)
				}
				_, err := framework.Once(context.WithoutCancel(ctx), "pay", func(context.Context) (int32, error) { return effects[i].Add(1), nil })
				return fmt.Sprint("by node ", i), err
			}, framework.Describe("d"), framework.Task(framework.TaskOptional))))
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first = dialTasks(t, s)
				id = first.task("film", `{}`)
				synctest.Wait()
			}
		}
		time.Sleep(20 * time.Second)
		if got := first.get(id); got.Status != "completed" || !strings.Contains(string(got.Result), "by node 1") {
			t.Errorf("%s: %s", got.Status, got.Result)
		}
		if effects[0].Load() != 0 || effects[1].Load() != 1 {
			t.Errorf("effects of node 0: %d, of node 1: %d", effects[0].Load(), effects[1].Load())
		}
	})
}

// TestNodesLostQuestionIsAnswered: a question that was stored although the response was lost, and that is
// answered before its worker tries again, is not asked again.
func TestNodesLostQuestionIsAnswered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var paid atomic.Int32
		p, _ := losing(t, 1, func(ctx context.Context, _ struct{}) (string, error) {
			answer, err := framework.Elicit[name](ctx, "Who?")
			if err != nil {
				return "", err
			}
			_, err = framework.Once(ctx, "pay", func(context.Context) (int32, error) { return paid.Add(1), nil })
			time.Sleep(20 * time.Second) // until a lost lease is noticed
			return answer.Name, err
		})
		id := p.task("film", `{}`)
		synctest.Wait()
		p.answer(id, `{"q1":`+accepted+`}`).ok()
		time.Sleep(40 * time.Second)
		if got := p.get(id); got.Status != "completed" || paid.Load() != 1 {
			t.Errorf("%s after %d payments", got.Status, paid.Load())
		}
	})
}
