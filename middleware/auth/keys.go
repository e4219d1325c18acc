package auth

import (
	"bytes"
	"cmp"
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

// keys holds the keys of one issuer. Calls that need the keys fetch them, one fetch at a time, so
// there is no goroutine to end. A keys is safe for concurrent use once load is set.
//
// fetch sets flight and calls fly, which fetches. Then fly replaces set, clears flight and closes
// done, with mu held. mu is not held during a fetch.
type keys struct {
	load func(ctx context.Context) ([]byte, error) // returns the JWK Set

	mu     sync.Mutex // guards all below
	set    *keySet    // last good set; nil if there was none yet
	tried  time.Time  // when the last fetch ended
	failed error      // error of the last fetch
	asked  time.Time  // when the last fetch for an unknown key began
	flight *flight    // the running fetch, or nil
	warn   func(text string)
}

// keySet is one JWK Set. It is immutable, except for the tokens that it has verified. These are
// dropped with the set, so that tokens of a withdrawn key are not accepted any longer.
type keySet struct {
	document []byte
	keys     []jwkset.JWK
	fetched  time.Time
	verified *cache
}

// flight is one fetch; done is closed at its end.
type flight struct {
	done chan struct{}
	set  *keySet // the last good set when the fetch ends, or nil
	err  error
}

// current returns the set to verify with. Calls wait for a fetch only while there is no usable set.
// After that, they use the last good set while another call fetches. fresh reports that the set was
// fetched just now, so that no other set has more keys.
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
	found, err = k.fetch(ctx)
	if found = cmp.Or(found, set); found.holds(now) {
		return found, err == nil, nil
	}
	return nil, false, err
}

// holds reports whether the set may still be used. A nil set may not.
func (s *keySet) holds(now time.Time) bool { return s != nil && now.Sub(s.fetched) < keysHold }

// newer returns a set with keys that seen may lack, or nil. It fetches rarely, because clients can
// make up names of keys. If the last fetch has failed, such a set may exist, so newer returns the
// error.
func (k *keys) newer(ctx context.Context, seen *keySet) (set *keySet, err error) {
	now := time.Now()
	k.mu.Lock()
	set, failed, fetching := k.set, k.failed, k.flight != nil
	tried, asked := now.Sub(k.tried), now.Sub(k.asked)
	wanted := set == seen && !fetching && asked >= keysRetry && (failed == nil || tried >= keysRetry)
	if wanted {
		k.asked = now
	}
	k.mu.Unlock()
	switch {
	case set != seen:
		return set, nil
	case !wanted && !fetching:
		return nil, failed
	}
	if set, err = k.fetch(ctx); err != nil || set == seen {
		return nil, err
	}
	return set, nil
}

// fetch brings the set up to date, or waits for a running fetch. It returns the last good set, even
// if the fetch has failed.
func (k *keys) fetch(ctx context.Context) (*keySet, error) {
	k.mu.Lock()
	f := k.flight
	if f == nil {
		f = &flight{done: make(chan struct{}), err: unavailable("fetching the keys of the issuer broke off")}
		k.flight = f
		k.mu.Unlock()
		k.fly(ctx, f)
		return f.set, f.err
	}
	k.mu.Unlock()
	select {
	case <-f.done:
		return f.set, f.err
	case <-ctx.Done():
		return nil, unavailable("waiting for the keys of the issuer: %w", context.Cause(ctx))
	}
}

// fly fetches for all waiting calls. It continues after its caller has left.
func (k *keys) fly(ctx context.Context, f *flight) {
	var set *keySet
	defer func() { // deferred, so that no call waits forever if a parser panics
		k.mu.Lock()
		defer k.mu.Unlock()
		k.tried, k.failed, k.flight = time.Now(), f.err, nil
		switch {
		case set == nil:
		case k.set != nil && bytes.Equal(k.set.document, set.document):
			same := *k.set // the tokens that it has verified remain valid
			same.fetched = set.fetched
			k.set = &same
		default:
			k.set = set
		}
		f.set = k.set
		close(f.done)
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
		k.warnOfOldKeys(err)
	}
}

// setWarn sets the function that logs a warning; it may be nil.
func (k *keys) setWarn(warn func(text string)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.warn = warn
}

// warnOfOldKeys logs a warning that the keys could not be fetched, while callers do not notice it because
// old keys still work.
func (k *keys) warnOfOldKeys(err error) {
	k.mu.Lock()
	warn, set := k.warn, k.set
	k.mu.Unlock()
	if warn == nil || !set.holds(time.Now()) {
		return
	}
	warn(fmt.Sprintf("the keys of the issuer cannot be fetched: until %s tokens are verified with the last good ones, and then every token is refused: %v",
		set.fetched.Add(keysHold).UTC().Format(time.RFC3339), err))
}

// newKeySet parses a JWK Set. It ignores keys that it does not understand or that are not for
// signatures (RFC 7517 §5), and also secrets and certificates. If nothing remains, the issuer has
// withdrawn all keys, and every token is invalid.
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

// errUnknownKey means that the set has no matching key, and that a newer set may have one.
var errUnknownKey = errors.New("no key of the issuer fits")

// candidates returns the keys that may have signed a token and are for its algorithm. If the token
// has a key ID, these are the keys with this ID, which may be several. Otherwise these are all
// keys.
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
