package testkit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// Task is a started task. Its methods can fail the test, so they must run in the test's goroutine.
type Task[Out any] struct {
	s      *Session
	task   *client.Task
	name   string // of the tool
	sent   string
	decode func(*protocol.CallToolResult) (Out, error)
}

// TaskGone is the status of a task that the server does not know any more, because it has expired.
const TaskGone = "gone"

// Start calls a tool as a task. If the server answers the call at once, for example because it
// refuses the arguments, the task has already ended. Chaos does not affect tasks; see [Task.Crash].
//
//	job := testkit.Start(s, render, RenderIn{Film: "Ran"})
//	job.AwaitStatus("input_required")
//	job.Crash()
//	job.Resume()
//	out, err := job.Await() // answers the task's questions, by the script
func Start[In, Out any](s *Session, tool *framework.ToolOf[In, Out], in In) *Task[Out] {
	s.t.Helper()
	name := nameOf(s, tool)
	t := &Task[Out]{s: s, name: name, decode: tool.Decode}
	d := s.config.dialect
	switch {
	case !d.CoreTasks() && !d.TaskExtension():
		s.t.Fatalf("testkit: Start(%q) at %s, which has no tasks", name, d)
	case !s.config.has("tasks"):
		s.t.Fatalf("testkit: Start(%q) on a session without tasks", name)
	case !s.client.Capabilities().Tasks:
		s.t.Fatalf("testkit: Start(%q), but no tool of the server has framework.Task", name)
	}
	arguments, err := tool.Encode(in)
	if err != nil {
		s.t.Fatalf("testkit: encoding the arguments of %s: %v", name, err)
		return t
	}
	t.sent = fmt.Sprintf("%s as a task %s", protocol.MethodCallTool, s.callParams(name, arguments))
	ctx, cancel := s.bounded()
	defer cancel()
	if t.task, err = s.client.CallTask(ctx, name, arguments, client.OnProgress(s.progressed)); err != nil {
		s.asked()
		s.t.Fatalf("testkit: no task\nsent: %s\ngot:  %v", t.sent, err)
	}
	if id := t.task.ID(); id != "" && d.ListenStream() { // so that changes are seen at once
		if err := s.watch(ctx, protocol.SubscriptionFilter{Tasks: []string{id}}); err != nil {
			s.t.Fatalf("testkit: listening for news of a task: %v\nsent: %s", err, t.sent)
		}
	}
	return t
}

// Status returns the status as the client sees it, or [TaskGone].
func (t *Task[Out]) Status() string {
	t.s.t.Helper()
	ctx, cancel := t.s.bounded()
	defer cancel()
	now, err := t.task.Get(ctx)
	switch {
	case errors.Is(err, client.ErrTaskGone):
		return TaskGone
	case err != nil:
		t.s.t.Fatalf("testkit: no status of a task\nsent: %s\ngot:  %v", t.sent, err)
	}
	return string(now.Status)
}

// Await waits for the result; the script answers the task's questions. A tool error is an *Error,
// as with [Call]. If the task was cancelled or has expired, errors.Is finds client.ErrTaskCancelled or
// client.ErrTaskGone in the error.
func (t *Task[Out]) Await() (Out, error) {
	t.s.t.Helper()
	var none Out
	ctx, cancel := t.s.bounded()
	defer cancel()
	result, err := t.task.Wait(ctx)
	t.s.asked()
	if err != nil {
		if refused := asError(err); refused != nil && !errors.Is(err, client.ErrTaskGone) {
			return none, refused
		}
		if ctx.Err() != nil {
			t.s.t.Fatalf("testkit: the task is still %s after %v\nsent: %s", t.task.State().Status, t.s.config.timeout, t.sent)
		}
		return none, fmt.Errorf("testkit: awaiting a task: %w", err)
	}
	if result.IsError {
		return none, &Error{Text: dialect.TextOf(result.Content), Result: result}
	}
	t.s.fits(t.s.config.dialect, t.name, result)
	result.Wrapped = t.s.config.dialect.Handshake() // see framework.DecodeResult
	return t.decode(result)
}

