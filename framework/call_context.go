package framework

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// bound is a component of a server, with its chain. It is the engine's handler for calls of the
// component.
type bound struct {
	server  *Server
	handle  leaf
	at      string // the line that added it
	noun    string // "tool"
	info    ComponentInfo
	timeout time.Duration
	tool    *protocol.Tool     // as listed; nil for other kinds
	policy  *engine.TaskPolicy // nil: calls never become tasks
	mask    *binding.Mask      // of the arguments; nil: none is secret
	steps   []Middleware       // of the chain, outermost first
	run     Handler            // the whole chain

	// witnesses is the chain for calls that are refused because of missing scopes; nil: no step
	// wants to see them.
	witnesses Handler

	// invoke is the innermost step: it decodes, calls the program's function, and encodes.
	invoke Handler
	// refuse turns an error of the chain into what the client gets.
	refuse func(ctx context.Context, c *engine.Call, err error) (protocol.Result, error)
}

// handling is the context of one call, in which the package's functions find the call. It is a
// context.Context itself, which saves an allocation. Handlers may use it from many goroutines
// at once; what changes during the call is atomic or guarded by a lock.
type handling struct {
	context.Context //nolint:containedctx // it is a context: one layer less for each call

	server *Server
	call   *engine.Call
	bound  *bound            // nil for lists and completions
	uri    string            // of resources/read
	vars   map[string]string // of a template
	seen   Call              // the call as the outermost step gets it
	inner  *inner            // set inside of an effect or a nested call; nil: this is the call itself

	given   *byte                // the first of the arguments that the outermost step gets; nil: none
	made    atomic.Pointer[byte] // the first of the JSON that was made of what the handler returned
	logging sync.Once
	asked   atomic.Int32 // counts questions without a key
	logger  *zap.Logger  // the logger of Log, made at its first use
	bucket  *bucket      // limits what logger sends to the client; nil: the client wants no log

	passed atomic.Pointer[passed]    // the innermost step of OncePerCall that has called next; nil: none
	roots  atomic.Pointer[callRoots] // of Roots; nil: not asked yet; only in the outermost handling
	asks   atomic.Bool               // a question was asked; see HasAsked; only in the outermost handling
	keying sync.Mutex                // guards keys
	keys   map[string]bool           // of all questions of the call; nil: none yet; only in the outermost handling
}

type handlingKey struct{}

// Value finds the handling itself, or what the outer contexts hold.
func (h *handling) Value(key any) any {
	if _, ok := key.(handlingKey); ok {
		return h
	}
	return h.Context.Value(key)
}

// handlingFrom is the handling of the call that ctx belongs to, or nil.
func handlingFrom(ctx context.Context) *handling {
	h, _ := ctx.Value(handlingKey{}).(*handling)
	return h
}

// Handle runs a call of a tool, a prompt, a method or a fixed resource.
func (b *bound) Handle(ctx context.Context, c *engine.Call) (protocol.Result, error) {
	switch p := c.Params.(type) {
	case *protocol.CallToolParams:
		if p.Quoted && b.server.cfg.plans.NoRepair {
			return nil, protocol.Faultf(protocol.FaultInvalidParams, "arguments: must be an object")
		}
		return b.serve(&handling{Context: ctx, server: b.server, call: c, bound: b}, p.Name, p.Arguments)
	case *protocol.ReadResourceParams:
		return b.serve(&handling{Context: ctx, server: b.server, call: c, bound: b, uri: p.URI}, p.URI, nil)
	case *protocol.GetPromptParams:
		return b.serve(&handling{Context: ctx, server: b.server, call: c, bound: b}, p.Name, stringObject(p.Arguments))
	case *protocol.CustomParams:
		return b.serve(&handling{Context: ctx, server: b.server, call: c, bound: b}, p.Name, withoutMeta(p.Raw))
	}
	return nil, protocol.Faultf(protocol.FaultMethodNotFound, "method not found: %q", c.Params.Method())
}

// TaskPolicy returns the policy set with the Task option, or nil if calls of the component never
// become tasks.
func (b *bound) TaskPolicy() *engine.TaskPolicy { return b.policy }

// errTimeout is the cause of a context that ended because of the component's Timeout.
var errTimeout = errors.New("the timeout of the component is over")

