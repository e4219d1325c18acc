package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// issuer is the part of an authorization server that a resource server needs: its metadata (RFC
// 8414), its keys, and tokens that it has signed. It has no login page and no passwords.
type issuer struct {
	http.Handler

	url string
	key *ecdsa.PrivateKey
}

const keyID = "first"

func newIssuer(url string) (*issuer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	point, err := key.PublicKey.Bytes() // the byte 4, then x and y
	if err != nil {
		return nil, err
	}
	keys := map[string]any{"keys": []map[string]string{{
		"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": keyID,
		"x": base64.RawURLEncoding.EncodeToString(point[1:33]), "y": base64.RawURLEncoding.EncodeToString(point[33:]),
	}}}
	mux := http.NewServeMux()
	mux.Handle("GET /.well-known/oauth-authorization-server", document(map[string]any{
		"issuer": url, "jwks_uri": url + "/jwks", "response_types_supported": []string{"code"},
	}))
	mux.Handle("GET /jwks", document(keys))
	return &issuer{mux, url, key}, nil
}

func document(content map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(content) // the client may have disconnected
	}
}

// token returns a token that is valid for one hour and for one server.
func (i *issuer) token(subject, audience string, scopes ...string) (string, error) {
	now := time.Now()
	t := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{
		"iss": i.url, "sub": subject, "aud": audience, "scope": strings.Join(scopes, " "),
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "jti": rand.Text(),
	})
	t.Header["kid"], t.Header["typ"] = keyID, "at+jwt"
	return t.SignedString(i.key)
}
