package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// TestCoreTasksMust holds each MUST of 2025-11-25 basic/utilities/tasks. What is not
// here does not apply: clients treat cursors as opaque, and tasks without an owner are not listed.
func TestCoreTasksMust(t *testing.T) {
	t.Parallel()
	for who, rules := range map[string]map[string]func(*testing.T){
		"as the receiver": {
			"declare the capability":                          mustDeclare,
			"ignore the wish for a task without it":           mustIgnoreTheWish,
			"refuse a call without task where it is required": mustRefusePlainCalls,
			"answer with a CreateTaskResult":                  mustAnswerWithTheTask,
			"generate ids that are unique strings":            mustGenerateIDs,
			"begin working":                                   mustBeginWorking,
			"move along the paths of the state diagram":       mustFollowTheDiagram,
			"never leave a terminal status":                   mustNotLeaveTheEnd,
			"tell times and the actual ttl":                   mustTellTimes,
			"block tasks/result while working":                mustBlockWhileWorking,
			"block tasks/result while input is required":      mustBlockWhileAsking,
			"return exactly what the call would have":         mustReturnTheSame,
			"return the same JSON-RPC error":                  mustReturnTheSameError,
			"answer tasks/result of a cancelled task":         mustAnswerForCancelled,
			"relate the result to its task":                   mustRelateResults,
			"relate requests and notifications to their task": mustRelateMessages,
			"take the id from the parameters":                 mustTakeTheParameter,
			"include nextCursor if there is more":             mustPage,
			"list whatever can be got":                        mustListAll,
			"reject the cancellation of what is over":         mustRejectLateCancels,
			"cancel before it answers":                        mustCancelFirst,
			"keep a cancelled task cancelled":                 mustStayCancelled,
			"answer -32602 for an unknown task":               mustRefuseUnknown,
			"answer -32602 for an invalid cursor":             mustRefuseCursors,
			"answer -32603 for an internal error":             mustTellInternalErrors,
			"bind tasks to the authorization context":         mustBind,
			"list those of the context only":                  mustListOwn,
			"make ids that nobody guesses":                    mustBeUnguessable,
			"use the progress token for as long as it lives":  mustKeepTheToken,
			"stop progress at the end":                        mustStopProgress,
		},
		"as the requestor": {
			"augment only what the client declared":       mustAugmentTheDeclared,
			"not rely on status notifications":            mustNotRelyOnNews,
			"name the task by the parameter alone":        mustNameByParameter,
			"cancel a task by tasks/cancel":               mustCancelTheTask,
			"accept the result or the error of the call":  mustAcceptBoth,
			"ask for the result where input is required":  mustFetchWhereAsked,
			"respect the poll interval":                   mustRespectTheInterval,
			"relate what a task of ours asks to the task": mustRelateQuestions,
		},
	} {
		for rule, test := range rules {
			t.Run(who+"/"+rule, func(t *testing.T) {
				t.Parallel()
				bubble(t, test)
			})
		}
	}
}

// initialized is the answer to initialize.
func (p *peer) initialized() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.answers["1"].Result)
}

func mustDeclare(t *testing.T) {
	if got := dial(t, build(t, jobApp()), core).initialized(); !strings.Contains(got, `"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`) {
		t.Errorf("with tasks: %s", got)
	}
	plain := quiet().Add(framework.Tool("plain", working, framework.Describe("d")))
	if got := dial(t, build(t, plain), core).initialized(); strings.Contains(got, `"tasks"`) {
		t.Errorf("without: %s", got)
	}
}

func mustIgnoreTheWish(t *testing.T) {
	p := dial(t, build(t, quiet().Add(framework.Tool("plain", working, framework.Describe("d")))), core)
	if got := p.call("tools/call", `{"name":"plain","arguments":{},"task":{"ttl":60000}}`).text(); got != "done" {
		t.Errorf("got %s", got)
	}
	p.byID("tasks/get", "x").code(-32601)
	// No request but tools/call is declared.
	p = dial(t, build(t, jobApp().Add(framework.Resource("file:///r", func(context.Context) (string, error) { return "r", nil }, framework.Describe("d")))), core)
	if r := p.call("resources/read", `{"uri":"file:///r","task":{"ttl":60000}}`).ok(); !strings.Contains(string(r.Result), `"contents"`) {
		t.Errorf("resources/read: %s", r.Result)
	}
}