func (b *bound) serve(h *handling, name string, arguments []byte) (protocol.Result, error) {
	if b.timeout > 0 {
		ctx, cancel := context.WithTimeoutCause(h.Context, b.timeout, errTimeout)
		defer cancel()
		h.Context = ctx
	}
	h.seen = Call{Method: h.method(), Name: name, Arguments: arguments, Round: h.roundOf(), Component: b.info}
	if len(arguments) > 0 {
		h.given = &arguments[0]
	}
	if len(b.steps) > 0 {
		h.seen.ID = h.callID() // made only for steps, since it costs an allocation
	}
	result, err := b.run(h, &h.seen)
	if h.call.Pending() || errors.Is(err, ErrPending) { // which is no failure, whatever a step made of it
		return nil, ErrPending
	}
	if err != nil {
		return b.refuse(h, h.call, err)
	}
	if err := h.sound(result.Body); err != nil {
		return b.refuse(h, h.call, fmt.Errorf("a middleware of %s %q answered %w", b.noun, b.info.Name, err))
	}
	return located(result.Body, name), nil
}

// readable returns an error if a step has handed on arguments that are no JSON object. What the
// client has sent was checked.
func (b *bound) readable(ctx context.Context, call *Call) error {
	if len(b.steps) == 0 || len(call.Arguments) == 0 {
		return nil
	}
	if h := handlingFrom(ctx); h != nil && h.given == &call.Arguments[0] {
		return nil
	}
	err := jsontext.Check(call.Arguments, jsontext.DefaultLimits())
	if err == nil && jsontext.KindOf(call.Arguments) != jsontext.KindObject {
		err = errors.New("no object")
	}
	if err != nil {
		return fmt.Errorf("a middleware of %s %q handed on broken arguments: %w", b.noun, b.info.Name, err)
	}
	return nil
}

// sound returns an error if steps have answered with what cannot be sent. Without steps it is
// what the handler's own value became.
func (h *handling) sound(body protocol.Result) error {
	var raw []byte
	switch body := body.(type) {
	case nil:
		return errors.New("without a body")
	case *protocol.CallToolResult:
		if body != nil { // else nobody sends it
			raw = body.Structured
		}
	case *protocol.CustomResult:
		if body != nil {
			raw = body.Raw
		}
	}
	if len(raw) == 0 || len(h.bound.steps) == 0 || &raw[0] == h.made.Load() {
		return nil
	}
	if err := jsontext.Check(raw, jsontext.Limits{Depth: maxNesting}); err != nil {
		return fmt.Errorf("with what is no JSON: %w", err)
	}
	return nil
}

// method is that of the call; for a tool that a model has called, it is not the method that the
// client called.
func (h *handling) method() string {
	if h.inner != nil {
		return protocol.MethodCallTool
	}
	return h.call.Params.Method()
}

// pending says whether the call of ctx waits for an answer.
func pending(ctx context.Context) bool {
	h := handlingFrom(ctx)
	return h != nil && h.call != nil && h.call.Pending()
}

// answered wraps the innermost step of a chain. While a question is pending, the answer is
// ErrPending. The step does not run if an outer step has asked (and may have ignored that there
// is no answer yet), and its result does not count if it has asked itself.
func (b *bound) answered(step Handler) Handler {
	step = recovered(step)
	return func(ctx context.Context, call *Call) (*Result, error) {
		if pending(ctx) {
			return nil, ErrPending
		}
		if h := handlingFrom(ctx); h != nil && h.call != nil {
			if err := h.call.Begin(ctx); err != nil { // this round was executed before
				return nil, err
			}
		}
		if err := b.readable(ctx, call); err != nil {
			return nil, err
		}
		result, err := step(ctx, call)
		if !pending(ctx) {
			return result, err
		}
		if panicked, ok := errors.AsType[*engine.PanicError](err); ok {
			b.server.logFailure(ctx, handlingFrom(ctx).call, panicked, b.noun, b.info.Name)
		}
		return nil, ErrPending
	}
}

// recovered turns a panic of the innermost step, where the program's code runs, into an error
// that middleware sees like any other. The engine recovers panics of middleware.
func recovered(step Handler) Handler {
	return func(ctx context.Context, call *Call) (result *Result, err error) {
		defer func() {
			if v := recover(); v != nil {
				result, err = nil, &engine.PanicError{Value: v, Stack: debug.Stack()}
			}
		}()
		return step(ctx, call)
	}
}

// guarded calls a function of the program outside of a chain, and turns a panic into an error.
func guarded[In, Out any](ctx context.Context, fn func(context.Context, In) (Out, error), in In) (out Out, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &engine.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return fn(ctx, in)
}
