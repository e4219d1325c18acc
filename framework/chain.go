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
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// Handler is one step of the chain.
type Handler func(ctx context.Context, call *Call) (*Result, error)

// Middleware is a named step with its place in the chain; inspect --chain prints the name.
// The zero Phase is PhaseApp. A bare func could carry neither.
type Middleware struct {
	Name    string
	Phase   Phase
	PerCall bool // of OncePerCall
	Wrap    func(next Handler) Handler

	only kind // of the typed adapters: other calls never meet this step; 0: all
	from Origin
	of   kind   // of the calls of its chain
	at   string // of the app's: the line that gave it
}

// Phase orders middleware.
type Phase int

// Phases, outermost first. Recovery and scopes are the engine's own.
//
// The steps of PhaseTrace also see calls that are refused because the caller lacks the
// component's Scopes, by whatever method and without their arguments: next then returns an
// error of OutcomeDenied, and what the step returns is not the answer. They are wrapped
// around that as well, once.
const (
	PhaseApp Phase = iota
	PhaseTrace
	PhaseAuth
	PhaseLimit
	PhaseCache
	PhaseValidate
)

// rank is the place in the chain, outermost first: the zero Phase is innermost.
func (p Phase) rank() Phase {
	if p == PhaseApp {
		return PhaseValidate + 1
	}
	return p
}

// Call is what middleware sees.
type Call struct {
	Method    string          // "tools/call"
	Name      string          // of the tool or prompt, or the URI
	Arguments json.RawMessage // as received; what a step hands on is what the next one gets
	ID        string          // of the logical call: the same in every round
	Round     int             // 0 = first
	Component ComponentInfo   // zero for lists

	began time.Time
}

// Began returns when it was first asked for, so that all middleware that measures reads the
// clock once. Ask before you call next, or the duration is 0.
func (c *Call) Began() time.Time {
	if c.began.IsZero() {
		c.began = time.Now()
	}
	return c.began
}

// ComponentInfo describes a component. It is shared: do not change what its slices and maps
// hold.
type ComponentInfo struct {
	Kind        string // "tool", "resource", "template", "prompt", "method"
	Name        string // as listed; the URI of a resource, the URI template of a template
	Group       string
	Scopes      []string
	Annotations protocol.ToolAnnotations
	Meta        protocol.Meta
}

// Result is what a handler answers. While a question is pending, next returns ErrPending,
// whatever the handler returned: it is not a failure and must not be replaced. The handler
// will run again, with a higher Round and the same ID.
type Result struct {
	Body protocol.Result // *protocol.CallToolResult, *protocol.ReadResourceResult, *protocol.GetPromptResult, *protocol.CompleteResult, *protocol.CustomResult; nil for lists
	List []ComponentInfo // of a list: middleware may take components away
}

// Next is the rest of the chain for the typed adapters.
type Next[R any] = func(ctx context.Context, call *Call) (R, error)

// OnToolCall makes a middleware for tools/call only; likewise below.
func OnToolCall(name string, fn func(ctx context.Context, call *Call, next Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error)) Middleware {
	return adapter(name, kindTool, fn)
}

// OnRead is for resources/read.
func OnRead(name string, fn func(ctx context.Context, call *Call, next Next[*protocol.ReadResourceResult]) (*protocol.ReadResourceResult, error)) Middleware {
	return adapter(name, kindsRead, fn)
}

// OnPrompt is for prompts/get.
func OnPrompt(name string, fn func(ctx context.Context, call *Call, next Next[*protocol.GetPromptResult]) (*protocol.GetPromptResult, error)) Middleware {
	return adapter(name, kindPrompt, fn)
}

// body is one of the typed results.
type body interface {
	*protocol.CallToolResult | *protocol.ReadResourceResult | *protocol.GetPromptResult
	protocol.Result
}

func adapter[R body](name string, only kind, fn func(context.Context, *Call, Next[R]) (R, error)) Middleware {
	if fn == nil {
		return Middleware{Name: name, only: only}
	}
	wrap := func(next Handler) Handler {
		typed := func(ctx context.Context, call *Call) (R, error) {
			result, err := next(ctx, call)
			if err != nil || result == nil {
				return nil, err
			}
			r, ok := result.Body.(R)
			if !ok {
				return nil, fmt.Errorf("middleware %s: a step further in replaced the result by a %T", name, result.Body)
			}
			return r, nil
		}
		return func(ctx context.Context, call *Call) (*Result, error) {
			r, err := fn(ctx, call, typed)
			if err != nil {
				return nil, err
			}
			return &Result{Body: r}, nil
		}
	}
	return Middleware{Name: name, Wrap: wrap, only: only}
}

// OnList is for all lists. fn gets everything the caller may see, before it is cut into
// pages, and may take components away; what it adds or reorders is ignored. With such a
// step, the answer to an unknown name suggests no other, which might be of a component that
// fn hides.
func OnList(name string, fn func(ctx context.Context, call *Call, next Next[[]ComponentInfo]) ([]ComponentInfo, error)) Middleware {
	if fn == nil {
		return Middleware{Name: name, only: kindList}
	}
	wrap := func(next Handler) Handler {
		typed := func(ctx context.Context, call *Call) ([]ComponentInfo, error) {
			result, err := next(ctx, call)
			if err != nil || result == nil {
				return nil, err
			}
			return result.List, nil
		}
		return func(ctx context.Context, call *Call) (*Result, error) {
			list, err := fn(ctx, call, typed)
			if err != nil {
				return nil, err
			}
			return &Result{List: list}, nil
		}
	}
	return Middleware{Name: name, Wrap: wrap, only: kindList}
}

