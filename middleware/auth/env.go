package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/kagami-mcp/kagami/transport"
)

// Env returns a wrapper that authenticates the callers of a transport with the token in an
// environment variable. The program's guard checks the token, as HTTP carriers do with the token of
// each request; see [FromEnv]. A guard that requires proofs of possession refuses such a token.
//
//	serve.Main(app, serve.Stdio(auth.Env("SHOP_TOKEN", guard)))
//	mcpfx.Module("shop", "1.4.0", mcpfx.Stdio(auth.Env("SHOP_TOKEN", guard)))
func Env(variable string, guard transport.Authenticator) func(transport.Transport) transport.Transport {
	v := VerifierFunc(func(ctx context.Context, token string) (*transport.Principal, error) {
		if guard == nil {
			return nil, missetf("Env has no guard")
		}
		return guard.Authenticate(ctx, http.Header{"Authorization": {"Bearer " + token}})
	})
	return func(t transport.Transport) transport.Transport { return FromEnv(variable, v, t) }
}

// FromEnv gives the callers of t the principal of the token in an environment variable. On stdio,
// credentials come only from the environment (2025-11-25 basic/authorization "Protocol
// Requirements").
//
//	server.Serve(ctx, auth.FromEnv("SHOP_TOKEN", jwt, stdio.New()))
//
// The token is verified once, when t begins to serve. If that fails, Serve returns an error that
// does not contain the token. A token bound to a key is refused, because there is no proof that the
// caller holds the key. Other transports of the server have principals of their own. Do not use
// FromEnv for HTTP, because all callers would be that principal.
func FromEnv(variable string, v Verifier, t transport.Transport) transport.Transport {
	return carrier(func(ctx context.Context, host transport.Host) error {
		switch {
		case t == nil:
			return errors.New("auth: FromEnv has no transport")
		case missing(v):
			return missetf("FromEnv has no verifier")
		}
		token := os.Getenv(variable)
		if token == "" {
			return fmt.Errorf("auth: set %s to a token", variable)
		}
		p, err := v.Verify(ctx, token)
		if err == nil {
			err = stands(p)
		}
		if err == nil && thumbprint(p) != "" {
			err = errBound
		}
		if err != nil {
			return fmt.Errorf("the token in %s: %w", variable, err)
		}
		return t.Serve(transport.WithPrincipal(ctx, expanded(host, p)), host)
	})
}

// carrier is a transport that gives its callers a principal.
type carrier func(ctx context.Context, host transport.Host) error

// Serve calls c.
func (c carrier) Serve(ctx context.Context, host transport.Host) error { return c(ctx, host) }
