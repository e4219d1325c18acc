package authserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/MicahParks/jwkset"
)

const (
	maxKeySet    = 32 << 10         // bytes of a JWK Set
	maxKeySets   = 1000             // maximum number of kept JWK Sets
	refetchAfter = 30 * time.Second // shortest time between two fetches of one JWK Set
)

// keySet is the JWK Set at one URL. Its mutex is held during a fetch, so that requests of one client
// make one fetch.
type keySet struct {
	mu    sync.Mutex // guards all below
	keys  []jwkset.JWK
	until time.Time // when the keys are fetched again
	tried time.Time // time of the last fetch
	good  time.Time // time of the last fetch that succeeded
}

// keysOf returns the keys of a client. newer means that the kept ones did not verify an assertion.
// Then the keys are fetched again, but at most once in refetchAfter, because anyone can send a wrong
// assertion.
func (s *Server) keysOf(ctx context.Context, c *Client, newer bool) ([]jwkset.JWK, error) {
	if c.JWKSURI == "" {
		return readKeys(c.JWKS)
	}
	set := s.keySets.change(c.JWKSURI, maxKeySets, func(known *keySet) *keySet { return cmp.Or(known, &keySet{}) })
	now := time.Now()
	set.mu.Lock()
	defer set.mu.Unlock()
	tooOld := !now.Before(set.good.Add(longestFresh))
	if now.Before(set.until) && !tooOld && !newer {
		return set.keys, nil
	}
	failed := errors.New("the keys were fetched less than 30 seconds ago")
	if now.Sub(set.tried) >= refetchAfter {
		failed = s.fetchKeys(ctx, c, set, now)
	}
	if failed != nil && tooOld {
		return nil, refusedAs(http.StatusServiceUnavailable, "temporarily_unavailable", "The keys of the client cannot be fetched now.",
			fmt.Errorf("authserver: the keys of the client %s: %w", c.ID, failed))
	}
	return set.keys, nil
}

// fetchKeys fetches a JWK Set. If it fails, the set keeps its keys. With an empty list the client
// withdraws all its keys. A requester that leaves does not interrupt the fetch, because the next one is
// not allowed for a while.
func (s *Server) fetchKeys(ctx context.Context, c *Client, set *keySet, now time.Time) error {
	from := s.fetcher
	if c.Known == ByHand {
		from = s.trusted
	} else if !s.documents.allowed(ctx, now) {
		return errors.New("too many fetches in this minute")
	}
	set.tried, set.until = now, now.Add(shortestFresh)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*fetchTime)
	defer cancel()
	text, fresh, err := from.Fetch(ctx, c.JWKSURI)
	if err == nil && len(text) > maxKeySet {
		err = errors.New("the JWK Set is longer than 32 KiB")
	}
	if err != nil {
		return err
	}
	keys, err := keysIn(text)
	if err != nil {
		return err
	}
	set.keys, set.good, set.until = keys, now, now.Add(min(max(fresh, shortestFresh), longestFresh))
	return nil
}

// isKeysURL reports whether a client may have its JWK Set at an address: https, or for clients by
// hand also http on loopback.
func isKeysURL(address string, byHand bool) bool {
	u, err := url.Parse(address)
	return err == nil && isResource(address) && len(address) <= maxRedirect && !strings.ContainsFunc(address, unprintable) &&
		(u.Scheme == "https" || byHand && isLoopback(u))
}
