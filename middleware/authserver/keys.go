package authserver

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"

	"github.com/kagami-mcp/kagami/middleware/internal/proof"
)

// Keys sign access tokens.
type Keys interface {
	// Signing returns the key that signs now.
	Signing(ctx context.Context) (*Key, error)
	// Public returns all keys with tokens that are still valid, and the next key.
	Public(ctx context.Context) ([]Key, error)
}

// Key is a signing key.
type Key struct {
	ID        string
	Algorithm string    // ES256, EdDSA, RS256 or PS256
	Signer    Signer    // for keys that Public returns, only its method Public is called
	NotBefore time.Time // when the key begins to sign; only Rotating sets it
	NotAfter  time.Time // when the key stops signing; only Rotating sets it
}

// Signer signs the input of a JWS. It is not a crypto.Signer, because a digest does not suit all
// algorithms, and keys may be in another machine.
type Signer interface {
	Sign(ctx context.Context, input []byte) (signature []byte, err error)
	Public() any
}

// KeysFrom sets the keys: Rotating, SigningKeys or an implementation of the program. The default is
// Rotating(30*24*time.Hour).
func KeysFrom(k Keys) Option {
	return optionFunc(func(c *config) { c.keys = k })
}

// Rotating makes ES256 keys in the store. A key signs for the duration every, which must be an hour or
// more. It is published a day before it signs, and stays published until the last token that it signed
// has expired. Processes that share a store use the same keys.
func Rotating(every time.Duration) Keys { return &rotating{every: every} }

const (
	publishedBefore = 24 * time.Hour
	ringFresh       = time.Minute     // how long a process uses the keys that it has read
	ringAsked       = 5 * time.Second // how often calls of guards ask whether the keys are still fresh
	shortestKey     = time.Hour       // shortest interval of Rotating

	minRSA, maxRSA = 2048, 8192 // bits of a client's key
	maxExponent    = 1<<24 + 1
	maxKeys        = 10 // maximum number of keys of a client
)

// ring is the record of the keys, in the order of their creation.
type ring struct {
	Keys []ringKey `json:"keys"`
}

type ringKey struct {
	ID        string    `json:"id"`
	Sealed    string    `json:"sealed"` // PKCS #8
	NotBefore time.Time `json:"notBefore"`
	NotAfter  time.Time `json:"notAfter"`
}

// rotating holds the keys in the store. New sets server and rings before the first use. Public and
// ReplaceKeys change keys with mu held.
type rotating struct {
	every  time.Duration
	server *Server
	rings  table[ring]

	mu   sync.Mutex // guards all below
	keys []Key
	read time.Time
}

var errNoKey = errors.New("authserver: there is no key to sign with")

