package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
)

// The tests of this file hold us as the requestor of tasks (2025-11-25
// basic/utilities/tasks): the client makes the questions of a handler tasks.

const canHold = `{"elicitation":{"form":{}},"sampling":{},"tasks":{"cancel":{},"requests":` +
	`{"elicitation":{"create":{}},"sampling":{"createMessage":{}}}}}`

// holder is a client that makes what it is asked a task, "their-1".
type holder struct {
	poll   int64         // its pollInterval, in milliseconds; 0: not sent
	after  time.Duration // when it is over; 0: never
	status string        // what it is from then on
	wants  time.Duration // when it becomes input_required, before that; 0: never
	busy   time.Duration // how often lastUpdatedAt changes; 0: never
	hushed time.Duration // from when on it does no more; 0: never
	slow   time.Duration // how long it takes to create the task
	stuck  time.Duration // how long tasks/get takes
	result string        // of tasks/result, which waits until it is over

	mu    sync.Mutex // guards the fields below
	began time.Time
	log   []held
}

// held is one request that the client got.
type held struct {
	at     time.Duration
	method string
	params string
}

func (h *holder) answer(method string, params json.RawMessage) string {
	h.mu.Lock()
	if h.began.IsZero() {
		h.began = time.Now()
	}
	h.log = append(h.log, held{time.Since(h.began), method, string(params)})
	h.mu.Unlock()
	switch method {
	case "tasks/get":
		time.Sleep(h.stuck)
		return `"result":` + h.state()
	case "tasks/result":
		over := h.after
		if over == 0 {
			over = 24 * time.Hour
		}
		time.Sleep(over - time.Since(h.began))
		return h.result
	case "tasks/cancel":
		return `"error":{"code":-32602,"message":"whatever"}`
	}
	time.Sleep(h.slow)
	return `"result":{"task":` + h.state() + `}`
}

func (h *holder) state() string {
	status, updated := "working", h.began
	since := time.Since(h.began)
	if h.busy > 0 {
		seen := since
		if h.hushed > 0 {
			seen = min(since, h.hushed)
		}
		updated = h.began.Add(seen.Truncate(h.busy))
	}
	switch {
	case h.after > 0 && since >= h.after:
		status = h.status
	case h.wants > 0 && since >= h.wants:
		status = "input_required"
	}
	poll := ""
	if h.poll > 0 {
		poll = fmt.Sprintf(`,"pollInterval":%d`, h.poll)
	}
	return fmt.Sprintf(`{"taskId":"their-1","status":%q,"createdAt":%q,"lastUpdatedAt":%q,"ttl":null%s}`,
		status, h.began.Format(time.RFC3339Nano), updated.Format(time.RFC3339Nano), poll)
}

// got are the times at which a method was asked for.
func (h *holder) got(method string) (at []time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.log {
		if l.method == method {
			at = append(at, l.at)
		}
	}
	return at
}

func (h *holder) methods() (all []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.log {
		all = append(all, l.method)
	}
	return all
}

func (h *holder) params(method string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.log {
		if l.method == method {
			return l.params
		}
	}
	return ""
}

// inAWord says what came of a question.
func inAWord(answer string, err error) string {
	switch {
	case errors.Is(err, framework.ErrDeclined):
		return "declined"
	case errors.Is(err, framework.ErrCancelled):
		return "cancelled"
	case err != nil:
		return "failed: " + err.Error()
	}
	return answer
}

// inquisitive asks the user, the model, or within a deadline.
func inquisitive(t *testing.T) *framework.Server {
	t.Helper()
	elicit := func(ctx context.Context, _ struct{}) (string, error) {
		who, err := framework.Elicit[name](ctx, "Who?")
		if errors.Is(err, framework.ErrPending) {
			return "", err
		}
		return inAWord(who.Name, err), nil
	}
	return build(t, quiet().Add(
		framework.Tool("user", elicit, framework.Describe("d"), framework.Task(framework.TaskOptional)),
		framework.Tool("soon", func(ctx context.Context, in struct{}) (string, error) {
			ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
			defer cancel()
			return elicit(ctx, in)
		}, framework.Describe("d")),
		framework.Tool("model", func(ctx context.Context, _ struct{}) (string, error) {
			said, err := framework.Generate(ctx, "Who?")
			return inAWord(said.Text(), err), nil
		}, framework.Describe("d")),
	))
}

func dialHolder(t *testing.T, h *holder, opts ...peerOption) *peer {
	t.Helper()
	return dial(t, inquisitive(t), core, append([]peerOption{withCaps(canHold), answering(h.answer)}, opts...)...)
}

