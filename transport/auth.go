package transport

import (
	"context"
	"net/http"
	"slices"
	"time"
)

// Authenticator decides who calls, before the body is looked at. middleware/auth makes them.
type Authenticator interface {
	Authenticate(ctx context.Context, header http.Header) (*Principal, error)
}

// Principal is who calls. Read-only once it is in a context.
type Principal struct {
	Subject string
	Issuer  string
	Scopes  []string
	Claims  map[string]any
	Expires time.Time
}

// Has says whether p is not nil and has the scope.
func (p *Principal) Has(scope string) bool { return p != nil && slices.Contains(p.Scopes, scope) }

type principalKey struct{}

// WithPrincipal is for programs whose own HTTP middleware knows the caller: it counts as an authenticator.
func WithPrincipal(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalFrom is who calls, or nil: what WithPrincipal put there, else the connection's.
func PrincipalFrom(ctx context.Context) *Principal {
	if p, ok := ctx.Value(principalKey{}).(*Principal); ok {
		return p
	}
	if c := ConnectionFrom(ctx); c != nil {
		return c.Principal
	}
	return nil
}