func mustRefusePlainCalls(t *testing.T) {
	p := dial(t, build(t, jobApp()), core)
	p.tool("must", `{}`).code(-32601)
	p.start("must", `{}`, `{}`)
	p.call("tools/call", `{"name":"plain","arguments":{},"task":{}}`).code(-32601) // SHOULD
	if got := p.tool("job", `{}`).text(); got != "done" {
		t.Errorf("where it is optional: %s", got)
	}
	list := string(p.call("tools/list", "").ok().Result)
	for _, want := range []string{`"taskSupport":"optional"`, `"taskSupport":"required"`} {
		if !strings.Contains(list, want) {
			t.Errorf("tools/list lacks %s: %s", want, list)
		}
	}
}

func mustAnswerWithTheTask(t *testing.T) {
	p, began := dial(t, build(t, jobApp(framework.ImmediateResponse("It is being done."))), core), time.Now()
	r := p.call("tools/call", `{"name":"job","arguments":{"ms":3000},"task":{}}`).ok()
	got := as2[struct {
		Task *taskState     `json:"task"`
		Meta map[string]any `json:"_meta"`
	}](t, r.Result)
	if got.Task == nil || strings.Contains(string(r.Result), `"content"`) || time.Since(began) != 0 {
		t.Errorf("after %v: %s", time.Since(began), r.Result)
	}
	if got.Meta["io.modelcontextprotocol/model-immediate-response"] != "It is being done." {
		t.Errorf("for the model: %s", r.Result)
	}
	plain := dial(t, build(t, jobApp()), core).call("tools/call", `{"name":"job","arguments":{},"task":{}}`).ok()
	later := dialTasks(t, build(t, jobApp(framework.ImmediateResponse("It is being done.")))).tool("job", `{}`).ok()
	for _, r := range []reply{plain, later} { // not asked for; the extension has no place for it
		if strings.Contains(string(r.Result), "immediate") {
			t.Errorf("for the model: %s", r.Result)
		}
	}
	time.Sleep(3 * time.Second)
}

func mustGenerateIDs(t *testing.T) {
	s := build(t, jobApp())
	p, other := dial(t, s, core), dial(t, s, core)
	seen := map[string]bool{}
	for range 100 {
		r := p.call("tools/call", `{"name":"job","arguments":{},"task":{"taskId":"mine"},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"mine"}}}`).ok()
		id, _ := r.field("task.taskId").(string)
		seen[id], seen[other.start("job", `{}`, `{}`).TaskID] = true, true
	}
	if len(seen) != 200 || seen["mine"] || seen[""] {
		t.Errorf("%d ids: %v", len(seen), seen)
	}
}

func mustBeginWorking(t *testing.T) {
	p := dial(t, build(t, talkative()), core, withCaps(canElicit))
	for _, tool := range []string{"job", "ask", "user", "wire"} { // done, asking, failed before the client can look
		if s := p.start(tool, `{}`, `{}`); s.Status != "working" {
			t.Errorf("%s begins %s", tool, s.Status)
		}
	}
}

