package auth

import (
	"context"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"

	"github.com/kagami-mcp/kagami/transport"
)

// DPoP demands proofs of possession (RFC 9449): tokens must be bound to a key and come with
// the scheme DPoP, and every request must bring a proof that its sender holds the key, made
// for this request and not used before. A stolen token is then useless. Without DPoP, bound
// tokens are refused: they would be bearer tokens otherwise.
//
// A proof is for the method of its request and for its URL: that of Resource, or the path
// of the request on the host of Resource, which is what clients see behind a proxy. Headers
// play no part in it, neither Host nor those of proxies. Without a Resource everything is
// refused with 503. Proofs are remembered by this process: with several, a proof may be
// used once at each, within its minute. There is room for 500,000 of them, some 7,500 a
// second; more are refused with 503. Nonces of the server are not used.
func DPoP() Option {
	return optionFunc(func(c *config) { c.proofs = newProofs() })
}

const (
	proofAge    = time.Minute     // how old a proof may be, and
	proofAhead  = 5 * time.Second // how far in the future
	maxProof    = 8 << 10
	maxProofID  = 256
	maxProofKey = 8192 // bits of RSA
	minProofKey = 2048
)

// proofAlgorithms are asymmetric, as RFC 9449 §4.3 demands.
func proofAlgorithms() []string { return []string{"ES256", "EdDSA", "PS256", "RS256"} }

// proofError is why a proof is refused. The reason contains nothing that the client sent.
type proofError struct {
	reason string
	err    error
}

func (e *proofError) Error() string {
	if e.err == nil {
		return "auth: DPoP: " + e.reason
	}
	return "auth: DPoP: " + e.reason + ": " + e.err.Error()
}

func (e *proofError) Unwrap() error { return e.err }

var errBound = &rejection{told: "the token is bound to a key, and proofs are not taken here"}

// bound checks whether the token is bound to a key and comes from whoever holds that key.
func (b *bearer) bound(ctx context.Context, header http.Header, token string, p *transport.Principal) error {
	key := thumbprint(p)
	switch {
	case b.proofs == nil && key != "":
		return errBound
	case b.proofs == nil:
		return nil
	case key == "":
		return &rejection{told: "the token is not bound to a key"}
	}
	at, told := transport.TargetFrom(ctx)
	base := httpURL(b.resource)
	if !told || base == nil {
		return missetf("DPoP needs Resource, and a carrier over HTTP, which says what a request is for")
	}
	// A path that begins with two slashes must not be read as a host.
	asked, err := url.ParseRequestURI(at.URL)
	if err != nil {
		return unavailable("DPoP: the target of the request: %w", err)
	}
	if asked.Host == "" {
		asked.Scheme, asked.Host = base.Scheme, base.Host
	}
	return b.proofs.check(header.Values("DPoP"), wanted{at.Method, []*url.URL{asked, base}, token, key})
}

// wanted is what a proof must be made for.
type wanted struct {
	method string
	urls   []*url.URL // it must be for one of these
	token  string
	key    string // of the key that the token is bound to
}

// proofs checks proofs, and accepts each once. Safe for concurrent use.
type proofs struct {
	parser *jwt.Parser
	seen   *seen
}

func newProofs() *proofs {
	return &proofs{
		parser: jwt.NewParser(jwt.WithValidMethods(proofAlgorithms()), jwt.WithoutClaimsValidation(), jwt.WithJSONNumber(), jwt.WithStrictDecoding()),
		seen:   newSeen(proofAge + proofAhead),
	}
}

// check follows RFC 9449 §4.3, in its order.
func (p *proofs) check(headers []string, w wanted) error {
	switch {
	case len(headers) == 0:
		return &proofError{reason: "there is no proof"}
	case len(headers) > 1:
		return &proofError{reason: "there is more than one proof"}
	case len(headers[0]) > maxProof:
		return &proofError{reason: "the proof is too long"}
	}
	var key jwkset.JWKMarshal
	c := claims{}
	_, err := p.parser.ParseWithClaims(headers[0], jwt.MapClaims(c), func(t *jwt.Token) (any, error) {
		found, public, err := proofKey(t.Header)
		key = found
		return public, err
	})
	if err != nil {
		return &proofError{reason: "the proof is not signed as it must be", err: err}
	}
	if reason := c.proves(w, time.Now()); reason != "" {
		return &proofError{reason: reason}
	}
	if subtle.ConstantTimeCompare([]byte(thumbprintOf(&key)), []byte(w.key)) != 1 {
		return &proofError{reason: "the proof is of another key"}
	}
	fresh, room := p.seen.add(digestOf(w.key, c.text("jti")), time.Now())
	switch {
	case !room:
		return unavailable("DPoP: too many proofs at once")
	case !fresh:
		return &proofError{reason: "the proof was used before"}
	}
	return nil
}

// proves says what is wrong with the claims of a proof, or "".
func (c claims) proves(w wanted, now time.Time) string {
	made, dated := c.time("iat")
	hash := sha256.Sum256([]byte(w.token))
	id := c.text("jti")
	switch {
	case id == "" || len(id) > maxProofID:
		return "the proof has no jti"
	case c.text("htm") != w.method:
		return "the proof is for another method"
	case !slices.ContainsFunc(w.urls, func(u *url.URL) bool { return sameTarget(c.text("htu"), u) }):
		return "the proof is for another URL"
	case !dated || now.Sub(made) > proofAge || made.Sub(now) > proofAhead:
		return "the proof is too old, or ahead of time"
	case subtle.ConstantTimeCompare([]byte(c.text("ath")), []byte(base64.RawURLEncoding.EncodeToString(hash[:]))) != 1:
		return "the proof is for another token"
	}
	return ""
}

// sameTarget compares without query and fragment (RFC 9449 §4.3), and with the default
// ports and an empty path as RFC 3986 §6.2 has them.
func sameTarget(htu string, u *url.URL) bool {
	given := httpURL(htu)
	return given != nil && strings.EqualFold(given.Scheme, u.Scheme) && authority(given) == authority(u) && pathFrom(given) == pathFrom(u)
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

// proofKey is the public key in the header of a proof.
func proofKey(header map[string]any) (m jwkset.JWKMarshal, public any, err error) {
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
	jwk, err := publicKey(raw)
	if err != nil {
		return m, nil, err
	}
	// Anybody can send a key: one that makes verifying slow, or is too weak, is refused.
	if k, ok := jwk.Key().(*rsa.PublicKey); ok && (k.N.BitLen() < minProofKey || k.N.BitLen() > maxProofKey) {
		return m, nil, errors.New("the size of the key is not taken")
	}
	return m, jwk.Key(), nil
}

// thumbprintOf is that of RFC 7638: the required members, in order. Their values need no
// escapes, since the key was read from them.
func thumbprintOf(m *jwkset.JWKMarshal) string {
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
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
