package framework

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/catalog"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// steppingUp is an authenticator that can ask a caller to come back with more scopes, as those
// of middleware/auth can.
type steppingUp interface {
	InsufficientScope(scopes []string) *transport.AuthError
}

// knowing is an authenticator that knows whether it is set up to let anybody in, as those of
// middleware/auth do.
type knowing interface{ Ready() error }

// unready says why the authenticator can let nobody in; nil: it can, or does not say.
func (c *appConfig) unready() error {
	k, ok := c.auth.(knowing)
	if !ok {
		return nil
	}
	_, err := guarded(noContext{}, func(context.Context, struct{}) (struct{}, error) { return struct{}{}, k.Ready() }, struct{}{})
	return err
}

// doubting is an authenticator that knows what was most likely forgotten, as those of
// middleware/auth do.
type doubting interface{ Warnings() []string }

// doubts are the warnings of the authenticator.
func (c *appConfig) doubts() []string {
	d, ok := c.auth.(doubting)
	if !ok {
		return nil
	}
	told, _ := guarded(noContext{}, func(context.Context, struct{}) ([]string, error) { return d.Warnings(), nil }, struct{}{})
	return told
}

// stepUp is the answer to a known caller who names a component and lacks some of its
// scopes: a challenge with all of them (2025-11-25 basic/authorization "Runtime
// Insufficient Scope Errors"). It says that there is such a component, to those who
// know its name. Nil where no response of HTTP could carry it: the component then is
// not there, as it is not in the lists.
func (s *Server) stepUp(ctx context.Context, scopes []string) error {
	up, can := s.cfg.auth.(steppingUp)
	request := transport.RequestFrom(ctx)
	if !can || request == nil || request.Sessions == nil || transport.PrincipalFrom(ctx) == nil {
		return nil
	}
	if challenge := up.InsufficientScope(scopes); challenge != nil {
		return challenge
	}
	return nil
}

// deniedError is what steps of PhaseTrace see of a call that was refused because of missing
// scopes. It is for the log: the client gets another answer.
type deniedError struct{ scopes []string }

// Error names the missing scopes.
func (e *deniedError) Error() string {
	return "the caller lacks some of the scopes " + strings.Join(e.scopes, " ")
}

// witnessing makes the chain for calls that are refused because of missing scopes. It consists
// of the steps of PhaseTrace, which only watch. Nil: there are none.
func witnessing(steps []Middleware, report broken) Handler {
	looking := slices.DeleteFunc(slices.Clone(steps), func(m Middleware) bool { return m.Phase != PhaseTrace })
	if len(looking) == 0 {
		return nil
	}
	return compose(func(_ context.Context, call *Call) (*Result, error) {
		return nil, &deniedError{call.Component.Scopes}
	}, looking, report)
}

// denied is the answer to a caller who lacks scopes of e: a step-up challenge, or absent, which
// must be the same as for a component that does not exist. The steps of PhaseTrace see the
// call, without its arguments, which were not decoded; what they return is ignored.
func (s *Server) denied(ctx context.Context, c *engine.Call, e *catalog.Entry, name string, absent error) error {
	if b, ok := e.Handler.(*bound); ok && b.witnesses != nil {
		h := &handling{Context: ctx, server: s, call: c, bound: b}
		h.seen = Call{Method: c.Params.Method(), Name: name, ID: c.ID(), Component: b.info}
		_, err := guarded(h, b.witnesses, &h.seen)
		if panicked, ok := errors.AsType[*engine.PanicError](err); ok {
			s.logFailure(ctx, c, panicked, b.noun, b.info.Name)
		}
	}
	if up := s.stepUp(ctx, e.Scopes); up != nil {
		return up
	}
	return absent
}

// CheckServable returns an error if carriers that serve the public must refuse to serve the
// app. There are two such cases: the authenticator is not set up and would refuse every
// request, or a component needs scopes and the app has no authenticator.
func (s *Server) CheckServable() error {
	if err := s.cfg.unready(); err != nil {
		return fmt.Errorf("framework: WithAuth: %w", err)
	}
	if s.cfg.auth != nil || s.registry == nil {
		return nil
	}
	for _, e := range s.registry.Entries() {
		if len(e.Scopes) > 0 {
			return fmt.Errorf("framework: %q needs scopes, but the app has no authenticator: add WithAuth", e.Key)
		}
	}
	return nil
}