// talkative has tools that ask, fail, report progress and do not stop.
func talkative() *framework.App {
	opts := []framework.Option{framework.Describe("d"), framework.Task(framework.TaskOptional)}
	return jobApp().Add(
		framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
			framework.Progress(ctx, 1, 2, "asking")
			framework.Notify(ctx, protocol.LevelError, "a log message")
			who, err := framework.Elicit[name](ctx, "Who?")
			if err != nil {
				return "", err
			}
			framework.Progress(ctx, 2, 2, "asked")
			return "Hello " + who.Name, nil
		}, opts...),
		framework.Tool("twice", func(ctx context.Context, _ struct{}) (string, error) {
			for range 2 {
				time.Sleep(time.Second)
				if _, err := framework.Elicit[name](ctx, "Who?"); err != nil {
					return "", err
				}
			}
			time.Sleep(time.Second)
			return "done", nil
		}, opts...),
		framework.Tool("user", func(context.Context, struct{}) (string, error) {
			return "", framework.UserErrorf("No such city.")
		}, opts...),
		framework.Tool("wire", func(context.Context, struct{}) (string, error) {
			return "", &protocol.Error{Code: -32042, Message: "as it is", Data: map[string]any{"k": 1}}
		}, opts...),
		framework.Tool("late", func(ctx context.Context, in jobIn) (string, error) {
			framework.Progress(ctx, 1, 0, "")
			<-ctx.Done()
			framework.Progress(ctx, 2, 0, "")
			time.Sleep(time.Second)
			if in.MS > 0 {
				return "", errors.New("it fails all the same")
			}
			return "it is finished all the same", nil
		}, opts...),
	)
}

// mustFollowTheDiagram: working and input_required in turn, as often as it asks.
func mustFollowTheDiagram(t *testing.T) {
	s, alice := build(t, talkative()), as(&framework.Principal{Issuer: "i", Subject: "alice"})
	answers := make(chan string)
	asked := dial(t, s, core, alice, withCaps(canElicit), answering(func(string, json.RawMessage) string { return <-answers }))
	watcher := dial(t, s, core, alice)
	id := asked.start("twice", `{}`, `{}`).TaskID
	go func() { asked.byID("tasks/result", id) }()
	var path []string
	look := func() {
		synctest.Wait()
		path = append(path, watcher.get(id).Status)
	}
	look()
	for range 2 {
		time.Sleep(10 * time.Second)
		look()
		answers <- `"result":` + accepted
		look()
	}
	time.Sleep(10 * time.Second)
	look()
	if want := []string{"working", "input_required", "working", "input_required", "working", "completed"}; !slices.Equal(path, want) {
		t.Errorf("it went %q", path)
	}
}

// ended are tasks in the three terminal states.
func ended(p *peer) map[string]string {
	p.t.Helper()
	ids := map[string]string{"completed": p.start("job", `{}`, `{}`).TaskID, "failed": p.start("user", `{}`, `{}`).TaskID, "cancelled": p.start("job", `{"ms":1000}`, `{}`).TaskID}
	p.byID("tasks/cancel", ids["cancelled"]).ok()
	synctest.Wait()
	for status, id := range ids {
		if got := p.get(id).Status; got != status {
			p.t.Fatalf("%s, not %s", got, status)
		}
	}
	return ids
}

func mustNotLeaveTheEnd(t *testing.T) {
	p := dial(t, build(t, talkative()), core)
	ids := ended(p)
	for range 2 {
		time.Sleep(10 * time.Minute)
		for status, id := range ids {
			p.byID("tasks/cancel", id)
			p.byID("tasks/result", id)
			if got := p.get(id).Status; got != status {
				t.Errorf("%s became %s", status, got)
			}
		}
	}
}

