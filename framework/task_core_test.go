package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// The tests of this file hold what tasks of 2025-11-25 do beyond the rules of
// basic/utilities/tasks; those are in TestCoreTasksMust.

var core = protocol.Rev20251125

const canElicit = `{"elicitation":{"form":{}}}`

type jobIn struct {
	MS int `json:"ms,omitempty"`
}

// working sleeps as its arguments say.
func working(ctx context.Context, in jobIn) (string, error) {
	select {
	case <-time.After(time.Duration(in.MS) * time.Millisecond):
		return "done", nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func jobApp(opts ...framework.TaskOption) *framework.App {
	return quiet().Add(
		framework.Tool("job", working, framework.Describe("d"), framework.Task(framework.TaskOptional, opts...)),
		framework.Tool("must", working, framework.Describe("d"), framework.Task(framework.TaskRequired, opts...)),
		framework.Tool("plain", working, framework.Describe("d")),
	)
}

type taskState struct {
	TaskID        string          `json:"taskId"`
	Status        string          `json:"status"`
	StatusMessage string          `json:"statusMessage"`
	CreatedAt     time.Time       `json:"createdAt"`
	LastUpdatedAt time.Time       `json:"lastUpdatedAt"`
	TTL           *int64          `json:"ttl"`
	TTLMS         *int64          `json:"ttlMs"`
	PollInterval  int64           `json:"pollInterval"`
	Result        json.RawMessage `json:"result"`
	Error         *wireError      `json:"error"`
	InputRequests map[string]any  `json:"inputRequests"`
}

func as2[T any](t *testing.T, raw json.RawMessage) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("reading %s: %v", raw, err)
	}
	return v
}

// start calls a tool as a task of 2025-11-25.
func (p *peer) start(name, arguments, wish string) taskState {
	p.t.Helper()
	r := p.call("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s,"task":%s}`, name, arguments, wish)).ok()
	var created struct {
		Task *taskState `json:"task"`
	}
	if err := json.Unmarshal(r.Result, &created); err != nil || created.Task == nil {
		p.t.Fatalf("no task: %s", r.Result)
	}
	return *created.Task
}

func (p *peer) get(id string) taskState {
	p.t.Helper()
	var s taskState
	if err := json.Unmarshal(p.byID("tasks/get", id).ok().Result, &s); err != nil {
		p.t.Fatal(err)
	}
	return s
}

func (p *peer) byID(method, id string) reply {
	p.t.Helper()
	return p.call(method, fmt.Sprintf(`{"taskId":%q}`, id))
}

func bubble(t *testing.T, body func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, body)
}

// TestTaskOptionsAreChecked: each says what is wrong with it.
func TestTaskOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for option, o := range map[string]framework.TaskOption{
		"TTL": framework.TTL(time.Millisecond), "PollInterval": framework.PollInterval(0),
		"ImmediateResponse": framework.ImmediateResponse(""), "Retry": framework.Retry(-1),
		"TaskWhen": framework.TaskWhen[jobIn](nil),
	} {
		_, err := jobApp(o).Build()
		if err == nil || !strings.Contains(err.Error(), option) {
			t.Errorf("%s: %v", option, err)
		}
	}
}

// TestTaskIsUnknownBefore: earlier revisions hear nothing of tasks.
func TestTaskIsUnknownBefore(t *testing.T) {
	t.Parallel()
	p := dial(t, build(t, jobApp()), protocol.Rev20250618)
	if list := string(p.call("tools/list", "").ok().Result); strings.Contains(list, "taskSupport") {
		t.Errorf("tools/list: %s", list)
	}
	if got := p.tool("must", `{}`).text(); got != "done" {
		t.Errorf("a tool that must be a task: %s", got)
	}
}

// TestTaskCancelStopsTheHandler: SHOULD attempt to stop the execution ("Task
// Cancellation").
func TestTaskCancelStopsTheHandler(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cause := make(chan error, 1)
		p := dial(t, build(t, quiet().Add(framework.Tool("wait", func(ctx context.Context, _ struct{}) (string, error) {
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return "", nil
		}, framework.Describe("d"), framework.Task(framework.TaskOptional)))), core)
		id := p.start("wait", `{}`, `{}`).TaskID
		synctest.Wait()
		p.byID("tasks/cancel", id).ok()
		if err := <-cause; err == nil || !strings.Contains(err.Error(), "cancelled") {
			t.Errorf("the cause: %v", err)
		}
	})
}

