package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/feed"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/storeerror"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/taskrecord"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/protocol/rounds"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// taskStep is how many tasks of a page are read at once. Each may have megabytes of arguments and
// results, which the page does not contain.
const taskStep = 10

// task returns the record of a task. It returns a fault unless the task belongs to the caller and the
// token has the scopes of the tool.
func (x *exchange) task(ctx context.Context, id string) (task.Record, error) {
	e := x.conn.e
	r, err := e.cfg.Tasks.Get(ctx, id)
	switch {
	case errors.Is(err, task.ErrNotFound):
		return r, noTask()
	case err != nil:
		return r, storeerror.New("reading a task", err)
	case r.Owner != x.owner(ctx):
		return task.Record{}, noTask()
	}
	if end := r.Expires(); !end.IsZero() && !e.cfg.Now().Before(end) {
		return task.Record{}, noTask()
	}
	if !taskrecord.HasScopes(ctx, &r) {
		return task.Record{}, x.lacksScopes(ctx, &r)
	}
	return r, nil
}

// taskResult returns a task. In the extension it includes the result, error or questions.
func (x *exchange) taskResult(r *task.Record) (protocol.Result, error) {
	if !x.dialect.TaskExtension() {
		return &protocol.TaskResult{Task: protocol.DetailedTask{Task: taskrecord.TaskOf(r)}}, nil
	}
	t, err := taskrecord.Detailed(r, x.dialect)
	if err != nil {
		return nil, err
	}
	return &protocol.TaskResult{Task: t}, nil
}

// listTasks lists the caller's tasks. The cursor is the last id, encrypted, so that a client can use
// only cursors that its own lists contained.
func (x *exchange) listTasks(ctx context.Context, p *protocol.ListTasksParams) (protocol.Result, error) {
	e, owner, after := x.conn.e, x.owner(ctx), ""
	if owner == "" { // tasks without an owner are not listed, because their ids are secrets
		return nil, protocol.Faultf(protocol.FaultMethodNotFound, "method not found: %s", jsontext.Clip(protocol.MethodOf(p), 128))
	}
	binding := []byte("tasks/list\x00" + e.cfg.Info.Name + "\x00" + owner)
	if p.Cursor != nil {
		plain, err := e.rounds.Sealer().Open(*p.Cursor, binding)
		if err != nil {
			return nil, protocol.Faultf(protocol.FaultInvalidParams, "invalid cursor")
		}
		after = string(plain)
	}
	page := e.cfg.TaskLimits.Page
	tasks, err := e.tasksAfter(ctx, owner, after, page+1)
	if err != nil {
		return nil, storeerror.New("listing tasks", err)
	}
	result := &protocol.ListTasksResult{Tasks: tasks}
	if len(tasks) > page {
		result.Tasks = tasks[:page]
		result.Next = new(e.rounds.Sealer().Seal([]byte(tasks[page-1].ID), binding))
	}
	return result, nil
}

// tasksAfter returns up to limit tasks of an owner. It leaves out tasks that cannot be read, and
// tasks of tools whose scopes the caller lacks.
func (e *Engine) tasksAfter(ctx context.Context, owner, after string, limit int) ([]protocol.Task, error) {
	tasks := []protocol.Task{}
	for len(tasks) < limit {
		step := min(taskStep, limit-len(tasks))
		records, err := e.cfg.Tasks.List(ctx, owner, after, step)
		if err != nil {
			return nil, err
		}
		for i := range records {
			switch r := &records[i]; {
			case !r.Readable():
				e.leftOut(ctx, r.ID)
			case taskrecord.HasScopes(ctx, r):
				tasks = append(tasks, taskrecord.TaskOf(r))
			}
			after = records[i].ID
		}
		if len(records) < step {
			break
		}
	}
	return tasks, nil
}

// cancelTask cancels the task. If it has already ended, cancelTask returns an error on 2025-11-25.
// The extension acknowledges in any case.
func (x *exchange) cancelTask(ctx context.Context, p *protocol.CancelTaskParams) (protocol.Result, error) {
	if _, err := x.task(ctx, p.ID); err != nil {
		return nil, err
	}
	r, err := x.conn.e.change(ctx, p.ID, func(*task.Record) (task.Event, error) {
		return task.Event{Kind: task.Cancel}, nil
	})
	switch {
	case errors.Is(err, task.ErrNotFound):
		return nil, noTask()
	case errors.Is(err, task.ErrTerminal) && x.dialect.TaskExtension():
	case errors.Is(err, task.ErrTerminal):
		return nil, protocol.Faultf(protocol.FaultInvalidParams, "the task is %s already", r.Status)
	case err != nil:
		x.conn.e.spread(p.ID)
		return nil, err
	}
	if x.dialect.TaskExtension() {
		return &protocol.EmptyResult{}, nil
	}
	return &protocol.TaskResult{Task: protocol.DetailedTask{Task: taskrecord.TaskOf(&r)}}, nil
}