// mustTellTimes: in all that tells of a task.
func mustTellTimes(t *testing.T) {
	p := dial(t, build(t, jobApp(framework.PollInterval(700*time.Millisecond))), core)
	began := time.Now()
	created := p.start("job", `{"ms":2000}`, `{"ttl":60000}`)
	id := created.TaskID
	time.Sleep(time.Second)
	states := map[string]taskState{"created": created, "tasks/get": p.get(id)}
	time.Sleep(2 * time.Second)
	states["completed"] = p.get(id)
	states["tasks/list"] = as2[struct{ Tasks []taskState }](t, p.call("tasks/list", "").ok().Result).Tasks[0]
	news := p.notifications("notifications/tasks/status")
	states["a notification"] = as2[taskState](t, news[len(news)-1])
	for name, s := range states {
		changed := began
		if s.Status == "completed" {
			changed = began.Add(2 * time.Second)
		}
		if !s.CreatedAt.Equal(began) || !s.LastUpdatedAt.Equal(changed) || s.TTL == nil || *s.TTL != 60000 || s.PollInterval != 700 {
			t.Errorf("%s: %+v", name, s)
		}
	}
	other := p.start("job", `{"ms":2000}`, `{}`)
	time.Sleep(time.Second)
	cancelled := as2[taskState](t, p.byID("tasks/cancel", other.TaskID).ok().Result)
	if !cancelled.CreatedAt.Equal(other.CreatedAt) || cancelled.LastUpdatedAt.Sub(other.CreatedAt) != time.Second || *cancelled.TTL != time.Hour.Milliseconds() {
		t.Errorf("tasks/cancel: %+v", cancelled)
	}
	if greedy := p.start("job", `{}`, `{"ttl":999999999999999999}`); *greedy.TTL != (24 * time.Hour).Milliseconds() {
		t.Errorf("a wish beyond the ceiling: ttl %d", *greedy.TTL)
	}
	patient := dial(t, build(t, jobApp(framework.TTL(48*time.Hour))), core).start("job", `{}`, `{}`)
	if *patient.TTL != (48 * time.Hour).Milliseconds() {
		t.Errorf("the tool's own: ttl %d", *patient.TTL)
	}
}

func mustTakeTheParameter(t *testing.T) {
	p := dial(t, build(t, talkative()), core)
	other := p.start("job", `{}`, `{}`).TaskID
	mine := p.start("late", `{}`, `{}`).TaskID
	done := p.start("user", `{}`, `{}`).TaskID
	synctest.Wait()
	p.meta = map[string]string{relatedKey: fmt.Sprintf(`{"taskId":%q}`, other)}
	if got := p.get(mine); got.TaskID != mine || got.Status != "working" {
		t.Errorf("tasks/get: %+v", got)
	}
	unrelated(t, p.byID("tasks/result", done).mentions("No such city."), done)
	if got := as2[taskState](t, p.byID("tasks/cancel", mine).ok().Result); got.TaskID != mine || got.Status != "cancelled" {
		t.Errorf("tasks/cancel: %+v", got)
	}
	p.byID("tasks/get", "unknown").code(-32602)
	p.meta = map[string]string{relatedKey: `{"taskId":7}`}
	p.byID("tasks/get", mine).ok()
	time.Sleep(time.Second)
}

// pages are the ids that tasks/list tells, and how many pages they take.
func (p *peer) pages() (ids []string, pages int) {
	p.t.Helper()
	for params := `{}`; params != ""; pages++ {
		r := p.call("tasks/list", params).ok()
		ids = append(ids, r.names("tasks", "taskId")...)
		params = ""
		if next, more := r.field("nextCursor").(string); more {
			params = fmt.Sprintf(`{"cursor":%q}`, next)
		}
	}
	return ids, pages
}

func mustPage(t *testing.T) {
	p := dial(t, build(t, jobApp()), core)
	if ids, pages := p.pages(); len(ids) != 0 || pages != 1 {
		t.Errorf("%d tasks on %d pages", len(ids), pages)
	}
	for range 120 {
		p.start("job", `{}`, `{}`)
	}
	if ids, pages := p.pages(); len(ids) != 120 || pages < 2 {
		t.Errorf("%d tasks on %d pages", len(ids), pages)
	}
}

func mustListAll(t *testing.T) {
	p := dial(t, build(t, talkative()), core, withCaps(canElicit))
	var want []string
	for _, id := range ended(p) {
		want = append(want, id)
	}
	for range 60 {
		want = append(want, p.start("job", `{"ms":60000}`, `{}`).TaskID, p.start("ask", `{}`, `{}`).TaskID)
	}
	synctest.Wait()
	got, _ := p.pages()
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%d are listed of %d", len(got), len(want))
	}
	for _, id := range want {
		p.get(id)
	}
	time.Sleep(time.Minute)
}