// Signing returns the newest key that may sign.
func (k *rotating) Signing(ctx context.Context) (*Key, error) {
	keys, err := k.Public(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	for _, key := range slices.Backward(keys) {
		if !now.Before(key.NotBefore) && now.Before(key.NotAfter) {
			return &key, nil
		}
	}
	return nil, errNoKey
}

// Public returns the keys of the store, and makes new keys when they are due. It reads the store
// once a minute.
func (k *rotating) Public(ctx context.Context) ([]Key, error) { return k.public(ctx, ringFresh) }

// public is Public for keys that were read at most fresh ago.
func (k *rotating) public(ctx context.Context, fresh time.Duration) ([]Key, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	if k.read.IsZero() || now.Sub(k.read) >= fresh {
		if err := k.turn(ctx, now, false); err != nil {
			return nil, err
		}
	}
	return k.keys, nil
}

// ReplaceKeys replaces all keys of [Rotating] by a new one at once, because one may be stolen.
// Rotating itself needs no call. Access tokens of the old keys end, and clients get others by a
// refresh; grants and logins stay. Guards of this process refuse the old tokens at once. Guards of
// other processes that share the store do so within some 65 seconds; until then such a process may also
// sign with an old key. Other resource servers follow when they fetch the keys again.
func (s *Server) ReplaceKeys(ctx context.Context) error {
	k, ok := s.keys.(*rotating)
	if !ok {
		return errors.New("authserver: ReplaceKeys: the keys are not from Rotating: replace them where the program keeps them")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.turn(ctx, time.Now(), true)
}

// refreshKeys reads the keys of Rotating if that is due, so that a process that only verifies tokens
// also finds out about ReplaceKeys. While the store fails, the keys that were read before count, and
// not every call waits for the store.
func (s *Server) refreshKeys(ctx context.Context) {
	k, ok := s.keys.(*rotating)
	if !ok {
		return
	}
	last, now := s.keysAsked.Load(), time.Now().UnixNano()
	if now-last >= int64(ringAsked) && s.keysAsked.CompareAndSwap(last, now) {
		_, _ = k.Public(ctx)
	}
}

// turn drops the old keys, or all keys, makes new ones in the store, and reads the result. The
// caller holds mu.
func (k *rotating) turn(ctx context.Context, now time.Time, all bool) error {
	s := k.server
	var kept, fresh []ringKey
	err := k.rings.change(ctx, "", func(r *ring) (time.Time, error) {
		before := len(r.Keys)
		r.Keys = slices.DeleteFunc(r.Keys, func(key ringKey) bool { return all || now.After(key.NotAfter.Add(s.lives.Access+time.Minute)) })
		old := len(r.Keys)
		if err := k.grow(r, now); err != nil {
			return time.Time{}, err
		}
		kept, fresh = r.Keys, r.Keys[old:]
		if old == before && len(fresh) == 0 {
			return time.Time{}, errSame
		}
		return time.Time{}, nil
	})
	if err != nil {
		return err
	}
	for _, key := range fresh {
		s.tell(ctx, Event{Kind: KeyRotated, Reason: key.ID})
	}
	keys, err := k.open(kept)
	if err != nil {
		return err
	}
	isGone := func(old Key) bool { return !slices.ContainsFunc(keys, func(key Key) bool { return key.ID == old.ID }) }
	if slices.ContainsFunc(k.keys, isGone) {
		s.forgetKeys()
	}
	k.keys, k.read = keys, now
	return nil
}

// grow adds the keys that are due. A process with a fast clock may have made keys that start in the
// future. They count only from their start.
func (k *rotating) grow(r *ring, now time.Time) error {
	for {
		end := covered(r, now)
		if end.Sub(now) > min(publishedBefore, k.every/2) {
			return nil
		}
		key, err := k.make(end)
		if err != nil {
			return err
		}
		r.Keys = append(r.Keys, key)
	}
}

// covered returns until when there is a key that signs, from now on and without a gap.
func covered(r *ring, now time.Time) time.Time {
	for end := now; ; {
		i := slices.IndexFunc(r.Keys, func(key ringKey) bool { return !end.Before(key.NotBefore) && end.Before(key.NotAfter) })
		if i < 0 {
			return end
		}
		end = r.Keys[i].NotAfter
	}
}

func (k *rotating) make(from time.Time) (ringKey, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return ringKey{}, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return ringKey{}, err
	}
	id := rand.Text()
	sealed, err := k.server.sealer.seal("key "+id, der)
	return ringKey{id, sealed, from, from.Add(k.every)}, err
}

func (k *rotating) open(ring []ringKey) ([]Key, error) {
	keys := make([]Key, 0, len(ring))
	for _, kept := range ring {
		var der []byte
		if err := k.server.sealer.open("key "+kept.ID, kept.Sealed, &der); err != nil {
			return nil, fmt.Errorf("%w: the key %s: was Seal changed?", err, kept.ID)
		}
		private, _ := x509.ParsePKCS8PrivateKey(der) // nil if it fails
		ec, ok := private.(*ecdsa.PrivateKey)
		if !ok {
			return nil, errNoKey
		}
		keys = append(keys, Key{kept.ID, "ES256", cryptoSigner{ec, crypto.SHA256, true}, kept.NotBefore, kept.NotAfter})
	}
	return keys, nil
}

// sign returns a signed JWT with the claims (RFC 9068 §2.1).
func (s *Server) sign(ctx context.Context, claims map[string]any) (string, error) {
	key, err := s.keys.Signing(ctx)
	if err != nil {
		return "", err
	}
	token := &jwt.Token{Header: map[string]any{"typ": "at+jwt", "alg": key.Algorithm, "kid": key.ID}, Claims: jwt.MapClaims(claims)}
	input, err := token.SigningString()
	if err != nil {
		return "", err
	}
	signature, err := key.Signer.Sign(ctx, []byte(input))
	if err != nil {
		return "", err
	}
	return input + "." + base64url(signature), nil
}

// jwks returns the JWK Set of the keys.
func (s *Server) jwks(ctx context.Context) ([]byte, error) {
	keys, err := s.keys.Public(ctx)
	if err != nil {
		return nil, err
	}
	set := jwkset.JWKSMarshal{Keys: []jwkset.JWKMarshal{}}
	for _, key := range keys {
		jwk, err := jwkset.NewJWKFromKey(key.Signer.Public(), jwkset.JWKOptions{
			Metadata: jwkset.JWKMetadataOptions{KID: key.ID, ALG: jwkset.ALG(key.Algorithm), USE: jwkset.UseSig},
		})
		if err != nil {
			return nil, err
		}
		set.Keys = append(set.Keys, jwk.Marshal())
	}
	return json.Marshal(set)
}

var errKeys = errors.New("authserver: the JWK Set: want 1 to 10 public keys for signatures")

// readKeys returns the public keys for signatures in a client's JWK Set. If there are none, it returns an
// error.
func readKeys(document []byte) ([]jwkset.JWK, error) {
	keys, err := keysIn(document)
	if err == nil && len(keys) == 0 {
		err = errKeys
	}
	return keys, err
}

// keysIn is like readKeys, but an empty list is not an error.
func keysIn(document []byte) ([]jwkset.JWK, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(document, &set); err != nil {
		return nil, err
	}
	var keys []jwkset.JWK
	for _, raw := range set.Keys {
		key, err := proof.PublicKey(raw)
		if err != nil {
			continue
		}
		// A client chooses its keys. A key that makes verifying slow, or is too weak, is not
		// accepted.
		if k, ok := key.Key().(*rsa.PublicKey); ok && (k.N.BitLen() < minRSA || k.N.BitLen() > maxRSA || k.E > maxExponent) {
			continue
		}
		keys = append(keys, key)
	}
	if set.Keys == nil || len(keys) > maxKeys || len(keys) == 0 && len(set.Keys) > 0 {
		return nil, errKeys
	}
	return keys, nil
}
