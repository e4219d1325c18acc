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
	"github.com/kagami-mcp/kagami/protocol"
)

// The tests of this file hold the MUSTs of 2025-11-25 basic/utilities/tasks.

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

func TestTaskBeginsWorkingAndIsDescribed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := dial(t, build(t, jobApp(framework.PollInterval(250*time.Millisecond))), core)
		began := time.Now()
		task, other := p.start("job", `{"ms":1000}`, `{"ttl":60000}`), p.start("job", `{"ms":1000}`, `{}`)
		if task.Status != "working" || task.TTL == nil || *task.TTL != 60000 || task.PollInterval != 250 {
			t.Errorf("created %+v", task)
		}
		if len(task.TaskID) < 26 || task.TaskID == other.TaskID {
			t.Errorf("ids %q and %q", task.TaskID, other.TaskID)
		}
		if time.Since(began) != 0 || !task.CreatedAt.Equal(began.Truncate(time.Millisecond)) && !task.CreatedAt.Equal(began) {
			t.Errorf("created at %v after %v", task.CreatedAt, time.Since(began))
		}
		if got := p.get(task.TaskID); got.TTL == nil || *got.TTL != 60000 || got.LastUpdatedAt.IsZero() || got.Status != "working" {
			t.Errorf("tasks/get: %+v", got)
		}
		if *other.TTL != time.Hour.Milliseconds() {
			t.Errorf("without a wish: ttl %d", *other.TTL)
		}
		patient := dial(t, build(t, jobApp(framework.TTL(48*time.Hour))), core).start("job", `{}`, `{}`)
		if *patient.TTL != (48 * time.Hour).Milliseconds() {
			t.Errorf("with the tool's own: ttl %d", *patient.TTL)
		}
		if greedy := p.start("job", `{}`, `{"ttl":999999999999999999}`); *greedy.TTL != (24 * time.Hour).Milliseconds() {
			t.Errorf("a wish beyond the ceiling: ttl %d", *greedy.TTL)
		}
		time.Sleep(2 * time.Second)
	})
}

func TestTaskResultBlocksAndIsThatOfTheCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := dial(t, build(t, jobApp()), core)
		began := time.Now()
		task := p.start("job", `{"ms":3000}`, `{}`)
		r := p.byID("tasks/result", task.TaskID).ok()
		if time.Since(began) != 3*time.Second || r.text() != "done" {
			t.Errorf("after %v: %s", time.Since(began), r.Result)
		}
		if !strings.Contains(string(r.Result), `"io.modelcontextprotocol/related-task":{"taskId":"`+task.TaskID+`"}`) {
			t.Errorf("not related: %s", r.Result)
		}
		again := p.byID("tasks/result", task.TaskID).ok()
		if string(again.Result) != string(r.Result) || p.get(task.TaskID).Status != "completed" {
			t.Errorf("again: %s", again.Result)
		}
	})
}

func TestTaskFailures(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := dial(t, build(t, quiet().Add(
			framework.Tool("user", func(context.Context, struct{}) (string, error) {
				return "", framework.UserErrorf("No such city.")
			}, framework.Describe("d"), framework.Task(framework.TaskOptional)),
			framework.Tool("wire", func(context.Context, struct{}) (string, error) {
				return "", &protocol.Error{Code: -32042, Message: "as it is", Data: map[string]any{"k": 1}}
			}, framework.Describe("d"), framework.Task(framework.TaskOptional)),
		)), core)
		user, wire := p.start("user", `{}`, `{}`), p.start("wire", `{}`, `{}`)
		p.byID("tasks/result", user.TaskID).isError().mentions("No such city.")
		if s := p.get(user.TaskID); s.Status != "failed" || !strings.Contains(s.StatusMessage, "No such city.") {
			t.Errorf("isError: %+v", s)
		}
		r := p.byID("tasks/result", wire.TaskID).code(-32042)
		if r.Error.Message != "as it is" || string(r.Error.Data) != `{"k":1}` || p.get(wire.TaskID).Status != "failed" {
			t.Errorf("the error of the call: %+v", r.Error)
		}
	})
}