func mustBind(t *testing.T) {
	s := build(t, jobApp())
	alice := &framework.Principal{Issuer: "i", Subject: "alice"}
	mine, again := dial(t, s, core, as(alice)), dial(t, s, core, as(alice))
	id := mine.start("job", `{"ms":1000}`, `{}`).TaskID
	for _, stranger := range []*peer{
		dial(t, s, core, as(&framework.Principal{Issuer: "i", Subject: "bob"})),
		dial(t, s, core, as(&framework.Principal{Issuer: "j", Subject: "alice"})), dial(t, s, core),
	} {
		for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
			unknown := stranger.byID(method, "no-such-id").code(-32602).Error.Message
			if got := stranger.byID(method, id).code(-32602).Error.Message; got != unknown {
				t.Errorf("%s tells a foreign task from an unknown one: %q, %q", method, got, unknown)
			}
		}
	}
	if got := again.get(id); got.Status != "working" {
		t.Errorf("the same principal in another session: %+v", got)
	}
	again.byID("tasks/result", id).ok()
}

func mustListOwn(t *testing.T) {
	s := build(t, jobApp())
	alice, bob := as(&framework.Principal{Issuer: "i", Subject: "alice"}), as(&framework.Principal{Issuer: "i", Subject: "bob"})
	for _, who := range [][]*peer{{dial(t, s, core, alice), dial(t, s, core, alice)}, {dial(t, s, core, bob)}, {dial(t, s, core)}, {dial(t, s, core)}} {
		id := who[0].start("job", `{}`, `{}`).TaskID
		for _, p := range who {
			if ids, _ := p.pages(); !slices.Equal(ids, []string{id}) {
				t.Errorf("%q instead of %q", ids, id)
			}
		}
	}
}

// mustBeUnguessable: 26 characters of base 32 are 130 bits, if each place takes any value.
func mustBeUnguessable(t *testing.T) {
	p := dial(t, build(t, jobApp()), core)
	columns := make([]map[byte]bool, 26)
	for range 100 {
		id := p.start("job", `{}`, `{}`).TaskID
		if len(id) < len(columns) {
			t.Fatalf("id %q", id)
		}
		for i := range columns {
			if columns[i] == nil {
				columns[i] = map[byte]bool{}
			}
			columns[i][id[i]] = true
		}
	}
	for i, c := range columns {
		if len(c) < 16 {
			t.Errorf("%d values in place %d", len(c), i)
		}
	}
}

func mustKeepTheToken(t *testing.T) {
	p, _ := asked(t)
	progress := p.notifications("notifications/progress")
	if len(progress) != 2 {
		t.Errorf("progress: %s", progress)
	}
	for _, n := range progress {
		if !strings.Contains(string(n), `"progressToken":"tok"`) {
			t.Errorf("another token: %s", n)
		}
	}
}

func mustStopProgress(t *testing.T) {
	p := dial(t, build(t, talkative()), core, withMeta("progressToken", `7`))
	id := p.start("late", `{}`, `{}`).TaskID
	synctest.Wait()
	p.byID("tasks/cancel", id).ok()
	time.Sleep(2 * time.Second)
	if got := p.notifications("notifications/progress"); len(got) != 1 {
		t.Errorf("progress: %s", got)
	}
}

// mustAugmentTheDeclared: to others, and at other revisions, the requests are as ever,
// and a task that we did not ask for is no answer.
func mustAugmentTheDeclared(t *testing.T) {
	for title, test := range map[string]struct {
		rev        protocol.Revision
		caps, tool string
	}{
		"no tasks":         {core, canElicit, "user"},
		"others":           {core, `{"elicitation":{},"tasks":{"requests":{"sampling":{"createMessage":{}}}}}`, "user"},
		"others, sampling": {core, `{"sampling":{},"tasks":{"requests":{"elicitation":{"create":{}}}}}`, "model"},
		"none":             {core, `{"elicitation":{},"tasks":{"list":{},"cancel":{}}}`, "user"},
		"2025-06-18":       {protocol.Rev20250618, canHold, "user"},
	} {
		p := dial(t, inquisitive(t), test.rev, withCaps(test.caps), answering((&holder{}).answer))
		p.tool(test.tool, `{}`).mentions("failed")
		if len(p.asked) != 1 || strings.Contains(string(p.asked[0].Params), `"task"`) {
			t.Errorf("%s: asked %+v", title, p.asked)
		}
	}
}

