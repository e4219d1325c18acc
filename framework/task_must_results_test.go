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
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/task"
)

func mustBlockWhileWorking(t *testing.T) {
	p, began := dial(t, build(t, jobApp()), core), time.Now()
	r := p.byID("tasks/result", p.start("job", `{"ms":3000}`, `{}`).TaskID)
	if time.Since(began) != 3*time.Second || r.text() != "done" {
		t.Errorf("after %v: %s", time.Since(began), r.Result)
	}
}

// mustBlockWhileAsking: until the person has answered, and what follows is done.
func mustBlockWhileAsking(t *testing.T) {
	p := dial(t, build(t, talkative()), core, withCaps(canElicit), answering(func(string, json.RawMessage) string {
		time.Sleep(time.Minute)
		return `"result":` + accepted
	}))
	began := time.Now()
	id := p.start("twice", `{}`, `{}`).TaskID
	time.Sleep(2 * time.Second)
	if s := p.get(id); s.Status != "input_required" {
		t.Fatalf("it is %s", s.Status)
	}
	// Each answer runs the handler again: 1 s, 2 s and 3 s of work.
	r := p.byID("tasks/result", id)
	if took := time.Since(began); took < 2*time.Minute || r.text() != "done" {
		t.Errorf("after %v: %s", took, r.Result)
	}
}

const relatedKey = "io.modelcontextprotocol/related-task"

