package framework

import (
	"context"
	"reflect"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
)

// TaskMode says whether a call may or must become a task.
type TaskMode int

// The two modes. If the client cannot have, or does not want, a task, TaskOptional runs the
// call in its request and TaskRequired refuses it.
const (
	TaskOptional TaskMode = iota + 1
	TaskRequired
)

// TaskOption configures Task. Sealed. A value that is not allowed is a fault that Build
// reports.
type TaskOption interface{ taskOption() }

// taskOption sets one thing, and returns what is wrong with it, or "".
type taskOption struct {
	name  string
	apply func(*taskSettings) (problem string)
}

func (taskOption) taskOption() {}

// taskSettings holds the options of Task.
type taskSettings struct {
	mode   TaskMode
	policy engine.TaskPolicy
	in     reflect.Type   // the type that the function of TaskWhen takes
	when   func(any) bool // the function of TaskWhen
}

func (s *taskSettings) support() protocol.TaskSupport {
	switch {
	case s == nil:
		return ""
	case s.mode == TaskRequired:
		return protocol.TaskRequired
	}
	return protocol.TaskOptional
}

// Task lets calls of the tool outlive their request: the client gets a handle, and comes
// back for the result, the questions and the progress when it wants to. On 2025-11-25 the
// client asks for a task; on 2026-07-28 the server decides, if the client declares the
// tasks extension. Clients of earlier revisions, and those that want no task, get the
// result in the request.
//
// The handler stays the same. Its context ends when the task is cancelled or expires, or
// when the server stops, but not with the request. A question ends the execution and puts
// the task into input_required; with the answer the handler runs again from the top, as in
// rounds, without repeating what was done in Once. What Progress says becomes the task's
// status message, or on 2025-11-25 notifications with the token of the request.
func Task(mode TaskMode, opts ...TaskOption) Option {
	return componentOption{"Task", kindTool, func(s *settings) string {
		if mode != TaskOptional && mode != TaskRequired {
			return "the mode must be TaskOptional or TaskRequired"
		}
		t := &taskSettings{mode: mode}
		t.policy.Required = mode == TaskRequired
		for _, o := range opts {
			opt, ok := o.(taskOption)
			if !ok {
				return "an option is nil"
			}
			if problem := opt.apply(t); problem != "" {
				return opt.name + ": " + problem
			}
		}
		s.task = t
		return ""
	}}
}

// TTL sets how long a task lives from its creation if the client does not ask for another
// time; default 1 hour, at least a second. A client gets what it asks for up to 24 hours,
// or up to d if that is more.
func TTL(d time.Duration) TaskOption {
	return taskOption{"TTL", func(s *taskSettings) string {
		if d < time.Second {
			return "the duration must be a second or more"
		}
		s.policy.TTL = d
		return ""
	}}
}

// PollInterval tells clients how long to wait between two requests for the task's state;
// default 1 second, at least a millisecond.
func PollInterval(d time.Duration) TaskOption {
	return taskOption{"PollInterval", func(s *taskSettings) string {
		if d < time.Millisecond {
			return "the duration must be a millisecond or more"
		}
		s.policy.Poll = d
		return ""
	}}
}

// ImmediateResponse sets what the model gets at once when a call has become a task, so that
// it can go on meanwhile: "Your order is being packed; ask for its state later." It is sent
// to clients of 2025-11-25, which may use it instead of a message of their own; the
// specification calls it provisional. 2026-07-28 has no place for it.
func ImmediateResponse(text string) TaskOption {
	return taskOption{"ImmediateResponse", func(s *taskSettings) string {
		if text == "" {
			return "the text is empty"
		}
		s.policy.Immediate = text
		return ""
	}}
}

// Retry has a task run again, up to n times, if its handler panics or fails with an
// internal error, or if its worker is gone; after an error with a growing pause. What was
// done in Once, and what was answered, is kept. Errors for the user or the model are
// results, and are not retried.
//
// Without it an error is final, and a task whose worker is gone (its process died, on a
// store that outlives it) is run again up to five times. Retry(0) is for handlers that
// must not begin twice: such a task fails.
func Retry(n int) TaskOption {
	return taskOption{"Retry", func(s *taskSettings) string {
		if n < 0 {
			return "the number is negative"
		}
		s.policy.Retries, s.policy.Deaths = n, n
		if n == 0 {
			s.policy.Deaths = -1
		}
		return ""
	}}
}

// TaskWhen decides for each call, by its arguments, whether it may become a task; if not,
// it runs in its request. In must be the tool's input. It restricts and never forces: a
// client that cannot have a task, or on 2025-11-25 did not ask for one, gets none; and a
// client of 2025-11-25 that asks for a task of a TaskRequired tool gets it in any case.
// Arguments that the tool refuses are refused in the request.
func TaskWhen[In any](decide func(In) bool) TaskOption {
	return taskOption{"TaskWhen", func(s *taskSettings) string {
		if decide == nil {
			return "the function is nil"
		}
		s.in = reflect.TypeFor[In]()
		s.when = func(in any) bool { v, ok := in.(In); return ok && decide(v) }
		return ""
	}}
}

// AfterDetach keeps a call in its request until the handler calls Detach, so that it can
// ask its first questions there: on 2026-07-28 they come in rounds, before there is a task.
// On 2025-11-25 a call for which the client wants a task is one from the beginning.
func AfterDetach() TaskOption {
	return taskOption{"AfterDetach", func(s *taskSettings) string {
		s.policy.AfterDetach = true
		return ""
	}}
}

// Detach says that the call may go on as a task from here. If it does, the error is
// ErrPending: the handler returns, and runs again in the task with the answers and effects
// it already has. Everywhere else Detach does nothing: in a task, for a client that cannot
// have one, for a tool without AfterDetach, in a tool that a model calls, in an effect of
// Once, outside a handler.
func Detach(ctx context.Context) error {
	h := handlingFrom(ctx)
	if h == nil || h.call == nil || h.inner != nil {
		return nil
	}
	return h.call.Detach()
}

// taskPolicy is what the engine needs of the Task option; nil without it.
func (m *member) taskPolicy(b *builder, plan *toolPlan, in reflect.Type) *engine.TaskPolicy {
	s := m.options.task
	if s == nil {
		return nil
	}
	p := s.policy
	p.Scopes = m.options.scopes
	if s.when == nil {
		return &p
	}
	if s.in != in {
		m.fault(b, "Task", "TaskWhen decides by "+s.in.String()+", the tool takes "+in.String(), "Give the function the tool's input")
		return nil
	}
	p.When = func(ctx context.Context, arguments []byte) bool {
		v := reflect.New(in).Elem()
		if _, err := plan.in.decode(ctx, arguments, v); err != nil {
			return false
		}
		yes, err := guarded(ctx, func(_ context.Context, v any) (bool, error) { return s.when(v), nil }, v.Interface())
		return err == nil && yes
	}
	return &p
}
