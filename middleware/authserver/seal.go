package authserver

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// sealer encrypts data that must be read again (AES-256-GCM, after a random nonce). The first key
// seals, and all keys open.
type sealer []cipher.AEAD

var errSealed = errors.New("authserver: a sealed value cannot be opened")

func newSealer(keys [][]byte) (s sealer, err error) {
	for n, key := range keys {
		if len(key) != 32 {
			return nil, fmt.Errorf("authserver: Seal: key %d has %d bytes instead of 32", n+1, len(key))
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		s = append(s, aead)
	}
	return s, nil
}

// seal encrypts v, as JSON, for one purpose. It can be opened only for the same purpose.
func (s sealer) seal(purpose string, v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return base64url(s[0].Seal(nil, nil, text, []byte(purpose))), nil
}

// open decrypts the result of seal for the same purpose.
func (s sealer) open(purpose, sealed string, v any) error {
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return errSealed
	}
	for _, aead := range s {
		if text, err := aead.Open(nil, nil, raw, []byte(purpose)); err == nil {
			return json.Unmarshal(text, v)
		}
	}
	return errSealed
}