// unrelated is a result without the id of its task.
func unrelated(t *testing.T, r reply, id string) string {
	t.Helper()
	v := as2[map[string]any](t, r.ok().Result)
	meta, _ := v["_meta"].(map[string]any)
	if related, _ := meta[relatedKey].(map[string]any); related["taskId"] != id || len(related) != 1 {
		t.Errorf("not related to %s: %s", id, r.Result)
	}
	if delete(meta, relatedKey); len(meta) == 0 {
		delete(v, "_meta")
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func mustReturnTheSame(t *testing.T) {
	p := dial(t, build(t, talkative()), core)
	for _, tool := range []string{"job", "user"} {
		text, err := json.Marshal(as2[map[string]any](t, p.tool(tool, `{}`).ok().Result))
		if err != nil {
			t.Fatal(err)
		}
		id := p.start(tool, `{}`, `{}`).TaskID
		for range 2 {
			if got := unrelated(t, p.byID("tasks/result", id), id); got != string(text) {
				t.Errorf("%s: %s instead of %s", tool, got, text)
			}
		}
	}
	if s := p.get(p.start("user", `{}`, `{}`).TaskID); s.Status == "failed" && !strings.Contains(s.StatusMessage, "No such city.") {
		t.Errorf("the message of a failure: %+v", s)
	}
}

func mustReturnTheSameError(t *testing.T) {
	p := dial(t, build(t, talkative()), core)
	want := p.tool("wire", `{}`).code(-32042).Error
	id := p.start("wire", `{}`, `{}`).TaskID
	for range 2 {
		got := p.byID("tasks/result", id).code(-32042).Error
		if got.Message != want.Message || string(got.Data) != string(want.Data) || got.Message != "as it is" {
			t.Errorf("%+v instead of %+v", got, want)
		}
	}
	if s := p.get(id); s.Status != "failed" || s.StatusMessage != "as it is" {
		t.Errorf("the task: %+v", s)
	}
}

// mustAnswerForCancelled: what a cancelled call would have been answered is not
// specified; an error is, and at once.
func mustAnswerForCancelled(t *testing.T) {
	p := dial(t, build(t, talkative()), core)
	p.byID("tasks/result", ended(p)["cancelled"]).code(-32603)
	id := p.start("late", `{}`, `{}`).TaskID
	began := time.Now()
	waiting := make(chan reply, 1)
	go func() { waiting <- p.byID("tasks/result", id) }()
	synctest.Wait()
	p.byID("tasks/cancel", id).ok()
	(<-waiting).code(-32603)
	if took := time.Since(began); took != 0 {
		t.Errorf("who waits is told after %v", took)
	}
	time.Sleep(time.Second)
}

func mustRelateResults(t *testing.T) {
	p := dial(t, build(t, talkative()), core)
	for _, tool := range []string{"job", "user"} {
		id := p.start(tool, `{}`, `{}`).TaskID
		unrelated(t, p.byID("tasks/result", id), id)
	}
	// SHOULD NOT: these name the task anyway.
	id := p.start("late", `{}`, `{}`).TaskID
	for method, r := range map[string]reply{
		"tasks/get": p.byID("tasks/get", id), "tasks/list": p.call("tasks/list", ""), "tasks/cancel": p.byID("tasks/cancel", id),
	} {
		if strings.Contains(string(r.ok().Result), relatedKey) {
			t.Errorf("%s: %s", method, r.Result)
		}
	}
	time.Sleep(time.Second)
}

// asked runs the tool "ask" as a task to its end.
func asked(t *testing.T, opts ...peerOption) (p *peer, id string) {
	t.Helper()
	p = dial(t, build(t, talkative()), core, append([]peerOption{
		withCaps(canElicit), withMeta("progressToken", `"tok"`),
		answering(func(string, json.RawMessage) string { return `"result":` + accepted }),
	}, opts...)...)
	p.call("logging/setLevel", `{"level":"info"}`).ok()
	id = p.start("ask", `{}`, `{}`).TaskID
	synctest.Wait()
	if s := p.get(id); s.Status != "input_required" || len(p.asked) != 0 {
		t.Fatalf("before tasks/result: %+v, %d questions", s, len(p.asked))
	}
	if got := p.byID("tasks/result", id).text(); got != "Hello Ada" {
		t.Fatalf("got %s", got)
	}
	synctest.Wait()
	return p, id
}

func mustRelateMessages(t *testing.T) {
	p, id := asked(t)
	messages := append(p.notifications("notifications/progress"), p.notifications("notifications/message")...)
	for _, a := range p.asked {
		messages = append(messages, a.Params)
	}
	if len(messages) < 4 || len(p.asked) != 1 {
		t.Errorf("%d messages, %d questions", len(messages), len(p.asked))
	}
	for _, m := range messages {
		if !strings.Contains(string(m), `"`+relatedKey+`":{"taskId":"`+id+`"}`) {
			t.Errorf("not related: %s", m)
		}
	}
	status := p.notifications("notifications/tasks/status")
	if len(status) == 0 || !strings.Contains(string(status[len(status)-1]), `"completed"`) {
		t.Errorf("status: %s", status)
	}
	for _, m := range status { // SHOULD NOT
		if strings.Contains(string(m), relatedKey) {
			t.Errorf("a status: %s", m)
		}
	}
}

func mustRejectLateCancels(t *testing.T) {
	p := dial(t, build(t, talkative()), core)
	for _, id := range ended(p) {
		p.byID("tasks/cancel", id).code(-32602)
	}
}

func mustCancelFirst(t *testing.T) {
	p, began := dial(t, build(t, talkative()), core), time.Now()
	id := p.start("late", `{}`, `{}`).TaskID // which goes on for a second
	synctest.Wait()
	if s := as2[taskState](t, p.byID("tasks/cancel", id).ok().Result); s.Status != "cancelled" || s.TaskID != id || time.Since(began) != 0 {
		t.Errorf("after %v: %+v", time.Since(began), s)
	}
	if s := p.get(id); s.Status != "cancelled" {
		t.Errorf("then: %+v", s)
	}
	asking := dial(t, build(t, talkative()), core, withCaps(canElicit))
	id = asking.start("ask", `{}`, `{}`).TaskID
	synctest.Wait()
	if s := as2[taskState](t, asking.byID("tasks/cancel", id).ok().Result); s.Status != "cancelled" {
		t.Errorf("while input is required: %+v", s)
	}
	time.Sleep(time.Second)
}

func mustStayCancelled(t *testing.T) {
	p := dial(t, build(t, talkative()), core)
	finishes, fails := p.start("late", `{}`, `{}`).TaskID, p.start("late", `{"ms":1}`, `{}`).TaskID
	synctest.Wait()
	for _, id := range []string{finishes, fails} {
		p.byID("tasks/cancel", id).ok()
	}
	time.Sleep(2 * time.Second)
	for _, id := range []string{finishes, fails} {
		if s := p.get(id); s.Status != "cancelled" {
			t.Errorf("then: %+v", s)
		}
		p.byID("tasks/result", id).code(-32603)
	}
}

func mustRefuseUnknown(t *testing.T) {
	p := dial(t, build(t, jobApp()), core)
	expired := p.start("job", `{"ms":60000}`, `{"ttl":2000}`).TaskID
	time.Sleep(2 * time.Second)
	for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
		for _, id := range []string{"", "unknown", expired, strings.ToLower(expired)} {
			p.byID(method, id).code(-32602)
		}
		for _, params := range []string{`{}`, `{"taskId":7}`, `{"taskId":null}`} {
			p.call(method, params).code(-32602)
		}
	}
}

func mustRefuseCursors(t *testing.T) {
	s := build(t, jobApp())
	p, other := dial(t, s, core), dial(t, s, core)
	for range 101 {
		p.start("job", `{}`, `{}`)
	}
	next, _ := p.call("tasks/list", `{}`).field("nextCursor").(string)
	p.call("tasks/list", fmt.Sprintf(`{"cursor":%q}`, next)).ok()
	other.call("tasks/list", fmt.Sprintf(`{"cursor":%q}`, next)).code(-32602)
	for _, cursor := range []string{`""`, `"x"`, `"` + next[1:] + `"`, `7`} {
		p.call("tasks/list", fmt.Sprintf(`{"cursor":%s}`, cursor)).code(-32602)
	}
}

// broken is a store whose tasks cannot be read.
type broken struct{ framework.Store }

type brokenTasks struct{ task.Store }

func (b broken) Tasks() task.Store { return brokenTasks{b.Store.Tasks()} }

func (brokenTasks) Get(context.Context, string) (task.Record, error) {
	return task.Record{}, errors.New("the secret disk is full")
}

func (brokenTasks) List(context.Context, string, string, int) ([]task.Record, error) {
	return nil, errors.New("the secret disk is full")
}

func mustTellInternalErrors(t *testing.T) {
	p := dial(t, build(t, jobApp().UseStore(broken{memory.New()})), core)
	id := p.start("job", `{}`, `{}`).TaskID
	for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
		p.byID(method, id).code(-32603).omits("secret")
	}
	p.call("tasks/list", "").code(-32603).omits("secret")
}
