package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

var (
	// ErrNoTasks is the error if the server or the revision does not support tasks, or not the
	// operation.
	ErrNoTasks = errors.New("client: the server has no tasks")
	// ErrTaskGone is the error if the server does not know the task. The id is wrong, or the task
	// has expired, or it belongs to another principal.
	ErrTaskGone = errors.New("client: the server has no such task")
	// ErrTaskCancelled is the error of a task that was cancelled.
	ErrTaskCancelled = errors.New("client: the task was cancelled")
	// ErrTaskOpen is the error of [Task.Result] while the task is not over.
	ErrTaskOpen = errors.New("client: the task is not over")
)

// TaskTTL requests a lifetime for a task, counted from its creation. The server need not grant it;
// [Task.State] has the granted one. Only 2025-11-25 can express the request. If d is zero or
// negative, nothing is requested.
func TaskTTL(d time.Duration) CallOption {
	return callOptionFunc(func(h *how) { h.ttl = d })
}

// OnTask calls fn with each new state of the task that [Task.Wait] sees. fn runs in the goroutine
// of Wait.
func OnTask(fn func(protocol.Task)) CallOption {
	return callOptionFunc(func(h *how) { h.state = fn })
}

// Task is a call that may outlive its request, in either design of tasks (2025-11-25
// basic/utilities/tasks; the extension io.modelcontextprotocol/tasks on 2026-07-28). It is safe for
// concurrent use. If the server answers at once, the Task is over and has no id.
type Task struct {
	// outcome holds the result if the server answered at once. Otherwise last is the newest known
	// state, and taken has the questions that a Wait of this Task is answering or has answered. The
	// fields above mu do not change after CallTask or Client.Task.

	c         *Client
	id        string
	outcome   json.RawMessage // result of a call that was answered at once; otherwise nil
	immediate string
	told      func(protocol.Task)

	// endProgress ends the progress of the task. The progress token is valid until the task is over
	// (2025-11-25 basic/utilities/tasks "Task Progress Notifications").
	endProgress func()

	mu    sync.Mutex // guards the fields below
	last  protocol.Task
	taken map[string]bool // keys of questions that are or were answered; each is answered once
}

