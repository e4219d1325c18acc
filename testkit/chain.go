package testkit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// Chained is a middleware chain without a server.
type Chained struct {
	steps []framework.Middleware
	end   framework.Handler
}

// Chain builds one. The steps are in the order in which an app has them: by phase, and
// within a phase the first given is outermost. All of them meet every call, those that
// OnToolCall and its like make too, and OncePerCall changes nothing: which component is
// called, and in which round, only a server knows.
//
//	result, err := testkit.Chain(middleware.Timeout(time.Second)).
//		End(func(ctx context.Context, _ *framework.Call) (*framework.Result, error) {
//			<-ctx.Done()
//			return nil, ctx.Err()
//		}).
//		Call(ctx, &framework.Call{Name: "slow"})
func Chain(mw ...framework.Middleware) *Chained {
	steps := slices.Clone(mw)
	slices.SortStableFunc(steps, func(a, b framework.Middleware) int { return cmp.Compare(depth(a.Phase), depth(b.Phase)) })
	return &Chained{steps: steps, end: sayOK}
}

// depth of a phase: the zero phase is that of the app, the innermost.
func depth(p framework.Phase) framework.Phase {
	if p == framework.PhaseApp {
		return framework.PhaseValidate + 1
	}
	return p
}

// End replaces the fake end, which answers with the text "ok".
func (c *Chained) End(h framework.Handler) *Chained {
	c.end = h
	return c
}

// Call runs it. A call without a Method is one of tools/call; nil is a call of no tool
// in particular. The call is handed on as it is, and may be changed by the steps. The
// error is that of a step, or says that there is a step without a function.
func (c *Chained) Call(ctx context.Context, call *framework.Call) (*framework.Result, error) {
	if call == nil {
		call = &framework.Call{}
	}
	if call.Method == "" {
		call.Method = protocol.MethodCallTool
	}
	if c.end == nil {
		return nil, errors.New("testkit: the end of the chain is nil")
	}
	next := c.end
	for _, step := range slices.Backward(c.steps) {
		if step.Wrap == nil {
			return nil, fmt.Errorf("testkit: the middleware %q does nothing: its function is nil", step.Name)
		}
		next = step.Wrap(next)
	}
	return next(ctx, call)
}

// sayOK is the end of a chain that is given none.
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
