package authserver_test

import (
	"bytes"
	"context"
	"errors"
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
	away atomic.Bool
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