// updateTask accepts answers. It ignores answers without an open question (SEP-2663).
func (x *exchange) updateTask(ctx context.Context, p *protocol.UpdateTaskParams) (protocol.Result, error) {
	r, err := x.task(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	answers := make(map[string][]byte)
	for _, q := range r.Questions {
		raw, ok := p.Responses[q.Key]
		if !ok {
			continue
		}
		a, _, err := taskrecord.ReadQuestion(q, x.dialect)
		if err != nil {
			return nil, err
		}
		if _, fault := x.dialect.DecodeResult(a.Method, raw); fault != nil {
			return nil, protocol.Faultf(protocol.FaultInvalidParams, "inputResponses %q: %s", jsontext.Clip(q.Key, 128), fault.Message)
		}
		answers[q.Key] = jsontext.Compact(nil, raw)
	}
	if err := x.conn.e.answerTask(ctx, p.ID, answers); err != nil {
		return nil, err
	}
	return &protocol.EmptyResult{}, nil
}

// answerTask moves answers into the journal of the task. After the last answer the task runs again.
// Answers that arrive too late have no effect.
//
// Two clients may answer at the same time. Both answers are kept, because change starts again after
// a conflict; of two answers to the same question the first counts. Only the caller whose answer
// was the last open one resumes the task.
func (e *Engine) answerTask(ctx context.Context, id string, answers map[string][]byte) error {
	next, err := e.change(ctx, id, func(r *task.Record) (task.Event, error) {
		journal, err := rounds.Parse(r.Journal)
		if err != nil && !r.Terminal() {
			return task.Event{}, fmt.Errorf("engine: the journal of a task: %w", err)
		}
		event := task.Event{Kind: task.Answer}
		if err == nil {
			event.Answered, event.Journal = taskrecord.Answer(r, journal, answers), journal.Append(nil)
		}
		return event, nil
	})
	switch {
	case errors.Is(err, task.ErrTerminal), errors.Is(err, task.ErrIgnored), errors.Is(err, task.ErrStatus):
		return nil
	case errors.Is(err, task.ErrNotFound):
		return noTask()
	case errors.Is(err, task.ErrLimit):
		return protocol.Faultf(protocol.FaultInvalidParams, "the answers are too large to be kept")
	case err != nil:
		e.spread(id)
		return err
	case next.Status == protocol.TaskWorking:
		e.resume(id)
	}
	return nil
}

// honouredTasks returns the tasks that the caller may watch, without duplicates. over lists the tasks
// among them that have ended, whose changes would not be published any more. If the store is
// unavailable, it returns an error, because a task that it left out would seem not to exist.
func (x *exchange) honouredTasks(ctx context.Context, ids []string) (watched, over []string, err error) {
	if x.conn.e.cfg.Tasks == nil {
		return nil, nil, nil
	}
	seen := make(map[string]bool)
	for _, id := range ids[:min(len(ids), feed.MaxWatched)] {
		if seen[id] {
			continue
		}
		seen[id] = true
		r, err := x.task(ctx, id)
		if unavailable(err) {
			return nil, nil, err
		}
		if err != nil {
			continue
		}
		watched = append(watched, id)
		if r.Terminal() {
			over = append(over, id)
		}
	}
	return watched, over, nil
}

// unavailable reports whether err is an error of the store that means nothing about the task.
func unavailable(err error) bool {
	_, stores := errors.AsType[*storeerror.Error](err)
	return stores && !errors.Is(err, task.ErrUnreadable)
}

// sendOver sends the final state of tasks that have ended. It reads them one by one, because all
// results together might need too much memory.
//
// It runs before feed.Start, in the goroutine of the listen request, so nothing else is sent
// meanwhile.
func (x *exchange) sendOver(ctx context.Context, ids []string) error {
	for _, id := range ids {
		if _, ended := x.feed.Ended(); ended || x.conn.e.running.Closed() {
			return nil
		}
		r, err := x.task(ctx, id)
		switch {
		case unavailable(err) && x.conn.e.shares():
			x.conn.e.changes.Task(id) // looking sends it when the store is back
			continue
		case unavailable(err):
			return err
		case err != nil:
			continue // it has expired since
		}
		t, err := taskrecord.Detailed(&r, x.dialect)
		if err != nil {
			continue
		}
		frame, err := feed.Notification(x.dialect, &protocol.TaskParams{Task: t}, &protocol.RequestMeta{SubscriptionID: x.id})
		if err == nil {
			err = x.streamFrame(ctx, frame)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
