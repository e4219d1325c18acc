package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// The tests of this file hold the MUSTs of a receiver (2025-11-25 basic/utilities/tasks)
// where the client is the receiver.

// question sends a request to the client and reads the answer to it. Notifications that
// come before are kept.
func (f *fake) question(method, params string) message {
	f.t.Helper()
	f.asked++
	id := fmt.Sprintf(`"q%d"`, f.asked)
	f.send(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
	for {
		m := f.next()
		if string(m.ID) == id && m.Method == "" {
			return m
		}
		if m.Method != protocol.NotificationTaskStatus {
			f.fatalf("the client sent %s, want an answer to %s", m.text, id)
		}
		f.told = append(f.told, m)
	}
}

// ask puts a question as a task and reads the task.
func (f *fake) ask(task string) taskState {
	f.t.Helper()
	m := f.question(protocol.MethodElicit, asTask(form, task))
	var created struct{ Task *taskState }
	if err := json.Unmarshal(m.Result, &created); err != nil || created.Task == nil {
		f.fatalf("no task: %s", m.text)
	}
	return *created.Task
}

func asTask(params, task string) string {
	return strings.TrimSuffix(params, "}") + `,"task":` + task + `}`
}

func (f *fake) state(method, id string) taskState {
	f.t.Helper()
	m := f.question(method, `{"taskId":"`+id+`","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"another"}}}`)
	var s taskState
	if err := json.Unmarshal(m.Result, &s); err != nil {
		f.fatalf("%s: %s", method, m.text)
	}
	return s
}

type taskState struct {
	TaskID        string    `json:"taskId"`
	Status        string    `json:"status"`
	StatusMessage string    `json:"statusMessage"`
	CreatedAt     time.Time `json:"createdAt"`
	LastUpdatedAt time.Time `json:"lastUpdatedAt"`
	TTL           *int64    `json:"ttl"`
	PollInterval  int64     `json:"pollInterval"`
}

// asked connects a client of 2025-11-25 to a script, in a bubble.
func asked(t *testing.T, script func(*fake), opts ...client.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		_, wait := connect(t, func(f *fake) {
			f.initialized("2025-11-25")
			script(f)
		}, append(opts, client.Revisions(protocol.Rev20251125))...)
		wait()
	})
}

// replying answers forms after a while, unless the question ends before.
func replying(after time.Duration, text string) client.Option {
	return client.OnElicit(func(ctx context.Context, _ *client.ElicitRequest) (*client.ElicitAnswer, error) {
		timer := time.NewTimer(after)
		defer timer.Stop()
		select {
		case <-timer.C:
			return &client.ElicitAnswer{Action: "accept", Content: map[string]any{"n": text}}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
}

func TestReceivedTask(t *testing.T) {
	t.Parallel()
	asked(t, func(f *fake) {
		began := time.Now()
		s := f.ask(`{"ttl":60000}`)
		if s.Status != "working" || *s.TTL != 60000 || len(s.TaskID) < 26 || s.PollInterval <= 0 || time.Since(began) != 0 {
			f.t.Errorf("created %+v after %v", s, time.Since(began))
		}
		if got := f.state(protocol.MethodGetTask, s.TaskID); got.Status != "working" || !got.CreatedAt.Equal(s.CreatedAt) {
			f.t.Errorf("tasks/get: %+v", got)
		}
		m := f.question(protocol.MethodTaskResult, `{"taskId":"`+s.TaskID+`"}`) // waits
		sameJSON(f.t, string(m.Result), `{"action":"accept","content":{"n":"Ada"},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"`+s.TaskID+`"}}}`)
		if took := time.Since(began); took != time.Second {
			f.t.Errorf("the result came after %v", took)
		}
		if got := f.state(protocol.MethodGetTask, s.TaskID); got.Status != "completed" || got.LastUpdatedAt.Sub(got.CreatedAt) != time.Second {
			f.t.Errorf("then %+v", got)
		}
		if len(f.told) == 0 { // it is on its way
			f.told = append(f.told, f.next())
		}
		if len(f.told) != 1 || f.told[0].at("status") != `"completed"` || f.told[0].at("taskId") != `"`+s.TaskID+`"` {
			f.t.Errorf("told %v", f.told)
		}
		if m := f.question(protocol.MethodCancelTask, `{"taskId":"`+s.TaskID+`"}`); m.Error == nil || m.Error.Code != -32602 {
			f.t.Errorf("a task that is over is cancelled: %s", m.text)
		}
	}, replying(time.Second, "Ada"))
}

func TestReceivedTaskIsCancelled(t *testing.T) {
	t.Parallel()
	asked(t, func(f *fake) {
		s := f.ask(`{}`)
		if got := f.state(protocol.MethodCancelTask, s.TaskID); got.Status != "cancelled" {
			f.t.Errorf("tasks/cancel: %+v", got)
		}
		synctest.Wait() // the handler ends with its context, which changes nothing
		if got := f.state(protocol.MethodGetTask, s.TaskID); got.Status != "cancelled" {
			f.t.Errorf("then %+v", got)
		}
		if m := f.question(protocol.MethodTaskResult, `{"taskId":"`+s.TaskID+`"}`); m.Error == nil {
			f.t.Errorf("it has a result: %s", m.text)
		}
	}, replying(time.Hour, "Ada"))
}

// What waits for the result hears of a cancellation, and of the end of the life.
func TestReceivedTaskIsWaitedForInVain(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"cancelled": -32603, "expired": -32602} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked(t, func(f *fake) {
				s := f.ask(`{"ttl":60000}`)
				f.send(`{"jsonrpc":"2.0","id":"r","method":"tasks/result","params":{"taskId":%q}}`, s.TaskID)
				if name == "cancelled" {
					f.send(`{"jsonrpc":"2.0","id":"c","method":"tasks/cancel","params":{"taskId":%q}}`, s.TaskID)
				}
				began := time.Now()
				f.patience = time.Hour // the task lives a minute of the bubble
				for {
					m := f.next()
					if string(m.ID) != `"r"` {
						continue
					}
					if m.Error == nil || m.Error.Code != want {
						f.t.Errorf("answered %s", m.text)
					}
					break
				}
				if took := time.Since(began); name == "expired" && took != time.Minute {
					f.t.Errorf("after %v", took)
				}
			}, replying(10*time.Hour, "Ada"))
		})
	}
}

