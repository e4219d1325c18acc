package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
)

// The tests of this file let several servers share a store, as the processes of one
// service do.

var _ framework.Store = memory.New()

// nodes are started servers of the same app on one store. The first runs no tasks: its
// clients see what the others do.
func nodes(t *testing.T, n int, add func(app *framework.App, node int)) []*framework.Server {
	t.Helper()
	store := memory.New()
	all := make([]*framework.Server, n)
	for i := range all {
		opts := []framework.AppOption{framework.WithStore(store)}
		if i == 0 {
			opts = append(opts, framework.WithTaskWorkers(0))
		}
		app := quiet(opts...)
		add(app, i)
		all[i] = build(t, app)
		if err := all[i].Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func ada(claims map[string]any) peerOption {
	return as(&framework.Principal{Issuer: "https://id.example", Subject: "ada", Scopes: []string{"films"}, Claims: claims})
}

func TestTaskRunsOnAnotherNode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var effects atomic.Int32
		all := nodes(t, 2, func(app *framework.App, node int) {
			app.Add(framework.Tool("film", func(ctx context.Context, in name) (string, error) {
				who := framework.Caller(ctx).Principal
				if _, err := framework.Once(ctx, "count", func(context.Context) (int32, error) { return effects.Add(1), nil }); err != nil {
					return "", err
				}
				answer, err := framework.Elicit[name](ctx, "Who?")
				framework.Progress(ctx, 1, 2, "half")
				return fmt.Sprintf("%s for %s of %v by node %d", in.Name, answer.Name, who, node), err
			}, framework.Describe("d"), framework.Task(framework.TaskOptional)))
		})
		p := dialTasks(t, all[0], ada(map[string]any{"tenant": "acme"}))
		other := dialTasks(t, all[1], ada(nil))
		id := p.task("film", `{"name":"Ran"}`)
		synctest.Wait()
		if got := other.get(id); got.Status != "input_required" {
			t.Fatalf("the other node says %+v", got)
		}
		if got := dialTasks(t, all[1]).byID("tasks/get", id); got.Error == nil {
			t.Errorf("a stranger sees it: %s", got.Result)
		}
		p.answer(id, `{"q1":`+accepted+`}`).ok()
		synctest.Wait()
		got := p.get(id)
		const want = `Ran for Ada of &{ada https://id.example [films] map[tenant:acme]`
		if got.Status != "completed" || !strings.Contains(string(got.Result), want) || !strings.Contains(string(got.Result), "by node 1") {
			t.Errorf("%s %s", got.Status, got.Result)
		}
		if n := effects.Load(); n != 1 {
			t.Errorf("%d effects", n)
		}
	})
}

// TestTaskTellsItsSession: the session of 2025-11-25 is one node's, the task runs on
// another: progress, status and questions come to the client all the same.
func TestTaskTellsItsSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		all := nodes(t, 2, func(app *framework.App, _ int) {
			app.Add(framework.Tool("film", func(ctx context.Context, _ struct{}) (string, error) {
				framework.Progress(ctx, 1, 2, "half")
				answer, err := framework.Elicit[name](ctx, "Who?")
				return "for " + answer.Name, err
			}, framework.Describe("d"), framework.Task(framework.TaskOptional)))
		})
		synctest.Wait() // the nodes listen to each other
		p := dial(t, all[0], core, withCaps(canElicit), withMeta("progressToken", `"p"`),
			answering(func(string, json.RawMessage) string { return `"result":` + accepted }))
		task := p.start("film", `{}`, `{}`)
		synctest.Wait()
		if result := string(p.byID("tasks/result", task.TaskID).ok().Result); !strings.Contains(result, "for Ada") {
			t.Errorf("tasks/result: %s", result)
		}
		synctest.Wait()
		if got := p.notifications("notifications/progress"); len(got) == 0 || !strings.Contains(string(got[0]), `"half"`) || !strings.Contains(string(got[0]), task.TaskID) {
			t.Errorf("progress: %s", got)
		}
		status := fmt.Sprintf("%s", p.notifications("notifications/tasks/status"))
		for _, want := range []string{"input_required", "completed"} {
			if !strings.Contains(status, want) {
				t.Errorf("no news of %s: %s", want, status)
			}
		}
	})
}

func TestTaskIsCancelledFromAnotherNode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cause := make(chan error, 1)
		all := nodes(t, 2, func(app *framework.App, _ int) {
			app.Add(framework.Tool("wait", func(ctx context.Context, _ struct{}) (string, error) {
				<-ctx.Done()
				cause <- context.Cause(ctx)
				return "", nil
			}, framework.Describe("d"), framework.Task(framework.TaskOptional)))
		})
		p := dialTasks(t, all[0])
		id := p.task("wait", `{}`)
		synctest.Wait()
		begun := time.Now()
		p.byID("tasks/cancel", id).ok()
		synctest.Wait()
		if err := <-cause; !strings.Contains(err.Error(), "cancel") || time.Since(begun) > time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		if got := p.get(id).Status; got != "cancelled" {
			t.Errorf("it is %s", got)
		}
	})
}

