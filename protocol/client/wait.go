package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
)

const (
	// Bounds of the interval at which a task is asked for, which the server suggests.
	shortestLook = 50 * time.Millisecond
	usualLook    = time.Second
	longestLook  = time.Hour

	// stalledAfter bounds how long tasks/result may be silent although there is something to
	// report: a server that was restarted has forgotten the request.
	stalledAfter = 5 * time.Second

	// maxMissed bounds how many looks in a row may fail for temporary reasons.
	maxMissed = 5
)

var errStalled = errors.New("client: tasks/result has stalled")

// Wait waits until the task is over, and returns what the call would have returned. It
// asks for the state as often as the server suggests, and lets the handlers of
// [OnElicit], [OnSample] and [OnRoots] answer what the task asks, each question once:
// on 2025-11-25 the server puts the questions while its tasks/result waits, on
// 2026-07-28 they are answered by tasks/update.
//
// The error is that of a failed task as the server has it (a *protocol.Error), else
// [ErrTaskCancelled], [ErrTaskGone], or why the wait had to end: ctx, the connection, a
// server that has been away for some five seconds, a question for which there is no handler
// ([ErrInputRequired]) or whose handler failed. In the last cases the task goes on, and can
// be waited for again.
func (t *Task) Wait(ctx context.Context) (*protocol.CallToolResult, error) {
	raw, err := t.WaitRaw(ctx)
	if err != nil {
		return nil, err
	}
	return t.decode(raw)
}

