package testkit

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// coreTaskRules are about tasks that clients ask for (2025-11-25 basic/utilities/tasks).
func coreTaskRules() []kagamiRule {
	rules := slices.Concat(coreTaskLives(), coreTaskRefusals())
	for i := range rules {
		rules[i].source, rules[i].at = "basic/utilities/tasks", (*dialect.Dialect).CoreTasks
		rules[i].check = ifTasks(rules[i].check)
	}
	return rules
}

func coreTaskLives() []kagamiRule {
	return []kagamiRule{
		{
			number: "task-1", text: "A call as a task is answered at once with the task: an id, working, when it was made, for how long.",
			check: func(w *visitor) error {
				job, err := w.begun()
				if err != nil {
					return err
				}
				return job.v.leaves(w.ctx)
			},
		},
		{
			number: "task-2", text: "tasks/result waits for the end, and is what the call would have been answered with, with its task in _meta.",
			check: awaited,
		},
		{
			number: "task-3", text: "tasks/cancel makes a task cancelled, ends the work, and nothing changes that.",
			check: cancelled,
		},
	}
}

func coreTaskRefusals() []kagamiRule {
	return []kagamiRule{
		{
			number: "task-4", text: "A task that is over is not cancelled: -32602.",
			check: func(w *visitor) error {
				job, err := w.ended()
				if err != nil {
					return err
				}
				return w.refused("tasks/cancel", job.params(), jsonrpc.CodeInvalidParams)
			},
		},
		{
			number: "task-5", text: "A task that is not there is refused with -32602.",
			check: func(w *visitor) error { return w.noTask("tasks/get", "tasks/result", "tasks/cancel") },
		},
		{
			number: "task-6", text: "notifications/cancelled does not cancel a task.",
			check: func(w *visitor) error {
				job, err := w.begun()
				if err == nil {
					err = w.cancel(job.id)
				}
				if err == nil {
					_, err = w.served(w.alive(), "{}")
				}
				if err != nil {
					return err
				}
				job.v.free()
				_, err = w.becomes(job, "completed", "working")
				return err
			},
		},
		{
			number: "task-7", text: "A tool that is always a task cannot be called without one, nor the other way round: -32601.",
			check: func(w *visitor) error {
				if err := w.refused("tools/call", callOf(guestMust, ticketOf("none")), jsonrpc.CodeMethodNotFound); err != nil {
					return err
				}
				return w.refused("tools/call", joined(callOf(toolSteps, "{}"), `{"task":{}}`), jsonrpc.CodeMethodNotFound)
			},
		},
		{
			number: "task-8", text: "tasks/list has the tasks that tasks/get has; an invalid cursor is refused with -32602.",
			check: listedTask,
		},
	}
}

// ifTasks skips a rule if the server has no tasks.
func ifTasks(check func(*visitor) error) func(*visitor) error {
	return func(w *visitor) error {
		if _, ok := jsontext.Member(w.has["extensions"], taskExtension); !ok && !w.declared("tasks") {
			return errNoSubject
		}
		return check(w)
	}
}

// job is a task of the guests.
type job struct {
	id   int // of the request that made it
	task string
	v    *visit
}

func (j *job) params() string { return fmt.Sprintf(`{"taskId":%q}`, j.task) }

// begun makes a task that waits.
func (w *visitor) begun() (*job, error) {
	ticket, v := w.guest.expect()
	params := callOf(guestTask, ticketOf(ticket))
	if w.dialect.CoreTasks() {
		params = joined(params, `{"task":{"ttl":60000}}`)
	}
	r, err := w.served("tools/call", params)
	if err != nil {
		return nil, err
	}
	task := r.Result
	if w.dialect.CoreTasks() {
		task, _ = jsontext.Member(task, "task")
	} else if kind, _ := jsontext.Member(task, "resultType"); string(kind) != `"task"` {
		return nil, errors.New(`want resultType "task"`)
	}
	id, err := w.isTask(task, "working")
	if err != nil {
		return nil, err
	}
	j := &job{w.id, id, v}
	return j, w.works(j)
}

