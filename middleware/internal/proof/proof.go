// Package proof checks proofs of possession (RFC 9449 §4.3) for authorization servers and
// resource servers. It also reads keys and claims, which both do.
package proof

import (
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
)

const (
	maxAge   = time.Minute     // maximum age of a proof
	maxAhead = 5 * time.Second // maximum time of a proof in the future
	maxProof = 8 << 10
	maxID    = 256
	maxKey   = 8192 // bits of RSA
	minKey   = 2048
)

// Algorithms returns the accepted algorithms. They are asymmetric, as RFC 9449 §4.3 requires.
func Algorithms() []string { return []string{"ES256", "EdDSA", "PS256", "RS256"} }

// Error is the reason why a proof is refused. The reason contains nothing that the client sent.
type Error struct {
	Reason string
	Err    error // of the parser; may be nil
}

// Error returns the reason, and the error of the parser.
func (e *Error) Error() string {
	if e.Err == nil {
		return "DPoP: " + e.Reason
	}
	return "DPoP: " + e.Reason + ": " + e.Err.Error()
}

// Unwrap returns the error of the parser.
func (e *Error) Unwrap() error { return e.Err }

// ErrFull means that there are too many proofs to record another one.
var ErrFull = errors.New("DPoP: too many proofs at once")

// Wanted describes the request that a proof must be made for.
type Wanted struct {
	Method string
	URLs   []*url.URL // it must be for one of these URLs
	Token  string     // token of the request; empty if the request has none
	Key    string     // thumbprint of the key that must have signed it; empty for any key
	Nonces *Nonces    // it must have one of these nonces; nil for none
}

// Checker checks proofs, and accepts each proof once. A Checker is safe for concurrent use.
type Checker struct {
	parser *jwt.Parser
	seen   *seen
}

// New returns a Checker without recorded proofs.
func New() *Checker {
	return &Checker{
		parser: jwt.NewParser(jwt.WithValidMethods(Algorithms()), jwt.WithoutClaimsValidation(), jwt.WithJSONNumber(), jwt.WithStrictDecoding()),
		seen:   new(seen),
	}
}

// Check checks the values of the header DPoP, in the order of RFC 9449 §4.3, and returns the
// thumbprint of the key (RFC 7638). The error is an *Error, ErrNonce or ErrFull.
func (p *Checker) Check(headers []string, w Wanted) (thumbprint string, err error) {
	switch {
	case len(headers) == 0:
		return "", &Error{Reason: "there is no proof"}
	case len(headers) > 1:
		return "", &Error{Reason: "there is more than one proof"}
	case len(headers[0]) > maxProof:
		return "", &Error{Reason: "the proof is too long"}
	}
	c := claims{}
	_, err = p.parser.ParseWithClaims(headers[0], jwt.MapClaims(c), func(t *jwt.Token) (any, error) {
		key, public, err := keyOf(t.Header)
		thumbprint = Thumbprint(&key)
		return public, err
	})
	if err != nil {
		return "", &Error{Reason: "the proof is not signed as it must be", Err: err}
	}
	if reason := c.wrong(w, time.Now()); reason != "" {
		return "", &Error{Reason: reason}
	}
	if w.Key != "" && subtle.ConstantTimeCompare([]byte(thumbprint), []byte(w.Key)) != 1 {
		return "", &Error{Reason: "the proof is of another key"}
	}
	if w.Nonces != nil && !w.Nonces.valid(c.text("nonce")) {
		return "", ErrNonce
	}
	fresh, room := p.seen.add(sha256.Sum256([]byte(thumbprint+"\x00"+c.text("jti"))), time.Now())
	switch {
	case !room:
		return "", ErrFull
	case !fresh:
		return "", &Error{Reason: "the proof was used before"}
	}
	return thumbprint, nil
}

// claims are the claims of a proof, with numbers as they were written.
type claims map[string]any

func (c claims) text(name string) string {
	s, _ := c[name].(string)
	return s
}

