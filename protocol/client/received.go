package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// This file is the receiver's side of tasks: questions that the server wants answered as tasks
// (2025-11-25 basic/utilities/tasks). The requestor's side is in tasks.go.

const (
	maxRunning   = 32  // running handlers; less than maxQuestions, so that requests about tasks are still accepted
	maxReceived  = 256 // tasks that are kept, for their results
	receivedPage = 50  // tasks on one page

	receivedTTL    = time.Hour // if the server does not request a lifetime
	maxReceivedTTL = 24 * time.Hour
	receivedPoll   = time.Second
)

// keyRelated is the member of _meta that names the task of a message (2025-11-25
// basic/utilities/tasks).
const keyRelated = "io.modelcontextprotocol/related-task"

// NoTasks declares that the server's questions cannot become tasks. Without it, they can on a
// revision with such tasks (2025-11-25), if they have handlers. The server then decides whether it
// waits for an answer or fetches it later.
func NoTasks() Option { return optionFunc(func(c *config) { c.noTasks = true }) }

// receivedTable holds the tasks that the server's questions have become, in the order of creation.
// add, find and page first remove the expired tasks.
type receivedTable struct {
	mu     sync.Mutex // guards the fields below, and record and fetched of each task
	all    []*receivedTask
	number uint64 // number of the last task
}

// receivedTask is the record of a task and the data for its handler. receive adds it to the table
// with the status working. change makes the record terminal, under the table's mu, which also
// cancels life and closes over. perform does that with the handler's result, cancelReceived at the
// server's request. Expiry and forget remove the task from the table and cancel life.
type receivedTask struct {
	id      string
	record  task.Record // guarded by the table's mu
	fetched bool        // the server has received the result; guarded by the table's mu
	number  uint64
	params  protocol.Params
	cancel  context.CancelFunc // ends the handler
	life    context.Context    //nolint:containedctx // context of the handler, which outlives the request
	over    chan struct{}      // closed when the record is terminal
}

// add adds a task. It returns an error for the server if there are too many.
//
// From then on, the table may cancel n at any time.
func (t *receivedTable) add(n *receivedTask) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweep(n.record.Created)
	running := 0
	for _, r := range t.all {
		if !r.record.Terminal() {
			running++
		}
	}
	if len(t.all) >= maxReceived { // make space: a result that was delivered is not needed any more
		if i := slices.IndexFunc(t.all, func(r *receivedTask) bool { return r.fetched }); i >= 0 {
			t.all = slices.Delete(t.all, i, i+1)
		}
	}
	if running >= maxRunning || len(t.all) >= maxReceived {
		return &protocol.Error{Code: protocol.CodeInternal, Message: "the client has too many tasks"}
	}
	t.number++
	n.number = t.number
	t.all = append(t.all, n)
	return nil
}

// sweep removes expired tasks. The caller holds t.mu.
func (t *receivedTable) sweep(now time.Time) {
	t.all = slices.DeleteFunc(t.all, func(r *receivedTask) bool {
		expired := !now.Before(r.record.Expires())
		if expired {
			r.cancel()
		}
		return expired
	})
}

// forget ends the handler of a task and removes the task. It does not close over: a request that
// waits for the task ends with its timer.
func (t *receivedTable) forget(n *receivedTask) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n.cancel()
	t.all = slices.DeleteFunc(t.all, func(r *receivedTask) bool { return r == n })
}

// find returns a task and its current record. If the task is unknown or has expired, it returns an
// error for the server.
func (t *receivedTable) find(id string) (*receivedTask, task.Record, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweep(time.Now())
	for _, r := range t.all {
		if r.id == id {
			return r, r.record, nil
		}
	}
	return nil, task.Record{}, protocol.Faultf(protocol.FaultInvalidParams, "no such task")
}

// change applies an event to the record, if task.Next allows it.
//
// The handler's goroutine and a cancellation may call it at the same time. The first terminal event
// counts, and the second caller gets an error. over is therefore closed once.
func (t *receivedTable) change(n *receivedTask, e task.Event) (task.Record, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	next, err := task.Next(n.record, e, time.Now())
	if err != nil {
		return n.record, err
	}
	n.record = next
	if next.Terminal() {
		n.cancel()
		close(n.over)
	}
	return next, nil
}

