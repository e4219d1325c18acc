package authserver_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/middleware/authserver"
	"github.com/kagami-mcp/kagami/protocol/session"
)

var errAway = errors.New("the store is away")

// failing is a store that can be away.
type failing struct {
	session.Store
	away   atomic.Bool
	losing atomic.Int32 // so many updates fail, after one that works
	first  atomic.Bool  // that one was made
}

func (f *failing) Update(ctx context.Context, r session.Record) error {
	if f.losing.Load() > 0 && f.first.Swap(true) {
		f.losing.Add(-1)
		return errAway
	}
	return f.Store.Update(ctx, r)
}

func (f *failing) Get(ctx context.Context, id string) (session.Record, error) {
	if f.away.Load() {
		return session.Record{}, errAway
	}
	return f.Store.Get(ctx, id)
}

// A program that asks its users to log in again must not do so while the store is away.
func TestUpstream_StoreIsAway(t *testing.T) {
	t.Parallel()
	store := &failing{Store: memory.New().Sessions()}
	s, _ := brokeredWith(t, authserver.Provider{}, nil, authserver.Store(store), authserver.Seal(bytes.Repeat([]byte{1}, 32)))
	access, _ := s.browser().enter(s.register(plainClient))
	p, ok := s.admits(access)
	if !ok {
		t.Fatal("the guard does not take the token")
	}
	store.away.Store(true)
	if _, err := s.server.Upstream(t.Context(), p); !errors.Is(err, errAway) || errors.Is(err, authserver.ErrNoUpstream) {
		t.Errorf("Upstream: %v", err)
	}
}

// The provider rotates its refresh token with each use. A new one is not lost because the store fails for
// a moment after the provider was asked.
func TestUpstream_StoreFailsAfterARenewal(t *testing.T) {
	t.Parallel()
	store := &failing{Store: memory.New().Sessions()}
	s, idp := brokeredWith(t, authserver.Provider{}, []authserver.BrokerOption{authserver.Vouch(0)}, authserver.Store(store), authserver.Seal(bytes.Repeat([]byte{1}, 32)))
	access, _ := s.browser().enter(s.register(plainClient))
	store.losing.Store(3) // the first update reserves the renewal
	if got := s.status(access); got != http.StatusOK || store.losing.Load() != 0 {
		t.Errorf("while the store fails: %d, %d more failures", got, store.losing.Load())
	}
	if got := s.status(access); got != http.StatusOK || idp.Requests("/token", "refresh_token") != 2 || s.happened(authserver.UpstreamEnded) != 0 {
		t.Errorf("the next call: %d after %d renewals, %+v", got, idp.Requests("/token", "refresh_token"), s.events)
	}
}
