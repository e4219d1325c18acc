package authserver

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"

	"github.com/kagami-mcp/kagami/middleware/internal/proof"
	"github.com/kagami-mcp/kagami/protocol/session"
)

// unverified returns the claims of a token. They are used only to look up who must have signed it, or
// after that was checked.
func unverified(token string) (c jwt.RegisteredClaims, err error) {
	_, _, err = jwt.NewParser().ParseUnverified(token, &c)
	return c, err
}

// longestAssertion is the longest time that a client assertion may expire in.
const longestAssertion = 10 * time.Minute

// assertedBy checks a client assertion (RFC 7523 §3). The audience is the issuer
// (draft-ietf-oauth-rfc7523bis).
func (s *Server) assertedBy(ctx context.Context, c *Client, assertion string) error {
	keys, err := s.keysOf(ctx, c, false)
	if err != nil {
		return err
	}
	t, claims, err := parseAssertion(c, assertion, keys)
	if errors.Is(err, jwt.ErrTokenSignatureInvalid) && c.JWKSURI != "" { // the client may have a new key
		if keys, err = s.keysOf(ctx, c, true); err != nil {
			return err
		}
		t, claims, err = parseAssertion(c, assertion, keys)
	}
	if err != nil {
		return err
	}
	if _, critical := t.Header["crit"]; critical {
		return errors.New("extensions of the header are not understood")
	}
	meant := func(a string) bool { return strings.TrimSuffix(a, "/") == s.issuer || a == s.at("/token") }
	switch {
	case !slices.ContainsFunc(claims.Audience, meant):
		return errors.New("the assertion is for another audience")
	case claims.ID == "":
		return errors.New("the assertion has no jti")
	case time.Until(claims.ExpiresAt.Time) > longestAssertion:
		return errors.New("the assertion lives for more than 10 minutes")
	}
	return s.onlyOnce(ctx, "client", c.ID, claims.ID, claims.ExpiresAt.Time)
}

func parseAssertion(c *Client, assertion string, keys []jwkset.JWK) (*jwt.Token, *jwt.RegisteredClaims, error) {
	set := jwt.VerificationKeySet{}
	for _, key := range keys {
		set.Keys = append(set.Keys, key.Key())
	}
	claims := &jwt.RegisteredClaims{}
	parser := jwt.NewParser(jwt.WithValidMethods(proof.Algorithms()), jwt.WithIssuer(c.ID), jwt.WithSubject(c.ID),
		jwt.WithExpirationRequired(), jwt.WithLeeway(leeway), jwt.WithStrictDecoding())
	t, err := parser.ParseWithClaims(assertion, claims, func(*jwt.Token) (any, error) { return set, nil })
	return t, claims, err
}

// leeway is the tolerance for clocks that differ.
const leeway = 30 * time.Second

var errUsed = errors.New("the assertion was used before")

// onlyOnce records that an assertion was used, until it expires. A second use is an error.
func (s *Server) onlyOnce(ctx context.Context, kind, issuer, id string, expires time.Time) error {
	err := s.once.create(ctx, string(digest(kind, issuer, id)), &struct{}{}, expires.Add(2*leeway))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, session.ErrExists):
		return errUsed
	}
	return refusalOf(err) // a failure of the store says nothing about the assertion
}
