package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
)

const (
	// Bounds and default of the polling interval that the server suggests.
	shortestLook = 50 * time.Millisecond
	usualLook    = time.Second
	longestLook  = time.Hour

	// stalledAfter limits how long tasks/result may stay silent although a question or the result
	// is due. A server that was restarted has lost the request.
	stalledAfter = 5 * time.Second

	// maxMissed limits how many polls in a row may fail for temporary reasons.
	maxMissed = 5
)

var errStalled = errors.New("client: tasks/result has stalled")

// Wait waits until the task is over, and returns the result that the call would have had. It polls
// at the interval that the server suggests. The handlers of [OnElicit], [OnSample] and [OnRoots]
// answer the task's questions, each question once. On 2025-11-25, the server asks them while
// tasks/result waits; on 2026-07-28, tasks/update sends the answers. If two calls of Wait wait for one
// task on 2025-11-25, the server may withdraw a question from the first, and ask it in the second.
//
// If the task failed, Wait returns the server's error (a *protocol.Error). If it was cancelled or
// does not exist, Wait returns [ErrTaskCancelled] or [ErrTaskGone].
//
// Wait also ends if ctx or the connection ends, or if the server has been unreachable for some five
// seconds. If a question has no handler, it returns [ErrInputRequired]; if a handler fails, it
// returns the handler's error. In these cases the task continues, and the caller can wait again.
func (t *Task) Wait(ctx context.Context) (*protocol.CallToolResult, error) {
	return t.decode(t.WaitRaw(ctx))
}

// WaitRaw is like Wait, but returns the result as the server sent it.
func (t *Task) WaitRaw(ctx context.Context) (json.RawMessage, error) {
	if t.outcome != nil {
		return slices.Clone(t.outcome), nil
	}
	f := t.c.followed.follow(t.id)
	defer t.c.followed.leave(f)
	w := &wait{t: t, news: f.news, open: map[string]context.CancelFunc{}, answers: make(chan roundAnswer, maxQuestions)}
	defer w.stop()
	for {
		now, err := w.look(ctx)
		if err == nil && t.c.dialect.Load().CoreTasks() {
			if raw, over, err := w.core(ctx, &now); over {
				return raw, err
			}
		} else if err == nil && isOver(now.Status) {
			return t.ended(ctx, &now)
		} else if err == nil {
			err = w.extension(ctx, &now)
		}
		if err == nil {
			err = w.rest(ctx, now.PollInterval)
		}
		if err != nil {
			return nil, t.c.ended(ctx, err)
		}
	}
}

// wait is the state of one Wait. Only the goroutine of Wait uses it. Handlers of questions run in
// goroutines of their own, and send to answers.
//
// A handler owns its question from the spawn until it has sent to answers. When Wait returns, stop
// cancels the handlers and releases the keys in Task.taken, but does not wait for the handlers:
// Close does.
type wait struct {
	t      *Task
	news   <-chan protocol.Task // channel of the follower of this Wait
	last   protocol.Task        // the last state that the Wait has seen
	denied int                  // how often the result of a task that is over did not arrive

	open    map[string]context.CancelFunc // cancel functions of the questions that handlers are answering, by key
	running int                           // number of running handlers, including handlers of withdrawn questions
	answers chan roundAnswer              // has space for the answers of all handlers, because Wait may return before they do
}

// look requests the state, which has no side effects.
func (w *wait) look(ctx context.Context) (now protocol.DetailedTask, err error) {
	err = w.t.c.retry(ctx, func() error {
		now, err = w.t.look(ctx)
		return err
	})
	if err == nil {
		w.tell(now.Task)
	}
	return now, err
}

// retry calls request, and calls it again if the server or its store cannot be reached for a moment.
// An internal error of the server is not a refusal. The request must have the same effect if it is
// repeated.
func (c *Client) retry(ctx context.Context, request func() error) error {
	for missed := 0; ; missed++ {
		err := request()
		if err == nil || missed == maxMissed || !c.passes(ctx, err) && !hasCode(err, protocol.CodeInternal) {
			return err
		}
		if err := c.rest(ctx, usualLook); err != nil {
			return err
		}
	}
}

