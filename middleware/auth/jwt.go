package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/kagami-mcp/kagami/transport"
)

// JWT verifies signed tokens (RFC 9068): signature by a key of the issuer, algorithm, issuer,
// audience, expiry (which is required) and "not before".
//
// The keys are fetched when a token needs them: at first, and when they are ten minutes old. If no
// key fits a token, they are fetched again, at most once in half a minute. While the issuer does
// not answer, the last good keys are used, for at most a day. Set the fields before the first use,
// and do not copy a JWT after that.
type JWT struct {
	Issuer     string        // exactly as in tokens and metadata; required
	Audience   string        // this server, as in tokens; if empty, the Resource of Bearer
	JWKS       string        // URL of the keys; if empty, it is discovered from Issuer
	Algorithms []string      // accepted algorithms; by default RS256, PS256, ES256 and EdDSA. Symmetric and unknown ones are a fault
	Type       string        // typ of the header, with or without "application/"; by default "at+jwt", "jwt" or absent
	Leeway     time.Duration // tolerance for clocks that differ; 0 means 30 seconds, negative means none
	Client     *http.Client  // fetches the keys; if nil, a client that does not follow redirects

	once   sync.Once
	keys   keys
	parser *jwt.Parser
	broken error
}

// verifiedTokens is the maximum number of verified tokens that are kept, because RSA takes some 50
// µs for each.
const verifiedTokens = 4096

// Verify checks a token and returns its principal. Expires is the token's end plus the Leeway.
// If the keys cannot be fetched, or a field of j is wrong, the error wraps ErrUnavailable. Any other
// error means that the token is not valid. Verify is safe for concurrent use.
func (j *JWT) Verify(ctx context.Context, token string) (*transport.Principal, error) {
	return j.verify(ctx, token, "")
}

func (j *JWT) names() (issuer, audience string) { return j.Issuer, j.Audience }

func (j *JWT) verify(ctx context.Context, token, resource string) (*transport.Principal, error) {
	j.once.Do(j.prepare)
	audience := cmp.Or(j.Audience, resource)
	if err := cmp.Or(needed("JWT", audience), j.broken); err != nil {
		return nil, err
	}
	set, fresh, err := j.keys.current(ctx)
	if err != nil {
		return nil, err
	}
	p, err := j.by(set, token, audience)
	if fresh || !errors.Is(err, errUnknownKey) {
		return p, err
	}
	set, failed := j.keys.newer(ctx, set)
	switch {
	case failed != nil:
		return nil, failed // the token may be good
	case set == nil:
		return nil, err
	}
	return j.by(set, token, audience)
}

func (j *JWT) fault(resource string) error {
	return cmp.Or(needed("JWT", cmp.Or(j.Audience, resource)), j.misset())
}

// misset returns the error in the fields, or nil. This check takes too long for every call.
func (j *JWT) misset() error {
	switch {
	case j.Issuer == "":
		return missetf("JWT has no Issuer")
	case j.JWKS == "" && httpURL(j.Issuer) == nil:
		return missetf("JWT: the Issuer must be an absolute URL where there is no JWKS, not %q", j.Issuer)
	case j.JWKS != "" && httpURL(j.JWKS) == nil:
		return missetf("JWT: JWKS must be an absolute URL, not %q", j.JWKS)
	case slices.ContainsFunc(j.Algorithms, symmetric):
		// Anyone with the public key could sign with it if it were used as a shared secret.
		return missetf("JWT: no Algorithms but asymmetric ones go with published keys")
	}
	for _, name := range j.Algorithms {
		if jwt.GetSigningMethod(name) == nil {
			return missetf("JWT: an algorithm %q is not known", name)
		}
	}
	return nil
}

func (j *JWT) prepare() {
	algorithms := j.Algorithms
	if len(algorithms) == 0 {
		algorithms = []string{"RS256", "PS256", "ES256", "EdDSA"}
	}
	j.Leeway = max(cmp.Or(j.Leeway, 30*time.Second), 0)
	j.parser = jwt.NewParser(
		jwt.WithValidMethods(algorithms), jwt.WithIssuer(j.Issuer), jwt.WithExpirationRequired(),
		jwt.WithLeeway(j.Leeway), jwt.WithJSONNumber(), jwt.WithStrictDecoding(),
	)
	client := cmp.Or(j.Client, newClient())
	j.keys.load = func(ctx context.Context) ([]byte, error) {
		if j.JWKS != "" {
			return get(ctx, client, j.JWKS)
		}
		url, err := jwksURL(ctx, client, j.Issuer)
		if err != nil {
			return nil, err
		}
		return get(ctx, client, url)
	}
	j.broken = j.misset()
}

func symmetric(algorithm string) bool {
	return algorithm == "none" || strings.HasPrefix(algorithm, "HS")
}

// by verifies a token with the keys of a set, and keeps the result there.
func (j *JWT) by(set *keySet, token, audience string) (*transport.Principal, error) {
	d := digestOf(audience, token)
	if p, known := set.verified.get(d); known {
		return p, nil
	}
	c := claims{}
	parsed, err := j.parser.ParseWithClaims(token, jwt.MapClaims(c), set.candidates)
	if err == nil {
		err = j.typed(parsed.Header)
	}
	if errors.Is(err, jwt.ErrTokenSignatureInvalid) {
		err = errors.Join(err, errUnknownKey) // a new key may have the name of an old one, or no name
	}
	if err != nil {
		return nil, notValid(err)
	}
	if err := cmp.Or(c.dated(), c.intendedFor(audience)); err != nil {
		return nil, err
	}
	p, err := c.principal()
	if err != nil {
		return nil, err
	}
	// Bearer compares Expires with the clock itself, so the leeway must be in it.
	p.Expires = p.Expires.Add(j.Leeway)
	set.verified.put(d, p, p.Expires)
	return p, nil
}

// typed refuses tokens that the issuer signs for other purposes (RFC 8725 §3.11). It also refuses
// tokens with critical headers, which this package does not understand (RFC 7515 §4.1.11).
func (j *JWT) typed(header map[string]any) error {
	if _, critical := header["crit"]; critical {
		return errors.New("extensions of the header are not understood")
	}
	typ, present := header["typ"]
	name, _ := typ.(string)
	name = mediaType(name)
	switch {
	case j.Type != "" && name == mediaType(j.Type), j.Type == "" && (!present || name == "jwt" || name == "at+jwt"):
		return nil
	}
	return errors.New("the token is of another type")
}

// mediaType returns a typ in the form for comparison. The prefix "application/" is optional (RFC 7515
// §4.1.9).
func mediaType(typ string) string { return strings.TrimPrefix(strings.ToLower(typ), "application/") }

// notValid returns the error for an invalid token. If the issuer has signed the token, the error
// contains the reason, which the sender may then read.
func notValid(err error) error {
	told := func(text string) error { return &rejection{told: text, err: err} }
	switch {
	case !errors.Is(err, jwt.ErrTokenInvalidClaims):
	case errors.Is(err, jwt.ErrTokenExpired):
		return told("the token has expired")
	case errors.Is(err, jwt.ErrTokenNotValidYet):
		return told("the token is not valid yet")
	case errors.Is(err, jwt.ErrTokenInvalidIssuer):
		return told("the token is of another issuer")
	case errors.Is(err, jwt.ErrTokenRequiredClaimMissing):
		return told("the token lacks a claim")
	}
	return fmt.Errorf("auth: %w", err)
}
