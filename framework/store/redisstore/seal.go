package redisstore

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrKey is returned for a record that this store cannot open. It was sealed with another key, was
// not sealed although the store encrypts, or was changed.
var ErrKey = errors.New("redisstore: no key can decrypt it")

// The first byte of every value that can be sealed.
const (
	plain  = 0
	sealed = 1
)

const (
	keyID    = 4 // bytes, after the first one
	nonceLen = 12
	minKey   = 16
)

// box seals and opens values. Without keys it only marks them as plain.
//
// It does not change after New, and is used by all goroutines without a lock.
type box []boxKey // the first one seals, and all open

type boxKey struct {
	id   []byte
	aead cipher.AEAD
	mac  []byte // makes nonces that are equal for equal values
}

func newBox(keys [][]byte) (box, error) {
	var b box
	for i, key := range keys {
		k, err := newBoxKey(key)
		if err != nil {
			return nil, fmt.Errorf("redisstore: key %d of Encrypt: %w", i+1, err)
		}
		b = append(b, k)
	}
	return b, nil
}

// newBoxKey derives one key for each purpose from the secret.
func newBoxKey(secret []byte) (boxKey, error) {
	if len(secret) < minKey {
		return boxKey{}, fmt.Errorf("got %d bytes, want at least %d", len(secret), minKey)
	}
	const each = 32
	all, err := hkdf.Key(sha256.New, secret, nil, "kagami redisstore", 2*each+keyID)
	if err != nil {
		return boxKey{}, fmt.Errorf("deriving: %w", err)
	}
	block, err := aes.NewCipher(all[:each])
	if err != nil {
		return boxKey{}, fmt.Errorf("deriving: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return boxKey{}, fmt.Errorf("deriving: %w", err)
	}
	return boxKey{id: all[2*each:], aead: aead, mac: all[each : 2*each]}, nil
}

// binding returns the additional data that binds a sealed value to its key, so that it cannot be
// opened elsewhere.
func binding(kind string, names ...string) []byte {
	where := []byte(kind)
	for _, name := range names {
		where = binary.AppendUvarint(where, uint64(len(name)))
		where = append(where, name...)
	}
	return where
}

// seal returns the bytes to store for a value.
func (b box) seal(value, where []byte) []byte {
	if len(b) == 0 {
		return append([]byte{plain}, value...)
	}
	nonce := make([]byte, nonceLen)
	_, _ = rand.Read(nonce) // it never fails (crypto/rand)
	return b[0].seal(nonce, value, where)
}

func (k *boxKey) seal(nonce, value, where []byte) []byte {
	out := make([]byte, 0, 1+keyID+nonceLen+len(value)+k.aead.Overhead())
	out = append(out, sealed)
	out = append(out, k.id...)
	out = append(out, nonce...)
	return k.aead.Seal(out, nonce, value, where)
}

// same returns all forms that a value may be stored in, for values that Redis must compare. There
// is one form for each key, and the form of the first key is first. The nonce is a digest of the
// value. A reader of the form can detect that the same value comes back to the same key, and
// nothing else.
func (b box) same(value, where []byte) [][]byte {
	if len(b) == 0 {
		return [][]byte{b.seal(value, where)}
	}
	out := make([][]byte, len(b))
	for i := range b {
		h := hmac.New(sha256.New, b[i].mac)
		h.Write(binary.AppendUvarint(nil, uint64(len(where))))
		h.Write(where)
		h.Write(value)
		out[i] = b[i].seal(h.Sum(nil)[:nonceLen], value, where)
	}
	return out
}

// open returns the value. It shares no memory with kept.
func (b box) open(kept string, where []byte) ([]byte, error) {
	if kept == "" {
		return nil, fmt.Errorf("%w: the value is empty", ErrKey)
	}
	switch rest := kept[1:]; {
	case kept[0] == plain && len(b) == 0:
		return []byte(rest), nil
	case kept[0] == plain:
		return nil, fmt.Errorf("%w: the value is not encrypted, but the store has redisstore.Encrypt", ErrKey)
	case len(b) == 0:
		return nil, fmt.Errorf("%w: the value is encrypted; open the store with redisstore.Encrypt", ErrKey)
	case len(rest) < keyID+nonceLen:
		return nil, fmt.Errorf("%w: the value is truncated", ErrKey)
	default:
		return b.unseal([]byte(rest), where)
	}
}

func (b box) unseal(kept, where []byte) ([]byte, error) {
	id, nonce, value := kept[:keyID], kept[keyID:keyID+nonceLen], kept[keyID+nonceLen:]
	for i := range b {
		if !bytes.Equal(b[i].id, id) {
			continue
		}
		if out, err := b[i].aead.Open(nil, nonce, value, where); err == nil {
			return out, nil
		}
	}
	return nil, fmt.Errorf("%w: the value is encrypted with key %x", ErrKey, id)
}
