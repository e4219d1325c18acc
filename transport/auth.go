package transport

import (
	"context"
	"net/http"
	"slices"
	"time"
)

// Authenticator decides who calls, before the body is read, and for each request anew, so
// that a session is not a credential. middleware/auth makes them. HTTP carriers say in ctx
// which request it is ([TargetFrom]). A stream that was opened by GET, or that only
// listens, ends at the Principal's Expires; calls that were accepted go on.
//
// It is called concurrently, and must not change header. Returning neither a principal nor
// an error is answered with 401, as is any error that is not an [*AuthError].
//
// It may have two more methods. Ready() error says why it can let nobody in, before anything
// is served. InsufficientScope(scopes []string) *AuthError is the answer to a caller who
// names a component and lacks some of its scopes; nil: to that caller it does not exist.
type Authenticator interface {
	Authenticate(ctx context.Context, header http.Header) (*Principal, error)
}

// Principal is who calls. Read-only once it is in a context. Claims are JSON values as Go has
// them: a task that runs at another node finds them as they were, with json.Number or float64,
// but values of other types as what they become in JSON.
type Principal struct {
	Subject string
	Issuer  string
	Scopes  []string
	Claims  map[string]any
	Expires time.Time
}

// Has reports whether p is not nil and has the scope.
func (p *Principal) Has(scope string) bool { return p != nil && slices.Contains(p.Scopes, scope) }

// Target is the HTTP request that an Authenticator decides about.
type Target struct {
	Method string
	// URL is the path, escaped and without the query, as the request named it: no header
	// that a client or a proxy can send decides it. A program may say the whole URL.
	URL string
}

type targetKey struct{}

// WithTarget is how HTTP carriers tell the Authenticator which request it decides about.
// What a program's own HTTP middleware has set before takes precedence.
func WithTarget(ctx context.Context, t Target) context.Context {
	return context.WithValue(ctx, targetKey{}, t)
}

// TargetFrom returns what WithTarget put there, and whether it did.
func TargetFrom(ctx context.Context) (t Target, told bool) {
	t, told = ctx.Value(targetKey{}).(Target)
	return t, told
}

type principalKey struct{}

// WithPrincipal is for programs whose own HTTP middleware knows the caller: it takes the
// place of an authenticator. With nil the host's authenticator is asked, if it has one. p
// must not be changed afterwards.
func WithPrincipal(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalFrom returns who calls, or nil: what WithPrincipal put there, else the
// connection's.
func PrincipalFrom(ctx context.Context) *Principal {
	if p, ok := ctx.Value(principalKey{}).(*Principal); ok {
		return p
	}
	if c := ConnectionFrom(ctx); c != nil {
		return c.Principal
	}
	return nil
}
