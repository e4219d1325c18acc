package auth

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/transport"
)

// maxToken limits the length of a token, which is not trusted yet.
const maxToken = 8 << 10

// Bearer requires a token in the Authorization header, and verifies it with v. It is for
// framework.WithAuth, and safe for concurrent use.
//
// If an option is wrong, every request is refused with 503, and OnRefuse gets the reason.
// framework.WithAuth reports such faults at Build, including faults of [JWT] and [Introspection].
// They are warnings, or errors under WithStrict, and servers of fiberhttp.New and nethttp.New do
// not begin to serve.
//
// The faults are a missing verifier, a nil option, and a Resource that is not an absolute URL or
// has a fragment (RFC 8707 §2). Authorization servers that are not URLs and invalid scopes are also
// faults. A scope must be printable, without spaces, quotes and backslashes (RFC 6749 §3.3); each
// scope is an argument of its own.
func Bearer(v Verifier, opts ...Option) transport.Authenticator {
	if missing(v) {
		v = nil
	}
	b := &bearer{config: newConfig(v, opts), verifier: v}
	b.metadata = newMetadata(&b.config)
	b.broken = b.fault()
	if v == nil {
		b.broken = missetf("Bearer has no verifier")
	}
	return b
}

// Ready returns why every token will be refused, or nil if no reason is known.
func (b *bearer) Ready() error {
	if v, ok := b.verifier.(audienced); ok && b.broken == nil {
		return v.fault(b.resource)
	}
	return b.broken
}

// SetWarn sets the function that logs warnings for the operator, before callers are refused.
func (b *bearer) SetWarn(warn func(text string)) {
	if j, ok := b.verifier.(*JWT); ok {
		j.keys.setWarn(warn)
	}
}

// Warnings returns what the program most likely forgot. Requests are not refused because of it, but
// clients cannot get a token that is accepted. framework.WithAuth reports it at Build.
func (b *bearer) Warnings() []string {
	if b.Ready() != nil {
		return nil
	}
	if v, ok := b.verifier.(Static); ok {
		return v.warnings()
	}
	_, issued := b.verifier.(audienced)
	meant := len(b.servers) > 0 || b.resource != "" && b.proofs == nil // DPoP needs Resource in any case
	switch {
	case b.metadata != nil, !issued && !meant:
		return nil
	case len(b.servers) == 0:
		return []string{"no client finds out where to log in: name the authorization server with AuthorizationServers"}
	}
	return []string{"no client finds out where to log in: name the URL of this server with Resource"}
}

type bearer struct {
	config
	verifier Verifier
	metadata *metadata // nil if the resource or its authorization servers are unknown
	broken   error     // why no token can be verified; nil if there is no fault
}

// Authenticate implements transport.Authenticator. It takes the target of DPoP proofs from ctx.
func (b *bearer) Authenticate(ctx context.Context, header http.Header) (*transport.Principal, error) {
	p, err := b.authenticate(ctx, header)
	if err == nil {
		return p, nil
	}
	refusal := b.refusal(err)
	if b.refused != nil {
		b.refused(ctx, refusal.Err)
	}
	return nil, refusal
}

func (b *bearer) authenticate(ctx context.Context, header http.Header) (*transport.Principal, error) {
	if b.broken != nil {
		return nil, b.broken
	}
	token, err := tokenOf(header, b.scheme())
	if err != nil {
		return nil, err
	}
	p, err := b.verify(ctx, token)
	if err != nil {
		return nil, err
	}
	if err := stands(p); err != nil {
		return nil, err
	}
	if err := b.bound(ctx, header, token, p); err != nil {
		return nil, err
	}
	p = b.Expand(p)
	for _, scope := range b.required {
		if !p.Has(scope) {
			return nil, b.InsufficientScope(nil)
		}
	}
	return p, nil
}

// expanded returns p with the scopes that they imply at the authenticator of host.
func expanded(host transport.Host, p *transport.Principal) *transport.Principal {
	server, ok := host.(transport.Server)
	if !ok {
		return p
	}
	if e, ok := server.Services().Authenticator.(interface {
		Expand(p *transport.Principal) *transport.Principal
	}); ok {
		return e.Expand(p)
	}
	return p
}

// stands returns why a verified principal is not accepted, or nil.
func stands(p *transport.Principal) error {
	switch {
	case p == nil:
		return errors.New("auth: the verifier returned no principal")
	case !p.Expires.IsZero() && !time.Now().Before(p.Expires):
		return errExpired
	}
	return nil
}

func (b *bearer) verify(ctx context.Context, token string) (*transport.Principal, error) {
	if v, ok := b.verifier.(audienced); ok {
		return v.verify(ctx, token, b.resource)
	}
	return b.verifier.Verify(ctx, token)
}

func (b *bearer) scheme() string {
	if b.proofs != nil {
		return "DPoP"
	}
	return "Bearer"
}

var (
	errNoToken = errors.New("auth: no token")
	errExpired = &rejection{told: "the token has expired"}
)

// malformed is the error of a request that does not follow RFC 6750 §2.1.
type malformed struct{ reason string }

func (m *malformed) Error() string { return "auth: " + m.reason }

// tokenOf returns the token of a request. The client must send it once and in one way (RFC 6750 §2;
// a query parameter is not allowed, OAuth 2.1 §5.1.1).
func tokenOf(header http.Header, scheme string) (string, error) {
	values := header.Values("Authorization")
	if len(values) == 0 {
		return "", errNoToken
	}
	if len(values) > 1 {
		return "", &malformed{"more than one Authorization header"}
	}
	given, token, _ := strings.Cut(strings.Trim(values[0], " \t"), " ")
	if !strings.EqualFold(given, scheme) {
		return "", errNoToken // RFC 6750 §3.1: no error code for another scheme
	}
	token = strings.Trim(token, " ")
	switch {
	case len(token) > maxToken:
		return "", &malformed{"the token is too long"}
	case !tokenSyntax(token):
		return "", &malformed{"this is not a token"}
	}
	return token, nil
}

// tokenSyntax reports whether s is a b64token of RFC 6750 §2.1.
func tokenSyntax(s string) bool {
	s = strings.TrimRight(s, "=")
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		alphanumeric := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !alphanumeric && !strings.ContainsRune("-._~+/", r)
	})
}
