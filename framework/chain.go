package framework

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/catalog"
	"github.com/kagami-mcp/kagami/framework/internal/effectlog"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// A Handler runs a call. It is the rest of the chain of middleware, or the innermost step.
type Handler func(ctx context.Context, call *Call) (*Result, error)

// A Middleware is a step of the chain. Its name is shown by inspect --chain. The zero Phase is
// PhaseApp. Wrap is called once for each chain that has the step, when the chain is built.
type Middleware struct {
	Name    string
	Phase   Phase
	PerCall bool // set by OncePerCall
	Wrap    func(next Handler) Handler

	only kind   // kinds of calls that pass the step; 0 means all
	from string // see Step.Origin
	of   kind   // kind of the calls of its chain
	at   string // call site that added it to the app
}

// A Phase is a position in the chain. It orders middleware.
type Phase int

// Phases in the order of their values, but with PhaseApp innermost. Recovery of panics and checks
// of scopes are not middleware.
//
// The steps of PhaseTrace also run for calls that are refused because the caller lacks scopes of
// the component. Such a call may have any method, and has no arguments. next returns an error of
// OutcomeDenied, and the result of the step is ignored. For these calls there is a second chain, so
// Wrap is called once more.
const (
	PhaseApp Phase = iota
	PhaseTrace
	PhaseAuth
	PhaseLimit
	PhaseCache
	PhaseValidate
)

// rank returns the order of the phase in the chain, outermost first. The zero Phase is innermost.
func (p Phase) rank() Phase {
	if p == PhaseApp {
		return PhaseValidate + 1
	}
	return p
}

// A Call describes a call to middleware.
type Call struct {
	Method    string          // "tools/call"
	Name      string          // name of the tool or prompt, or the URI in one spelling, whatever spelling the client sends
	Arguments json.RawMessage // as received, or as the previous step passed them on
	ID        string          // of the logical call; the same in every round
	Round     int             // 0 for the first round
	Component ComponentInfo   // zero for lists

	began time.Time
}

// Began returns the time of the first call of Began on c. All middleware that measures then uses
// the same start. Call it before next; otherwise the duration is 0.
func (c *Call) Began() time.Time {
	if c.began.IsZero() {
		c.began = time.Now()
	}
	return c.began
}

// ComponentInfo describes a component. It is shared: do not modify its slices and maps.
type ComponentInfo struct {
	Kind        string // "tool", "resource", "template", "prompt", "method"
	Name        string // as listed; the URI of a resource, the URI template of a template
	Group       string
	Scopes      []string
	Annotations protocol.ToolAnnotations
	Meta        protocol.Meta
}

// A Result is the result of a call. While a question is pending, next returns ErrPending, whatever
// the handler returned. ErrPending is not a failure and must not be replaced. The handler will run
// again, with a higher Round and the same ID.
type Result struct {
	Body protocol.Result // *protocol.CallToolResult, *protocol.ReadResourceResult, *protocol.GetPromptResult, *protocol.CompleteResult, *protocol.CustomResult; nil for lists
	List []ComponentInfo // of a list; middleware may remove components
}

// Next is the rest of the chain, for the typed adapters such as OnToolCall.
type Next[R any] = func(ctx context.Context, call *Call) (R, error)

// OnToolCall returns a middleware for tools/call. Other calls skip it.
func OnToolCall(name string, fn func(ctx context.Context, call *Call, next Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error)) Middleware {
	return adapter(name, kindTool, fn, readBody[*protocol.CallToolResult](name), makeBody)
}

// OnRead returns a middleware for resources/read. Other calls skip it.
func OnRead(name string, fn func(ctx context.Context, call *Call, next Next[*protocol.ReadResourceResult]) (*protocol.ReadResourceResult, error)) Middleware {
	return adapter(name, kindsRead, fn, readBody[*protocol.ReadResourceResult](name), makeBody)
}

// OnPrompt returns a middleware for prompts/get. Other calls skip it.
func OnPrompt(name string, fn func(ctx context.Context, call *Call, next Next[*protocol.GetPromptResult]) (*protocol.GetPromptResult, error)) Middleware {
	return adapter(name, kindPrompt, fn, readBody[*protocol.GetPromptResult](name), makeBody)
}

// adapter returns a middleware with a function that sees a part of the result, of type R: read takes it out
// of a result, and made makes a result of it.
func adapter[R any](name string, only kind, fn func(context.Context, *Call, Next[R]) (R, error), read func(*Result) (R, error), made func(R) *Result) Middleware {
	if fn == nil {
		return Middleware{Name: name, only: only}
	}
	wrap := func(next Handler) Handler {
		typed := func(ctx context.Context, call *Call) (none R, _ error) {
			result, err := next(ctx, call)
			if err != nil || result == nil {
				return none, err
			}
			return read(result)
		}
		return func(ctx context.Context, call *Call) (*Result, error) {
			r, err := fn(ctx, call, typed)
			if err != nil {
				return nil, err
			}
			return made(r), nil
		}
	}
	return Middleware{Name: name, Wrap: wrap, only: only}
}

