package framework

import (
	"context"
	"fmt"

	"github.com/kagami-mcp/kagami/transport"
)

// steppingUp is an authenticator that can ask a caller to come back with more scopes;
// middleware/auth makes those.
type steppingUp interface {
	InsufficientScope(scopes []string) *transport.AuthError
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
	return up.InsufficientScope(scopes)
}

// Unguarded is why carriers that serve strangers must not serve the app by themselves:
// a component needs scopes, and nobody could have any. Nil: they may.
func (s *Server) Unguarded() error {
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