// works waits until the handler of a task is running. If the task is over first, the handler
// will never run.
func (w *visitor) works(j *job) error {
	for j.v.begun(nil) != nil {
		r, err := w.served("tasks/get", j.params())
		if err != nil {
			return err
		}
		if raw, _ := jsontext.Member(r.Result, "status"); string(raw) != `"working"` {
			return errNotRun
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// isTask checks that a task has its required members and this status, and returns its id.
func (w *visitor) isTask(raw json.RawMessage, status string) (id string, err error) {
	var t struct {
		TaskID                   string
		Status                   string
		CreatedAt, LastUpdatedAt time.Time
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return "", fmt.Errorf("want a task with times of RFC 3339: %w", err)
	}
	ttl := "ttl"
	if w.dialect.TaskExtension() {
		ttl = "ttlMs"
	}
	_, lasts := jsontext.Member(raw, ttl)
	if t.TaskID == "" || t.Status != status || t.CreatedAt.IsZero() || t.LastUpdatedAt.IsZero() || !lasts {
		return "", fmt.Errorf("want a task that is %s, with taskId, createdAt, lastUpdatedAt and %s", status, ttl)
	}
	return t.TaskID, nil
}

// ended makes a task that is over.
func (w *visitor) ended() (*job, error) {
	job, err := w.begun()
	if err == nil {
		err = job.v.leaves(w.ctx)
	}
	if err == nil {
		_, err = w.becomes(job, "completed", "working")
	}
	return job, err
}

// becomes polls a task until it has a status. Until then it may have the statuses through: the
// end of a task, or an answer, takes effect a moment later.
func (w *visitor) becomes(j *job, status string, through ...string) (json.RawMessage, error) {
	for {
		r, err := w.served("tasks/get", j.params())
		if err != nil {
			return nil, err
		}
		raw, _ := jsontext.Member(r.Result, "status")
		now, _ := jsontext.String(raw)
		if now == status || !slices.Contains(through, now) {
			_, err = w.isTask(r.Result, status)
			return r.Result, err
		}
		time.Sleep(time.Millisecond)
	}
}

func awaited(w *visitor) error {
	job, err := w.begun()
	if err != nil {
		return err
	}
	if err := w.send(w.request("tasks/result", job.params())); err != nil {
		return err
	}
	asked := w.id
	if err := errors.Join(w.idle(), job.v.leaves(w.ctx)); err != nil {
		return err
	}
	r, err := w.answer()
	if err != nil {
		return err
	}
	meta, _ := jsontext.Member(r.Result, "_meta")
	related, _ := jsontext.Member(meta, "io.modelcontextprotocol/related-task")
	id, _ := jsontext.Member(related, "taskId")
	content, _ := jsontext.Member(r.Result, "content")
	if string(r.ID) != fmt.Sprint(asked) || string(id) != fmt.Sprintf("%q", job.task) || jsontext.KindOf(content) != jsontext.KindArray {
		return errors.New("want the tool's result, with related-task in _meta")
	}
	return nil
}

func cancelled(w *visitor) error {
	job, err := w.begun()
	if err != nil {
		return err
	}
	r, err := w.served("tasks/cancel", job.params())
	if err != nil {
		return err
	}
	if w.dialect.CoreTasks() {
		if _, err := w.isTask(r.Result, "cancelled"); err != nil {
			return err
		}
	}
	if err := job.v.cancelled(w.ctx); err != nil {
		return err
	}
	_, err = w.becomes(job, "cancelled", "working")
	return err
}

// noTask asks for a task that is not there.
func (w *visitor) noTask(methods ...string) error {
	for _, method := range methods {
		params := `{"taskId":"testkit-none"}`
		if method == "tasks/update" {
			params = joined(params, `{"inputResponses":{}}`)
		}
		if err := w.refused(method, params, jsonrpc.CodeInvalidParams); err != nil {
			return err
		}
	}
	return nil
}

func listedTask(w *visitor) error {
	if raw, _ := jsontext.Member(w.has["tasks"], "list"); raw == nil {
		return errNoSubject
	}
	if err := w.refused("tasks/list", `{"cursor":"testkit made this up"}`, jsonrpc.CodeInvalidParams); err != nil {
		return err
	}
	job, err := w.ended()
	if err != nil {
		return err
	}
	for params := "{}"; ; {
		r, err := w.served("tasks/list", params)
		if err != nil {
			return err
		}
		tasks, _ := jsontext.Member(r.Result, "tasks")
		for task := range jsontext.Elements(tasks) {
			if id, _ := jsontext.Member(task, "taskId"); string(id) == fmt.Sprintf("%q", job.task) {
				return nil
			}
		}
		cursor, more := jsontext.Member(r.Result, "nextCursor")
		if !more {
			return fmt.Errorf("want task %s in the list", job.task)
		}
		params = `{"cursor":` + string(cursor) + `}`
	}
}

// takesTasks declares a client that accepts tasks and shows forms.
const (
	taskExtension = "io.modelcontextprotocol/tasks"
	takesTasks    = `{"elicitation":{},"extensions":{"` + taskExtension + `":{}}}`
)

// taskRules are about tasks that servers decide on (SEP-2663).
func taskRules() []kagamiRule {
	rules := []kagamiRule{
		{
			number: "task-11", caps: takesTasks, text: "A task is answered with resultType task, and is there from then on; tasks/get is complete, and has the result when there is one.",
			check: inlined,
		},
		{
			number: "task-12", text: "A client without the extension gets no task, and -32021 for a tool that is always a task.",
			check: func(w *visitor) error {
				ticket, v := w.guest.expect()
				v.free()
				r, err := w.served("tools/call", callOf(guestTask, ticketOf(ticket)))
				if err != nil {
					return err
				}
				if kind, _ := jsontext.Member(r.Result, "resultType"); string(kind) != `"complete"` {
					return errors.New(`want resultType "complete"`)
				}
				return w.refused("tools/call", callOf(guestMust, ticketOf("none")), codeMissingCapability)
			},
		},
		{
			number: "task-13", text: "The methods of tasks refuse a client without the extension with -32021.",
			check: func(w *visitor) error {
				for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
					if err := w.refused(method, `{"taskId":"testkit-none","inputResponses":{}}`, codeMissingCapability); err != nil {
						return err
					}
				}
				return nil
			},
		},
		{
			number: "task-14", caps: takesTasks, text: "A task that is not there is refused with -32602.",
			check: func(w *visitor) error { return w.noTask("tasks/get", "tasks/update", "tasks/cancel") },
		},
		{
			number: "task-15", caps: takesTasks, text: "tasks/cancel is acknowledged, ends the work, and is acknowledged again when the task is over.",
			check: func(w *visitor) error {
				if err := cancelled(w); err != nil {
					return err
				}
				job, err := w.ended()
				if err == nil {
					_, err = w.served("tasks/cancel", job.params())
				}
				return err
			},
		},
		{
			number: "task-16", caps: takesTasks, text: "A task that asks is input_required, with all its questions each time; tasks/update answers them.",
			check: updated,
		},
	}
	for i := range rules {
		rules[i].source, rules[i].at = "io.modelcontextprotocol/tasks", (*dialect.Dialect).TaskExtension
		rules[i].check = ifTasks(rules[i].check)
	}
	return rules
}

func inlined(w *visitor) error {
	job, err := w.ended()
	if err != nil {
		return err
	}
	r, err := w.served("tasks/get", job.params())
	if err != nil {
		return err
	}
	kind, _ := jsontext.Member(r.Result, "resultType")
	result, _ := jsontext.Member(r.Result, "result")
	if content, _ := jsontext.Member(result, "content"); string(kind) != `"complete"` || jsontext.KindOf(content) != jsontext.KindArray {
		return errors.New(`want resultType "complete", and the tool's result`)
	}
	return nil
}

func updated(w *visitor) error {
	r, err := w.served("tools/call", callOf(guestPoll, "{}"))
	if err != nil {
		return err
	}
	raw, _ := jsontext.Member(r.Result, "taskId")
	id, ok := jsontext.String(raw)
	if !ok { // it may ask before it makes a task
		return errNoSubject
	}
	j, key := &job{task: id}, ""
	for range 2 {
		task, err := w.becomes(j, "input_required", "working")
		if err != nil {
			return err
		}
		var found struct{ InputRequests map[string]json.RawMessage }
		if json.Unmarshal(task, &found) != nil || len(found.InputRequests) != 1 {
			return errors.New("want inputRequests with one question")
		}
		key = sortedKeys(found.InputRequests)[0]
	}
	if _, err := w.served("tasks/update", joined(j.params(), fmt.Sprintf(`{"inputResponses":{%q:%s}}`, key, said))); err != nil {
		return err
	}
	task, err := w.becomes(j, "completed", "working", "input_required")
	if err != nil {
		return err
	}
	result, _ := jsontext.Member(task, "result")
	return mentionsAnn(&response{Result: result})
}