// TestTaskMovesWhenItsNodeStops: a node that stops in good order gives its tasks away, which costs them
// nothing, whatever error its handler returns then.
func TestTaskMovesWhenItsNodeStops(t *testing.T) {
	for what, stopped := range map[string]func(ctx context.Context) error{
		"the cause":    context.Cause,
		"internal":     func(context.Context) error { return errors.New("signal: killed") },
		"for the user": func(context.Context) error { return framework.UserErrorf("The film is broken.") },
	} {
		t.Run(what, func(t *testing.T) { bubble(t, func(t *testing.T) { movesTask(t, stopped) }) })
	}
}

func movesTask(t *testing.T, stopped func(ctx context.Context) error) {
	t.Helper()
	running := make(chan int, 4)
	all := nodes(t, 3, func(app *framework.App, node int) {
		app.Add(framework.Tool("long", func(ctx context.Context, _ struct{}) (string, error) {
			running <- node
			select {
			case <-ctx.Done():
				return "", stopped(ctx)
			case <-time.After(time.Minute):
				return fmt.Sprint("done by ", node), nil
			}
		}, framework.Describe("d"), framework.Task(framework.TaskOptional, framework.Retry(0))))
	})
	p := dialTasks(t, all[0])
	id := p.task("long", `{}`)
	first := <-running
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_ = all[first].Shutdown(ctx) // it says that a handler was cancelled
	synctest.Wait()
	if got := p.get(id); got.Status != "working" {
		t.Fatalf("%s %s", got.Status, got.Result)
	}
	if second := <-running; second == first {
		t.Fatalf("node %d runs it again", second)
	}
	time.Sleep(2 * time.Minute)
	if got := p.get(id); got.Status != "completed" || !strings.Contains(string(got.Result), fmt.Sprint("done by ", 3-first)) {
		t.Errorf("%s %s", got.Status, got.Result)
	}
}

// TestTaskIsLeftToNodesWithItsTool: while a service is replaced node by node, nodes of the
// old program do not end the tasks of a new tool.
func TestTaskIsLeftToNodesWithItsTool(t *testing.T) {
	for name, test := range map[string]struct {
		nodes  int // the second is of the old program
		status string
		within time.Duration
	}{
		"there is one":  {3, "completed", time.Minute},
		"there is none": {2, "failed", 6 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				all := nodes(t, test.nodes, func(app *framework.App, node int) {
					if node != 1 {
						app.Add(framework.Tool("film", func(context.Context, struct{}) (string, error) {
							return "done", nil
						}, framework.Describe("d"), framework.Task(framework.TaskOptional)))
					}
				})
				p := dialTasks(t, all[0])
				ids := make([]string, 20)
				for i := range ids {
					ids[i] = p.task("film", `{}`)
				}
				time.Sleep(test.within)
				for _, id := range ids {
					if got := p.get(id); got.Status != test.status {
						t.Errorf("it is %s: %s", got.Status, got.Result)
					}
				}
			})
		})
	}
}

// TestRoundsGoToAnyNode: servers that share a store open each other's states.
func TestRoundsGoToAnyNode(t *testing.T) {
	t.Parallel()
	all := nodes(t, 2, func(app *framework.App, node int) {
		app.Add(framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
			answer, err := framework.Elicit[name](ctx, "Who?")
			return fmt.Sprint(answer.Name, " by node ", node), err
		}, framework.Describe("d")))
	})
	p := dial(t, all[0], protocol.Rev20260728, withCaps(canElicit))
	first := as2[struct{ RequestState string }](t, p.tool("ask", `{}`).ok().Result)
	p = dial(t, all[1], protocol.Rev20260728, withCaps(canElicit))
	params := fmt.Sprintf(`{"name":"ask","arguments":{},"requestState":%q,"inputResponses":{"q1":%s}}`, first.RequestState, accepted)
	if got := p.call("tools/call", params).text(); got != "Ada by node 1" {
		t.Errorf("%s", got)
	}
}

// TestLargeStatesStayInTheStore: what is large does not travel, and any node finds it.
func TestLargeStatesStayInTheStore(t *testing.T) {
	t.Parallel()
	var effects atomic.Int32
	all := nodes(t, 2, func(app *framework.App, _ int) {
		app.Add(framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
			large, err := framework.Once(ctx, "large", func(context.Context) (string, error) {
				effects.Add(1)
				return strings.Repeat("x", 100_000), nil
			})
			if err != nil {
				return "", err
			}
			answer, err := framework.Elicit[name](ctx, "Who?")
			return fmt.Sprint(answer.Name, len(large)), err
		}, framework.Describe("d")))
	})
	p := dial(t, all[0], protocol.Rev20260728, withCaps(canElicit))
	first := as2[struct{ RequestState string }](t, p.tool("ask", `{}`).ok().Result)
	if n := len(first.RequestState); n == 0 || n > 400 {
		t.Errorf("a state of %d bytes", n)
	}
	p = dial(t, all[1], protocol.Rev20260728, withCaps(canElicit))
	params := fmt.Sprintf(`{"name":"ask","arguments":{},"requestState":%q,"inputResponses":{"q1":%s}}`, first.RequestState, accepted)
	if got := p.call("tools/call", params).text(); got != "Ada100000" || effects.Load() != 1 {
		t.Errorf("%s after %d effects", got, effects.Load())
	}
}

