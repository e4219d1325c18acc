package engine

import (
	"context"
	"errors"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/transport"
)

// Bounds of the interval at which a task of the client is polled. Within them, the client's
// suggestion decides.
const (
	minLook     = 250 * time.Millisecond
	defaultLook = time.Second
	maxLook     = 30 * time.Second
)

// createGrace is how long a request whose call has ended waits for its answer, which may be a task: a
// task can be cancelled only by its id.
const createGrace = time.Second

// serverRequest is a request of the server that the client may turn into a task (2025-11-25
// basic/utilities/tasks, with the server as the requestor). A person may take hours to answer, and
// no request stays open meanwhile.
//
// The goroutine of the asking handler sends the request (create), polls the task (follow), and gets
// its result. Goroutines that serve the client's notifications call updated, under conn.mu. Before
// follow has registered the task's id, such notifications are kept in conn.expected.
//
// The asking goroutine owns the value. Other goroutines reach it through conn.asks or conn.expected
// only, and only under conn.mu. They signal due and over, reset patience, and set missed. None of
// these blocks. patience ends the context of askAsTask; it is stopped when askAsTask returns.
type serverRequest struct {
	x        *exchange
	method   string
	ask      *ask
	id       string        // of the task; guarded by conn.mu until follow has returned
	patience *time.Timer   // ends the wait; each sign of life resets it
	due      chan struct{} // 1-buffered: a notification of the task has arrived
	over     chan struct{} // 1-buffered: a notification reported that the task is not working any more
	doubted  bool          // over has shortened a pause, which it does only once; see rest
	missed   bool          // notifications may have been dropped before follow; until then guarded by conn.mu
}

// augmented returns the request with a task member. If the client has not declared tasks for such
// requests, augmented returns nil.
func (x *exchange) augmented(ctx context.Context, p protocol.Params) protocol.Params {
	if !x.dialect.CoreTasks() {
		return nil
	}
	can := x.call.Capabilities()
	switch p := p.(type) {
	case *protocol.ElicitParams:
		if can.TaskElicitation {
			with := *p
			with.Task = x.wish(ctx)
			return &with
		}
	case *protocol.CreateMessageParams:
		if can.TaskSampling {
			with := *p
			with.Task = x.wish(ctx)
			return &with
		}
	}
	return nil
}

// wish returns the task member. Its TTL lasts until the deadline of ctx. Without a deadline it is
// AskTimeout, the longest wait for a sign of life.
func (x *exchange) wish(ctx context.Context) *protocol.TaskRequest {
	ttl := x.conn.e.cfg.AskTimeout
	if end, ok := ctx.Deadline(); ok {
		ttl = time.Until(end)
	}
	return &protocol.TaskRequest{TTL: new(max(ttl.Milliseconds(), 1))}
}

// askAsTask is like ask, for an augmented request. The client may still answer it directly, without a
// task.
//
// On every way out, the request is neither in conn.asks nor in conn.expected any more.
func (x *exchange) askAsTask(ctx context.Context, p protocol.Params, progress func(protocol.Progress), t *wait.Order) (protocol.Result, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	e := &serverRequest{x: x, method: protocol.MethodOf(p), due: make(chan struct{}, 1), over: make(chan struct{}, 1)}
	e.patience = time.AfterFunc(x.conn.e.cfg.AskTimeout, func() { stop(ErrNoAnswer) })
	defer e.patience.Stop()
	if err := x.session.settled(ctx); err != nil {
		return nil, err
	}
	a, err := x.conn.newAsk(e.watching(progress))
	if err != nil {
		return nil, err
	}
	defer x.conn.endAsk(a)
	a.turn, e.ask = t, a
	x.conn.expect(e)
	defer x.conn.unexpect(e)
	msg, err := e.create(ctx, p)
	if err != nil {
		return nil, err
	}
	result, err := x.read(e.method, msg)
	if created, ok := result.(*protocol.CreateTaskResult); ok {
		return e.follow(ctx, created.Task)
	}
	return result, err
}

// watching wraps progress, so that each report also counts as a sign of life. The progress token is
// valid as long as the task lives ("Task Progress Notifications").
func (e *serverRequest) watching(progress func(protocol.Progress)) func(protocol.Progress) {
	if progress == nil {
		return nil
	}
	return func(p protocol.Progress) {
		e.alive()
		progress(p)
	}
}

// alive counts a sign of life of the client. It may be called under conn.mu, and after patience has
// ended the wait.
func (e *serverRequest) alive() { e.patience.Reset(e.x.conn.e.cfg.AskTimeout) }

