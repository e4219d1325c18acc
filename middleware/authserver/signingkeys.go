package authserver

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"

	"github.com/MicahParks/jwkset"

	"github.com/kagami-mcp/kagami/middleware/internal/proof"
)

// SigningKeys returns keys that the program keeps itself, for example in files or in a key
// management service. They are P-256 (ES256), Ed25519 (EdDSA) or RSA of 2048 bits or more (RS256).
// The first key signs, and all keys are published. The ID of a key is its thumbprint (RFC 7638).
// [New] reports wrong keys.
//
// To replace a key, add the new one at the end, so that other servers can fetch it. A day later, move
// it to the front. Remove the old key when its last token has expired, after Lifetimes.Access. If a
// key was stolen, replace it at once: guards refuse its tokens, and clients get others by a refresh.
func SigningKeys(keys ...crypto.Signer) Keys {
	f := &fixedKeys{}
	for n, key := range keys {
		k, err := fixedKey(key)
		if err == nil && slices.ContainsFunc(f.keys, func(other Key) bool { return other.ID == k.ID }) {
			err = errors.New("it is given twice")
		}
		if err != nil {
			f.faults = append(f.faults, fmt.Errorf("authserver: SigningKeys: key %d: %w", n+1, err))
			continue
		}
		f.keys = append(f.keys, k)
	}
	if len(keys) == 0 {
		f.faults = append(f.faults, errors.New("authserver: SigningKeys: no key"))
	}
	return f
}

// fixedKeys holds the keys of SigningKeys. It does not change.
type fixedKeys struct {
	keys   []Key
	faults []error
}

// Signing returns the first key.
func (f *fixedKeys) Signing(context.Context) (*Key, error) {
	if len(f.keys) == 0 {
		return nil, errNoKey
	}
	return &f.keys[0], nil
}

// Public returns all keys.
func (f *fixedKeys) Public(context.Context) ([]Key, error) { return f.keys, nil }

// fixedKey returns a key with the algorithm of its kind.
func fixedKey(key crypto.Signer) (Key, error) {
	if v := reflect.ValueOf(key); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return Key{}, errors.New("it is nil")
	}
	s := cryptoSigner{key: key, hash: crypto.SHA256}
	k := Key{}
	switch public := key.Public().(type) {
	case *ecdsa.PublicKey:
		k.Algorithm, s.pair = "ES256", true
		if public.Curve != elliptic.P256() {
			return k, errors.New("its curve is not P-256")
		}
	case ed25519.PublicKey:
		k.Algorithm, s.hash = "EdDSA", 0
	case *rsa.PublicKey:
		k.Algorithm = "RS256"
		if bits := public.N.BitLen(); bits < minRSA {
			return k, fmt.Errorf("RSA of %d bits is too short: use 2048 or more", bits)
		}
	default:
		return k, fmt.Errorf("a key of type %T cannot sign: use P-256, Ed25519 or RSA", public)
	}
	jwk, err := jwkset.NewJWKFromKey(key.Public(), jwkset.JWKOptions{})
	if err != nil {
		return k, err
	}
	marshaled := jwk.Marshal()
	k.ID, k.Signer = proof.Thumbprint(&marshaled), s
	return k, nil
}

// cryptoSigner signs a JWS with a crypto.Signer.
type cryptoSigner struct {
	key  crypto.Signer
	hash crypto.Hash // 0 if the key signs the input itself
	pair bool        // the signature of a JWS has the two numbers of ECDSA side by side (RFC 7518 §3.4)
}

// Sign signs the input of a JWS.
func (s cryptoSigner) Sign(_ context.Context, input []byte) ([]byte, error) {
	signature, err := crypto.SignMessage(s.key, rand.Reader, input, s.hash)
	if err != nil || !s.pair {
		return signature, err
	}
	var pair struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(signature, &pair); err != nil {
		return nil, err
	}
	return append(pair.R.FillBytes(make([]byte, 32)), pair.S.FillBytes(make([]byte, 32))...), nil
}

// Public returns the public key.
func (s cryptoSigner) Public() any { return s.key.Public() }