// mustNotRelyOnNews: a client that says nothing of itself is asked.
func mustNotRelyOnNews(t *testing.T) {
	h := &holder{after: 5 * time.Second, status: "completed", result: adaHeld}
	if got := dialHolder(t, h).tool("user", `{}`).text(); got != "Ada" || len(h.got("tasks/get")) != 5 {
		t.Errorf("%q, looked at %v", got, h.got("tasks/get"))
	}
	// A notification about a task is not proof of its status.
	h = &holder{after: 5 * time.Second, status: "completed", result: adaHeld}
	p := dialHolder(t, h)
	time.AfterFunc(2500*time.Millisecond, func() { p.status("completed") })
	p.tool("user", `{}`).mentions("Ada")
	if got := h.got("tasks/result"); !slices.Equal(got, []time.Duration{5500e6}) {
		t.Errorf("asked for the result at %v", got)
	}
}

func mustNameByParameter(t *testing.T) {
	h := &holder{wants: time.Second}
	p := dialHolder(t, h)
	p.cancelling("user", 5*time.Second)
	for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
		if got := h.params(method); got != `{"taskId":"their-1"}` {
			t.Errorf("%s: %s", method, got)
		}
	}
}

func mustCancelTheTask(t *testing.T) {
	h := &holder{}
	p := dialHolder(t, h)
	p.cancelling("user", 1500*time.Millisecond)
	if got := h.got("tasks/cancel"); !slices.Equal(got, []time.Duration{1500e6}) {
		t.Errorf("tasks/cancel at %v", got)
	}
	if got := p.notifications("notifications/cancelled"); len(got) != 0 {
		t.Errorf("cancelled otherwise: %s", got)
	}
}

func mustAcceptBoth(t *testing.T) {
	for result, want := range map[string]string{
		adaHeld: "Ada", `"result":{"action":"decline"}`: "declined", `"error":{"code":-32000,"message":"no screen"}`: "no screen",
	} {
		h := &holder{after: time.Second, status: "failed", result: result}
		dialHolder(t, h).tool("user", `{}`).mentions(want)
	}
}

func mustFetchWhereAsked(t *testing.T) { // SHOULD
	h := &holder{wants: 3 * time.Second, after: time.Minute, status: "completed", result: adaHeld}
	dialHolder(t, h).tool("user", `{}`).mentions("Ada")
	if got := h.got("tasks/result"); !slices.Equal(got, []time.Duration{3 * time.Second}) {
		t.Errorf("asked for the result at %v", got)
	}
}

func mustRespectTheInterval(t *testing.T) { // SHOULD
	h := &holder{poll: 5000, after: 12 * time.Second, status: "completed", result: adaHeld}
	dialHolder(t, h).tool("user", `{}`).mentions("Ada")
	if got := h.got("tasks/get"); !slices.Equal(got, []time.Duration{5e9, 10e9, 15e9}) {
		t.Errorf("looked at %v", got)
	}
}

// mustRelateQuestions: inside of a task of ours the question is that task's, and no
// task of the client's: who waits in tasks/result answers it.
func mustRelateQuestions(t *testing.T) {
	p, id := asked(t, withCaps(canHold))
	if got := string(p.asked[0].Params); !strings.Contains(got, `"`+relatedKey+`":{"taskId":"`+id+`"}`) || strings.Contains(got, `"task":`) {
		t.Errorf("the question: %s", got)
	}
}
