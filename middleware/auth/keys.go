package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
)

const (
	keysFresh = 10 * time.Minute // until they are fetched again
	keysHold  = 24 * time.Hour   // while that fails
	keysRetry = 30 * time.Second // between two fetches that somebody could provoke
	keysFirst = time.Second      // between two fetches while there are none
	mostKeys  = 64
)

// keys are those of one issuer. They are fetched by calls that need them, one at a
// time, so that there is no goroutine to end. Safe for concurrent use once load is set.
type keys struct {
	load func(ctx context.Context) ([]byte, error) // the document

	mu     sync.Mutex // guards all below
	set    *keySet    // the last good one; nil before
	tried  time.Time  // when the last fetch ended
	failed error      // of the last fetch
	asked  time.Time  // when a fetch for an unknown key began
	flight *flight    // nil: nobody fetches
}

// keySet is one document. Immutable, but for what it has verified: that is forgotten
// with it, so that a key that is withdrawn takes its tokens along.
type keySet struct {
	document []byte
	keys     []jwkset.JWK
	fetched  time.Time
	verified *cache
}

// flight is one fetch; done is closed when it has ended.
type flight struct {
	done chan struct{}
	err  error
}

// current is the set to verify with. Only the first callers wait for it: later ones
// have the last good set while one of them fetches. fresh says that it has waited: once
// is enough for a call.
func (k *keys) current(ctx context.Context) (found *keySet, fresh bool, err error) {
	now := time.Now()
	k.mu.Lock()
	set, failed, fetching, since := k.set, k.failed, k.flight != nil, now.Sub(k.tried)
	k.mu.Unlock()
	switch {
	case set.holds(now) && (now.Sub(set.fetched) < keysFresh || fetching || since < keysRetry):
		return set, false, nil
	case !set.holds(now) && failed != nil && since < keysFirst && !fetching:
		return nil, false, failed
	}
	err = k.fetch(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.set.holds(now) {
		return k.set, true, nil
	}
	return nil, true, err
}

// holds says whether a set, nil included, may still be used.
func (s *keySet) holds(now time.Time) bool { return s != nil && now.Sub(s.fetched) < keysHold }

// newer is a set that may have the key that seen lacks, or nil. Anybody can make up
// names of keys, so that it fetches rarely.
func (k *keys) newer(ctx context.Context, seen *keySet) *keySet {
	now := time.Now()
	k.mu.Lock()
	allowed := k.set == seen && (k.flight != nil || now.Sub(k.asked) >= keysRetry)
	if allowed && k.flight == nil {
		k.asked = now
	}
	k.mu.Unlock()
	if allowed && k.fetch(ctx) != nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.set == seen {
		return nil
	}
	return k.set
}

// fetch brings the set up to date, or joins whoever does.
func (k *keys) fetch(ctx context.Context) error {
	k.mu.Lock()
	f := k.flight
	if f == nil {
		f = &flight{done: make(chan struct{}), err: unavailable("fetching the keys of the issuer broke off")}
		k.flight = f
		k.mu.Unlock()
		k.fly(ctx, f)
		return f.err
	}
	k.mu.Unlock()
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return unavailable("waiting for the keys of the issuer: %w", context.Cause(ctx))
	}
}

// fly fetches for all who wait, also when the caller leaves.
func (k *keys) fly(ctx context.Context, f *flight) {
	var set *keySet
	defer func() { // whatever the parsers of others do: nobody waits for ever
		k.mu.Lock()
		defer k.mu.Unlock()
		k.land(set, f)
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	document, err := k.load(ctx)
	if err == nil {
		set, err = newKeySet(document)
	}
	f.err = nil
	if err != nil {
		f.err = unavailable("fetching the keys of the issuer: %w", err)
	}
}

// land is called under mu.
func (k *keys) land(set *keySet, f *flight) {
	k.tried, k.failed, k.flight = time.Now(), f.err, nil
	switch {
	case set == nil:
	case k.set != nil && bytes.Equal(k.set.document, set.document):
		same := *k.set // what it has verified stays
		same.fetched = set.fetched
		k.set = &same
	default:
		k.set = set
	}
	close(f.done)
}

// newKeySet reads a JWK Set. Keys that are not understood or not for signatures are
// ignored (RFC 7517 §5), and so are secrets and certificates.
func newKeySet(document []byte) (*keySet, error) {
	var raw struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(document, &raw); err != nil {
		return nil, fmt.Errorf("this is no JWK Set: %w", err)
	}
	if len(raw.Keys) > mostKeys {
		return nil, fmt.Errorf("there are more than %d keys", mostKeys)
	}
	var all []jwkset.JWK
	for _, each := range raw.Keys {
		if key, err := publicKey(each); err == nil {
			all = append(all, key)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("there is no key for signatures")
	}
	return &keySet{document: document, keys: all, fetched: time.Now(), verified: newCache(verifiedTokens)}, nil
}

// errUnknownKey says that a newer set may have the key.
var errUnknownKey = errors.New("no key of the issuer fits")

// candidates are the keys that may have signed a token: those of the name that it gives, of
// which there may be several, or all, as far as they are for its algorithm.
func (s *keySet) candidates(token *jwt.Token) (any, error) {
	var fit jwt.VerificationKeySet
	kid, named := token.Header["kid"]
	for _, key := range s.keys {
		m := key.Marshal()
		if named && kid != m.KID || m.ALG != "" && m.ALG.String() != token.Method.Alg() {
			continue
		}
		fit.Keys = append(fit.Keys, key.Key())
	}
	if len(fit.Keys) == 0 {
		return nil, errUnknownKey
	}
	return fit, nil
}

var errNotPublic = errors.New("not a public key for signatures")

// publicKey is one member of a set.
func publicKey(raw json.RawMessage) (jwkset.JWK, error) {
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
