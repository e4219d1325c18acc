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

	"github.com/kagami-mcp/kagami/middleware/internal/proof"
)

const (
	keysFresh = 10 * time.Minute // after that they are fetched again
	keysHold  = 24 * time.Hour   // while fetching fails, they are used up to this age
	keysRetry = 30 * time.Second // between two fetches that a client can provoke
	keysFirst = time.Second      // between two fetches while there are no keys
	mostKeys  = 64
)

// keys are those of one issuer. They are fetched by calls that need them, one fetch at a time,
// so no goroutine must be ended. Safe for concurrent use once load is set.
type keys struct {
	load func(ctx context.Context) ([]byte, error) // returns the JWK Set

	mu     sync.Mutex // guards all below
	set    *keySet    // the last good one; nil: there was none yet
	tried  time.Time  // when the last fetch ended
	failed error      // of the last fetch
	asked  time.Time  // when the last fetch for an unknown key began
	flight *flight    // the running fetch, or nil
}

// keySet is one JWK Set. It is immutable, except for the tokens that it has verified. These are
// dropped with it, so that tokens of a withdrawn key are not accepted any longer.
type keySet struct {
	document []byte
	keys     []jwkset.JWK
	fetched  time.Time
	verified *cache
}

// flight is one fetch; done is closed at its end.
type flight struct {
	done chan struct{}
	err  error
}

// current is the set to verify with. Callers wait for a fetch only while there is no usable
// set; afterwards they use the last good one while one of them fetches. fresh says that the
// caller has waited: a call should do that once.
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

// holds says whether the set may still be used; nil may not.
func (s *keySet) holds(now time.Time) bool { return s != nil && now.Sub(s.fetched) < keysHold }

// newer is a set that may have a key which seen lacks, or nil. Clients can make up names of
// keys, so it fetches rarely.
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

// fetch brings the set up to date, or waits for a fetch that runs already.
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

// fly fetches for all that wait. It goes on when its caller has left.
func (k *keys) fly(ctx context.Context, f *flight) {
	var set *keySet
	defer func() { // deferred, so that nobody waits for ever if a parser panics
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

// land is called with mu held.
func (k *keys) land(set *keySet, f *flight) {
	k.tried, k.failed, k.flight = time.Now(), f.err, nil
	switch {
	case set == nil:
	case k.set != nil && bytes.Equal(k.set.document, set.document):
		same := *k.set // what it has verified remains valid
		same.fetched = set.fetched
		k.set = &same
	default:
		k.set = set
	}
	close(f.done)
}

// newKeySet reads a JWK Set. It ignores keys that it does not understand or that are not for
// signatures (RFC 7517 §5), and also secrets and certificates. A set without any other has
// withdrawn all keys: no token is valid then.
func newKeySet(document []byte) (*keySet, error) {
	var raw struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(document, &raw); err != nil {
		return nil, fmt.Errorf("not a JWK Set: %w", err)
	}
	if raw.Keys == nil {
		return nil, errors.New("not a JWK Set: it has no keys")
	}
	if len(raw.Keys) > mostKeys {
		return nil, fmt.Errorf("there are more than %d keys", mostKeys)
	}
	var all []jwkset.JWK
	for _, each := range raw.Keys {
		if key, err := proof.PublicKey(each); err == nil {
			all = append(all, key)
		}
	}
	return &keySet{document: document, keys: all, fetched: time.Now(), verified: newCache(verifiedTokens)}, nil
}

// errUnknownKey says that no key fits, and that a newer set may have one.
var errUnknownKey = errors.New("no key of the issuer fits")

// candidates are the keys that may have signed a token and are for its algorithm: those with
// the key id of the token, of which there may be several, or all if it has none.
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
