package auth

import (
	"context"
	"errors"
	"slices"

	"github.com/kagami-mcp/kagami/transport"
)

// The principal of Local. Tokens never have this issuer, because issuers of tokens are URLs.
const (
	localSubject = "local"
	localIssuer  = "stdio"
)

// Local gives callers on stdio these scopes without a token. It trusts the user who starts the
// program. HTTP carriers of the same server still require tokens.
//
//	serve.Main(app, serve.Stdio(auth.Local("notes:read", "notes:write")))
//
// The client on stdio runs as the user of the program, who could read the program's memory. A token
// would therefore not protect anything. Do not use Local for a transport that other users can
// reach, because all its callers would have the scopes.
func Local(scopes ...string) func(transport.Transport) transport.Transport {
	scopes = slices.Clone(scopes)
	return func(t transport.Transport) transport.Transport {
		return carrier(func(ctx context.Context, host transport.Host) error {
			if t == nil {
				return errors.New("auth: Local has no transport")
			}
			p := &transport.Principal{Subject: localSubject, Issuer: localIssuer, Scopes: scopes}
			return t.Serve(transport.WithPrincipal(ctx, expanded(host, p)), host)
		})
	}
}
