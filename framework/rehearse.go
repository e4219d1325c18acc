package framework

import (
	"context"
	"errors"
	"fmt"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/framework/rehearsal"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/protocol/rounds"
)

// BuildFor is Build for testkit, which looks into the server that it tests.
func (a *App) BuildFor(stage *rehearsal.Stage) (*Server, error) { return a.build(stage) }

// enter takes over what the stage provides.
func (s *Server) enter(stage *rehearsal.Stage) error {
	if stage.Logger != nil && !s.cfg.logs {
		s.cfg.logger = stage.Logger
	}
	if t, ok := stage.Types.(interface{ types() binding.Options }); ok {
		known := t.types()
		known.NoRepair, known.Bar = s.cfg.plans.NoRepair, s.cfg.plans.Bar
		s.cfg.plans = known
	}
	if stage.Store != nil && s.cfg.store == nil {
		s.ports = portsOf(stage.Store(), s.storePanicked)
	}
	if stage.Claims != nil {
		s.claims, s.shared = stage.Claims, true
	}
	if stage.Secret == nil || len(s.cfg.secrets) > 0 {
		return nil
	}
	sealer, err := rounds.NewSealer(stage.Secret)
	if err != nil {
		return fmt.Errorf("framework: the secret of the stage: %w", err)
	}
	s.cfg.states = sealer
	return nil
}

// types are the options that the app of the last Build has for types.
func (t *ToolOf[In, Out]) types() (known binding.Options) {
	if t == nil {
		return known
	}
	if p := t.latest.Load(); p != nil {
		known = p.types
	}
	return known
}

// reporter is failed, except that a stage which wants to know of replays that differ gets them
// instead of the log.
func (s *Server) reporter(stage *rehearsal.Stage) func(context.Context, *engine.Call, error) {
	if stage.Differs == nil {
		return s.failed
	}
	return func(ctx context.Context, c *engine.Call, err error) {
		var replay *engine.ReplayError
		var changed *engine.ChangedError
		if errors.As(err, &replay) || errors.As(err, &changed) {
			stage.Differs(subject(c) + ": " + err.Error())
			return
		}
		s.failed(ctx, c, err)
	}
}

// subject names what was called.
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
