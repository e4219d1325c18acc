package testkit

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/inmem"
)

// Chained is a middleware chain without a component. After End and OnElicit have been called, Call
// is safe for concurrent use.
type Chained struct {
	steps  []framework.Middleware
	where  string // the call of Chain
	end    framework.Handler
	server func() (*framework.Server, error)

	asking sync.Mutex // guards the fields below
	asks   bool       // OnElicit was called
	forms  []scripted[any]
}

// Chain returns the chain of an app that has these steps and no handlers. The steps are sorted by
// phase. Steps of OnToolCall and similar functions see only their kind of call, and steps of
// OncePerCall run once in a call that asks.
//
//	result, err := testkit.Chain(middleware.Timeout(time.Second)).
//		End(func(ctx context.Context, _ *framework.Call) (*framework.Result, error) {
//			<-ctx.Done()
//			return nil, ctx.Err()
//		}).
//		Call(ctx, &framework.Call{Name: "slow"})
func Chain(mw ...framework.Middleware) *Chained {
	c := &Chained{steps: slices.Clone(mw), end: sayOK, where: "testkit.Chain"}
	if _, file, line, ok := runtime.Caller(1); ok {
		c.where = fmt.Sprintf("testkit.Chain at %s:%d", filepath.Base(file), line)
	}
	c.server = sync.OnceValues(c.build)
	return c
}

// End sets the handler at the end of the chain. Without it, the answer is the text "ok".
func (c *Chained) End(h framework.Handler) *Chained {
	c.end = h
	return c
}

// OnElicit answers the next question with a message that contains text, as [Session.OnElicit] does.
// A step, or the end of the chain, may ask the question. Without OnElicit, the client cannot be
// asked. Call returns an error if a question has no answer, but not if an answer is not used.
func (c *Chained) OnElicit(text string, answer any) *Chained {
	c.asking.Lock()
	defer c.asking.Unlock()
	c.asks = true
	c.forms = append(c.forms, scripted[any]{text, answer})
	return c
}

// Call runs the chain with the principal and the values of ctx. The steps see a copy of call. If
// call has no Method, it is a tools/call. If it has no ID, Round or Component, they are the
// server's. A nil call means a call of no particular tool. Call returns the result of the outermost
// step, in the last round of a call that asks.
func (c *Chained) Call(ctx context.Context, call *framework.Call) (*framework.Result, error) {
	if c.end == nil {
		return nil, errors.New("testkit: the end of the chain is nil")
	}
	server, err := c.server()
	if err != nil {
		return nil, fmt.Errorf("testkit: the chain: %w", err)
	}
	r := &run{end: c.end}
	if call != nil {
		r.call = *call
	}
	if r.call.Method == "" {
		r.call.Method = protocol.MethodCallTool
	}
	if err := r.send(context.WithValue(ctx, runKey{}, r), server, c.clientOptions()); r.began == 0 {
		return nil, fmt.Errorf("testkit: the chain does not meet a call of %s: %w", r.call.Method, err)
	}
	return r.result, r.err
}

func (c *Chained) clientOptions() []client.Option {
	opts := []client.Option{client.Name("testkit", "1"), client.Revisions(newest().Revision())}
	c.asking.Lock()
	defer c.asking.Unlock()
	if c.asks {
		opts = append(opts, client.OnElicit(c.elicit), client.UncheckedForms())
	}
	return opts
}

// elicit answers questions to the user by the script.
func (c *Chained) elicit(_ context.Context, r *client.ElicitRequest) (*client.ElicitAnswer, error) {
	answer, left, ok := take(&c.asking, &c.forms, r.Message, false)
	if !ok {
		return nil, fmt.Errorf("testkit: %q is asked, and no OnElicit answers that; scripted: %s", r.Message, listing(left))
	}
	result, err := Form{Message: r.Message, Schema: r.Schema, URL: r.URL}.answer(answer)
	if err != nil {
		return nil, fmt.Errorf("testkit: the answer to %q: %w", r.Message, err)
	}
	return toClient(result)
}

// Names of the server's components. There is one component of each kind, which represents any
// component that a test names.
const (
	chainName   = "testkit"
	chainURI    = "testkit://chain"
	chainMethod = "testkit.invalid/chain"
)