// TestAtMostOnceOnAnotherNode: a node that dies between an effect and its record leaves
// the mark that it was begun; no other does it again.
func TestAtMostOnceOnAnotherNode(t *testing.T) {
	t.Parallel()
	var effects atomic.Int32
	all := nodes(t, 2, func(app *framework.App, node int) {
		app.Add(framework.Tool("pay", func(ctx context.Context, _ struct{}) (string, error) {
			if _, err := framework.Elicit[name](ctx, "Sure?"); err != nil {
				return "", err
			}
			_, err := framework.Once(ctx, "pay", func(context.Context) (int, error) {
				effects.Add(1)
				if node == 0 {
					return 0, errors.New("the process dies here") // as if it never said what came of it
				}
				return 1, nil
			}, framework.AtMostOnce())
			return fmt.Sprint(errors.Is(err, framework.ErrUncertain)), nil
		}, framework.Describe("d")))
	})
	p := dial(t, all[0], protocol.Rev20260728, withCaps(canElicit))
	first := as2[struct{ RequestState string }](t, p.tool("pay", `{}`).ok().Result)
	params := fmt.Sprintf(`{"name":"pay","arguments":{},"requestState":%q,"inputResponses":{"q1":%s}}`, first.RequestState, accepted)
	p.call("tools/call", params)
	other := dial(t, all[1], protocol.Rev20260728, withCaps(canElicit))
	if got := other.call("tools/call", params).text(); effects.Load() != 1 {
		t.Errorf("%s after %d effects", got, effects.Load())
	}
}

// TestUpdatesReachEveryNode: ResourceUpdated tells the subscribers of all nodes.
func TestUpdatesReachEveryNode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		all := nodes(t, 2, func(app *framework.App, _ int) {
			app.Add(framework.Resource("x://y", func(context.Context) (string, error) { return "", nil }))
		})
		p := dial(t, all[0], core)
		p.call("resources/subscribe", `{"uri":"x://y"}`).ok()
		synctest.Wait() // the nodes listen to each other
		all[1].ResourceUpdated(t.Context(), "x://y")
		synctest.Wait()
		if got := p.notifications("notifications/resources/updated"); len(got) != 1 {
			t.Errorf("%s", got)
		}
	})
}

// TestElicitationCompleteOnAnotherNode: the program that serves the page need not be the
// node that has asked.
func TestElicitationCompleteOnAnotherNode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		all := nodes(t, 3, func(app *framework.App, _ int) {
			app.Add(doing(func(ctx context.Context) error { return framework.ElicitURL(ctx, "visit", pageURL) }))
		})
		var id string
		a := newAsker(t, all[0], protocol.Rev20251125, func(_ string, q question) string {
			id = q.ID
			return `{"action":"accept"}`
		})
		a.tool("t", `{}`).ok()
		for range 2 { // the second time it is done
			if err := all[2].ElicitationComplete(t.Context(), id); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		if got := a.notifications(protocol.NotificationElicitationComplete); len(got) != 1 || !sameJSON(t, string(got[0]), fmt.Sprintf(`{"elicitationId":%q}`, id)) {
			t.Errorf("notified %s", got)
		}
	})
}

// TestNodeStopsWhileAClientWaits: a node that stops does not wait for tasks of other nodes, whatever their
// status. Its clients can wait at another node.
func TestNodeStopsWhileAClientWaits(t *testing.T) {
	for tool, arguments := range map[string]string{"job": `{"ms":60000}`, "ask": `{}`} {
		t.Run(tool, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				all := nodes(t, 2, func(app *framework.App, _ int) {
					app.Add(asksWho, framework.Tool("job", working, framework.Describe("d"), framework.Task(framework.TaskOptional)))
				})
				asker := dial(t, all[0], core, ada(nil), withCaps(canElicit))
				p := dial(t, all[0], core, ada(nil)) // it cannot be asked
				id := asker.start(tool, arguments, `{}`).TaskID
				synctest.Wait()
				waiting := make(chan reply, 1)
				go func() { waiting <- p.byID("tasks/result", id) }()
				synctest.Wait()
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if err := all[0].Shutdown(ctx); err != nil || time.Since(began) > time.Second {
					t.Errorf("it stopped after %v: %v", time.Since(began), err)
				}
				(<-waiting).code(503).mentions("tasks/result")
				other := dial(t, all[1], core, ada(nil), withCaps(canElicit), answering(func(string, json.RawMessage) string { return `"result":` + accepted }))
				if got := other.byID("tasks/result", id).text(); got != "done" && got != "Hello Ada" {
					t.Errorf("got %q", got)
				}
			})
		})
	}
}
