package framework

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
)

// TaskMode decides whether a call may or must become a task.
type TaskMode int

// The modes of Task. If the client does not support tasks, or requests none, TaskOptional runs the
// call in its request, and TaskRequired refuses it. On revisions without tasks, both run the call in
// its request.
const (
	TaskOptional TaskMode = iota + 1
	TaskRequired
)

// TaskOption configures Task. Other packages cannot implement it. Build reports an option with an
// invalid value.
type TaskOption interface{ taskOption() }

// taskOption is a TaskOption. apply sets the value, and returns a problem or "".
type taskOption struct {
	name  string
	apply func(*taskSettings) (problem string)
}

func (taskOption) taskOption() {}

// taskSettings holds the options of Task.
type taskSettings struct {
	mode   TaskMode
	policy engine.TaskPolicy
	in     reflect.Type   // parameter type of the function given to TaskWhen
	when   func(any) bool // the function given to TaskWhen; may be nil
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

// Task lets calls of the tool outlive their request. The client gets a handle, and uses it to
// fetch the result, the questions and the progress later. On 2025-11-25 the client asks for a
// task. On 2026-07-28 the server decides, if the client declares the tasks extension. Clients of
// earlier revisions get the result in the request. With TaskOptional, so do clients that do not want a
// task.
//
// The handler stays the same. Its context ends when the task is cancelled or expires, or when the
// server stops, but not with the request. A question ends the execution and puts the task into
// input_required. With the answer, the handler runs again from the top, as in rounds. Effects in
// Once are not repeated.
//
// Messages of Progress become the task's status message. On 2025-11-25 they become notifications
// with the token of the request.
func Task(mode TaskMode, opts ...TaskOption) Option {
	opts = slices.Clone(opts)
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

// TTL sets how long a task lives after its creation, if the client does not ask for another time.
// The default is 1 hour, the minimum a second. A client gets the time that it asks for, up to 24
// hours, or up to d if d is longer.
func TTL(d time.Duration) TaskOption {
	return taskOption{"TTL", checked(d >= time.Second, "the duration must be a second or more", func(s *taskSettings) {
		s.policy.TTL = d
	})}
}

// PollInterval sets how long clients are asked to wait between two requests for the task's state.
// The default is 1 second, the minimum a millisecond.
func PollInterval(d time.Duration) TaskOption {
	return taskOption{"PollInterval", checked(d >= time.Millisecond, "the duration must be a millisecond or more", func(s *taskSettings) {
		s.policy.Poll = d
	})}
}

// ImmediateResponse sets what the model gets at once when a call has become a task, so that it can
// continue: "Your order is being packed; ask for its state later." It is sent to clients of
// 2025-11-25, which may use it instead of a message of their own. The specification calls it
// provisional. It is not sent on 2026-07-28, which does not define it.
func ImmediateResponse(text string) TaskOption {
	return taskOption{"ImmediateResponse", checked(text != "", "the text is empty", func(s *taskSettings) {
		s.policy.Immediate = text
	})}
}

// Retry sets how often a task runs again if its handler panics or fails with an internal error, or
// if its worker dies. After an error, the pauses grow. Effects in Once and answers are kept. Errors
// for the user or the model are results, and are not retried.
//
// Without Retry an error is final. A task whose worker has died (the process, if its store outlives
// it) runs again up to five times. Use Retry(0) for handlers that must not begin again after a crash;
// such a task fails if its worker dies. Its handler still begins again after a question, and
// elsewhere if its process shuts down cleanly.
func Retry(n int) TaskOption {
	return taskOption{"Retry", checked(n >= 0, "the number is negative", func(s *taskSettings) {
		s.policy.Retries, s.policy.Deaths = n, n
		if n == 0 {
			s.policy.Deaths = -1
		}
	})}
}

// TaskWhen decides for each call, by its arguments, whether it may become a task. If not, the call
// runs in its request. In must be the tool's input type.
//
// TaskWhen restricts tasks and never forces them. A client that cannot have a task, or on
// 2025-11-25 did not ask for one, does not get one. If a client of 2025-11-25 asks for a task of a
// TaskRequired tool, it always gets one. Invalid arguments are refused in the request.
func TaskWhen[In any](decide func(In) bool) TaskOption {
	return taskOption{"TaskWhen", checked(decide != nil, "the function is nil", func(s *taskSettings) {
		s.in = reflect.TypeFor[In]()
		s.when = func(in any) bool { v, ok := in.(In); return ok && decide(v) }
	})}
}

// AfterDetach keeps a call in its request until the handler calls Detach. The handler can then ask
// its first questions in the request: on 2026-07-28 they come in rounds, before the task exists. On
// 2025-11-25 a call is a task from the beginning if the client wants one.
func AfterDetach() TaskOption {
	return taskOption{"AfterDetach", checked(true, "", func(s *taskSettings) { s.policy.AfterDetach = true })}
}

// Detach lets the call continue as a task. If it does, Detach returns ErrPending. The handler must
// then return; it runs again in the task, with the answers and effects that it already has.
//
// In all other cases Detach does nothing and returns nil: in a task, for a client that cannot have
// one, for a tool without AfterDetach, in a tool that a model calls, in an effect of Once, and
// outside a handler.
func Detach(ctx context.Context) error {
	h := callCtxFrom(ctx)
	if h == nil || h.call == nil || h.inner != nil {
		return nil
	}
	if err := keepPassed(ctx); err != nil { // the handler runs again in the task
		return err
	}
	return h.call.Detach()
}

// taskPolicy returns the engine's form of the Task option, or nil without it.
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
		yes, err := guarded(func() (bool, error) { return s.when(v.Interface()), nil })
		return err == nil && yes
	}
	return &p
}