// create sends the request and waits for the answer, a result or a task. When ctx ends, create waits
// createGrace longer. If the request becomes a task in that time, the task must be cancelled by
// tasks/cancel, not by notifications/cancelled (2025-11-25 basic/utilities/cancellation).
func (e *serverRequest) create(ctx context.Context, p protocol.Params) (jsonrpc.Message, error) {
	if ctx.Err() != nil {
		return jsonrpc.Message{}, context.Cause(ctx)
	}
	if err := e.x.sendAsk(ctx, e.ask, p, &protocol.RequestMeta{}); err != nil {
		return jsonrpc.Message{}, err
	}
	waiting, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(createGrace, func() { end(context.Cause(ctx)) })
	})()
	return e.x.wait(waiting, e.ask)
}

// follow waits for the outcome of the task. If ctx ends first, follow cancels the task.
//
// It fails with errGone if the connection has ended. The task is then not cancelled, because it
// cannot be reached.
func (e *serverRequest) follow(ctx context.Context, t protocol.Task) (protocol.Result, error) {
	if err := e.x.conn.follow(e, t.ID); err != nil {
		return nil, err
	}
	result, err := e.outcome(ctx, t)
	if err != nil && ctx.Err() != nil {
		e.cancel(ctx)
	}
	return result, err
}

// outcome polls the task until it is not working any more, and then requests its result: the task has
// ended, or the client needs the request tasks/result to continue ("Input Required Status").
func (e *serverRequest) outcome(ctx context.Context, t protocol.Task) (protocol.Result, error) {
	for {
		if t.Status != protocol.TaskWorking {
			result, err := e.fetch(ctx, t)
			if !errors.Is(err, ErrNoAnswer) || ctx.Err() != nil {
				return result, err
			}
			// The task has shown signs of life while the request for its result waited.
		}
		if err := e.rest(ctx, t.PollInterval); err != nil {
			return nil, err
		}
		next, err := e.look(ctx, t.ID)
		if err != nil {
			return nil, err
		}
		if !next.Updated.Equal(t.Updated) {
			e.alive()
		}
		t.Status, t.Updated, t.PollInterval = next.Status, next.Updated, next.PollInterval
	}
}

// look sends tasks/get. It names the task only in the parameters ("Associating Task-Related
// Messages").
func (e *serverRequest) look(ctx context.Context, id string) (protocol.Task, error) {
	p := &protocol.GetTaskParams{ID: id}
	msg, err := e.x.put(ctx, p, &protocol.RequestMeta{}, nil, nil)
	if err != nil {
		return protocol.Task{}, err
	}
	result, err := e.x.read(protocol.MethodOf(p), msg)
	if err != nil {
		return protocol.Task{}, err
	}
	state, ok := result.(*protocol.TaskResult)
	if !ok {
		return protocol.Task{}, errors.New("engine: the client's answer is not a task")
	}
	return state.Task.Task, nil
}

// fetch sends tasks/result, whose answer is the answer to the original request. The specification
// does not define the answer for a cancelled task. fetch treats an error as the refusal of the user.
//
// It returns ErrNoAnswer if the client has not answered for AskTimeout.
func (e *serverRequest) fetch(ctx context.Context, t protocol.Task) (protocol.Result, error) {
	msg, err := e.x.put(ctx, &protocol.TaskResultParams{ID: t.ID}, &protocol.RequestMeta{}, nil, nil)
	if err != nil {
		return nil, err
	}
	if t.Status == protocol.TaskCancelled && msg.Kind == jsonrpc.Failure {
		return nil, protocol.Faultf(protocol.FaultRejected, "the client has cancelled the task")
	}
	return e.x.read(e.method, msg)
}

// rest waits until the next poll is due, which is after interval (in milliseconds, within bounds). A
// notification ends the wait earlier, but not before minLook. A notification that the task is not
// working any more also ends that minimum, but only once, so that a client cannot keep the server
// busy.
func (e *serverRequest) rest(ctx context.Context, interval int64) error {
	if e.missed {
		e.missed = false
		return nil
	}
	every := defaultLook
	if interval > 0 {
		every = time.Duration(min(max(interval, minLook.Milliseconds()), maxLook.Milliseconds())) * time.Millisecond
	}
	var over <-chan struct{}
	if !e.doubted {
		over = e.over
	}
	early, err := e.sleep(ctx, minLook, over)
	if e.doubted = e.doubted || early; early || err != nil {
		return err
	}
	_, err = e.sleep(ctx, every-minLook, e.due)
	return err
}

// sleep waits for d, or until news can be received. early reports whether it received from news.
func (e *serverRequest) sleep(ctx context.Context, d time.Duration, news <-chan struct{}) (early bool, err error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-news:
		return true, nil
	case err := <-e.ask.failure:
		return false, err
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	return false, nil
}