// CallTask calls a tool, and lets the call become a task. On 2025-11-25 it requests a task if the
// server supports tasks; the server refuses this for a tool that cannot run as a task. On
// 2026-07-28 the request declares the tasks extension, and the server decides. It may first ask
// questions, in rounds as in [Client.CallTool]. If the server answers the call at once, as on all
// other revisions, the returned Task is over and has no id.
//
// On 2025-11-25, [OnProgress] is called until the client knows that the task is over. 2026-07-28
// has status messages instead; see [OnTask]. The end of ctx does not end the task.
func (c *Client) CallTask(ctx context.Context, name string, args any, opts ...CallOption) (*Task, error) {
	arguments, err := marshalArguments(args)
	if err != nil {
		return nil, fmt.Errorf("client: arguments of tool %q: %w", name, err)
	}
	d, h := c.dialect.Load(), newHow(opts)
	h.tasks = true
	p, t := &protocol.CallToolParams{Name: name, Arguments: arguments}, c.taskWith("", h)
	if d.CoreTasks() && c.capabilities.Tasks {
		p.Task = &protocol.TaskRequest{}
		if h.ttl > 0 {
			p.Task.TTL = new(max(h.ttl.Milliseconds(), 1))
		}
		h.lasts = &t.endProgress
	}
	result, raw, err := c.inRounds(ctx, d, p, h)
	if err == nil {
		err = t.begin(result, raw)
	}
	if err != nil || t.outcome != nil {
		t.endProgress()
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// begin sets the fields that do not change later. It is called before any other goroutine has the
// Task.
func (t *Task) begin(result protocol.Result, raw json.RawMessage) error {
	switch r := result.(type) {
	case *protocol.CreateTaskResult:
		t.id, t.immediate, t.last = r.Task.ID, r.ImmediateResponse, r.Task
	case *protocol.CallToolResult:
		t.outcome, t.last.Status = raw, protocol.TaskCompleted
	default:
		_, err := resultAs[*protocol.CreateTaskResult](protocol.MethodCallTool, result, nil)
		return err
	}
	return nil
}

// Task returns the handle of a task by its id. The task may come from an earlier call, even of
// another client. Task does not send anything, so the task may no longer exist. A task of
// 2025-11-25 belongs to the principal that made it; without a principal it belongs to the session,
// and is lost with it. Only the option [OnTask] has an effect.
func (c *Client) Task(id string, opts ...CallOption) *Task { return c.taskWith(id, newHow(opts)) }

func (c *Client) taskWith(id string, h how) *Task {
	return &Task{c: c, id: id, told: h.state, endProgress: func() {}, last: protocol.Task{ID: id}, taken: map[string]bool{}}
}

// Tasks returns the caller's tasks in the order of creation, page by page (tasks/list). If there is
// no such list, as on 2026-07-28, it yields [ErrNoTasks].
func (c *Client) Tasks(ctx context.Context) iter.Seq2[protocol.Task, error] {
	if !c.dialect.Load().CoreTasks() || !c.capabilities.TaskList {
		return func(yield func(protocol.Task, error) bool) {
			yield(protocol.Task{}, fmt.Errorf("%w to list, at revision %s", ErrNoTasks, c.Revision()))
		}
	}
	return pages(ctx, c, func(cursor *string) protocol.Params { return &protocol.ListTasksParams{Cursor: cursor} },
		func(r *protocol.ListTasksResult) ([]protocol.Task, *string) { return r.Tasks, r.Next })
}

// ID returns the task's id, for [Client.Task]. If the server has no authentication, the id is a
// secret, because any client with the id can get the result. If the server answered at once, ID
// returns "".
func (t *Task) ID() string { return t.id }

// Bound reports whether the task belongs to the principal that made it, or without a principal to
// its session (2025-11-25). The id alone is then not enough to find the task again.
func (t *Task) Bound() bool { return t.c.dialect.Load().CoreTasks() }

// ImmediateResponse returns a text for the model while the task runs, as proposed by the server
// (2025-11-25, provisional). It is usually "".
func (t *Task) ImmediateResponse() string { return t.immediate }

// State returns the last known state, without a request. After [Client.Task], only the id is known.
// If the call was answered at once, State has only the status.
func (t *Task) State() protocol.Task {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// Get requests the state. If the server does not know the task, it returns [ErrTaskGone].
func (t *Task) Get(ctx context.Context) (protocol.Task, error) {
	now, err := t.look(ctx)
	return now.Task, err
}

// Cancel asks the server to end the task. On 2025-11-25 the task is then cancelled; if it is
// already over, Cancel returns an error. On 2026-07-28 the task may end in another way, and only an
// unknown task is an error. On both, the error of an unknown task is [ErrTaskGone]. If the call was
// answered at once, Cancel does nothing.
func (t *Task) Cancel(ctx context.Context) error {
	if t.outcome != nil {
		return nil
	}
	d := t.c.dialect.Load()
	if err := t.c.hasTasks(); err != nil {
		return err
	}
	if d.CoreTasks() && !t.c.capabilities.TaskCancel {
		return fmt.Errorf("%w that can be cancelled", ErrNoTasks)
	}
	result, err := ask[protocol.Result](ctx, t.c, &protocol.CancelTaskParams{ID: t.id}, how{})
	if hasCode(err, protocol.CodeInvalidParams) {
		if _, missed := t.look(ctx); errors.Is(missed, ErrTaskGone) { // otherwise the task is over
			return missed
		}
	}
	if err != nil {
		return err
	}
	if r, ok := result.(*protocol.TaskResult); ok {
		t.see(r.Task.Task)
		t.endProgress()
	}
	return nil
}

// Result returns the result of a task that is over, with the same errors as [Task.Wait]. If the
// task is not over, it returns [ErrTaskOpen].
func (t *Task) Result(ctx context.Context) (*protocol.CallToolResult, error) {
	now, err := t.look(ctx)
	if err == nil && !isOver(now.Status) {
		err = fmt.Errorf("%w: it is %s", ErrTaskOpen, now.Status)
	}
	if err != nil {
		return nil, err
	}
	return t.decode(t.ended(ctx, &now))
}

// decode decodes the outcome of a task, unless there was an error.
func (t *Task) decode(raw json.RawMessage, err error) (*protocol.CallToolResult, error) {
	if err != nil {
		return nil, err
	}
	return decodeResult[*protocol.CallToolResult](t.c.dialect.Load(), protocol.MethodCallTool, raw)
}

// look requests the task's state, with the result, error or questions that belong to it.
func (t *Task) look(ctx context.Context) (protocol.DetailedTask, error) {
	if t.outcome != nil {
		return protocol.DetailedTask{Task: t.State(), Result: slices.Clone(t.outcome)}, nil
	}
	if err := t.c.hasTasks(); err != nil {
		return protocol.DetailedTask{}, err
	}
	r, err := ask[*protocol.TaskResult](ctx, t.c, &protocol.GetTaskParams{ID: t.id}, how{})
	if err != nil {
		return protocol.DetailedTask{}, t.gone(err)
	}
	t.see(r.Task.Task)
	if isOver(r.Task.Status) {
		t.endProgress()
	}
	return r.Task, nil
}

// see stores the state now, unless last is newer or over: notifications may overtake answers.
func (t *Task) see(now protocol.Task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !now.Updated.Before(t.last.Updated) && !isOver(t.last.Status) {
		t.last = now
	}
}

// ended returns the outcome of a task that is over.
func (t *Task) ended(ctx context.Context, now *protocol.DetailedTask) (json.RawMessage, error) {
	d := t.c.dialect.Load()
	switch {
	case t.outcome != nil, d.TaskExtension() && now.Status == protocol.TaskCompleted:
		return now.Result, nil
	case now.Status == protocol.TaskCancelled:
		return nil, ErrTaskCancelled
	case d.CoreTasks():
		raw, err := t.fetch(ctx)
		if err != nil && now.Status == protocol.TaskFailed {
			err = fmt.Errorf("the task failed: %w", err)
		}
		return raw, err
	case now.Error != nil:
		e := &jsonrpc.Error{Code: now.Error.Code, Message: now.Error.Message}
		if data, ok := now.Error.Data.(json.RawMessage); ok {
			e.Data = data
		}
		return nil, fmt.Errorf("the task failed: %w", d.DecodeError(e))
	}
	return nil, errors.New("client: the task failed, and the server sent no error")
}

// fetch requests the result that the call would have had. The server answers when the task is over
// (2025-11-25 basic/utilities/tasks "Result Retrieval").
func (t *Task) fetch(ctx context.Context) (json.RawMessage, error) {
	raw, err := t.c.do(ctx, t.c.dialect.Load(), &protocol.TaskResultParams{ID: t.id}, how{})
	if err != nil {
		return nil, err
	}
	t.endProgress()
	return raw, nil
}

// gone wraps err in ErrTaskGone if err means that the server does not know the task. Otherwise it
// returns err.
func (t *Task) gone(err error) error {
	if !hasCode(err, protocol.CodeInvalidParams) {
		return err
	}
	t.endProgress()
	return fmt.Errorf("%w: %w", ErrTaskGone, err)
}

// hasTasks returns ErrNoTasks if the server or the revision does not support tasks.
func (c *Client) hasTasks() error {
	d, can := c.dialect.Load(), &c.capabilities
	if (d.CoreTasks() || d.TaskExtension()) && (can.Tasks || can.TaskList || can.TaskCancel) {
		return nil
	}
	return fmt.Errorf("%w, at revision %s", ErrNoTasks, d)
}

func isOver(s protocol.TaskStatus) bool {
	return s == protocol.TaskCompleted || s == protocol.TaskFailed || s == protocol.TaskCancelled
}

// isTaskMethod reports whether a request is about a task.
func isTaskMethod(method string) bool { return strings.HasPrefix(method, "tasks/") }
