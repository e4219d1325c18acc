package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kagami-mcp/kagami/transport"
)

// Static maps tokens to principals, for development. It must not be changed once it is in use. The
// map sets the Issuer of each principal, which distinguishes users of different token sources.
type Static map[string]transport.Principal

// Verify looks the token up in constant time. The duration reveals the number of tokens, but
// nothing about them.
func (s Static) Verify(_ context.Context, token string) (*transport.Principal, error) {
	given := sha256.Sum256([]byte(token))
	var found *transport.Principal
	for key, p := range s {
		known := sha256.Sum256([]byte(key))
		if subtle.ConstantTimeCompare(known[:], given[:]) == 1 {
			found = &p
		}
	}
	if found == nil || token == "" {
		return nil, errors.New("auth: an unknown key")
	}
	found.Scopes, found.Claims = slices.Clone(found.Scopes), maps.Clone(found.Claims)
	return found, nil
}

// warnings returns a warning if there are tokens that no request can send. An empty token is one that
// is not set, and other tokens may be.
func (s Static) warnings() []string {
	var lost []string
	for token, p := range s {
		if token != "" && (len(token) > maxToken || !tokenSyntax(token)) {
			lost = append(lost, p.Subject)
		}
	}
	_, empty := s[""]
	switch {
	case len(lost) > 0:
		slices.Sort(lost)
		return []string{fmt.Sprintf("no client can send the token of %q in Static: want at most %d letters, digits and -._~+/, with = only at the end, and no line break", lost, maxToken)}
	case len(s) == 0, empty && len(s) == 1:
		return []string{"Static has no token, so every request is refused"}
	}
	return nil
}
