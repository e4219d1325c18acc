package framework_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/transport"
)

// The tests of this file hold the tasks extension on 2026-07-28 (SEP-2663), beyond
// what the official suite asks.

const declares = `{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

func dialTasks(t *testing.T, s *framework.Server, opts ...peerOption) *peer {
	t.Helper()
	return dial(t, s, protocol.Rev20260728, append([]peerOption{withCaps(declares)}, opts...)...)
}

func (p *peer) task(name, arguments string) string {
	p.t.Helper()
	r := p.tool(name, arguments).ok()
	if !strings.Contains(string(r.Result), `"resultType":"task"`) {
		p.t.Fatalf("no task: %s", r.Result)
	}
	return as2[taskState](p.t.(*testing.T), r.Result).TaskID
}

func (p *peer) answer(id, responses string) reply {
	p.t.Helper()
	return p.call("tasks/update", fmt.Sprintf(`{"taskId":%q,"inputResponses":%s}`, id, responses))
}

const accepted = `{"action":"accept","content":{"name":"Ada"}}`

type name struct {
	Name string `json:"name"`
}

func TestTaskAsksTwiceAndRemembers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var effects, runs atomic.Int32
		var inside atomic.Value
		s := build(t, quiet().Add(framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
			runs.Add(1)
			inside.Store(framework.Caller(ctx).Task)
			first, err := framework.Elicit[name](ctx, "First?")
			if err != nil {
				return "", err
			}
			n, err := framework.Once(ctx, "count", func(context.Context) (int32, error) { return effects.Add(1), nil })
			if err != nil {
				return "", err
			}
			second, err := framework.Elicit[name](ctx, "Second?")
			if err != nil {
				return "", err
			}
			return fmt.Sprint(first.Name, second.Name, n), nil
		}, framework.Describe("d"), framework.Task(framework.TaskOptional))))
		p := dialTasks(t, s)
		id := p.task("ask", `{}`)
		seen := map[string]bool{}
		for range 2 {
			synctest.Wait()
			for key := range p.get(id).InputRequests {
				if seen[key] {
					t.Errorf("the key %q is used again", key)
				}
				seen[key] = true
				p.answer(id, `{"other":{}}`).ok()                       // ignored
				p.answer(id, `{"`+key+`":{"action":"?"}}`).code(-32602) // malformed
				p.answer(id, `{"`+key+`":`+accepted+`}`).ok()
				p.answer(id, `{"`+key+`":`+accepted+`}`).ok() // late
			}
		}
		synctest.Wait()
		got := p.get(id)
		if got.Status != "completed" || !strings.Contains(string(got.Result), "AdaAda1") {
			t.Errorf("%+v %s", got, got.Result)
		}
		if len(seen) != 2 || effects.Load() != 1 || runs.Load() != 3 || inside.Load() != id {
			t.Errorf("%d questions, %d effects, %d runs, inside of %v", len(seen), effects.Load(), runs.Load(), inside.Load())
		}
		p.answer(id, `{}`).ok()
		p.byID("tasks/cancel", id).ok()
		if p.get(id).Status != "completed" {
			t.Error("a terminal status changed")
		}
		p.byID("tasks/result", id).code(-32601)
		p.call("tasks/list", "").code(-32601)
	})
}

func TestTaskExtensionMustBeDeclared(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := build(t, jobApp())
		p, plain := dialTasks(t, s), dial(t, s, protocol.Rev20260728)
		id := p.task("job", `{"ms":1000}`)
		for _, method := range []string{"tasks/get", "tasks/cancel"} {
			if r := plain.byID(method, id).code(-32021); !strings.Contains(string(r.Error.Data), `"io.modelcontextprotocol/tasks"`) {
				t.Errorf("%s: %s", method, r.Error.Data)
			}
		}
		plain.answer(id, `{}`).code(-32021)
		plain.tool("must", `{}`).code(-32021)
		plain.call("subscriptions/listen", `{"notifications":{"taskIds":["x"]}}`).code(-32021)
		if got := plain.tool("job", `{}`).text(); got != "done" {
			t.Errorf("undeclared: %s", got)
		}
		for _, method := range []string{"tasks/get", "tasks/cancel"} {
			p.byID(method, "unknown").code(-32602)
		}
		time.Sleep(2 * time.Second)
	})
}

func TestTaskStatusMessageAndListening(t *testing.T) {
	bubble(t, func(t *testing.T) {
		step := make(chan struct{})
		s := build(t, quiet().Add(framework.Tool("steps", func(ctx context.Context, _ struct{}) (string, error) {
			<-step
			framework.Progress(ctx, 1, 2, "half way")
			<-step
			return "", framework.UserErrorf("No luck.")
		}, framework.Describe("d"), framework.Task(framework.TaskOptional))))
		p := dialTasks(t, s)
		id := p.task("steps", `{}`)
		listening := make(chan struct{})
		go func() {
			defer close(listening)
			p.frame(`{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":` +
				p.params("subscriptions/listen", `{"notifications":{"taskIds":["`+id+`","another"]}}`) + `}`)
		}()
		synctest.Wait()
		ack := p.notifications("notifications/subscriptions/acknowledged")
		if len(ack) != 1 || !strings.Contains(string(ack[0]), `"taskIds":["`+id+`"]`) {
			t.Fatalf("ack: %s", ack)
		}
		step <- struct{}{}
		synctest.Wait()
		if got := p.get(id); got.Status != "working" || got.StatusMessage != "half way" {
			t.Errorf("under way: %+v", got)
		}
		step <- struct{}{}
		synctest.Wait()
		got := p.get(id)
		if got.Status != "completed" || !strings.Contains(string(got.Result), `"isError":true`) {
			t.Errorf("isError completes: %+v %s", got, got.Result)
		}
		news := p.notifications("notifications/tasks")
		if len(news) != 2 || !strings.Contains(string(news[0]), "half way") || !strings.Contains(string(news[1]), `"result":{`) {
			t.Errorf("news: %s", news)
		}
		p.frame(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"l"}}`)
		<-listening
	})
}

func TestTaskRetries(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var runs, effects atomic.Int32
		s := build(t, quiet().Add(
			framework.Tool("shaky", func(ctx context.Context, _ struct{}) (string, error) {
				n := runs.Add(1)
				if _, err := framework.Once(ctx, "e", func(context.Context) (int32, error) { return effects.Add(1), nil }); err != nil {
					return "", err
				}
				switch n {
				case 1:
					return "", errors.New("secret")
				case 2:
					panic("secret")
				}
				return "in the end", nil
			}, framework.Describe("d"), framework.Task(framework.TaskOptional, framework.Retry(2))),
			framework.Tool("hopeless", func(context.Context, struct{}) (string, error) { return "", errors.New("secret") },
				framework.Describe("d"), framework.Task(framework.TaskOptional, framework.Retry(1))),
		))
		p := dialTasks(t, s)
		shaky, hopeless := p.task("shaky", `{}`), p.task("hopeless", `{}`)
		time.Sleep(time.Second)
		if got := p.get(shaky); !strings.Contains(string(got.Result), "in the end") || runs.Load() != 3 || effects.Load() != 1 {
			t.Errorf("%+v %s after %d runs, %d effects", got, got.Result, runs.Load(), effects.Load())
		}
		if got := string(p.get(hopeless).Result); !strings.Contains(got, `"isError":true`) || strings.Contains(got, "secret") {
			t.Errorf("hopeless: %s", got)
		}
	})
}

func TestTaskWhen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := build(t, jobApp(framework.TaskWhen(func(in jobIn) bool { return in.MS > 100 })))
		p, old := dialTasks(t, s), dial(t, s, core)
		if got := p.tool("job", `{"ms":1}`).text(); got != "done" {
			t.Errorf("short: %s", got)
		}
		p.task("job", `{"ms":1000}`)
		p.tool("job", `{"ms":"x"}`).isError()
		if got := old.call("tools/call", `{"name":"job","arguments":{"ms":1},"task":{}}`).text(); got != "done" {
			t.Errorf("short on 2025-11-25: %s", got)
		}
		old.start("must", `{"ms":1}`, `{}`)
		if got := old.tool("job", `{"ms":1000}`).text(); got != "done" {
			t.Errorf("it never forces: %s", got)
		}
		time.Sleep(2 * time.Second)
		_, err := quiet().Add(framework.Tool("job", working, framework.Describe("d"),
			framework.Task(framework.TaskOptional, framework.TaskWhen(func(string) bool { return true })))).Build()
		if err == nil || !strings.Contains(err.Error(), "TaskWhen") {
			t.Errorf("another type: %v", err)
		}
	})
}

// TestTaskAfterDetach: questions in rounds first, then a task that knows the answers.
func TestTaskAfterDetach(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var effects atomic.Int32
		app := quiet().Add(framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
			who, err := framework.Elicit[name](ctx, "Who?", framework.Key("who"))
			if err != nil {
				return "", err
			}
			if _, err := framework.Once(ctx, "e", func(context.Context) (int32, error) { return effects.Add(1), nil }); err != nil {
				return "", err
			}
			if err := framework.Detach(ctx); err != nil {
				return "", err
			}
			more, err := framework.Elicit[name](ctx, "And?", framework.Key("more"))
			return who.Name + more.Name + framework.Caller(ctx).Task, err
		}, framework.Describe("d"), framework.Task(framework.TaskOptional, framework.AfterDetach())))
		s := build(t, app)
		p := dialTasks(t, s)
		first := as2[struct {
			ResultType, RequestState string
		}](t, p.tool("ask", `{}`).ok().Result)
		if first.ResultType != "input_required" {
			t.Fatalf("round 1: %+v", first)
		}
		second := p.call("tools/call", fmt.Sprintf(`{"name":"ask","arguments":{},"requestState":%q,"inputResponses":{"who":%s}}`, first.RequestState, accepted)).ok()
		if !strings.Contains(string(second.Result), `"resultType":"task"`) {
			t.Fatalf("round 2: %s", second.Result)
		}
		id := as2[taskState](t, second.Result).TaskID
		synctest.Wait()
		p.answer(id, `{"more":`+accepted+`}`).ok()
		synctest.Wait()
		if got := string(p.get(id).Result); !strings.Contains(got, "AdaAda"+id) || effects.Load() != 1 {
			t.Errorf("%s, %d effects", got, effects.Load())
		}
		// Who cannot have a task is served in rounds to the end.
		plain := dial(t, s, protocol.Rev20250618, withCaps(`{"elicitation":{}}`), answering(func(string, rawJSON) string { return `"result":` + accepted }))
		if got := plain.tool("ask", `{}`).text(); got != "AdaAda" {
			t.Errorf("without tasks: %s", got)
		}
	})
}

// TestTaskEndsWithTheServer: Shutdown cancels what runs when its patience is over.
func TestTaskEndsWithTheServer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, err := jobApp().Build()
		if err != nil {
			t.Fatal(err)
		}
		p := dialTasks(t, s)
		p.task("job", `{"ms":3600000}`)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// TestTaskSurvivesItsConnection: the task is any connection's of the same owner.
func TestTaskSurvivesItsConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := build(t, jobApp())
		alice := &framework.Principal{Issuer: "i", Subject: "alice"}
		id := dialTasks(t, s, as(alice)).task("job", `{"ms":1000}`)
		again := dialTasks(t, s, as(alice))
		time.Sleep(2 * time.Second)
		if got := again.get(id); got.Status != "completed" {
			t.Errorf("%+v", got)
		}
		dialTasks(t, s, as(&framework.Principal{Issuer: "i", Subject: "bob"})).byID("tasks/get", id).code(-32602)
	})
}

// A call that was accepted before the server began to stop gets its task, and Shutdown
// waits for it.
func TestTaskOfACallAtShutdown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		accepted, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		var done atomic.Bool
		late := func(next transport.Next) transport.Next {
			return func(ctx context.Context, frame []byte, out transport.Outbound) error {
				if strings.Contains(string(frame), "tools/call") {
					close(accepted)
					<-goOn
				}
				return next(ctx, frame, out)
			}
		}
		s := build(t, quiet().UseFrames(late).Add(framework.Tool("work", func(context.Context, struct{}) (string, error) {
			time.Sleep(time.Second)
			done.Store(true)
			return "done", nil
		}, framework.Describe("d"), framework.Task(framework.TaskRequired))))
		p := dialTasks(t, s)
		go func() {
			<-accepted
			go func() { ended <- s.Shutdown(t.Context()) }()
			synctest.Wait()
			close(goOn)
		}()
		p.task("work", `{}`)
		if err := <-ended; err != nil || !done.Load() {
			t.Errorf("the task is done: %t, %v", done.Load(), err)
		}
	})
}

// TestDetachOfACancelledCall: a call that was cancelled before Detach does not become a task, because no
// client would get its ID.
func TestDetachOfACancelledCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var runs atomic.Int32
		goOn, over := make(chan struct{}), make(chan struct{})
		p := dialTasks(t, build(t, quiet().Add(framework.Tool("render", func(ctx context.Context, _ struct{}) (string, error) {
			if runs.Add(1) == 1 {
				<-goOn // whatever its context says
			}
			return "done", framework.Detach(ctx)
		}, framework.Describe("d"), framework.Task(framework.TaskOptional, framework.AfterDetach())))))
		go func() {
			defer close(over)
			p.frame(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":` + p.params("tools/call", `{"name":"render","arguments":{}}`) + `}`)
		}()
		synctest.Wait()
		p.frame(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}`)
		close(goOn)
		<-over
		synctest.Wait()
		if n := runs.Load(); n != 1 {
			t.Errorf("the handler ran %d times", n)
		}
	})
}

// TestTaskWithAResultThatPanics: a panic of a method of a value in the result fails the task, or makes it run
// again, and does not end the process.
func TestTaskWithAResultThatPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var runs atomic.Int32
		p := dialTasks(t, build(t, quiet().Add(framework.Tool("film", func(context.Context, struct{}) (framework.Rich[string], error) {
			runs.Add(1)
			return framework.Rich[string]{Value: "done", Meta: protocol.Meta{"film": loud{}}}, nil
		}, framework.Describe("d"), framework.Task(framework.TaskOptional, framework.Retry(1))))))
		id := p.task("film", `{}`)
		time.Sleep(time.Minute)
		got := p.get(id)
		if got.Status != "failed" || got.Error == nil || strings.Contains(got.Error.Message, "secret") || runs.Load() != 2 {
			t.Errorf("%+v after %d runs", got, runs.Load())
		}
	})
}
