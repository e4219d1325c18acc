package authserver

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/middleware/internal/proof"
)

// grant is what a user, or an identity provider, has allowed a client to do. It is one record, so
// every change of it is one atomic step.
//
// Its reference is public: tokens and events contain it. The reference is a digest of the handle.
// The handle is part of the code and of the refresh tokens. Therefore only a holder of one of these
// can end the grant by presenting a wrong one.
type grant struct {
	Client   string    `json:"client"`
	User     User      `json:"user"`
	Resource string    `json:"resource"`
	Scopes   []string  `json:"scopes,omitempty"`
	Key      string    `json:"key,omitempty"` // thumbprint of the key that its tokens are bound to
	Until    time.Time `json:"until"`         // its end, even if it is refreshed
	Dead     bool      `json:"dead,omitempty"`

	// Used until the code is redeemed.
	Code      []byte    `json:"code,omitempty"` // digest; kept to detect a second use
	CodeUntil time.Time `json:"codeUntil"`
	Redirect  string    `json:"redirect,omitempty"`
	Challenge string    `json:"challenge,omitempty"`
	Redeemed  bool      `json:"redeemed,omitempty"`

	// Used after the redemption.
	Current  []byte    `json:"current,omitempty"`  // digest of the refresh token
	Previous []byte    `json:"previous,omitempty"` // digest of the one before it
	Rotated  time.Time `json:"rotated"`            // when Current replaced it
	Last     string    `json:"last,omitempty"`     // sealed: the answer that Current was sent in

	Upstream string    `json:"upstream,omitempty"` // sealed session at the provider, in Broker
	Renewing time.Time `json:"renewing"`           // until then one process renews the session, or none if Away
	Away     bool      `json:"away,omitempty"`     // the provider is away
}

// Reasons for refusing a code or a refresh token.
var (
	errNoGrant  = errors.New("the code or token is not known")
	errDead     = errors.New("the grant has ended")
	errExpired  = errors.New("the code or token has expired")
	errReplayed = errors.New("the code or token was used before: the grant ends")
	errForeign  = errors.New("the code or token was made for another client, redirect URI, resource, verifier or key")
)

// redemption is a request with a code.
type redemption struct {
	code, client, redirect, verifier, resource, key string
	oneRedirect                                     bool // the client has only one redirect URI, so it may leave it out
}

// redeem checks a code, and marks it as used. After errReplayed, the grant is dead and must also be
// stored.
func (g *grant) redeem(now time.Time, r redemption) error {
	switch {
	case g.Code == nil || !sameDigest(g.Code, r.code):
		return errNoGrant
	case g.Dead:
		return errDead
	case g.Redeemed:
		g.Dead = true
		return errReplayed
	case !now.Before(g.CodeUntil):
		return errExpired
	case g.Client != r.client, !isVerifier(r.verifier), g.Challenge != proof.Digest(r.verifier), r.resource != "" && r.resource != g.Resource,
		r.redirect != g.Redirect && (r.redirect != "" || !r.oneRedirect), g.Key != "" && g.Key != r.key:
		return errForeign
	}
	g.Redeemed, g.Key = true, r.key
	return nil
}

// refresh checks a refresh token. again reports that the token was just rotated, so the same answer is
// sent again; otherwise the next token replaces it. If the token is neither the current one nor, within the grace,
// the one before it, it is an old copy, which any client may send. Then refresh returns
// errReplayed, and the grant is dead and must be stored.
func (g *grant) refresh(now time.Time, token, client, resource, key string, grace time.Duration) (again bool, err error) {
	current := sameDigest(g.Current, token)
	recent := sameDigest(g.Previous, token) && grace > 0 && now.Sub(g.Rotated) <= grace
	switch {
	case g.Current == nil:
		return false, errNoGrant
	case g.Dead:
		return false, errDead
	case !current && !recent:
		g.Dead = true
		return false, errReplayed
	case g.Client != client, resource != "" && resource != g.Resource, g.Key != key:
		return false, errForeign
	case !now.Before(g.Until):
		return false, errExpired
	}
	return recent, nil
}

// rotate replaces the current refresh token.
func (g *grant) rotate(now time.Time, token, answer string) {
	g.Previous, g.Current, g.Rotated, g.Last = g.Current, digest(token), now, answer
}

// expires returns when the record may be forgotten. A used code is remembered as long as the tokens
// that it led to.
func (g *grant) expires(idle time.Duration) time.Time {
	switch {
	case !g.Redeemed && g.Code != nil:
		return g.CodeUntil
	case g.Current == nil || g.Rotated.Add(idle).After(g.Until):
		return g.Until
	}
	return g.Rotated.Add(idle)
}

// narrow returns the allowed scopes of a list. If allowed is nil, all are allowed.
func narrow(scopes, allowed []string) []string {
	if allowed == nil {
		return scopes
	}
	return slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return !slices.Contains(allowed, s) })
}

func sameDigest(kept []byte, secret string) bool {
	return len(kept) > 0 && subtle.ConstantTimeCompare(kept, digest(secret)) == 1
}

// isVerifier reports whether s is a verifier (RFC 7636 §4.1).
func isVerifier(s string) bool {
	return len(s) >= 43 && len(s) <= 128 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._~", r)
	})
}

// handleBytes is the length of the handle in front of a code or a refresh token.
const handleBytes = 16

// newHandle returns a new handle. Secrets of the grant contain it.
func newHandle() []byte { return randomBytes(handleBytes) }

// newSecret returns a code or a refresh token of a grant.
func newSecret(handle []byte) string {
	return base64url(append(slices.Clone(handle), randomBytes(32)...))
}

// handleOf returns the handle in a code or refresh token. If the text cannot be one, it returns
// nil.
func handleOf(secret string) []byte {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(secret)
	if err != nil || len(raw) != handleBytes+32 {
		return nil
	}
	return raw[:handleBytes]
}

// referenceOf returns the public name of a grant.
func referenceOf(handle []byte) string { return shortDigest("grant", string(handle)) }

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}
