package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// CheckOutput checks results of tools against the output schema that the client's revision lists
// (2025-06-18 server/tools "Output Schema": servers MUST provide structured results that conform).
// Results that the framework encodes conform. Results written by methods such as MarshalJSON, or
// changed by later steps, may not. A result that does not conform becomes an internal error. The
// details are logged, and are sent to the client only under framework.WithErrorDetail. isError
// results need not conform.
//
// CheckOutput is for development: it reads each result once more, which takes longer than most
// tools do. Phase: validate.
func CheckOutput() framework.Middleware {
	return framework.Middleware{Name: "check-output", Phase: framework.PhaseValidate, Wrap: func(next framework.Handler) framework.Handler {
		c := &outputCheck{} // one per component
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			result, err := next(ctx, call)
			if err != nil || result == nil {
				return result, err
			}
			tool, ok := result.Body.(*protocol.CallToolResult)
			if !ok || tool.IsError {
				return result, nil
			}
			if err := c.judge(ctx, tool); err != nil {
				return nil, fmt.Errorf("the result of %s: %w", call.Name, err)
			}
			return result, nil
		}
	}}
}

// outputCheck checks the results of one component. It compiles the schema for each revision at the
// first call from that revision.
type outputCheck struct {
	checks sync.Map // func(json.RawMessage) error by revision; nil if the revision lists no schema
}

func (c *outputCheck) of(ctx context.Context) (func(json.RawMessage) error, error) {
	revision := framework.CallerLite(ctx).Revision
	if check, known := c.checks.Load(revision); known {
		return check.(func(json.RawMessage) error), nil
	}
	check, err := framework.OutputChecker(ctx)
	if err == nil {
		c.checks.Store(revision, check)
	}
	return check, err
}

func (c *outputCheck) judge(ctx context.Context, tool *protocol.CallToolResult) error {
	check, err := c.of(ctx)
	switch {
	case err != nil || check == nil:
		return err
	case tool.Structured == nil:
		return fmt.Errorf("it has no structured content, and the tool has an output schema")
	}
	if err := check(tool.Structured); err != nil {
		return fmt.Errorf("it does not fit the output schema: %w", err)
	}
	return nil
}