// wrong returns the fault of a proof's claims, or "".
func (c claims) wrong(w Wanted, now time.Time) string {
	made, dated := NumericDate(c["iat"])
	id := c.text("jti")
	switch {
	case id == "" || len(id) > maxID:
		return "the proof has no jti"
	case c.text("htm") != w.Method:
		return "the proof is for another method"
	case !slices.ContainsFunc(w.URLs, func(u *url.URL) bool { return sameTarget(c.text("htu"), u) }):
		return "the proof is for another URL"
	case !dated || now.Sub(made) > maxAge || made.Sub(now) > maxAhead:
		return "the proof is too old, or ahead of time"
	case w.Token != "" && subtle.ConstantTimeCompare([]byte(c.text("ath")), []byte(Digest(w.Token))) != 1:
		return "the proof is for another token"
	}
	return ""
}

// Digest returns the SHA-256 of text in base64url. It is used for the member ath of a proof (RFC 9449
// §4.2), the thumbprint of a key (RFC 7638), and the S256 challenge of a verifier (RFC 7636 §4.2).
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// sameTarget compares two URLs without query and fragment (RFC 9449 §4.3). It treats default ports
// and an empty path as RFC 3986 §6.2 does.
func sameTarget(htu string, u *url.URL) bool {
	given, err := url.Parse(htu)
	return err == nil && given.Host != "" && given.User == nil && strings.EqualFold(given.Scheme, u.Scheme) &&
		authority(given) == authority(u) && pathFrom(given) == pathFrom(u)
}

func authority(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if strings.EqualFold(u.Scheme, "https") {
		return strings.TrimSuffix(host, ":443")
	}
	return strings.TrimSuffix(host, ":80")
}

func pathFrom(u *url.URL) string {
	if path := u.EscapedPath(); path != "" {
		return path
	}
	return "/"
}

// keyOf returns the public key in the header of a proof.
func keyOf(header map[string]any) (m jwkset.JWKMarshal, public any, err error) {
	if typ, _ := header["typ"].(string); !strings.EqualFold(typ, "dpop+jwt") {
		return m, nil, errors.New("the typ is not dpop+jwt")
	}
	if _, critical := header["crit"]; critical {
		return m, nil, errors.New("extensions of the header are not understood")
	}
	raw, err := json.Marshal(header["jwk"])
	if err != nil {
		return m, nil, err
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, nil, err
	}
	if m.D != "" || m.K != "" || m.P != "" {
		return m, nil, errors.New("the jwk is private")
	}
	jwk, err := PublicKey(raw)
	if err != nil {
		return m, nil, err
	}
	// Any sender can choose a key. A key that makes verifying slow, or is too weak, is refused.
	if k, ok := jwk.Key().(*rsa.PublicKey); ok && (k.N.BitLen() < minKey || k.N.BitLen() > maxKey) {
		return m, nil, errors.New("the size of the key is not taken")
	}
	return m, jwk.Key(), nil
}

// Thumbprint returns the thumbprint of RFC 7638: a digest of the required members, in order.
// Their values need no escapes, because the key was read from them.
func Thumbprint(m *jwkset.JWKMarshal) string {
	var text string
	switch m.KTY {
	case jwkset.KtyRSA:
		text = `{"e":"` + m.E + `","kty":"RSA","n":"` + m.N + `"}`
	case jwkset.KtyEC:
		text = `{"crv":"` + m.CRV.String() + `","kty":"EC","x":"` + m.X + `","y":"` + m.Y + `"}`
	case jwkset.KtyOKP:
		text = `{"crv":"` + m.CRV.String() + `","kty":"OKP","x":"` + m.X + `"}`
	default:
		return ""
	}
	return Digest(text)
}

var errNotPublic = errors.New("not a public key for signatures")

// PublicKey parses one member of a JWK Set. It accepts only public keys for signatures, and ignores
// certificates.
func PublicKey(raw json.RawMessage) (jwkset.JWK, error) {
	var m jwkset.JWKMarshal
	if err := json.Unmarshal(raw, &m); err != nil {
		return jwkset.JWK{}, err
	}
	if m.KTY == jwkset.KtyOct || m.USE != "" && m.USE != jwkset.UseSig {
		return jwkset.JWK{}, errNotPublic
	}
	m.X5U, m.X5C, m.X5T, m.X5TS256 = "", nil, "", ""
	return jwkset.NewJWKFromMarshal(m, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{SkipAll: true})
}