// wishFor returns the server's wish to have a question answered as a task, or nil. A wish is
// ignored if the client did not declare tasks for such a question.
func (c *Client) wishFor(d *dialect.Dialect, p protocol.Params) *protocol.TaskRequest {
	if !d.CoreTasks() || !c.config.makesTasks() {
		return nil
	}
	switch p := p.(type) {
	case *protocol.ElicitParams:
		if c.config.elicit != nil {
			return p.Task
		}
	case *protocol.CreateMessageParams:
		if c.config.sample != nil {
			return p.Task
		}
	}
	return nil
}

// receive turns a question into a task. The task is in the table before the server receives the
// answer. perform runs its handler after that.
//
// The task owns a timer until its context is cancelled, by change, by forget, by expiry or with the
// link.
func (c *Client) receive(p protocol.Params, wish *protocol.TaskRequest) (*receivedTask, protocol.Result, error) {
	now, ttl := time.Now().Round(0).UTC(), receivedTTL
	if wish.TTL != nil && *wish.TTL > 0 {
		ttl = time.Duration(min(*wish.TTL, maxReceivedTTL.Milliseconds())) * time.Millisecond
	}
	r := task.Record{
		ID: rand.Text(), Version: 1, Status: protocol.TaskWorking, Created: now, Updated: now, TTL: ttl, PollInterval: receivedPoll,
	}
	n := &receivedTask{id: r.ID, record: r, params: p, over: make(chan struct{})}
	n.life, n.cancel = context.WithTimeout(c.link.life, ttl)
	if err := c.received.add(n); err != nil {
		n.cancel()
		return nil, nil, err
	}
	return n, &protocol.CreateTaskResult{Task: taskOf(&r)}, nil
}

func taskOf(r *task.Record) protocol.Task {
	ttl := r.TTL.Milliseconds()
	return protocol.Task{
		ID: r.ID, Status: r.Status, Message: r.Message, Created: r.Created, Updated: r.Updated,
		TTL: &ttl, PollInterval: r.PollInterval.Milliseconds(),
	}
}

// perform runs the handler in the calling goroutine and stores the result in the task, even if the
// handler ends its goroutine. It notifies the server, which then need not wait until its next poll.
//
// It has no lock while the handler runs. If the server has cancelled the task meanwhile, the result
// is dropped.
func (c *Client) perform(ctx context.Context, d *dialect.Dialect, n *receivedTask) {
	e := failing(d, errors.New("the client's handler did not return"))
	defer func() {
		r, err := c.received.change(n, e)
		if errors.Is(err, task.ErrLimit) {
			r, err = c.received.change(n, failing(d, &protocol.Error{Code: protocol.CodeInternal, Message: "the answer is too large"}))
		}
		if err != nil || c.link.life.Err() != nil { // the task was cancelled, or the connection is gone
			return
		}
		late, cancel := context.WithTimeout(c.link.life, farewell)
		defer cancel()
		_ = c.notify(late, d, &protocol.TaskStatusParams{Task: taskOf(&r)})
	}()
	result, err := c.answered(ctx, d, n.params, n.id)
	if err != nil {
		e = failing(d, err)
		return
	}
	e = task.Event{Kind: task.Complete, Result: result}
}

// failing returns the event that ends a task with err, in the form that the server would have
// received.
func failing(d *dialect.Dialect, err error) task.Event {
	e := wireError(d, err)
	text, _ := jsontext.Member(jsonrpc.AppendError(nil, jsonrpc.ID{}, e, true), "error")
	return task.Event{Kind: task.Fail, Error: text, Message: e.Message}
}

// relate marks an answer with the id of its task, as all messages about a task must be (2025-11-25
// basic/utilities/tasks "Associating Task-Related Messages").
func relate(result protocol.Result, id string) {
	meta := protocol.Meta{keyRelated: map[string]string{"taskId": id}}
	switch r := result.(type) {
	case *protocol.ElicitResult:
		r.Meta = meta
	case *protocol.CreateMessageResult:
		r.Meta = meta
	case *protocol.ListRootsResult:
		r.Meta = meta
	}
}