// AwaitStatus waits for a status. If the task ends in another status, the test fails. The script
// does not answer the task's questions meanwhile.
func (t *Task[Out]) AwaitStatus(status string) {
	t.s.t.Helper()
	if known := taskStatuses(); !slices.Contains(known, status) {
		t.s.t.Fatalf("testkit: AwaitStatus(%q): no status of a task; there are %s", status, strings.Join(known, ", "))
		return
	}
	t.until(fmt.Sprintf("%q", status), func(now string) bool { return now == status })
}

// taskStatuses returns all statuses that a task can have.
func taskStatuses() []string {
	return []string{
		string(protocol.TaskWorking), string(protocol.TaskInputRequired), string(protocol.TaskCompleted),
		string(protocol.TaskFailed), string(protocol.TaskCancelled), TaskGone,
	}
}

// Step runs the task to its next stop: it waits until the task asks or has ended, and returns its
// status.
func (t *Task[Out]) Step() string {
	t.s.t.Helper()
	return t.until("a stop", func(now string) bool { return now != string(protocol.TaskWorking) })
}

// Answer answers the task's question by the script. It waits until the task asks, and then until it
// no longer does. A question that follows at once may also be answered, so script both before. If
// the task ends without a question, the test fails.
//
//	s.OnElicit("Render 20 scenes?", true)
//	job.Answer()
//	job.Cancel() // in the middle of its work
func (t *Task[Out]) Answer() {
	t.s.t.Helper()
	if now := t.Step(); now != string(protocol.TaskInputRequired) {
		t.s.t.Fatalf("testkit: Answer, but the task is %q and asks nothing\nsent: %s", now, t.sent)
		return
	}
	ctx, cancel := t.s.bounded()
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = t.task.Wait(ctx) // it has the script answer; the outcome of the task does not matter here
	}()
	defer func() { <-left }()
	defer cancel()
	t.until("an answer to be taken", func(now string) bool { return now != string(protocol.TaskInputRequired) })
}

// look is the interval of polling a status if no notification reports a change.
const look = 10 * time.Millisecond

// until waits for a status. Any notification makes the next poll come sooner.
func (t *Task[Out]) until(what string, is func(status string) bool) string {
	t.s.t.Helper()
	ctx, cancel := t.s.bounded()
	defer cancel()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		changed := t.s.record.next()
		now := t.Status()
		t.s.asked()
		switch {
		case is(now):
			return now
		case now != string(protocol.TaskWorking) && now != string(protocol.TaskInputRequired):
			t.s.t.Fatalf("testkit: the task is %q, want %s\nsent: %s", now, what, t.sent)
			return now
		}
		select {
		case <-changed:
		case <-tick.C:
		case <-ctx.Done():
			t.s.t.Fatalf("testkit: the task is %q, want %s within %v\nsent: %s", now, what, t.s.config.timeout, t.sent)
			return now
		}
	}
}

// Cancel requests cancellation. The task may still end in another way; see [Task.AwaitStatus].
func (t *Task[Out]) Cancel() {
	t.s.t.Helper()
	ctx, cancel := t.s.bounded()
	defer cancel()
	if err := t.task.Cancel(ctx); err != nil {
		t.s.t.Fatalf("testkit: cancelling a task\nsent: %s\ngot:  %v", t.sent, err)
	}
}

// Crash kills the worker; [Task.Resume] starts another. It is as if the process that runs the tasks
// of the session's server were killed. Nothing that a handler does from now on is kept, its lease
// is not given back, and no worker takes tasks. The contexts of its handlers end, and Crash waits a
// moment for them. A handler that ignores this can still have effects outside the server.
//
// The server continues to serve its clients, as another process on the same store would. Only tasks
// are shared, so an effect that may happen AtMostOnce happens again. To prevent that, give the
// session a [Store] with claims.
func (t *Task[Out]) Crash() {
	t.s.t.Helper()
	t.s.testServer.crash(t.s.t)
}

// Resume continues after [Task.Crash]. Another server is built from the app, on the same store, and
// the leases of the dead worker have expired.
func (t *Task[Out]) Resume() {
	t.s.t.Helper()
	t.s.testServer.resume(t.s.t)
}