// cancel sends tasks/cancel, and does not wait for the answer.
//
// It is registered like any request, so that the client's answer is not taken for another one.
// Errors are ignored.
func (e *serverRequest) cancel(ctx context.Context) {
	x := e.x
	if !x.call.Capabilities().TaskCancel {
		return
	}
	a, err := x.conn.newAsk(nil)
	if err != nil {
		return
	}
	defer x.conn.endAsk(a)
	p := &protocol.CancelTaskParams{ID: e.id}
	params, err := x.dialect.AppendParams(nil, p, &protocol.RequestMeta{})
	if err == nil {
		frame := jsonrpc.AppendRequest(nil, a.id, protocol.MethodOf(p), params)
		_ = x.out.Send(context.WithoutCancel(ctx), transport.Frame{JSON: frame}) // best effort: the client may be gone
	}
}

// follow registers the answered request again, now with the id of its task. Progress and
// notifications of the task must find it, and it must fail when the connection ends.
//
// It takes e's channels into use again: deliver has removed the ask from conn.asks when the answer
// came. A failure can therefore still be sent to it exactly once.
func (c *conn) follow(e *serverRequest, id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return errGone
	}
	e.id, e.ask.errand = id, e
	c.asks[e.ask.id.Key()] = e.ask
	if x := c.expected; x != nil {
		if status, told := x.news[id]; told {
			delete(x.news, id)
			e.updated(status)
		}
	}
	c.decided(e)
	return nil
}

// earlyTaskUpdates keeps notifications of tasks that arrive before the answers that create those
// tasks, because the two may be read in any order. It exists while a request may still become a task:
// expect adds the request, and decided removes it. All fields are guarded by conn.mu.
type earlyTaskUpdates struct {
	errands map[*serverRequest]struct{}    // requests that may still become tasks
	news    map[string]protocol.TaskStatus // the newest status of each unknown task
}

// expect makes conn keep notifications of unknown tasks, because e's request may become one of them.
func (c *conn) expect(e *serverRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.expected == nil {
		c.expected = &earlyTaskUpdates{errands: make(map[*serverRequest]struct{}, 1), news: make(map[string]protocol.TaskStatus)}
	}
	c.expected.errands[e] = struct{}{}
}

// unexpect reverses expect.
func (c *conn) unexpect(e *serverRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.decided(e)
}

// decided is called when it is certain whether e's request has become a task. When that is certain
// for all requests, decided drops the kept notifications. The caller holds conn.mu.
func (c *conn) decided(e *serverRequest) {
	if c.expected == nil {
		return
	}
	if delete(c.expected.errands, e); len(c.expected.errands) == 0 {
		c.expected = nil
	}
}

// maxEarly bounds the tasks whose notifications are kept before a request follows them.
const maxEarly = 32

// keepTaskUpdate keeps a notification for a request that may soon follow the task. If there are too many,
// keepTaskUpdate drops all, and every request polls its task once instead. The caller holds conn.mu.
func (c *conn) keepTaskUpdate(t *protocol.Task) {
	x := c.expected
	if x == nil {
		return
	}
	last, known := x.news[t.ID]
	if !known && len(x.news) == maxEarly {
		for e := range x.errands {
			e.missed = true
		}
		clear(x.news)
	}
	if !known || last == protocol.TaskWorking { // a task does not return to working, so this order of arrival does not matter
		x.news[t.ID] = t.Status
	}
}

// updated handles a notification of the task. The caller holds conn.mu.
func (e *serverRequest) updated(status protocol.TaskStatus) {
	e.alive()
	wait.Signal(e.due)
	if status != protocol.TaskWorking {
		wait.Signal(e.over)
	}
}

// taskUpdated returns the step of a client's notification of its task. Such notifications are optional.
// The step only makes the next poll earlier ("Task Notifications").
func (c *conn) taskUpdated(x *exchange, t *protocol.Task) step {
	return func(ctx context.Context, out transport.Outbound) error {
		if !c.updateTask(t) {
			return c.forward(x)(ctx, out)
		}
		return nil
	}
}

// updateTask passes the notification to the request that follows the task. If no request here follows
// it, updateTask keeps the notification and returns false.
//
// It takes conn.mu, and only signals while it holds it.
func (c *conn) updateTask(t *protocol.Task) (found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.asks {
		if a.errand != nil && a.errand.id == t.ID {
			found = true
			a.errand.updated(t.Status)
		}
	}
	if !found {
		c.keepTaskUpdate(t)
	}
	return found
}

// ask sends a request to the client, on the stream of the call and in its turn, and waits for the
// answer. Ids are never reused within a session (2025-11-25 basic).
func (x *exchange) ask(ctx context.Context, p protocol.Params, progress func(protocol.Progress), t *wait.Order) (protocol.Result, error) {
	if with := x.augmented(ctx, p); with != nil {
		return x.askAsTask(ctx, with, progress, t)
	}
	msg, err := x.put(ctx, p, &protocol.RequestMeta{}, progress, t)
	if err != nil {
		return nil, err
	}
	return x.read(protocol.MethodOf(p), msg)
}
