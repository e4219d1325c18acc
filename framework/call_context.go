package framework

import (
	"cmp"
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

// A componentHandler is a component of a server, with its chain. It is the engine's handler for calls of the
// component. It does not change after it is built.
type componentHandler struct {
	server   *Server
	declared *declaration
	at       string // call site that added it
	noun     string // kind of the component, such as "tool"
	info     ComponentInfo
	timeout  time.Duration
	tool     *protocol.Tool     // as listed; nil for other kinds
	policy   *engine.TaskPolicy // nil if calls never become tasks
	mask     *binding.Mask      // redacts secret arguments; nil if no argument is secret
	steps    []Middleware       // of the chain, outermost first
	run      Handler            // the whole chain

	// witnesses is the chain for calls that are refused because of missing scopes. It is nil if
	// there is no step of PhaseTrace.
	witnesses Handler

	// invoke is the innermost step. It decodes the arguments, calls the program's function, and
	// encodes the result.
	invoke Handler
	// refuse returns the answer to an error of the chain.
	refuse func(ctx context.Context, c *engine.Call, err error) (protocol.Result, error)
}

// A callCtx is the context of one call. The functions of the package find the call in it. It is a
// context.Context itself, which saves an allocation.
//
// A callCtx is made for each call, list and completion, and by within for each effect and nested
// call. Most fields are set before the chain runs. Handlers may use a callCtx from many goroutines
// at once. Fields that change during the call are atomic, set in logging, or guarded by keying.
type callCtx struct {
	context.Context //nolint:containedctx // it is a context: one layer less for each call

	server    *Server
	call      *engine.Call
	component *componentHandler // nil for lists
	uri       string            // set for resources/read; as the client sent it
	vars      map[string]string // variables of a template
	seen      Call              // the call as the outermost step receives it
	inner     *nestedCall       // set for an effect or a nested call; nil for the call itself

	given   *byte                // first byte of the arguments that the outermost step receives; nil without arguments
	made    atomic.Pointer[byte] // first byte of the JSON that the handler's value was encoded to
	logging sync.Once            // sets logger and bucket
	asked   atomic.Int32         // number of questions without a key
	logger  *zap.Logger          // logger of Log; nil until its first use
	bucket  *bucket              // limits what logger sends to the client; nil if the client wants no log messages

	passed  atomic.Pointer[activeStep]   // the innermost step of OncePerCall that has called next; may be nil
	chained bool                         // the chain of a call runs in it; set by serve
	visited atomic.Pointer[settledVisit] // the page of URLRequired that this execution has settled; may be nil
	roots   atomic.Pointer[callRoots]    // of Roots; nil until asked; only in the outermost callCtx
	asks    atomic.Bool                  // a question was asked; see hasAsked; only in the outermost callCtx
	keying  sync.Mutex                   // guards keys
	keys    map[string]bool              // keys of all questions of the call; nil until the first; only in the outermost callCtx
}

type callCtxKey struct{}

// Value returns h for callCtxKey, and asks the wrapped context for other keys.
func (h *callCtx) Value(key any) any {
	if _, ok := key.(callCtxKey); ok {
		return h
	}
	return h.Context.Value(key)
}

// callCtxFrom returns the call context of ctx, or nil.
func callCtxFrom(ctx context.Context) *callCtx {
	h, _ := ctx.Value(callCtxKey{}).(*callCtx)
	return h
}

// Handle runs a call of a tool, a prompt, a method or a fixed resource. Calls of templates run
// through templateCall.
func (b *componentHandler) Handle(ctx context.Context, c *engine.Call) (protocol.Result, error) {
	h := &callCtx{Context: ctx, server: b.server, call: c, component: b}
	switch p := c.Params.(type) {
	case *protocol.CallToolParams:
		if p.Quoted && b.server.cfg.plans.NoRepair {
			return nil, protocol.Faultf(protocol.FaultInvalidParams, "arguments: must be an object")
		}
		return b.serve(h, p.Name, p.Arguments)
	case *protocol.ReadResourceParams:
		h.uri = p.URI
		return b.serve(h, b.info.Name, nil)
	case *protocol.GetPromptParams:
		return b.serve(h, p.Name, stringObject(p.Arguments))
	case *protocol.CustomParams:
		return b.serve(h, p.Name, withoutMeta(p.Raw))
	}
	return nil, protocol.Faultf(protocol.FaultMethodNotFound, "method not found: %q", protocol.MethodOf(c.Params))
}

// TaskPolicy returns the policy set with the Task option, or nil if calls of the component never
// become tasks.
func (b *componentHandler) TaskPolicy() *engine.TaskPolicy { return b.policy }

// errTimeout is the cause of a context that ended because the component's Timeout expired.
var errTimeout = errors.New("the timeout of the component is over")

// serve runs the chain. If a middleware panics, the outer steps do not see the panic. The engine
// answers with an internal error.
func (b *componentHandler) serve(h *callCtx, name string, arguments []byte) (answer protocol.Result, err error) {
	defer func() {
		if v := recover(); v != nil { // logged here, where the secrets of the call are known
			panicked := &engine.PanicError{Value: v, Stack: debug.Stack()}
			b.server.logFailure(h, h.call, panicked, b.noun, b.info.Name)
			answer, err = nil, logged(h, panicked)
		}
	}()
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
		h.seen.ID = h.callID() // only for steps, because it costs an allocation
	}
	h.chained = true
	result, err := b.run(h, &h.seen)
	if h.call.Pending() || errors.Is(err, ErrPending) { // not a failure, even if a step returned another error
		return nil, ErrPending
	}
	if err != nil {
		return b.refuse(h, h.call, err)
	}
	if err := h.sound(result.Body); err != nil {
		return b.refuse(h, h.call, fmt.Errorf("a middleware of %s %q answered %w", b.noun, b.info.Name, err))
	}
	return withResourceURIs(result.Body, cmp.Or(h.uri, name)), nil
}

