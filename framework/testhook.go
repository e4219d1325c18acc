package framework

import (
	"context"
	"errors"
	"fmt"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/framework/testhook"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/protocol/rounds"
)

// BuildForTest is like Build, but replaces parts of the server with hooks. It is for testkit.
func (a *App) BuildForTest(hooks *testhook.Hooks) (*Server, error) { return a.build(hooks) }

// applyHooks replaces parts of the server with hooks. It returns an error if hooks.Secret is
// unusable.
func (s *Server) applyHooks(hooks *testhook.Hooks) error {
	if hooks.Logger != nil && !s.cfg.logs {
		s.cfg.logger = hooks.Logger
	}
	if t, ok := hooks.Types.(interface{ types() binding.Options }); ok {
		known := t.types()
		known.NoRepair, known.Bar = s.cfg.plans.NoRepair, s.cfg.plans.Bar
		s.cfg.plans = known
	}
	if hooks.Store != nil && s.cfg.store == nil {
		s.ports = portsOf(hooks.Store(), s.storeFailed)
	}
	if hooks.Claims != nil {
		s.claims, s.shared = hooks.Claims, true
	}
	if hooks.Secret == nil || len(s.cfg.secrets) > 0 {
		return nil
	}
	sealer, err := rounds.NewSealer(hooks.Secret)
	if err != nil {
		return fmt.Errorf("framework: the secret of the test hooks: %w", err)
	}
	s.cfg.states = sealer
	return nil
}

// types returns the type options of the app that was last built with the tool.
func (t *ToolOf[In, Out]) types() (known binding.Options) {
	if t == nil {
		return known
	}
	if p := t.latest.Load(); p != nil {
		known = p.types
	}
	return known
}

// reporter returns failed. If hooks.Differs is set, replays that differ go to it instead of the
// log.
func (s *Server) reporter(hooks *testhook.Hooks) func(context.Context, *engine.Call, error) {
	if hooks.Differs == nil {
		return s.failed
	}
	return func(ctx context.Context, c *engine.Call, err error) {
		var replay *engine.ReplayError
		var changed *engine.ChangedError
		if errors.As(err, &replay) || errors.As(err, &changed) {
			hooks.Differs(subject(c) + ": " + err.Error())
			return
		}
		s.failed(ctx, c, err)
	}
}

// subject returns the method of the call, with the name or URI of the component.
func subject(c *engine.Call) string {
	method := methodName(c)
	switch p := c.Params.(type) {
	case *protocol.CallToolParams:
		return method + " " + p.Name
	case *protocol.ReadResourceParams:
		return method + " " + p.URI
	case *protocol.GetPromptParams:
		return method + " " + p.Name
	}
	return method
}