func TestTaskNegotiation(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := build(t, jobApp())
		p := dial(t, s, core)
		p.tool("must", `{}`).code(-32601)
		p.call("tools/call", `{"name":"plain","arguments":{},"task":{}}`).code(-32601)
		if got := p.tool("job", `{}`).text(); got != "done" {
			t.Errorf("without task: %s", got)
		}
		list := string(p.call("tools/list", "").ok().Result)
		for _, want := range []string{`"taskSupport":"optional"`, `"taskSupport":"required"`} {
			if !strings.Contains(list, want) {
				t.Errorf("tools/list lacks %s: %s", want, list)
			}
		}
		if strings.Contains(string(dial(t, s, protocol.Rev20250618).call("tools/list", "").ok().Result), "taskSupport") {
			t.Error("2025-06-18 knows nothing of tasks")
		}
		none := dial(t, build(t, quiet().Add(framework.Tool("plain", working, framework.Describe("d")))), core)
		if got := none.call("tools/call", `{"name":"plain","arguments":{},"task":{}}`).text(); got != "done" {
			t.Errorf("not advertised, the wish is ignored: %s", got)
		}
		none.byID("tasks/get", "x").code(-32601)
	})
}

func TestTaskCapability(t *testing.T) {
	t.Parallel()
	initialize := func(app *framework.App) string {
		p := dial(t, build(t, app), core)
		p.mu.Lock()
		defer p.mu.Unlock()
		return string(p.answers["1"].Result)
	}
	if got := initialize(jobApp()); !strings.Contains(got, `"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`) {
		t.Errorf("with tasks: %s", got)
	}
	if got := initialize(quiet().Add(framework.Tool("plain", working, framework.Describe("d")))); strings.Contains(got, `"tasks"`) {
		t.Errorf("without: %s", got)
	}
}

func TestTaskCancel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cause := make(chan error, 1)
		stubborn := func(ctx context.Context, _ struct{}) (string, error) {
			<-ctx.Done()
			cause <- context.Cause(ctx)
			time.Sleep(time.Second)
			return "finished all the same", nil
		}
		p := dial(t, build(t, jobApp().Add(
			framework.Tool("stubborn", stubborn, framework.Describe("d"), framework.Task(framework.TaskOptional)))), core)
		task := p.start("stubborn", `{}`, `{}`)
		waiting := make(chan reply, 1)
		go func() { waiting <- p.byID("tasks/result", task.TaskID) }()
		synctest.Wait()
		if s := as2[taskState](t, p.byID("tasks/cancel", task.TaskID).ok().Result); s.Status != "cancelled" || s.TaskID != task.TaskID {
			t.Errorf("the answer: %+v", s)
		}
		(<-waiting).code(-32603)
		if err := <-cause; err == nil || !strings.Contains(err.Error(), "cancelled") {
			t.Errorf("the cause: %v", err)
		}
		time.Sleep(2 * time.Second)
		if s := p.get(task.TaskID); s.Status != "cancelled" {
			t.Errorf("it does not stay cancelled: %+v", s)
		}
		p.byID("tasks/result", task.TaskID).code(-32603)
		p.byID("tasks/cancel", task.TaskID).code(-32602)
		done := p.start("job", `{}`, `{}`)
		p.byID("tasks/result", done.TaskID).ok()
		p.byID("tasks/cancel", done.TaskID).code(-32602)
	})
}

func TestTaskList(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := build(t, jobApp())
		p, other := dial(t, s, core), dial(t, s, core)
		want := map[string]bool{}
		for range 120 {
			want[p.start("job", `{}`, `{}`).TaskID] = true
		}
		foreign := other.start("job", `{}`, `{}`).TaskID
		params, pages := `{}`, 0
		for ; params != ""; pages++ {
			page := as2[struct {
				Tasks      []taskState `json:"tasks"`
				NextCursor *string     `json:"nextCursor"`
			}](t, p.call("tasks/list", params).ok().Result)
			for _, task := range page.Tasks {
				if task.TaskID == foreign {
					t.Error("another session's task is listed")
				}
				delete(want, task.TaskID)
			}
			params = ""
			if page.NextCursor != nil {
				params = fmt.Sprintf(`{"cursor":%q}`, *page.NextCursor)
				other.call("tasks/list", params).code(-32602)
			}
		}
		if len(want) > 0 || pages < 2 {
			t.Errorf("%d are missing from %d pages", len(want), pages)
		}
		for _, cursor := range []string{"", "x", foreign} {
			p.call("tasks/list", fmt.Sprintf(`{"cursor":%q}`, cursor)).code(-32602)
		}
	})
}