// readBody returns the function of adapter that takes a body of type R out of a result.
func readBody[R protocol.Result](name string) func(*Result) (R, error) {
	return func(result *Result) (R, error) {
		r, ok := result.Body.(R)
		if !ok {
			return r, fmt.Errorf("middleware %s: a step further in replaced the result by a %T", name, result.Body)
		}
		return r, nil
	}
}

func makeBody[R protocol.Result](r R) *Result { return &Result{Body: r} }

// OnList returns a middleware for all lists. fn gets all components that the caller may see, before
// the list is cut into pages. fn may remove components; additions and changes of the order are
// ignored.
//
// If the app has such a middleware, the answer to an unknown name does not suggest another name.
// The suggestion might be a component that fn hides.
func OnList(name string, fn func(ctx context.Context, call *Call, next Next[[]ComponentInfo]) ([]ComponentInfo, error)) Middleware {
	return adapter(name, kindList, fn, func(r *Result) ([]ComponentInfo, error) { return r.List, nil }, func(list []ComponentInfo) *Result { return &Result{List: list} })
}

// OncePerCall returns mw with PerCall set. The step then runs in each round of a logical call until
// it has called next. In later rounds it does not run. A step that answers without calling next, or
// whose own question is pending, runs again in the next round. Whatever the step does after next
// affects only the round that it ran in.
//
// A waiting call may continue in another version of the program. That version recognizes the step
// by its name.
func OncePerCall(mw Middleware) Middleware {
	mw.PerCall = true
	return mw
}

// problem returns what is wrong with the middleware, or "".
func (m Middleware) problem() string {
	switch {
	case m.Wrap == nil && strings.Contains(m.Name, ": "): // package middleware reports a wrong argument in the name
		return "middleware." + m.Name
	case m.Wrap == nil:
		return fmt.Sprintf("the middleware %q does nothing: its function is nil", m.Name)
	case m.Phase < PhaseApp || m.Phase > PhaseValidate:
		return fmt.Sprintf("the middleware %q is in no phase", m.Name)
	}
	return ""
}

// meets reports whether calls of the kind pass the step.
func (m Middleware) meets(k kind) bool { return m.only == 0 || m.only&k != 0 }

// arranged returns the steps that calls of one kind pass, outermost first. Steps are ordered by
// phase. Within a phase, the app's steps come first, then the group's, then the component's own.
func arranged(k kind, app, group, own []Middleware) []Middleware {
	steps := slices.Concat(app, group, own)
	for i := range steps {
		steps[i].of = k
		switch {
		case i < len(app):
			steps[i].from = originApp
		case i < len(app)+len(group):
			steps[i].from = originGroup
		default:
			steps[i].from = originComponent
		}
	}
	steps = slices.DeleteFunc(steps, func(m Middleware) bool { return !m.meets(k) })
	slices.SortStableFunc(steps, func(a, b Middleware) int { return cmp.Compare(a.Phase.rank(), b.Phase.rank()) })
	return steps
}

// faultFunc is called for a step that cannot be built. The chain is then built without the step, to
// find further faults.
type faultFunc func(step Middleware, problem string)

// compose builds a chain of steps in front of innermost. It is called once for each chain, and
// calls report for each step that cannot be built.
func compose(innermost Handler, steps []Middleware, report faultFunc) Handler {
	places, named := make([]onceStep, len(steps)), make(map[string]int)
	for i, m := range steps {
		if m.PerCall { // by name, because another version of the program may have other steps around it
			places[i] = onceStep(fmt.Sprintf("%sstep/%d/%s", reserved, named[m.Name], m.Name))
			named[m.Name]++
		}
	}
	next, problems := innermost, make([]string, len(steps))
	if len(steps) > 0 {
		next = func(ctx context.Context, call *Call) (*Result, error) {
			if effectlog.Watched() {
				return timed(ctx, call, effectlog.Handler, len(steps), innermost)
			}
			return innermost(ctx, call)
		}
	}
	for i, m := range slices.Backward(steps) {
		outer, problem := m.around(next, places[i], i)
		if problems[i] = problem; problem == "" {
			next = outer
		}
	}
	for i, problem := range problems {
		if problem != "" {
			report(steps[i], fmt.Sprintf("the Wrap of the middleware %q %s", steps[i].Name, problem))
		}
	}
	return next
}