func TestReceivedTaskFails(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		handler func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error)
		code    int
	}{
		"secret": {func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) {
			return nil, errors.New("secret")
		}, -32603},
		"rejected": {func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) {
			return nil, client.ErrRejected
		}, -1},
		"own": {func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) {
			return nil, &protocol.Error{Code: 7, Message: "own", Data: map[string]int{"a": 1}}
		}, 7},
		"ends its goroutine": {func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) {
			runtime.Goexit()
			return nil, nil
		}, -32603},
		"too large": {func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) {
			return &client.ElicitAnswer{Action: "accept", Content: map[string]any{"n": strings.Repeat("x", 5<<20)}}, nil
		}, -32603},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked(t, func(f *fake) {
				s := f.ask(`{}`)
				m := f.question(protocol.MethodTaskResult, `{"taskId":"`+s.TaskID+`"}`)
				if m.Error == nil || m.Error.Code != tt.code || strings.Contains(m.text, "secret") {
					f.t.Errorf("answered %.200s", m.text)
				}
				if name == "own" && string(m.Error.Data) != `{"a":1}` {
					f.t.Errorf("data %s", m.Error.Data)
				}
				if got := f.state(protocol.MethodGetTask, s.TaskID); got.Status != "failed" || got.StatusMessage == "" {
					f.t.Errorf("tasks/get: %+v", got)
				}
			}, client.OnElicit(tt.handler))
		})
	}
}

func TestReceivedTaskLives(t *testing.T) {
	t.Parallel()
	asked(t, func(f *fake) {
		for wish, want := range map[string]int64{
			`{}`: 3_600_000, `{"ttl":0}`: 3_600_000, `{"ttl":-1}`: 3_600_000, `{"ttl":1}`: 1, `{"ttl":9007199254740991}`: 86_400_000,
		} {
			if s := f.ask(wish); *s.TTL != want {
				f.t.Errorf("%s: ttl %d, want %d", wish, *s.TTL, want)
			}
		}
		s := f.ask(`{"ttl":60000}`)
		time.Sleep(time.Minute)
		for _, method := range []string{protocol.MethodGetTask, protocol.MethodTaskResult, protocol.MethodCancelTask} {
			if m := f.question(method, `{"taskId":"`+s.TaskID+`"}`); m.Error == nil || m.Error.Code != -32602 {
				f.t.Errorf("%s of one that expired: %s", method, m.text)
			}
		}
	}, replying(10*time.Hour, "Ada"))
}

func TestReceivedTasksAreBounded(t *testing.T) {
	t.Parallel()
	asked(t, func(f *fake) {
		var last taskState
		for range 32 {
			last = f.ask(`{"ttl":86400000}`)
		}
		if m := f.question(protocol.MethodElicit, asTask(form, `{}`)); m.Error == nil || m.Error.Code != -32603 {
			f.t.Errorf("one more runs: %s", m.text)
		}
		time.Sleep(time.Minute)
		for range 7 {
			for range 32 {
				f.ask(`{"ttl":86400000}`)
			}
			time.Sleep(time.Minute)
		}
		if m := f.question(protocol.MethodElicit, asTask(form, `{}`)); m.Error == nil || m.Error.Code != -32603 {
			f.t.Errorf("one more is kept: %s", m.text)
		}
		f.question(protocol.MethodTaskResult, `{"taskId":"`+last.TaskID+`"}`)
		f.ask(`{}`) // in the place of the one that was fetched
		if m := f.question(protocol.MethodGetTask, `{"taskId":"`+last.TaskID+`"}`); m.Error == nil {
			f.t.Errorf("that is still there: %s", m.text)
		}
	}, replying(time.Second, "Ada"))
}