// passes reports whether a failed request may succeed later. It must have been sent over HTTP
// without a refusal by the server, and the call and the connection must continue. The caller must
// know that the request may be repeated.
func (c *Client) passes(ctx context.Context, err error) bool {
	if c.http == nil || ctx.Err() != nil || c.link.failure() != nil {
		return false
	}
	if status, ok := errors.AsType[*HTTPError](err); ok { // regardless of the body
		return status.Status >= 500 || status.Status == 429
	}
	if _, interrupted := errors.AsType[*interruptedError](err); interrupted {
		return true
	}
	if _, refused := errors.AsType[*protocol.Error](err); refused {
		return false
	}
	_, lost := errors.AsType[*sendError](err)
	return lost || errors.Is(err, io.ErrUnexpectedEOF)
}

// hasCode reports whether err is an error of the server with the code.
func hasCode(err error, code int) bool {
	e, ok := errors.AsType[*protocol.Error](err)
	return ok && e.Code == code
}

// tell calls the function of OnTask with a new state.
func (w *wait) tell(now protocol.Task) {
	last := w.last
	w.last = now
	if w.t.told != nil && (now.Status != last.Status || now.Message != last.Message) {
		w.t.told(now)
	}
}

// core returns the result of a task of 2025-11-25 that is over. If the task has questions, core
// waits for the result, because the server asks them while tasks/result waits (2025-11-25
// basic/utilities/tasks "Input Required Status"). If over is false, Wait has to poll again.
func (w *wait) core(ctx context.Context, now *protocol.DetailedTask) (raw json.RawMessage, over bool, err error) {
	if now.Status == protocol.TaskWorking {
		return nil, false, nil
	}
	if now.Status == protocol.TaskCancelled {
		return nil, true, ErrTaskCancelled
	}
	raw, err = w.fetch(ctx, now)
	// A Kagami server sends 503 if its wait for a task ends before the task.
	unavailable := hasCode(err, http.StatusServiceUnavailable) && !isOver(now.Status)
	passing := errors.Is(err, errStalled) || unavailable || err != nil && w.t.c.passes(ctx, err)
	if passing && isOver(now.Status) {
		w.denied++
	}
	switch {
	case err == nil:
		return raw, true, nil
	case passing && w.denied <= maxMissed: // the stream broke; the next poll shows the state of the task
		return nil, false, nil
	case now.Status == protocol.TaskFailed:
		return nil, true, fmt.Errorf("the task failed: %w", err)
	}
	// The error comes from the task, or means that the task is gone.
	if then, missed := w.t.look(ctx); missed != nil {
		err = missed
	} else if then.Status == protocol.TaskCancelled {
		err = ErrTaskCancelled
	}
	return nil, true, w.t.c.ended(ctx, err)
}

// fetch is like Task.fetch, but also reports changes of the task while it waits. It returns
// errStalled if neither a question nor the result arrives although one of them is due.
//
// The goroutine writes raw and err before it closes done, and fetch reads them only after that.
// fetch always waits for done. The end of ctx ends the request, and with it the goroutine.
func (w *wait) fetch(ctx context.Context, now *protocol.DetailedTask) (raw json.RawMessage, err error) {
	inner, giveUp := context.WithCancel(ctx)
	defer giveUp()
	done := make(chan struct{})
	if w.t.c.link.spawn(func() {
		defer close(done)
		raw, err = w.t.fetch(inner)
	}) != nil {
		return nil, ErrClosed
	}
	every := max(lookEvery(now.PollInterval), usualLook)
	timer := time.NewTimer(every)
	defer timer.Stop()
	for alive := time.Now(); ; {
		select {
		case <-done:
			return raw, err
		case now := <-w.news:
			w.t.see(now)
			w.tell(now)
		case <-timer.C:
			if w.proceeds(ctx) {
				alive = time.Now()
			} else if time.Since(alive) >= stalledAfter {
				giveUp()
				<-done
				return nil, errStalled
			}
			timer.Reset(every)
		}
	}
}

// proceeds reports whether waiting makes sense: the task is working, or a handler of this client is
// answering a question.
func (w *wait) proceeds(ctx context.Context) bool {
	now, err := w.t.look(ctx)
	if err != nil {
		return !errors.Is(err, ErrTaskGone) && w.t.c.answering.Load() > 0
	}
	w.tell(now.Task)
	return now.Status == protocol.TaskWorking || w.t.c.answering.Load() > 0
}