// OncePerCall sets PerCall: the step runs in each round of a logical call until it has
// called next, and in none of the rounds after that. It may ask; a step that answers
// itself, or whose question is open, runs again. What it does after next affects only the
// round in which it ran.
func OncePerCall(mw Middleware) Middleware {
	mw.PerCall = true
	return mw
}

// problem is what is wrong with the middleware, or "".
func (m Middleware) problem() string {
	switch {
	case m.Wrap == nil && strings.Contains(m.Name, ": "): // so package middleware tells of an argument
		return "middleware." + m.Name
	case m.Wrap == nil:
		return fmt.Sprintf("the middleware %q does nothing: its function is nil", m.Name)
	case m.Phase < PhaseApp || m.Phase > PhaseValidate:
		return fmt.Sprintf("the middleware %q is in no phase", m.Name)
	}
	return ""
}

// meets says whether calls of this kind pass the step.
func (m Middleware) meets(k kind) bool { return m.only == 0 || m.only&k != 0 }

// arranged are the steps that calls of one kind pass, outermost first: ordered by phase, and
// within a phase the app's first, then the group's, then the component's own.
func arranged(k kind, app, group, own []Middleware) []Middleware {
	steps := slices.Concat(app, group, own)
	for i := range steps {
		steps[i].of = k
		switch {
		case i < len(app):
			steps[i].from = OriginApp
		case i < len(app)+len(group):
			steps[i].from = OriginGroup
		default:
			steps[i].from = OriginComponent
		}
	}
	steps = slices.DeleteFunc(steps, func(m Middleware) bool { return !m.meets(k) })
	slices.SortStableFunc(steps, func(a, b Middleware) int { return cmp.Compare(a.Phase.rank(), b.Phase.rank()) })
	return steps
}

// broken is called for a step that cannot be built. The chain is built without it, to find
// further faults.
type broken func(step Middleware, problem string)

// compose builds the chain of one component, once.
func compose(innermost Handler, steps []Middleware, report broken) Handler {
	places := make([]*passed, len(steps))
	var outer *passed
	for i, m := range steps {
		if m.PerCall {
			outer = &passed{key: fmt.Sprintf("%sstep/%d/%s", reserved, i, m.Name), outer: outer}
			places[i] = outer
		}
	}
	next, problems := innermost, make([]string, len(steps))
	for i, m := range slices.Backward(steps) {
		outer, problem := m.around(next, places[i])
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

// around puts the step in front of next; place is that of a step of OncePerCall. A step that
// returns nothing at all, or the result of another method, has a fault, which becomes an error
// of the call. If problem is not "", there is no step.
func (m Middleware) around(next Handler, place *passed) (step Handler, problem string) {
	behind := next
	if place != nil {
		behind = place.then(next)
	}
	wrapped, problem := wrap(m.Wrap, behind)
	if problem != "" {
		return nil, problem
	}
	return func(ctx context.Context, call *Call) (*Result, error) {
		if place != nil && call.Round > 0 && place.done(ctx) {
			return behind(ctx, call)
		}
		result, err := wrapped(ctx, call)
		if pending(ctx) { // the step has asked itself, or replaced the error that it got
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

// wrap calls the program's function that puts a step in front of next; problem is why there is
// none, or "".
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

// appFault is a fault of one of the app's steps.
func (m Middleware) appFault(problem string) Fault {
	return Fault{Component: "app", Where: m.at, Problem: problem}
}

// broken reports a step that the member's chain cannot have. A step of the app is reported
// once, whatever components it is for.
func (m *member) broken(b *builder) broken {
	return func(step Middleware, problem string) {
		fault := step.appFault(problem)
		switch {
		case step.from != OriginApp:
			m.fault(b, "", problem, "")
		case !slices.Contains(b.faults, fault):
			b.faults = append(b.faults, fault)
		}
	}
}

// answeredBy says whether calls of the kind are answered by such a body. It may be missing: an
// outer step may make one, and lists have none.
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

// listFilter runs the app's chain around each list; nil if no step meets lists.
func (s *Server) listFilter(report broken) func(context.Context, *engine.Call, protocol.ListKind, []*catalog.Entry) ([]*catalog.Entry, error) {
	if !slices.ContainsFunc(s.chain, func(m Middleware) bool { return m.meets(kindList) }) {
		return nil
	}
	run := compose(listed, arranged(kindList, s.chain, nil, nil), report)
	return func(ctx context.Context, c *engine.Call, k protocol.ListKind, entries []*catalog.Entry) ([]*catalog.Entry, error) {
		infos := make([]ComponentInfo, len(entries))
		for i, e := range entries {
			infos[i] = e.Handler.(*bound).info
		}
		ctx = context.WithValue(&handling{Context: ctx, server: s, call: c}, listKey{}, infos)
		result, err := run(ctx, &Call{Method: k.Method(), ID: c.ID(), Round: c.Round})
		if err != nil {
			_, err = (&bound{server: s, noun: "list"}).refusePlain(ctx, c, err)
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

// listKey finds the components of a list in its context.
type listKey struct{}

// listed is the innermost step of lists.
func listed(ctx context.Context, _ *Call) (*Result, error) {
	infos, ok := ctx.Value(listKey{}).([]ComponentInfo)
	if !ok {
		return nil, errContext
	}
	return &Result{List: slices.Clone(infos)}, nil
}
