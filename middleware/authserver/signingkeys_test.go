package authserver_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/middleware/authserver"
)

// opaque is a crypto.Signer with another type than the keys of Go, as key management services have.
type opaque struct{ crypto.Signer }

// An operator rotates keys by hand: the first one signs, and tokens of the others are good while these
// are there.
func TestSigningKeys_RotateByHand(t *testing.T) {
	t.Parallel()
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	long, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	keys := []crypto.Signer{newKey(t), ed, long, opaque{newKey(t)}}
	store, seal := memory.New().Sessions(), make([]byte, 32)
	options := func(k ...crypto.Signer) []authserver.Option {
		return []authserver.Option{authserver.Store(store), authserver.Seal(seal), authserver.KeysFrom(authserver.SigningKeys(k...))}
	}
	s := open(t, nil, options(keys[0])...)
	id := s.register(plainClient)
	old, refresh := s.grant(id, "ann")
	tokens := []string{old}
	for n := range keys[1:] {
		n++
		ring := []crypto.Signer{keys[n], keys[n-1]}
		next, err := authserver.New(s.issuer, authserver.Own(authserver.DevLogin(ann())), append(options(ring...), noteScopes(), authserver.Resource(s.resource))...)
		if err != nil {
			t.Fatal(err)
		}
		h, v := next.Handler(), next.Verifier(s.resource)
		got := &answer{body: served(t, h, "/token", encoded([]string{"grant_type", "refresh_token", "client_id", id, "refresh_token", refresh}))}
		tokens, refresh = append(tokens, got.text(t, "access_token")), got.text(t, "refresh_token")
		for i, token := range tokens {
			_, err := v.Verify(t.Context(), token)
			if want := i >= n-1; (err == nil) != want {
				t.Errorf("after %d rotations, the token of key %d: %v", n, i, err)
			}
		}
		published, header := keyNames(t, h), headerOf(t, tokens[n])
		if len(published) != 2 || published[0] != header["kid"] || slices.Contains(published[1:], published[0]) {
			t.Errorf("after %d rotations: %v signs, published %v", n, header, published)
		}
		if want := []string{"ES256", "EdDSA", "RS256", "ES256"}[n]; header["alg"] != want {
			t.Errorf("after %d rotations: %v; want %s", n, header, want)
		}
	}
}

func TestSigningKeys_Faults(t *testing.T) {
	t.Parallel()
	good := newKey(t)
	other, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	short := &rsa.PrivateKey{PublicKey: rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), 1023), E: 65537}}
	for name, tt := range map[string]struct {
		keys []crypto.Signer
		want string
	}{
		"none": {nil, "no key"}, "nil": {[]crypto.Signer{good, nil}, "key 2: it is nil"}, "nil pointer": {[]crypto.Signer{(*rsa.PrivateKey)(nil)}, "nil"},
		"curve": {[]crypto.Signer{other}, "P-256"}, "short": {[]crypto.Signer{short}, "too short"}, "twice": {[]crypto.Signer{good, good}, "key 2: it is given twice"},
	} {
		_, err := authserver.New("https://as.example", authserver.Own(noUsers{}), authserver.KeysFrom(authserver.SigningKeys(tt.keys...)))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A signature of ES256 has 64 bytes, also if one of its numbers is short.
func TestSigningKeys_ShortNumbers(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	signing, err := authserver.SigningKeys(key).Signing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 2000 { // one of 128 has a number with a leading zero
		signature, err := signing.Signer.Sign(t.Context(), []byte("input"))
		if err != nil || jwt.SigningMethodES256.Verify("input", signature, &key.PublicKey) != nil {
			t.Fatalf("%x, %v", signature, err)
		}
	}
}