// TestTaskResultRequestIsNotTheTask: to give up waiting cancels nothing, and the
// question is put again to who waits next.
func TestTaskResultRequestIsNotTheTask(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := dial(t, build(t, quiet().Add(framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
			_, err := framework.Elicit[struct {
				OK bool `json:"ok"`
			}](ctx, "Well?")
			return "answered", err
		}, framework.Describe("d"), framework.Task(framework.TaskOptional)))), core, withCaps(canElicit))
		id := p.start("ask", `{}`, `{}`).TaskID
		synctest.Wait()
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			p.frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":"w","method":"tasks/result","params":{"taskId":%q}}`, id))
		}()
		synctest.Wait()
		p.frame(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w"}}`)
		<-gone
		if s := p.get(id); s.Status != "input_required" {
			t.Errorf("after the wait was cancelled: %+v", s)
		}
		p.onAsk = func(string, json.RawMessage) string { return `"result":{"action":"accept","content":{"ok":true}}` }
		if got := p.byID("tasks/result", id).text(); got != "answered" || len(p.asked) != 2 {
			t.Errorf("%q after %d questions", got, len(p.asked))
		}
	})
}

// TestTaskQuestionIsRefused: an error of the client is the handler's to judge.
func TestTaskQuestionIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := dial(t, build(t, quiet().Add(framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
			_, err := framework.Elicit[struct {
				OK bool `json:"ok"`
			}](ctx, "Well?")
			if err != nil && !errors.Is(err, framework.ErrPending) {
				return "refused", nil
			}
			return "answered", err
		}, framework.Describe("d"), framework.Task(framework.TaskOptional)))), core, withCaps(canElicit),
			answering(func(string, json.RawMessage) string { return `"error":{"code":-1,"message":"no"}` }))
		if got := p.byID("tasks/result", p.start("ask", `{}`, `{}`).TaskID).text(); got != "refused" {
			t.Errorf("got %q", got)
		}
	})
}

// TestTaskQuestionNeedsItsCapability: another client of the same principal waits for the
// result, and is not asked what it has not declared to take.
func TestTaskQuestionNeedsItsCapability(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := build(t, talkative())
		able := dial(t, s, core, ada(nil), withCaps(canElicit), answering(func(string, json.RawMessage) string {
			return `"result":` + accepted
		}))
		id := able.start("ask", `{}`, `{}`).TaskID
		synctest.Wait()
		unable := dial(t, s, core, ada(nil))
		waiting := make(chan reply)
		go func() { waiting <- unable.byID("tasks/result", id) }()
		time.Sleep(time.Minute)
		if n := len(unable.asked); n != 0 {
			t.Errorf("it was asked %d times", n)
		}
		want := able.byID("tasks/result", id).text()
		if got := (<-waiting).text(); got != want || want == "" {
			t.Errorf("%q, and %q for who was asked", got, want)
		}
		if got := able.get(id).Status; got != "completed" {
			t.Errorf("the task is %s", got)
		}
	})
}