// around builds the step in front of next. place is not "" for a step of OncePerCall. at is the position
// of the step in its chain, outermost first. If problem is not "", the step cannot be built. During a
// call, a step that returns neither a result nor an error, or the result of another method, causes an
// error of the call.
func (m Middleware) around(next Handler, place onceStep, at int) (step Handler, problem string) {
	behind := next
	if place != "" {
		behind = place.then(next)
	}
	wrapped, problem := wrap(m.Wrap, behind)
	if problem != "" {
		return nil, problem
	}
	return func(ctx context.Context, call *Call) (*Result, error) {
		if place != "" && call.Round > 0 && place.done(ctx) {
			return behind(ctx, call)
		}
		var result *Result
		var err error
		if effectlog.Watched() {
			result, err = timed(ctx, call, m.Name, at, wrapped)
		} else {
			result, err = wrapped(ctx, call)
		}
		h := callCtxFrom(ctx)
		err = h.demanded(ctx, err)
		if h.pending() { // the step has asked a question, or replaced ErrPending
			return nil, ErrPending
		}
		if err == nil && result == nil {
			return nil, fmt.Errorf("middleware %s returned neither a result nor an error", m.Name)
		}
		if err == nil && m.of != kindList && !m.of.answeredBy(result.Body) {
			return nil, fmt.Errorf("middleware %s answered a %s with a %T that does not fit it", m.Name, m.of, result.Body)
		}
		return result, err
	}, ""
}

// wrap calls the function of the program that builds a step in front of next. problem says why
// there is no step, or is "".
func wrap[H Handler | transport.Next](fn func(H) H, next H) (step H, problem string) {
	defer func() {
		if v := recover(); v != nil {
			problem = fmt.Sprintf("panicked: %v", v)
		}
	}()
	if step = fn(next); step == nil {
		return nil, "returned nil"
	}
	return step, ""
}

// appFault returns a fault of a step of the app.
func (m Middleware) appFault(problem string) Fault {
	return Fault{Component: "app", Where: m.at, Problem: problem}
}

// broken returns the function that reports steps that cannot be built in the member's chain. A step
// of the app is reported once, not once for each component.
func (m *member) broken(b *builder) faultFunc {
	return func(step Middleware, problem string) {
		fault := step.appFault(problem)
		switch {
		case step.from != originApp:
			m.fault(b, "", problem, "")
		case !slices.Contains(b.faults, fault):
			b.faults = append(b.faults, fault)
		}
	}
}

// answeredBy reports whether r may be the result of calls of the kind. A missing body may: an outer
// step may add one, and results of lists do not have a body.
func (k kind) answeredBy(r protocol.Result) bool {
	switch r := r.(type) {
	case nil:
		return true
	case *protocol.CallToolResult:
		return r != nil && k == kindTool
	case *protocol.ReadResourceResult:
		return r != nil && k&kindsRead != 0
	case *protocol.GetPromptResult:
		return r != nil && k == kindPrompt
	case *protocol.CompleteResult:
		return r != nil && k == kindCompletion
	case *protocol.CustomResult:
		return r != nil && k == kindMethod
	}
	return false
}

// listFilter returns a function that runs the app's chain around a list, or nil if lists do not
// pass any step.
func (s *Server) listFilter(report faultFunc) func(context.Context, *engine.Call, protocol.ListKind, []*catalog.Entry) ([]*catalog.Entry, error) {
	if !slices.ContainsFunc(s.chain, func(m Middleware) bool { return m.meets(kindList) }) {
		return nil
	}
	run := compose(listed, arranged(kindList, s.chain, nil, nil), report)
	return func(ctx context.Context, c *engine.Call, k protocol.ListKind, entries []*catalog.Entry) ([]*catalog.Entry, error) {
		infos := make([]ComponentInfo, len(entries))
		for i, e := range entries {
			infos[i] = e.Handler.(*componentHandler).info
		}
		ctx = context.WithValue(&callCtx{Context: ctx, server: s, call: c}, listKey{}, infos)
		result, err := run(ctx, &Call{Method: k.Method(), ID: c.ID(), Round: c.Round})
		if err != nil {
			_, err = (&componentHandler{server: s, noun: "list"}).refusePlain(ctx, c, err)
			return nil, err
		}
		keep := make(map[string]bool, len(result.List))
		for _, info := range result.List {
			keep[info.Name] = true
		}
		return slices.DeleteFunc(entries, func(e *catalog.Entry) bool { return !keep[e.Key] }), nil
	}
}

var errContext = errors.New("a middleware replaced the context instead of deriving from it")

// listKey is the context key of the components of a list.
type listKey struct{}

// listed is the innermost step of lists.
func listed(ctx context.Context, _ *Call) (*Result, error) {
	infos, ok := ctx.Value(listKey{}).([]ComponentInfo)
	if !ok {
		return nil, errContext
	}
	return &Result{List: slices.Clone(infos)}, nil
}