func TestTaskIsItsOwners(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := build(t, jobApp())
		alice := &framework.Principal{Issuer: "i", Subject: "alice"}
		mine, stranger := dial(t, s, core, as(alice)), dial(t, s, core, as(&framework.Principal{Issuer: "i", Subject: "bob"}))
		nobody, again := dial(t, s, core), dial(t, s, core, as(alice))
		id := mine.start("job", `{"ms":1000}`, `{}`).TaskID
		for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
			unknown := stranger.byID(method, "no-such-id").code(-32602).Error.Message
			for _, p := range []*peer{stranger, nobody} {
				if got := p.byID(method, id).code(-32602).Error.Message; got != unknown {
					t.Errorf("%s tells a foreign task from an unknown one: %q, %q", method, got, unknown)
				}
			}
		}
		if got := again.get(id); got.Status != "working" {
			t.Errorf("the same principal in another session: %+v", got)
		}
		again.byID("tasks/result", id).ok()
	})
}

// TestTaskMessagesAreRelated: all but tasks/get, list, cancel and status notifications.
func TestTaskMessagesAreRelated(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var runs atomic.Int32
		p := dial(t, build(t, quiet().Add(framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
			runs.Add(1)
			framework.Progress(ctx, 1, 2, "asking")
			framework.Notify(ctx, protocol.LevelError, "a log message")
			who, err := framework.Elicit[struct {
				Name string `json:"name"`
			}](ctx, "Who?")
			if err != nil {
				return "", err
			}
			framework.Progress(ctx, 2, 2, "asked")
			return "Hello " + who.Name, nil
		}, framework.Describe("d"), framework.Task(framework.TaskOptional)))), core, withCaps(canElicit),
			withMeta("progressToken", `"tok"`),
			answering(func(string, json.RawMessage) string { return `"result":{"action":"accept","content":{"name":"Ada"}}` }))
		p.call("logging/setLevel", `{"level":"info"}`).ok()
		id := p.start("ask", `{}`, `{}`).TaskID
		synctest.Wait()
		s := p.get(id)
		if s.Status != "input_required" || len(p.asked) != 0 {
			t.Fatalf("before tasks/result: %+v, %d questions", s, len(p.asked))
		}
		p.meta = map[string]string{"io.modelcontextprotocol/related-task": `{"taskId":"another"}`}
		if got := p.byID("tasks/result", id).text(); got != "Hello Ada" {
			t.Fatalf("got %s", got)
		}
		synctest.Wait()
		related := `"io.modelcontextprotocol/related-task":{"taskId":"` + id + `"}`
		if len(p.asked) != 1 || !strings.Contains(string(p.asked[0].Params), related) {
			t.Errorf("the question: %+v", p.asked)
		}
		progress := p.notifications("notifications/progress")
		if len(progress) != 2 {
			t.Errorf("progress: %s", progress)
		}
		for _, n := range append(progress, p.notifications("notifications/message")...) {
			if !strings.Contains(string(n), related) {
				t.Errorf("not related: %s", n)
			}
		}
		for _, n := range progress {
			if !strings.Contains(string(n), `"progressToken":"tok"`) {
				t.Errorf("another token: %s", n)
			}
		}
		status := p.notifications("notifications/tasks/status")
		if len(status) == 0 || !strings.Contains(string(status[len(status)-1]), `"completed"`) {
			t.Errorf("status: %s", status)
		}
		for _, n := range status {
			if strings.Contains(string(n), "related-task") {
				t.Errorf("a status must not be related: %s", n)
			}
		}
		if runs.Load() != 2 {
			t.Errorf("%d runs", runs.Load())
		}
	})
}

func TestTaskProgressStopsWithTheTask(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := dial(t, build(t, quiet().Add(framework.Tool("late", func(ctx context.Context, _ struct{}) (string, error) {
			framework.Progress(ctx, 1, 0, "")
			<-ctx.Done()
			framework.Progress(ctx, 2, 0, "")
			return "", nil
		}, framework.Describe("d"), framework.Task(framework.TaskOptional)))), core, withMeta("progressToken", `7`))
		id := p.start("late", `{}`, `{}`).TaskID
		synctest.Wait()
		p.byID("tasks/cancel", id).ok()
		synctest.Wait()
		if got := p.notifications("notifications/progress"); len(got) != 1 {
			t.Errorf("progress: %s", got)
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