func TestReceivedTasksAreListed(t *testing.T) {
	t.Parallel()
	asked(t, func(f *fake) {
		var want, got []string
		for i := range 3 {
			for range 30 {
				want = append(want, f.ask(`{}`).TaskID)
			}
			if i < 2 {
				time.Sleep(2 * time.Second)
			}
		}
		cursor := ""
		for pages := 1; ; pages++ {
			var list struct {
				Tasks      []taskState
				NextCursor *string
			}
			m := f.question(protocol.MethodListTasks, `{`+cursor+`}`)
			if err := json.Unmarshal(m.Result, &list); err != nil {
				f.fatalf("tasks/list: %s", m.text)
			}
			for _, s := range list.Tasks {
				got = append(got, s.TaskID)
			}
			if list.NextCursor == nil {
				if pages != 2 {
					f.t.Errorf("%d pages", pages)
				}
				break
			}
			cursor = fmt.Sprintf(`"cursor":%q`, *list.NextCursor)
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			f.t.Errorf("listed %d of %d", len(got), len(want))
		}
		if m := f.question(protocol.MethodListTasks, `{"cursor":"x"}`); m.Error == nil || m.Error.Code != -32602 {
			f.t.Errorf("a wrong cursor: %s", m.text)
		}
	}, replying(time.Second, "Ada"))
}

// Without the declaration the wish is ignored, and there is nothing to be asked for.
func TestUndeclaredTasksAreIgnored(t *testing.T) {
	t.Parallel()
	sample := `{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":9}`
	synctest.Test(t, func(t *testing.T) {
		_, wait := connect(t, func(f *fake) {
			if m := f.initialized("2025-11-25"); strings.Contains(m.at("capabilities"), "tasks") {
				f.t.Errorf("declared %s", m.at("capabilities"))
			}
			if m := f.question(protocol.MethodElicit, asTask(form, `{}`)); !strings.Contains(string(m.Result), `"accept"`) {
				f.t.Errorf("answered %s", m.text)
			}
			for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel", "tasks/list"} {
				if m := f.question(method, `{"taskId":"x"}`); m.Error == nil || m.Error.Code != -32601 {
					f.t.Errorf("%s: %s", method, m.text)
				}
			}
		}, client.NoTasks(), replying(0, "Ada"), client.Revisions(protocol.Rev20251125))
		wait()
	})
	synctest.Test(t, func(t *testing.T) {
		_, wait := connect(t, func(f *fake) {
			m := f.initialized("2025-11-25")
			sameJSON(f.t, m.at("capabilities", "tasks"), `{"list":{},"cancel":{},"requests":{"sampling":{"createMessage":{}}}}`)
			m = f.question(protocol.MethodCreateMessage, asTask(sample, `{}`))
			var created struct{ Task taskState }
			if err := json.Unmarshal(m.Result, &created); err != nil {
				f.fatalf("answered %s", m.text)
			}
			m = f.question(protocol.MethodTaskResult, `{"taskId":"`+created.Task.TaskID+`"}`)
			if !strings.Contains(string(m.Result), `"yo"`) || !strings.Contains(string(m.Result), "related-task") {
				f.t.Errorf("the result is %s", m.text)
			}
			if m := f.question(protocol.MethodElicit, asTask(form, `{}`)); m.Error == nil || m.Error.Code != -32601 {
				f.t.Errorf("a question of another kind: %s", m.text)
			}
		}, saying("x")[1], client.Revisions(protocol.Rev20251125))
		wait()
	})
}

// A question inside a task of the server is answered as belonging to it.
func TestAnswersAreRelated(t *testing.T) {
	t.Parallel()
	asked(t, func(f *fake) {
		related := `"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}`
		m := f.question(protocol.MethodElicit, strings.TrimSuffix(form, "}")+`,`+related+`}`)
		sameJSON(f.t, string(m.Result), `{"action":"accept","content":{"n":"Ada"},`+related+`}`)
	}, replying(0, "Ada"))
}

// A question that is withdrawn before it has become a task leaves none; closing the
// client ends the handlers of all tasks (goleak sees to it).
func TestReceivedTasksEndWithTheClient(t *testing.T) {
	t.Parallel()
	asked(t, func(f *fake) {
		f.ask(`{}`)
		f.send(`{"jsonrpc":"2.0","id":"r","method":"tasks/result","params":{"taskId":"nope"}}`)
		f.next()
	}, replying(10*time.Hour, "Ada"))
}

// A server of this module makes tasks of its questions, where it may.
func TestServerAsksByTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := jobs(t)
		var u users
		for name, opts := range map[string][]client.Option{"tasks": {u.option()}, "no tasks": {u.option(), client.NoTasks()}} {
			c := inMemory(t, s, append(opts, only(t, "2025-11-25"))...)
			r, err := c.CallTool(t.Context(), "ask", nil)
			if text := textIn(t, r, err); text != "FSL" {
				t.Errorf("%s: got %q", name, text)
			}
		}
	})
}