// serveTask answers the server's requests about its tasks.
func (c *Client) serveTask(ctx context.Context, d *dialect.Dialect, p protocol.Params) ([]byte, error) {
	if !d.CoreTasks() || !c.config.makesTasks() {
		return nil, unknown(protocol.MethodOf(p))
	}
	var result protocol.Result
	var err error
	switch p := p.(type) {
	case *protocol.GetTaskParams:
		_, r, absent := c.received.find(p.ID)
		result, err = stateOf(&r), absent
	case *protocol.TaskResultParams:
		return c.receivedResult(ctx, p.ID)
	case *protocol.CancelTaskParams:
		result, err = c.cancelReceived(p.ID)
	case *protocol.ListTasksParams:
		result, err = c.received.page(p.Cursor)
	default:
		err = unknown(protocol.MethodOf(p))
	}
	if err != nil {
		return nil, err
	}
	return d.AppendResult(nil, result, nil)
}

func stateOf(r *task.Record) *protocol.TaskResult {
	return &protocol.TaskResult{Task: protocol.DetailedTask{Task: taskOf(r)}}
}

// cancelReceived ends the task and the context of its handler, and returns the task's state.
func (c *Client) cancelReceived(id string) (protocol.Result, error) {
	n, _, err := c.received.find(id)
	if err != nil {
		return nil, err
	}
	r, err := c.received.change(n, task.Event{Kind: task.Cancel})
	if err != nil {
		return nil, protocol.Faultf(protocol.FaultInvalidParams, "the task is %s already", r.Status)
	}
	return stateOf(&r), nil
}

// receivedResult waits until the task is over, and returns the answer that the question would have
// had ("Result Retrieval"). For a cancelled task, which has no specified answer, it returns an
// error.
func (c *Client) receivedResult(ctx context.Context, id string) ([]byte, error) {
	n, r, err := c.received.find(id)
	if err != nil {
		return nil, err
	}
	waitFor(ctx, n.over, time.Until(r.Expires()))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if n, r, err = c.received.find(id); err != nil { // the task has expired
		return nil, err
	}
	c.received.mu.Lock()
	n.fetched = true
	c.received.mu.Unlock()
	switch {
	case len(r.Result) > 0:
		return r.Result, nil
	case len(r.Error) > 0:
		return nil, storedError(r.Error)
	}
	return nil, &protocol.Error{Code: protocol.CodeInternal, Message: "the task was cancelled"}
}

// storedError decodes an error that failing has encoded.
func storedError(text []byte) error {
	msg, fault := jsonrpc.Decode(slices.Concat([]byte(`{"jsonrpc":"2.0","id":0,"error":`), text, []byte(`}`)))
	if fault != nil {
		return fmt.Errorf("client: reading the error of a task: %s", fault.Reason)
	}
	e := &protocol.Error{Code: msg.Error.Code, Message: msg.Error.Message}
	if msg.Error.Data != nil {
		e.Data = json.RawMessage(msg.Error.Data)
	}
	return e
}

// page lists the tasks after a cursor. The cursor is the number of the last task on the page
// before; numbers are never reused.
func (t *receivedTable) page(cursor *string) (protocol.Result, error) {
	var after uint64
	if cursor != nil {
		var err error
		if after, err = strconv.ParseUint(*cursor, 10, 64); err != nil {
			return nil, protocol.Faultf(protocol.FaultInvalidParams, "invalid cursor")
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweep(time.Now())
	result := &protocol.ListTasksResult{Tasks: []protocol.Task{}}
	for _, r := range t.all {
		if r.number <= after {
			continue
		}
		if len(result.Tasks) == receivedPage {
			result.Next = new(strconv.FormatUint(after, 10))
			break
		}
		result.Tasks, after = append(result.Tasks, taskOf(&r.record)), r.number
	}
	return result, nil
}
