package framework

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/catalog"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// steppingUp is an authenticator that can answer with a challenge for more scopes. The
// authenticators of middleware/auth implement it.
type steppingUp interface {
	InsufficientScope(scopes []string) *transport.AuthError
}

// readyChecker is an authenticator that can report whether its configuration lets it accept any caller.
// The authenticators of middleware/auth implement it.
type readyChecker interface{ Ready() error }

// unready returns why the authenticator cannot accept any caller. It returns nil if the
// authenticator can, or does not implement knowing.
func (c *appConfig) unready() error {
	k, ok := c.auth.(readyChecker)
	if !ok {
		return nil
	}
	_, err := guarded(func() (struct{}, error) { return struct{}{}, k.Ready() })
	return err
}

// doubting is an authenticator that can warn of settings that were probably forgotten. The
// authenticators of middleware/auth implement it.
type doubting interface{ Warnings() []string }

// doubts returns the warnings of the authenticator.
func (c *appConfig) doubts() []string {
	d, ok := c.auth.(doubting)
	if !ok {
		return nil
	}
	told, _ := guarded(func() ([]string, error) { return d.Warnings(), nil })
	return told
}

// stepUp returns the challenge for an authenticated caller that names a component and lacks some of
// its scopes. The challenge has all of the scopes (2025-11-25 basic/authorization "Runtime
// Insufficient Scope Errors"). It reveals that the component exists, but only to callers that know
// its name. If an HTTP response cannot carry a challenge, stepUp returns nil. The component then
// appears not to exist, as in the lists.
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

// deniedError is the error that steps of PhaseTrace see if a call was refused because of missing
// scopes. It is for the log; the client gets another answer.
type deniedError struct{ scopes []string }

// Error returns a text with the scopes of the component.
func (e *deniedError) Error() string {
	return "the caller lacks some of the scopes " + strings.Join(e.scopes, " ")
}

// witnessing returns the chain for calls that are refused because of missing scopes. It consists of
// the steps of PhaseTrace, which only observe. If there are none, witnessing returns nil.
func witnessing(steps []Middleware, report faultFunc) Handler {
	looking := slices.DeleteFunc(slices.Clone(steps), func(m Middleware) bool { return m.Phase != PhaseTrace })
	if len(looking) == 0 {
		return nil
	}
	return compose(func(_ context.Context, call *Call) (*Result, error) {
		return nil, &deniedError{call.Component.Scopes}
	}, looking, report)
}

// denied returns the answer to a caller who lacks scopes of e. It is a step-up challenge, or else
// absent, which must be the same error as for a component that does not exist. The steps of
// PhaseTrace see the call without its arguments, which were not decoded. Their results are ignored.
// They do not see the URIs of a listen request, because it is not refused, or the lookups of
// workers, because these are not calls.
func (s *Server) denied(ctx context.Context, c *engine.Call, e *catalog.Entry, name string, absent error) error {
	_, listens := c.Params.(*protocol.ListenParams)
	if b := e.Handler.(*componentHandler); b.witnesses != nil && !listens && c.Task() == "" {
		h := &callCtx{Context: ctx, server: s, call: c, component: b}
		h.seen = Call{Method: methodName(c), Name: name, ID: c.ID(), Component: b.info}
		_, err := guarded(func() (*Result, error) { return b.witnesses(h, &h.seen) })
		if panicked, ok := errors.AsType[*engine.PanicError](err); ok {
			s.logFailure(ctx, c, panicked, b.noun, b.info.Name)
		}
	}
	if up := s.stepUp(ctx, e.Scopes); up != nil {
		return up
	}
	return absent
}

// servable returns an error if transports that serve the public must refuse to serve the app.
// There are two such cases. The authenticator may not be configured, and would refuse every
// request. Or a component needs scopes, but the app does not have an authenticator.
func (s *Server) servable() error {
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