// WaitRaw is Wait, but returns the result as it came.
func (t *Task) WaitRaw(ctx context.Context) (json.RawMessage, error) {
	if t.outcome != nil {
		return slices.Clone(t.outcome), nil
	}
	f := t.c.followed.follow(t.id)
	defer t.c.followed.leave(f)
	w := &wait{t: t, f: f, open: map[string]context.CancelFunc{}, answers: make(chan roundAnswer, maxQuestions)}
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

// wait is the state of one Wait. Only the goroutine of Wait uses it; handlers of questions
// run in goroutines of their own, and send to answers.
type wait struct {
	t      *Task
	f      *follower
	missed int // polls that have failed in a row

	open    map[string]context.CancelFunc // questions that handlers are working on, by key
	running int                           // running handlers, including those of withdrawn questions
	answers chan roundAnswer              // has room for the answers of all handlers, since Wait may return before they do
}

// look asks for the state. If the server or its store cannot be reached for a moment, it asks
// again, which does no harm.
func (w *wait) look(ctx context.Context) (protocol.DetailedTask, error) {
	for {
		now, err := w.t.look(ctx)
		if err == nil {
			w.missed = 0
			w.tell(now.Task)
			return now, nil
		}
		if w.missed++; w.missed > maxMissed || !w.t.c.passes(ctx, err) && !internal(err) {
			return now, err
		}
		if err := w.t.c.rest(ctx, usualLook); err != nil {
			return now, err
		}
	}
}

// passes says that a failed request may succeed later: it went over HTTP, and neither the
// server nor the caller has refused it. It must be one that can be repeated.
func (c *Client) passes(ctx context.Context, err error) bool {
	if c.http == nil || ctx.Err() != nil || c.link.failure() != nil {
		return false
	}
	if status, ok := errors.AsType[*HTTPError](err); ok { // whatever the body is
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

// internal says that the server has failed, which is not a refusal.
func internal(err error) bool {
	e, ok := errors.AsType[*protocol.Error](err)
	return ok && e.Code == protocol.CodeInternal
}

func (w *wait) tell(now protocol.Task) {
	if w.f.isNew(now) && w.t.told != nil {
		w.t.told(now)
	}
}

// core returns the result of a task of 2025-11-25 that is over. If the task has questions, it
// waits for the result, because the server asks them while tasks/result waits (2025-11-25
// basic/utilities/tasks "Input Required Status"). over is false if Wait has to poll again.
func (w *wait) core(ctx context.Context, now *protocol.DetailedTask) (raw json.RawMessage, over bool, err error) {
	if now.Status == protocol.TaskWorking {
		return nil, false, nil
	}
	if now.Status == protocol.TaskCancelled {
		return nil, true, ErrTaskCancelled
	}
	raw, err = w.fetch(ctx, now)
	switch {
	case err == nil:
		return raw, true, nil
	case errors.Is(err, errStalled), w.t.c.passes(ctx, err): // the stream broke; the next look shows the state of the task
		return nil, false, nil
	case now.Status == protocol.TaskFailed:
		return nil, true, fmt.Errorf("the task failed: %w", err)
	}
	// The error is that of the task, or says that the task is gone.
	if then, missed := w.t.look(ctx); missed != nil {
		err = missed
	} else if then.Status == protocol.TaskCancelled {
		err = ErrTaskCancelled
	}
	return nil, true, w.t.c.ended(ctx, err)
}

// fetch is like Task.fetch, but reports changes of the task meanwhile. It returns errStalled if
// neither a question nor the result comes although one of them is due.
func (w *wait) fetch(ctx context.Context, now *protocol.DetailedTask) (raw json.RawMessage, err error) {
	inner, giveUp := context.WithCancel(ctx)
	defer giveUp()
	done := make(chan struct{})
	if !w.t.c.link.spawn(func() {
		defer close(done)
		raw, err = w.t.fetch(inner)
	}) {
		return nil, ErrClosed
	}
	every := max(lookEvery(now.PollInterval), usualLook)
	timer := time.NewTimer(every)
	defer timer.Stop()
	for alive := time.Now(); ; {
		select {
		case <-done:
			return raw, err
		case now := <-w.f.news:
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

// proceeds says that waiting makes sense: the task is working, or a question is being answered
// here.
func (w *wait) proceeds(ctx context.Context) bool {
	now, err := w.t.look(ctx)
	if err != nil {
		return !errors.Is(err, ErrTaskGone) && w.t.c.answering.Load() > 0
	}
	w.tell(now.Task)
	return now.Status == protocol.TaskWorking || w.t.c.answering.Load() > 0
}

// extension has new questions answered. Questions that are missing now were answered by another
// client, or are not needed any more.
func (w *wait) extension(ctx context.Context, now *protocol.DetailedTask) error {
	w.withdraw(now.Requests)
	var mine []protocol.InputRequest
	for _, q := range now.Requests {
		if w.running+len(mine) < maxQuestions && w.t.take(q.Key) {
			mine = append(mine, q)
		}
	}
	if len(mine) == 0 {
		return nil
	}
	if err := w.t.c.canAnswer(mine); err != nil {
		w.t.release(mine...)
		return err
	}
	for _, q := range mine {
		inner, cancel := context.WithCancel(ctx)
		unbind := context.AfterFunc(w.t.c.link.life, cancel)
		w.open[q.Key] = func() { unbind(); cancel() }
		if !w.t.c.link.spawn(func() { w.t.c.answer(inner, w.t.c.dialect.Load(), q, w.answers) }) {
			return ErrClosed
		}
		w.running++
	}
	return nil
}

// withdraw ends the handlers of all questions except those. Their answers are dropped; no key
// comes again.
func (w *wait) withdraw(but []protocol.InputRequest) {
	for key, cancel := range w.open {
		if !slices.ContainsFunc(but, func(q protocol.InputRequest) bool { return q.Key == key }) {
			cancel()
			delete(w.open, key)
		}
	}
}

// stop cancels the handlers that run, and leaves their questions to the next Wait.
func (w *wait) stop() {
	for key, cancel := range w.open {
		cancel()
		w.t.release(protocol.InputRequest{Key: key})
	}
}

// rest waits until the next look is due. An answer is sent at once, and notifications bring the
// look forward, but not so much that a server could keep the client busy.
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
		case now := <-w.f.news:
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

// lookEvery returns the interval that the server suggests, within bounds.
func lookEvery(interval int64) time.Duration {
	if interval <= 0 {
		return usualLook
	}
	return max(time.Duration(min(interval, longestLook.Milliseconds()))*time.Millisecond, shortestLook)
}

// deliver sends an answer. Answers may be sent one by one (tasks extension, tasks/update).
func (w *wait) deliver(ctx context.Context, a roundAnswer) error {
	w.running--
	cancel := w.open[a.key]
	if cancel == nil { // withdrawn
		return nil
	}
	cancel()
	delete(w.open, a.key)
	err := a.err
	if err == nil {
		_, err = ask[*protocol.EmptyResult](ctx, w.t.c, &protocol.UpdateTaskParams{
			ID: w.t.id, Responses: map[string]json.RawMessage{a.key: a.result},
		}, how{})
	}
	if err != nil {
		w.t.release(protocol.InputRequest{Key: a.key})
		return fmt.Errorf("answering %q of the task: %w", a.key, err)
	}
	return nil
}

// take claims a question for one Wait; false if it is answered, or another Wait has it.
func (t *Task) take(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken[key] {
		return false
	}
	t.taken[key] = true
	return true
}

func (t *Task) release(questions ...protocol.InputRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, q := range questions {
		delete(t.taken, q.Key)
	}
}

// followTable knows which Waits want notifications about which task.
type followTable struct {
	mu  sync.Mutex // guards the fields below
	all []*follower
}

// follower is a Wait, as notifications find it.
type follower struct {
	id   string
	last protocol.Task      // the last state that its Wait has seen
	news chan protocol.Task // one, buffered: the newest state from a notification; sent to under the table's mu
}

func (f *follower) isNew(now protocol.Task) bool {
	is := now.Status != f.last.Status || now.Message != f.last.Message
	f.last = now
	return is
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

// news never blocks: only the newest state counts.
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
