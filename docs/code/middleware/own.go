package main

import (
	"context"
	"slices"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

type tenantKey struct{}

// Tenant puts the caller's tenant into the context for later steps and the handler. A subject is
// unique only for one issuer: with tokens of several issuers, the key must also have the issuer.
func Tenant(bySubject map[string]string) framework.Middleware {
	return framework.Middleware{
		Name:  "tenant",
		Phase: framework.PhaseAuth,
		Wrap: func(next framework.Handler) framework.Handler {
			return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
				var who string
				if p := framework.CallerLite(ctx).Principal; p != nil {
					who = p.Subject
				}
				tenant, known := bySubject[who]
				if !known {
					return nil, framework.UserErrorf("%s belongs to no tenant.", who)
				}
				return next(context.WithValue(ctx, tenantKey{}, tenant), call)
			}
		},
	}
}

// TenantFrom returns the tenant of a call.
func TenantFrom(ctx context.Context) string {
	tenant, _ := ctx.Value(tenantKey{}).(string)
	return tenant
}

// Approve asks the user before a destructive tool runs. It asks once per call, also if the call has
// several rounds.
func Approve() framework.Middleware {
	return framework.OncePerCall(framework.OnToolCall("approve",
		func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
			a := call.Component.Annotations
			if a.ReadOnly != nil && *a.ReadOnly || a.Destructive != nil && !*a.Destructive { // by default, a tool is destructive
				return next(ctx, call)
			}
			sure, err := framework.Elicit[bool](ctx, "Really "+call.Name+"?", framework.Key("approve"))
			if err != nil {
				return nil, err
			}
			if !sure {
				return nil, framework.UserErrorf("The user refused.")
			}
			return next(ctx, call)
		}))
}

// Hide removes tools from the list, and refuses calls of them as if the tools did not exist.
func Hide(hidden func(ctx context.Context, tool framework.ComponentInfo) bool) []framework.Middleware {
	return []framework.Middleware{
		framework.OnList("hide", func(ctx context.Context, call *framework.Call, next framework.Next[[]framework.ComponentInfo]) ([]framework.ComponentInfo, error) {
			listed, err := next(ctx, call)
			return slices.DeleteFunc(listed, func(c framework.ComponentInfo) bool { return c.Kind == "tool" && hidden(ctx, c) }), err
		}),
		framework.OnToolCall("refuse hidden", func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
			if hidden(ctx, call.Component) {
				return nil, protocol.Faultf(protocol.FaultInvalidParams, "unknown tool %q", call.Name)
			}
			return next(ctx, call)
		}),
	}
}
