package authserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/transport"
)

// Guard returns an authenticator for a resource server in the same process. It checks the signature
// without a request to another server, and whether the grant was revoked. In Broker it also checks
// whether the provider still vouches for the user. It names this authorization server to clients. A
// Scope that implies others also grants those. Guard may be called for several resources, once for
// each.
func (s *Server) Guard(resource string, opts ...auth.Option) transport.Authenticator {
	v := s.Verifier(resource)
	own := []auth.Option{auth.Resource(resource), auth.AuthorizationServers(s.issuer)}
	for _, scope := range s.scopesOf(resource) {
		own = append(own, auth.Supported(scope.Name))
		if len(scope.Implies) > 0 {
			own = append(own, auth.Implies(scope.Name, scope.Implies...))
		}
	}
	if s.dpop {
		own = append(own, auth.DPoP())
	}
	if s.nonceKey != nil {
		own = append(own, auth.DPoPNonces(s.nonceKey)) // clients keep one nonce for an origin, so this key must be the same
	}
	return auth.Bearer(v, append(own, opts...)...)
}

// Verifier returns a verifier with the checks of Guard, for programs that write their own
// challenges and metadata.
func (s *Server) Verifier(resource string) auth.Verifier {
	s.addResource(resource)
	return auth.VerifierFunc(func(ctx context.Context, token string) (*transport.Principal, error) {
		p, err := s.signed(ctx, resource).Verify(ctx, token)
		if err != nil {
			return nil, err
		}
		if reference, _ := p.Claims["gid"].(string); reference != "" {
			return p, s.stands(ctx, reference)
		}
		return p, nil
	})
}

// signed returns the verifier for tokens that this server has signed for a resource.
func (s *Server) signed(ctx context.Context, resource string) *auth.JWT {
	s.refreshKeys(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.verifiers[resource]
	if v == nil {
		v = &auth.JWT{
			Issuer: s.issuer, Audience: resource, JWKS: s.at("/jwks"), Client: &http.Client{Transport: inProcess{s}},
			Algorithms: []string{"ES256", "EdDSA", "PS256", "RS256"}, Type: "at+jwt", Leeway: -1, // it is our own clock
		}
		s.verifiers[resource] = v
	}
	return v
}

// forgetKeys makes verifiers fetch the keys again. They would otherwise use a key that is not in the
// store any longer for up to ten minutes.
func (s *Server) forgetKeys() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.verifiers)
}

// inProcess answers the request for the keys, so that the guard does not need the network.
type inProcess struct{ server *Server }

// RoundTrip returns the JWK Set for any request. It reads the keys again, because the verifier may
// have a token of a key that another process has just made (ReplaceKeys).
func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if k, ok := t.server.keys.(*rotating); ok {
		if _, err := k.public(r.Context(), 0); err != nil {
			return nil, err
		}
	}
	text, err := t.server.jwks(r.Context())
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(text)), Request: r,
	}, nil
}

// verifyOwn verifies an access token for any resource of this server. If the token is not valid, it
// returns nil.
func (s *Server) verifyOwn(ctx context.Context, token string) (*transport.Principal, error) {
	c, err := unverified(token)
	if err != nil || len(c.Audience) != 1 || !s.hasResource(c.Audience[0]) {
		return nil, nil //nolint:nilerr // what is no token is not valid
	}
	p, err := s.signed(ctx, c.Audience[0]).Verify(ctx, token)
	if err != nil && !errors.Is(err, auth.ErrUnavailable) {
		return nil, nil
	}
	return p, err
}

const (
	aliveFor = 5 * time.Second // how long the state of a grant is valid, in Own
	maxAlive = 10_000
)

// lived is the state of a grant as it was read from the store.
type lived struct {
	dead  bool
	until time.Time // end of the validity of dead
}

// noteAlive keeps the state of a grant, so that not every call reads it.
func (s *Server) noteAlive(reference string, state lived) {
	s.alive.change(reference, maxAlive, func(old lived) lived {
		if !state.dead && old.dead && time.Now().Before(old.until) {
			return old // state was read before the grant ended
		}
		return state
	})
}

var errRevoked = errors.New("authserver: the grant of the token has ended")

// stands returns why a grant is not valid any longer, or nil. It reads the store every 5 seconds.
// In Broker it also asks the provider, at the interval of Vouch.
func (s *Server) stands(ctx context.Context, reference string) error {
	now := time.Now()
	state := s.alive.get(reference)
	if !now.Before(state.until) {
		var err error
		if state, err = s.state(ctx, reference, now); err != nil {
			return errors.Join(auth.ErrUnavailable, err)
		}
		s.noteAlive(reference, state)
	}
	if state.dead {
		return errRevoked
	}
	return nil
}

// state reads whether a grant has ended, and how long this result is valid.
func (s *Server) state(ctx context.Context, reference string, now time.Time) (lived, error) {
	g, err := s.grants.get(ctx, reference)
	switch {
	case errors.Is(err, session.ErrNotFound):
		return lived{true, now.Add(aliveFor)}, nil
	case err != nil:
		return lived{}, err
	}
	b, ok := s.mode.(*broker)
	if !ok || g.Dead || g.Upstream == "" { // Upstream is empty for a grant of an ID-JAG, because no provider vouches for it
		return lived{g.Dead, now.Add(aliveFor)}, nil
	}
	err = b.vouches(ctx, reference, g)
	if errors.Is(err, ErrUnknown) {
		return lived{true, now.Add(aliveFor)}, nil
	}
	return lived{false, now.Add(min(aliveFor, b.vouch))}, err
}