// cancelling calls a tool and cancels the call after d.
func (p *peer) cancelling(tool string, d time.Duration) {
	p.t.Helper()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		p.frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":%q,"arguments":{}}}`, tool))
	}()
	time.Sleep(d)
	p.frame(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w"}}`)
	<-gone
	p.asking.Wait()
}

const adaHeld = `"result":{"action":"accept","content":{"name":"Ada"},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"their-1"}}}`

func TestClientTask(t *testing.T) {
	t.Parallel()
	for title, test := range map[string]struct {
		tool string
		*holder
		want  string
		asked []string // "": elicitation, tasks/get, tasks/result
		ended time.Duration
	}{
		"a result": {
			holder: &holder{poll: 2000, after: 5 * time.Second, status: "completed", result: adaHeld},
			want:   "Ada", asked: []string{"elicitation/create", "tasks/get", "tasks/get", "tasks/get", "tasks/result"}, ended: 6 * time.Second,
		},
		"of a model": {
			tool: "model", holder: &holder{after: 500 * time.Millisecond, status: "completed", result: `"result":` + model("Ada")},
			want: "Ada", asked: []string{"sampling/createMessage", "tasks/get", "tasks/result"}, ended: time.Second,
		},
		"over at once": {
			holder: &holder{after: 1, slow: time.Second, status: "completed", result: adaHeld},
			want:   "Ada", asked: []string{"elicitation/create", "tasks/result"}, ended: time.Second,
		},
		"failed": {
			holder: &holder{after: time.Second, status: "failed", result: `"error":{"code":-32000,"message":"no screen"}`},
			want:   "no screen", ended: time.Second,
		},
		"refused": {
			tool: "model", holder: &holder{after: time.Second, status: "failed", result: `"error":{"code":-1,"message":"no"}`},
			want: "declined", asked: []string{"sampling/createMessage", "tasks/get", "tasks/result"}, ended: time.Second,
		},
		"cancelled by the client": {
			holder: &holder{after: time.Second, status: "cancelled", result: `"error":{"code":-32603,"message":"it was cancelled"}`},
			want:   "declined", ended: time.Second,
		},
		"cancelled by the client, with an answer": {
			holder: &holder{after: time.Second, status: "cancelled", result: `"result":{"action":"cancel"}`},
			want:   "cancelled", ended: time.Second,
		},
		"malformed result": {
			holder: &holder{after: time.Second, status: "completed", result: `"result":{"action":7}`},
			want:   "failed", ended: time.Second,
		},
		"a task for a result": {
			holder: &holder{
				after: time.Second, status: "completed",
				result: `"result":{"task":{"taskId":"x","status":"working","createdAt":"2025-11-25T10:30:00Z","lastUpdatedAt":"2025-11-25T10:30:00Z","ttl":null}}`,
			},
			want: "failed", ended: time.Second,
		},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			if test.tool == "" {
				test.tool = "user"
			}
			if test.asked == nil {
				test.asked = []string{"elicitation/create", "tasks/get", "tasks/result"}
			}
			bubble(t, func(t *testing.T) {
				h, began := test.holder, time.Now()
				p := dialHolder(t, h)
				if got := p.tool(test.tool, `{}`).text(); !strings.Contains(got, test.want) {
					t.Errorf("got %q", got)
				}
				if took := time.Since(began); took != test.ended {
					t.Errorf("it took %v", took)
				}
				if got := h.methods(); !slices.Equal(got, test.asked) {
					t.Errorf("asked %q", got)
				}
			})
		})
	}
}

// TestClientTaskIsAWish: a client that answers at once is fine.
func TestClientTaskIsAWish(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := dial(t, inquisitive(t), core, withCaps(canHold), answering(func(string, json.RawMessage) string { return adaHeld }))
		if got := p.tool("user", `{}`).text(); got != "Ada" || len(p.asked) != 1 {
			t.Errorf("%q after %d requests", got, len(p.asked))
		}
		if !strings.Contains(string(p.asked[0].Params), `"task":{"ttl":600000}`) {
			t.Errorf("the question: %s", p.asked[0].Params)
		}
		p.tool("soon", `{}`)
		if !strings.Contains(string(p.asked[1].Params), `"task":{"ttl":90000}`) {
			t.Errorf("within 90 seconds: %s", p.asked[1].Params)
		}
		p.start("user", `{}`, `{}`)
		synctest.Wait()
		tasks := as2[struct{ Tasks []taskState }](t, p.call("tasks/list", "").ok().Result)
		if got := p.byID("tasks/result", tasks.Tasks[0].TaskID).text(); got != "Ada" || strings.Contains(string(p.asked[2].Params), `"task":`) {
			t.Errorf("inside of a task of ours: %q, %s", got, p.asked[2].Params)
		}
	})
}