// readable returns an error if a step has passed on arguments that are not a JSON object. Arguments
// from the client were checked before.
func (b *componentHandler) readable(h *callCtx, call *Call) error {
	if len(b.steps) == 0 || len(call.Arguments) == 0 || h != nil && h.given == &call.Arguments[0] {
		return nil
	}
	err := jsontext.Check(call.Arguments, jsontext.DefaultLimits())
	if err == nil && jsontext.KindOf(call.Arguments) != jsontext.KindObject {
		err = errors.New("no object")
	}
	if err != nil {
		return fmt.Errorf("a middleware of %s %q passed invalid arguments: %w", b.noun, b.info.Name, err)
	}
	return nil
}

// sound returns an error if a step has returned a body that cannot be sent. Without steps, the body
// was made of the handler's own value and is not checked.
func (h *callCtx) sound(body protocol.Result) error {
	var raw []byte
	switch body := body.(type) {
	case nil:
		return errors.New("without a body")
	case *protocol.CallToolResult:
		if body != nil { // a nil body is not sent
			raw = body.Structured
		}
	case *protocol.CustomResult:
		if body != nil {
			raw = body.Raw
		}
	}
	if len(raw) == 0 || len(h.component.steps) == 0 || &raw[0] == h.made.Load() {
		return nil
	}
	if err := jsontext.Check(raw, jsontext.Limits{Depth: maxNesting}); err != nil {
		return fmt.Errorf("with invalid JSON: %w", err)
	}
	return nil
}

// method returns the method of the call. For a tool that a model has called, that is tools/call,
// not the method that the client has called.
func (h *callCtx) method() string {
	if h.inner != nil {
		return protocol.MethodCallTool
	}
	return protocol.MethodOf(h.call.Params)
}

// pending reports whether the call waits for an answer. h may be nil.
func (h *callCtx) pending() bool { return h != nil && h.call != nil && h.call.Pending() }

// answered wraps the innermost step of a chain. While a question is pending, it returns ErrPending.
// If an outer step has asked, and may have ignored that the answer is pending, the innermost step
// does not run. If the innermost step has asked, its result is ignored. Panics of middleware are
// recovered by serve.
func (b *componentHandler) answered(step Handler) Handler {
	return func(ctx context.Context, call *Call) (*Result, error) {
		h := callCtxFrom(ctx)
		if h.pending() {
			return nil, ErrPending
		}
		if h != nil && h.call != nil {
			if err := h.call.Begin(ctx); err != nil { // this round was executed before
				return nil, err
			}
		}
		if err := b.readable(h, call); err != nil {
			return nil, err
		}
		result, err := guarded(func() (*Result, error) { return step(ctx, call) }) // middleware sees a panic as an error
		err = h.demanded(ctx, err)
		if !h.pending() {
			return result, err
		}
		if panicked, ok := errors.AsType[*engine.PanicError](err); ok {
			b.server.logFailure(ctx, h.call, panicked, b.noun, b.info.Name)
		}
		return nil, ErrPending
	}
}

// recovered wraps the innermost step of a completion, which runs the program's code. It turns a panic
// into an error, which middleware sees like any other error.
func recovered(step Handler) Handler {
	return func(ctx context.Context, call *Call) (*Result, error) {
		return guarded(func() (*Result, error) { return step(ctx, call) })
	}
}

// guarded calls a function of the program. It returns a panic as an error.
func guarded[T any](fn func() (T, error)) (out T, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &engine.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return fn()
}
