package rounds

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// ErrState means that a state was not sealed by this Sealer for this use. It is malformed, was
// changed, belongs to another call or principal, or its key was removed.
var ErrState = errors.New("rounds: the state is not valid")

// minSecret is the minimum length of a secret in bytes.
const minSecret = 16

// Sealer seals states. It seals with the first secret and opens with any. To rotate secrets, put a
// new one first, and remove the old one when the states sealed with it have expired. A Sealer is
// safe for concurrent use.
type Sealer struct {
	keys []sealingKey
}

type sealingKey struct {
	id   [4]byte // selects the key to try; does not reveal the key
	aead cipher.AEAD
}

// NewSealer returns a Sealer with keys derived from the secrets. It returns an error if there is no
// secret, or if one is shorter than 16 bytes.
func NewSealer(secrets ...[]byte) (*Sealer, error) {
	if len(secrets) == 0 {
		return nil, errors.New("rounds: a sealer needs a secret")
	}
	s := &Sealer{}
	for i, secret := range secrets {
		if len(secret) < minSecret {
			return nil, fmt.Errorf("rounds: secret %d has %d bytes, at least %d are needed", i+1, len(secret), minSecret)
		}
		key, err := newSealingKey(secret)
		if err != nil {
			return nil, fmt.Errorf("rounds: secret %d: %w", i+1, err)
		}
		s.keys = append(s.keys, key)
	}
	return s, nil
}

func newSealingKey(secret []byte) (sealingKey, error) {
	material, err := hkdf.Key(sha256.New, secret, nil, "kagami requestState 1", 32+4)
	if err != nil {
		return sealingKey{}, err
	}
	block, err := aes.NewCipher(material[:32])
	if err != nil {
		return sealingKey{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return sealingKey{}, err
	}
	key := sealingKey{aead: aead}
	copy(key.id[:], material[32:])
	return key, nil
}

// RandomSecret returns a random secret. Use it for servers whose states need not survive the
// process.
func RandomSecret() []byte {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	return secret
}

// Seal encrypts plain for the use that binding describes. The result does not contain the binding.
// It uses the URL-safe base64 alphabet.
func (s *Sealer) Seal(plain, binding []byte) string {
	key := &s.keys[0]
	sealed := make([]byte, len(key.id), len(key.id)+len(plain)+key.aead.Overhead())
	copy(sealed, key.id[:])
	sealed = key.aead.Seal(sealed, nil, plain, binding)
	return base64.RawURLEncoding.EncodeToString(sealed)
}

// Open decrypts a state that Seal returned for the same binding. The error is always ErrState.
func (s *Sealer) Open(state string, binding []byte) ([]byte, error) {
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(state)
	if err != nil || len(sealed) < 4 || strings.ContainsAny(state, "\r\n") { // the decoder skips line breaks
		return nil, ErrState
	}
	for i := range s.keys {
		key := &s.keys[i]
		if string(sealed[:4]) != string(key.id[:]) {
			continue
		}
		plain, err := key.aead.Open(nil, nil, sealed[4:], binding)
		if err == nil {
			return plain, nil
		}
	}
	return nil, ErrState
}