// TestClientTaskIsLookedAtAsItWishes: within bounds.
func TestClientTaskIsLookedAtAsItWishes(t *testing.T) {
	t.Parallel()
	for poll, want := range map[int64]time.Duration{
		0: time.Second, 1: 250 * time.Millisecond, 700: 700 * time.Millisecond, -5: time.Second, 1 << 40: 30 * time.Second, 1<<63 - 1: 30 * time.Second,
	} {
		t.Run(fmt.Sprint(poll), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				h := &holder{poll: poll, after: 2 * want, status: "completed", result: adaHeld}
				p := dialHolder(t, h)
				if got := p.tool("user", `{}`).text(); got != "Ada" {
					t.Errorf("got %q", got)
				}
				if got := h.got("tasks/get"); !slices.Equal(got, []time.Duration{want, 2 * want}) {
					t.Errorf("looked at %v", got)
				}
			})
		})
	}
}

// TestClientTaskTakesHours: as long as the client says that something happens.
func TestClientTaskTakesHours(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &holder{poll: 30_000, after: 5 * time.Hour, status: "completed", busy: 9 * time.Minute, result: adaHeld}
		began := time.Now()
		if got := dialHolder(t, h).tool("user", `{}`).text(); got != "Ada" || time.Since(began) != 5*time.Hour {
			t.Errorf("%q after %v", got, time.Since(began))
		}
	})
}