// extension starts the handlers of new questions. It withdraws questions that the server does not
// list any more, because another client has answered them or they are not needed.
//
// The cancel function in open is called exactly once: by withdraw, by deliver or by stop.
func (w *wait) extension(ctx context.Context, now *protocol.DetailedTask) error {
	w.withdraw(now.Requests)
	var mine []protocol.InputRequest
	for _, q := range now.Requests {
		if w.running+len(mine) < maxQuestions && w.t.take(q.Key) {
			mine = append(mine, q)
		}
	}
	if err := w.t.c.canAnswer(mine); err != nil {
		for _, q := range mine {
			w.t.release(q.Key)
		}
		return err
	}
	for _, q := range mine {
		inner, cancel := within(ctx, w.t.c.link.life)
		w.open[q.Key] = cancel
		if err := w.t.c.answer(inner, w.t.c.dialect.Load(), q, w.answers); err != nil {
			return err
		}
		w.running++
	}
	return nil
}

// withdraw cancels the handlers of all questions that are not in but. Their answers are dropped.
// Keys are not reused.
func (w *wait) withdraw(but []protocol.InputRequest) {
	for key, cancel := range w.open {
		if !slices.ContainsFunc(but, func(q protocol.InputRequest) bool { return q.Key == key }) {
			cancel()
			delete(w.open, key)
		}
	}
}

// stop cancels the running handlers, and leaves their questions to the next Wait.
func (w *wait) stop() {
	for key, cancel := range w.open {
		cancel()
		w.t.release(key)
	}
}

// rest waits until the next poll is due. It sends answers of handlers at once. A notification makes
// the next poll earlier, but not earlier than shortestLook, so that a server cannot keep the client
// busy.
func (w *wait) rest(ctx context.Context, interval int64) error {
	every := lookEvery(interval)
	if err := w.t.c.rest(ctx, shortestLook); err != nil {
		return err
	}
	timer := time.NewTimer(every - shortestLook)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case now := <-w.news:
			w.t.see(now)
			return nil
		case a := <-w.answers:
			if err := w.deliver(ctx, a); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-w.t.c.link.lost:
			return w.t.c.link.failure()
		}
	}
}

// lookEvery returns the interval that the server suggests, within bounds, or usualLook if it
// suggests none.
func lookEvery(interval int64) time.Duration {
	if interval <= 0 {
		return usualLook
	}
	return max(time.Duration(min(interval, longestLook.Milliseconds()))*time.Millisecond, shortestLook)
}

// deliver sends an answer to the server. Answers may be sent one by one (tasks extension,
// tasks/update).
func (w *wait) deliver(ctx context.Context, a roundAnswer) error {
	w.running--
	cancel := w.open[a.key]
	if cancel == nil { // the question was withdrawn
		return nil
	}
	cancel()
	delete(w.open, a.key)
	err := a.err
	if err == nil {
		err = w.update(ctx, a)
	}
	if err != nil {
		w.t.release(a.key)
		return fmt.Errorf("answering %q of the task: %w", a.key, err)
	}
	return nil
}

// update sends an answer. A server ignores an answer that it already has (2026-07-28 tasks extension,
// tasks/update).
func (w *wait) update(ctx context.Context, a roundAnswer) error {
	p := &protocol.UpdateTaskParams{ID: w.t.id, Responses: map[string]json.RawMessage{a.key: a.result}}
	return w.t.c.retry(ctx, func() error {
		_, err := ask[*protocol.EmptyResult](ctx, w.t.c, p, how{})
		return err
	})
}

// take claims a question for one Wait. It returns false if the question is answered or claimed by
// another Wait.
func (t *Task) take(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken[key] {
		return false
	}
	t.taken[key] = true
	return true
}

// release lets another Wait answer a question.
func (t *Task) release(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.taken, key)
}

// followTable holds the Waits that want notifications about their task.
//
// The reader sends to news under mu, after it has emptied the channel. Because only it sends, the
// send does not block.
type followTable struct {
	mu  sync.Mutex // guards the fields below
	all []*follower
}

// follower is the entry of a Wait in the followTable.
type follower struct {
	id   string
	news chan protocol.Task // one, buffered: the newest state from a notification; sent to under the table's mu
}

func (t *followTable) follow(id string) *follower {
	f := &follower{id: id, news: make(chan protocol.Task, 1)}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, f)
	return f
}

func (t *followTable) leave(f *follower) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = slices.DeleteFunc(t.all, func(g *follower) bool { return g == f })
}

// news passes a state to the Waits of the task. It does not block, because it replaces a state that
// was not received yet.
func (t *followTable) news(now protocol.Task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.all {
		if f.id != now.ID {
			continue
		}
		select {
		case <-f.news:
		default:
		}
		f.news <- now
	}
}