// TestTaskQuestionGoesToTheNewest: a client that asks for the result again is asked the open question, here
// and at another node. The request before it, which may have lost its client, withdraws the question and
// has no influence on the task.
func TestTaskQuestionGoesToTheNewest(t *testing.T) {
	for name, test := range map[string]struct {
		nodes   int
		pause   time.Duration // before the second request
		thinks  time.Duration // before its answer
		refused bool          // the first request fails meanwhile
	}{
		"the same node":                {nodes: 1},
		"the same node, late":          {nodes: 1, pause: 9 * time.Minute, thinks: 9 * time.Minute},
		"another node":                 {nodes: 2},
		"another node, late":           {nodes: 2, pause: 5 * time.Minute, thinks: 6 * time.Minute, refused: true},
		"after the first has given up": {nodes: 1, pause: 11 * time.Minute, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				add := func(app *framework.App, _ int) { app.Add(asksWho) }
				first := build(t, quiet().Add(asksWho))
				second := first
				if test.nodes == 2 {
					all := nodes(t, 2, add)
					first, second = all[0], all[1]
				}
				gone := dial(t, first, core, ada(nil), withCaps(canElicit)) // it never answers
				id := gone.start("ask", `{}`, `{}`).TaskID
				waiting := make(chan reply, 1)
				go func() { waiting <- gone.byID("tasks/result", id) }()
				synctest.Wait()
				time.Sleep(test.pause)
				p := dial(t, second, core, ada(nil), withCaps(canElicit), answering(func(string, json.RawMessage) string {
					time.Sleep(test.thinks)
					return `"result":` + accepted
				}))
				began := time.Now()
				if got := p.byID("tasks/result", id).text(); got != "Hello Ada" {
					t.Errorf("got %q", got)
				}
				if took := time.Since(began); took > test.thinks+10*time.Second {
					t.Errorf("answered after %v", took)
				}
				got := <-waiting // and with it, the first request has withdrawn its question
				synctest.Wait()
				if got := gone.notifications("notifications/cancelled"); len(got) != len(gone.asked) || len(got) != 1 {
					t.Errorf("asked %d times, withdrawn: %s", len(gone.asked), got)
				}
				if test.refused {
					got.code(503).mentions("tasks/result")
				} else if got.text() != "Hello Ada" {
					t.Errorf("the first request got %q", got.text())
				}
			})
		})
	}
}

// asksWho is a tool that asks one question, and can be a task.
var asksWho = framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
	who, err := framework.Elicit[name](ctx, "Who?")
	return "Hello " + who.Name, err
}, framework.Describe("d"), framework.Task(framework.TaskOptional))

func TestTaskExpires(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := dial(t, build(t, jobApp()), core)
		began := time.Now()
		id := p.start("job", `{"ms":60000}`, `{"ttl":2000}`).TaskID
		p.byID("tasks/result", id).code(-32602)
		if waited := time.Since(began); waited != 2*time.Second {
			t.Errorf("released after %v", waited)
		}
		p.byID("tasks/get", id).code(-32602)
		p.byID("tasks/cancel", id).code(-32602)
		synctest.Wait() // the handler has ended: Shutdown does not wait for it
		if waited := time.Since(began); waited != 2*time.Second {
			t.Errorf("after %v", waited)
		}
	})
}

// TestTaskRaces: of a cancellation and a completion at the same time one wins, and
// the answers agree with it.
func TestTaskRaces(t *testing.T) {
	t.Parallel()
	p := dial(t, build(t, quiet().Add(framework.Tool("quick", func(context.Context, struct{}) (string, error) { return "done", nil },
		framework.Describe("d"), framework.Task(framework.TaskOptional)))), core)
	outcomes := map[string]int{}
	for range 500 {
		id := p.start("quick", `{}`, `{}`).TaskID
		cancelled := p.byID("tasks/cancel", id)
		status := p.get(id).Status
		outcomes[status]++
		if (cancelled.Error == nil) != (status == "cancelled") || cancelled.Error != nil && status != "completed" {
			t.Fatalf("cancel answered %+v, the task is %s", cancelled.Error, status)
		}
		if r := p.byID("tasks/result", id); (r.Error == nil) != (status == "completed") {
			t.Fatalf("the result of a %s task: %+v", status, r)
		}
	}
	t.Log(outcomes)
}

// TestTaskEndsWhileItAsks: a client that waits for a task with an open question gets the end of the task, and
// its question is withdrawn.
func TestTaskEndsWhileItAsks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := build(t, talkative())
		p, other := dial(t, s, core, ada(nil), withCaps(canElicit)), dial(t, s, core, ada(nil))
		id := p.start("ask", `{}`, `{}`).TaskID
		synctest.Wait()
		waiting := make(chan reply, 1)
		go func() { waiting <- p.byID("tasks/result", id) }()
		synctest.Wait()
		if n := len(p.asked); n != 1 {
			t.Fatalf("%d questions", n)
		}
		other.byID("tasks/cancel", id).ok()
		if got := (<-waiting).code(-32603).Error.Message; got != "the task was cancelled" {
			t.Errorf("answered with %q", got)
		}
		if got := p.notifications("notifications/cancelled"); len(got) != 1 {
			t.Errorf("withdrawn: %s", got)
		}
	})
}