// build returns the server. The server is not started, so nothing needs to be ended.
func (c *Chained) build() (*framework.Server, error) {
	type none = struct{}
	about := framework.Describe("It stands for any.") // without a description, warnings would be added to faults of steps
	return framework.New(chainName, "1", framework.WithLogger(zap.NewNop())).Add(
		framework.Tool(chainName, func(context.Context, none) (string, error) { return "", nil }, about),
		framework.Resource(chainURI, func(context.Context) (string, error) { return "", nil }, about),
		framework.Prompt(chainName, func(context.Context, none) (framework.Messages, error) { return nil, nil }, about),
		framework.Method(chainMethod, func(context.Context, none) (none, error) { return none{}, nil }),
	).
		Use(framework.Middleware{Name: "testkit", Phase: framework.PhaseTrace, Wrap: begin}).
		UseAt(c.where, c.steps...).
		Use(framework.Middleware{Name: "end", Wrap: finish}).
		Build()
}

// run is one call of a chain. running is held while the chain runs, and guards the fields below it.
type run struct {
	call framework.Call
	end  framework.Handler

	running sync.Mutex // held while the chain runs
	began   int        // number of rounds
	result  *framework.Result
	err     error
}

type runKey struct{}

// runOf returns the run of a context. For requests that the client makes by itself, such as
// server/discover, it returns nil.
func runOf(ctx context.Context) *run {
	r, _ := ctx.Value(runKey{}).(*run)
	return r
}

// begin is the outermost step. It replaces the call that was sent with the test's call, and keeps
// the result of the steps.
func begin(next framework.Handler) framework.Handler {
	return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
		r := runOf(ctx)
		if r == nil {
			return next(ctx, call)
		}
		r.running.Lock()
		defer r.running.Unlock()
		r.began++
		r.result, r.err = r.protected(ctx, r.named(call), next)
		return r.result, r.err
	}
}

// protected runs next and returns a panic as an error, because the client would see only an
// internal error.
func (*run) protected(ctx context.Context, call *framework.Call, next framework.Handler) (result *framework.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("testkit: the chain panics: %v\n%s", p, debug.Stack())
		}
	}()
	return next(ctx, call)
}

// named returns the test's call, completed with values that only the server knows.
func (r *run) named(sent *framework.Call) *framework.Call {
	call := r.call
	call.Round += sent.Round
	if call.ID == "" {
		call.ID = sent.ID
	}
	if call.Component.Kind == "" && sent.Component.Kind != "" {
		call.Component.Kind = sent.Component.Kind
		if call.Component.Name == "" {
			call.Component.Name = call.Name
		}
	}
	return &call
}

// finish is the innermost step. It calls the end of the chain instead of the component.
func finish(next framework.Handler) framework.Handler {
	return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
		if r := runOf(ctx); r != nil {
			return r.end(ctx, call)
		}
		return next(ctx, call)
	}
}

// send makes the server run the chain, and returns when the chain is no longer running.
func (r *run) send(ctx context.Context, server *framework.Server, opts []client.Option) error {
	dial := func(ctx context.Context) (transport.Conn, error) { return inmem.Dial(ctx, server), nil }
	c, err := client.Connect(ctx, client.Over(dial), opts...)
	if err != nil {
		return err
	}
	method, params := r.target()
	_, err = c.Request(ctx, method, []byte(params), client.InRounds())
	err = errors.Join(err, c.Close())
	r.running.Lock()
	defer r.running.Unlock()
	if asError(err) == nil && errors.Is(r.err, framework.ErrPending) {
		r.err = err // the script failed, so no further round follows
	}
	return err
}

// target returns the request to send for the test's call.
func (r *run) target() (method, params string) {
	switch r.call.Method {
	case protocol.MethodCallTool, protocol.MethodGetPrompt:
		return r.call.Method, `{"name":"` + chainName + `"}`
	case protocol.MethodReadResource:
		return r.call.Method, `{"uri":"` + chainURI + `"}`
	}
	for _, kind := range listKinds() {
		if r.call.Method == kind.Method() {
			return r.call.Method, "{}"
		}
	}
	return chainMethod, "{}"
}

// sayOK is the end of a chain if End was not called.
func sayOK(_ context.Context, call *framework.Call) (*framework.Result, error) {
	const ok = "ok"
	switch call.Method {
	case protocol.MethodCallTool:
		return &framework.Result{Body: &protocol.CallToolResult{Content: []protocol.Block{protocol.Text{Text: ok}}}}, nil
	case protocol.MethodReadResource:
		return &framework.Result{Body: &protocol.ReadResourceResult{Contents: []protocol.Contents{{URI: call.Name, Text: ok}}}}, nil
	case protocol.MethodGetPrompt:
		message := protocol.Message{Role: protocol.RoleUser, Content: protocol.Text{Text: ok}}
		return &framework.Result{Body: &protocol.GetPromptResult{Messages: []protocol.Message{message}}}, nil
	default:
		return &framework.Result{}, nil
	}
}
