package transport

import (
	"context"
	"net/http"
	"slices"
	"time"
)

// Authenticator finds the principal of a request, before its body is read. It is called again for each
// request, so that a session is not a credential. Package middleware/auth makes authenticators. HTTP
// carriers put the request into ctx ([TargetFrom]). A stream that was opened by GET, or that only
// listens, ends when the Principal expires. Calls that were accepted go on.
//
// It is called concurrently, and must not change header. If it returns neither a principal nor an
// error, or an error that is not an [*AuthError], the answer is 401.
//
// An Authenticator may have seven optional methods. A type that wraps an Authenticator should have the same
// methods as the wrapped value:
//
//   - Ready() error returns why no caller can be accepted. It is called before the server serves.
//   - Warnings() []string returns settings that were probably forgotten. It is called before the
//     server serves.
//   - ServeMetadata(method, path string) (status int, header http.Header, body []byte) answers
//     requests for the metadata of the resource (RFC 9728). Clients read it to log in. Without this
//     method, the answer is 404.
//   - InsufficientScope(scopes []string) *AuthError returns the answer to a caller who names a
//     component and lacks some of its scopes. If it returns nil, the component does not exist for
//     that caller.
//   - Expand(p *Principal) *Principal returns a principal with the scopes that the scopes of p imply.
//     It is for callers without a request, such as the caller on stdio.
//   - Nonce() string returns the value of DPoP-Nonce for answers to requests with a principal, or ""
//     (RFC 9449 §8.2).
//   - SetWarn(warn func(text string)) gets a function that logs what an operator should know while
//     callers are still accepted. Each HTTP carrier of the server calls it before it serves.
type Authenticator interface {
	Authenticate(ctx context.Context, header http.Header) (*Principal, error)
}

// Principal is the caller. It is read-only once it is in a context. Issuer and Subject together identify
// the caller. A principal without a Subject has scopes, but is not identified. As without a principal,
// its tasks then belong to the session.
//
// Claims are JSON values as Go decodes them; package auth decodes numbers as json.Number. A call may run
// at another node than its request (a task, or a frame of HTTP+SSE). It then gets numbers as json.Number
// or float64, and values of other types as JSON makes them.
type Principal struct {
	Subject string         // the user or program, unique at the issuer
	Issuer  string         // who issued the token, usually a URL
	Scopes  []string       // granted scopes, with the scopes that they imply
	Claims  map[string]any // claims of the token; may be nil
	Expires time.Time      // end of the token; zero if it does not end
}

// Has reports whether p is not nil and has the scope.
func (p *Principal) Has(scope string) bool { return p != nil && slices.Contains(p.Scopes, scope) }

// Target is the HTTP request that an Authenticator decides about.
type Target struct {
	Method string
	// URL is the path, escaped and without the query, as the request names it. Header fields do not
	// change it. A program may set the whole URL.
	URL string
}

type targetKey struct{}

// WithTarget returns a context with the request that an Authenticator decides about, for HTTP carriers.
// They keep a target that the program's own HTTP middleware has set.
func WithTarget(ctx context.Context, t Target) context.Context {
	return context.WithValue(ctx, targetKey{}, t)
}

// TargetFrom returns the target of WithTarget, and whether ctx has one.
func TargetFrom(ctx context.Context) (t Target, ok bool) {
	t, ok = ctx.Value(targetKey{}).(Target)
	return t, ok
}

type principalKey struct{}

// WithPrincipal returns a context with the caller, for programs whose own HTTP middleware authenticates.
// The host's authenticator is then not called, unless p is nil. A nil p hides the principal of the
// connection. p must not be changed afterwards.
func WithPrincipal(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalFrom returns the caller: the principal of WithPrincipal, even if it is nil, or else of the
// connection. Without either, it returns nil.
func PrincipalFrom(ctx context.Context) *Principal {
	if p, ok := ctx.Value(principalKey{}).(*Principal); ok {
		return p
	}
	if c := ConnectionFrom(ctx); c != nil {
		return c.Principal
	}
	return nil
}
