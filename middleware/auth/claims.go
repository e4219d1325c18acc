package auth

import (
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/middleware/internal/proof"
	"github.com/kagami-mcp/kagami/transport"
)

// claims are the claims of a token, or an authorization server's answer about a token. They are
// JSON, with numbers as they were written.
type claims map[string]any

// principal returns the caller that the claims describe.
func (c claims) principal() (*transport.Principal, error) {
	subject := c.subject()
	if subject == "" {
		return nil, &rejection{told: "the token has no subject"}
	}
	p := &transport.Principal{Subject: subject, Issuer: c.text("iss"), Claims: c}
	p.Scopes = appendNew(c.scopes("scope"), c.scopes("scp"))
	p.Expires, _ = proof.NumericDate(c["exp"])
	return p, nil
}

// subject returns the claim "sub". A client that acts for itself is its own subject (RFC 9068
// §2.2), but not every server sets it. The client's ID replaces neither a "sub" that is not a
// string, as RFC 7519 §4.1.2 requires, nor the missing "sub" of a token that names a user (RFC 7662
// §2.2). Otherwise all such users would be the same client.
func (c claims) subject() string {
	if c["sub"] == nil || c["sub"] == "" {
		if names := func(claim string) bool { return c[claim] != nil && c[claim] != "" }; names("username") || names("preferred_username") {
			return ""
		}
		return c.text("client_id")
	}
	return c.text("sub")
}

func (c claims) text(name string) string {
	s, _ := c[name].(string)
	return s
}

// scopes returns the scopes in a claim: a list, or names separated by spaces (RFC 8693 §4.2). Some
// servers name the claim "scp".
func (c claims) scopes(name string) []string {
	if text, ok := c[name].(string); ok {
		return appendNew(nil, strings.Fields(text))
	}
	return appendNew(nil, proof.Texts(c[name]))
}

// dated refuses a token with a date that is out of range. The JWT library would convert it to
// another time, which depends on the processor.
func (c claims) dated() error {
	for _, name := range []string{"exp", "nbf"} {
		claim, given := c[name]
		if _, ok := proof.NumericDate(claim); given && !ok {
			return &rejection{told: "a date of the token is invalid"}
		}
	}
	return nil
}

// thumbprint returns the thumbprint of the key that the token is bound to (RFC 9449 §6.1), or "".
func thumbprint(p *transport.Principal) string {
	cnf, _ := p.Claims["cnf"].(map[string]any)
	jkt, _ := cnf["jkt"].(string)
	return jkt
}

var errOtherAudience = &rejection{told: "the token is not for this server"}

// intendedFor requires the audience to be in the claim "aud" (RFC 7519 §4.1.3), because tokens for other servers must
// not be accepted (2025-06-18 basic/authorization "Token Audience Binding and Validation").
func (c claims) intendedFor(audience string) error {
	if slices.ContainsFunc(proof.Texts(c["aud"]), func(each string) bool { return sameResource(each, audience) }) {
		return nil
	}
	return errOtherAudience
}

// needed returns an error if the audience is unknown.
func needed(verifier, audience string) error {
	if audience == "" {
		return missetf("%s: there is no Audience, and Bearer has no Resource", verifier)
	}
	return nil
}