// status sends a status notification of "their-1".
func (p *peer) status(status string) {
	p.frame(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"their-1","status":%q,`+
		`"createdAt":"2025-11-25T10:30:00Z","lastUpdatedAt":"2025-11-25T10:30:00Z","ttl":null}}`, status))
}

// TestClientTaskIsGivenUp: ten minutes after the last sign of life.
func TestClientTaskIsGivenUp(t *testing.T) {
	t.Parallel()
	for title, test := range map[string]struct {
		*holder
		told  time.Duration // when a status notification comes; 0: never
		ended time.Duration
	}{
		"never over":                   {&holder{}, 0, 10 * time.Minute},
		"changed once":                 {&holder{busy: 6 * time.Minute, hushed: 7 * time.Minute}, 0, 16 * time.Minute},
		"never over, but told of":      {&holder{}, 3 * time.Minute, 13 * time.Minute},
		"does not answer":              {&holder{stuck: time.Hour}, 0, 10 * time.Minute},
		"waits for us for ever":        {&holder{wants: time.Second}, 0, 10 * time.Minute},
		"waits for us, and is told of": {&holder{wants: time.Second}, 3 * time.Minute, 13 * time.Minute},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				h, began := test.holder, time.Now()
				p := dialHolder(t, h)
				if test.told > 0 {
					time.AfterFunc(test.told, func() { p.status("working") })
				}
				p.frame(`{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"user","arguments":{}}}`)
				if took := time.Since(began); took != test.ended {
					t.Errorf("ended after %v", took)
				}
				p.mu.Lock()
				answer := p.answers[`"w"`]
				p.mu.Unlock()
				answer.mentions("did not answer in time")
				p.asking.Wait()
				if got := h.got("tasks/cancel"); len(got) != 1 || !strings.Contains(h.params("tasks/cancel"), `"taskId":"their-1"`) {
					t.Errorf("cancelled at %v", got)
				}
			})
		})
	}
}

// TestClientTaskHasNews: a notification brings the next look forward, and a flood of
// them does not make us look all the time.
func TestClientTaskHasNews(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &holder{poll: 30_000, after: 10 * time.Second, status: "completed", result: adaHeld}
		p := dialHolder(t, h)
		go func() {
			time.Sleep(3 * time.Second)
			p.status("working")
			time.Sleep(6500 * time.Millisecond) // until 9.5 s
			for range 500 {
				p.status("working")
				time.Sleep(time.Millisecond)
			}
		}()
		if got := p.tool("user", `{}`).text(); got != "Ada" {
			t.Errorf("got %q", got)
		}
		if got := h.got("tasks/get"); !slices.Equal(got, []time.Duration{3000e6, 9500e6, 9750e6, 10000e6}) {
			t.Errorf("looked at %v", got)
		}
		p.status("completed") // of a task that is not followed any more
	})
}

// TestClientTaskWaitsForUs: at input_required the result is asked for at once, and
// waits ("Input Required Status").
func TestClientTaskWaitsForUs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &holder{wants: time.Second, after: 9 * time.Minute, status: "completed", result: adaHeld}
		began := time.Now()
		if got := dialHolder(t, h).tool("user", `{}`).text(); got != "Ada" || time.Since(began) != 9*time.Minute {
			t.Errorf("%q after %v", got, time.Since(began))
		}
		if got := h.methods(); !slices.Equal(got, []string{"elicitation/create", "tasks/get", "tasks/result"}) {
			t.Errorf("asked %q", got)
		}
	})
}

// TestClientTaskIsCancelled: with the call that wanted it, by tasks/cancel where the
// client knows that. notifications/cancelled is for requests that are no task.
func TestClientTaskIsCancelled(t *testing.T) {
	t.Parallel()
	const cannot = `{"elicitation":{"form":{}},"tasks":{"requests":{"elicitation":{"create":{}}}}}`
	for title, test := range map[string]struct {
		caps string
		*holder
		at     time.Duration   // when the call is cancelled
		asked  []time.Duration // tasks/cancel
		notice int             // how many notifications/cancelled
	}{
		"between looks":             {canHold, &holder{}, 1500 * time.Millisecond, []time.Duration{1500e6}, 0},
		"during a look":             {canHold, &holder{stuck: time.Second}, 1500 * time.Millisecond, []time.Duration{1500e6}, 1},
		"during tasks/result":       {canHold, &holder{wants: 1, slow: 1}, time.Second, []time.Duration{time.Second}, 1},
		"it cannot be":              {cannot, &holder{}, 1500 * time.Millisecond, nil, 0},
		"before it is created":      {canHold, &holder{slow: 700 * time.Millisecond}, 200 * time.Millisecond, []time.Duration{700e6}, 0},
		"long before it is created": {canHold, &holder{slow: time.Minute}, 200 * time.Millisecond, nil, 1},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				h := test.holder
				p := dialHolder(t, h, withCaps(test.caps))
				p.cancelling("user", test.at)
				if got := h.got("tasks/cancel"); !slices.Equal(got, test.asked) {
					t.Errorf("tasks/cancel at %v", got)
				}
				if got := p.notifications("notifications/cancelled"); len(got) != test.notice {
					t.Errorf("cancelled: %s", got)
				}
			})
		})
	}
}

// TestClientTaskIsNotBegun: who does not wait does not ask.
func TestClientTaskIsNotBegun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := dial(t, build(t, quiet().Add(framework.Tool("gone", func(ctx context.Context, _ struct{}) (string, error) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			who, err := framework.Elicit[name](ctx, "Who?")
			return inAWord(who.Name, err), nil
		}, framework.Describe("d")))), core, withCaps(canHold), answering((&holder{}).answer))
		for range 20 {
			p.tool("gone", `{}`).mentions("canceled")
		}
		if len(p.asked) != 0 {
			t.Errorf("asked %d times", len(p.asked))
		}
	})
}

// TestClientTaskIsUnknown: a client that has forgotten it says so, and is not asked again.
func TestClientTaskIsUnknown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &holder{}
		p := dial(t, inquisitive(t), core, withCaps(canHold), answering(func(method string, params json.RawMessage) string {
			answer := h.answer(method, params)
			if method == "tasks/get" {
				return `"error":{"code":-32602,"message":"Task has expired"}`
			}
			return answer
		}))
		p.tool("user", `{}`).mentions("Task has expired")
		if got := h.methods(); !slices.Equal(got, []string{"elicitation/create", "tasks/get"}) {
			t.Errorf("asked %q", got)
		}
	})
}

// TestClientTaskVanishes: a call does not wait for a client that is gone.
func TestClientTaskVanishes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var hangUp context.CancelFunc
		h := &holder{poll: 30_000}
		p := dialHolder(t, h, func(p *peer) { p.ctx, hangUp = context.WithCancel(p.ctx) })
		began := time.Now()
		time.AfterFunc(time.Minute+time.Second, hangUp)
		p.frame(`{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"user","arguments":{}}}`)
		if took := time.Since(began); took != time.Minute+time.Second || len(h.got("tasks/get")) != 2 {
			t.Errorf("ended after %v: %q", took, h.methods())
		}
		p.asking.Wait()
	})
}
