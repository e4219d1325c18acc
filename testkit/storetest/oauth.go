package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol/client/oauth"
)

// RunOAuth tests an oauth.Store. open returns an empty store; it is called once for each part.
func RunOAuth(t *testing.T, open func(t *testing.T) oauth.Store) {
	t.Helper()
	t.Run("Versions", func(t *testing.T) { oauthVersions(t, open(t)) })
	t.Run("Keys", func(t *testing.T) { oauthKeys(t, open(t)) })
	t.Run("Data", func(t *testing.T) { oauthData(t, open(t)) })
	t.Run("Races", func(t *testing.T) { oauthRaces(t, open(t)) })
	t.Run("Locks", func(t *testing.T) { oauthLocks(t, open(t)) })
	t.Run("Contexts", func(t *testing.T) { oauthContexts(t, open(t)) })
}

func tokensOf(resource string) oauth.Key {
	return oauth.Key{Kind: oauth.Tokens, Issuer: "https://login.example.com", Resource: resource}
}

// oauthVersions: each change needs the stored version.
func oauthVersions(t *testing.T, s oauth.Store) {
	t.Helper()
	ctx, k := t.Context(), tokensOf("https://a.example.com/mcp")
	if _, err := s.Get(ctx, k); !errors.Is(err, oauth.ErrNotFound) {
		t.Errorf("Get of nothing: %v", err)
	}
	if err := s.Delete(ctx, k, 7); err != nil {
		t.Errorf("Delete of nothing: %v", err)
	}
	if _, err := s.Put(ctx, oauth.Record{Key: k, Version: 1, Data: []byte(`{}`)}); !errors.Is(err, oauth.ErrConflict) {
		t.Errorf("Put over nothing: %v", err)
	}
	for want := uint64(1); want <= 3; want++ {
		got, err := s.Put(ctx, oauth.Record{Key: k, Version: want - 1, Data: fmt.Appendf(nil, `{"n":%d}`, want)})
		if err != nil || got != want {
			t.Fatalf("Put: version %d, %v; want %d", got, err, want)
		}
		r, err := s.Get(ctx, k)
		if err != nil || r.Version != want || r.Key != k || string(r.Data) != fmt.Sprintf(`{"n":%d}`, want) {
			t.Errorf("Get: %+v, %v", r, err)
		}
	}
	if _, err := s.Put(ctx, oauth.Record{Key: k, Version: 2, Data: []byte(`{"late":true}`)}); !errors.Is(err, oauth.ErrConflict) {
		t.Errorf("a late Put: %v", err)
	}
	if err := s.Delete(ctx, k, 2); !errors.Is(err, oauth.ErrConflict) {
		t.Errorf("a late Delete: %v", err)
	}
	if err := s.Delete(ctx, k, 3); err != nil {
		t.Errorf("Delete: %v", err)
	}
	if _, err := s.Get(ctx, k); !errors.Is(err, oauth.ErrNotFound) {
		t.Errorf("Get after Delete: %v", err)
	}
}

// oauthKeys: each member of a key counts, and the list is sorted.
func oauthKeys(t *testing.T, s oauth.Store) {
	t.Helper()
	keys := []oauth.Key{
		{Kind: oauth.Registration, Issuer: "https://a.example.com"},
		{Kind: oauth.Registration, Issuer: "https://a.example.com", Profile: "work"},
		{Kind: oauth.Tokens, Issuer: "https://a.example.com"},
		{Kind: oauth.Tokens, Issuer: "https://a.example.com", Resource: "https://x.example.com/../\\mcp?é=\x01"},
		{Kind: oauth.Tokens, Issuer: "https://b.example.com", Resource: "a"},
		{Kind: oauth.Tokens, Issuer: "https://b.example.com", Resource: "a", Profile: "work"},
		{Kind: oauth.Tokens, Issuer: "https://b.example.coma"},
	}
	for i, k := range slices.Backward(keys) {
		if _, err := s.Put(t.Context(), oauth.Record{Key: k, Data: fmt.Appendf(nil, "%d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.List(t.Context())
	if err != nil || !slices.Equal(got, keys) {
		t.Errorf("List: %v, %v", got, err)
	}
	for i, k := range keys {
		if r, err := s.Get(t.Context(), k); err != nil || string(r.Data) != fmt.Sprint(i) {
			t.Errorf("%v: %s, %v", k, r.Data, err)
		}
	}
}

// oauthData: the store owns the stored bytes, and the caller owns the returned bytes.
func oauthData(t *testing.T, s oauth.Store) {
	t.Helper()
	k, data := tokensOf("data"), []byte(`{"access_token":"`+strings.Repeat("é", 10_000)+`"}`)
	want := bytes.Clone(data)
	if _, err := s.Put(t.Context(), oauth.Record{Key: k, Data: data}); err != nil {
		t.Fatal(err)
	}
	clear(data)
	for range 2 {
		r, err := s.Get(t.Context(), k)
		if err != nil || !bytes.Equal(r.Data, want) {
			t.Fatalf("%d bytes, %v", len(r.Data), err)
		}
		clear(r.Data)
	}
}

// oauthRaces: if several goroutines change a version at the same time, exactly one succeeds.
func oauthRaces(t *testing.T, s oauth.Store) {
	t.Helper()
	const workers, rounds = 8, 5
	k := tokensOf("races")
	var mu sync.Mutex
	wins := map[uint64]int{}
	change := func() error {
		r, err := s.Get(t.Context(), k)
		if err != nil && !errors.Is(err, oauth.ErrNotFound) {
			return err
		}
		version, err := s.Put(t.Context(), oauth.Record{Key: k, Version: r.Version, Data: []byte(`{}`)})
		if err == nil {
			mu.Lock()
			wins[version]++
			mu.Unlock()
		}
		return err
	}
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for range rounds {
				if err := change(); err != nil && !errors.Is(err, oauth.ErrConflict) {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for version, n := range wins {
		if n != 1 {
			t.Errorf("version %d was written %d times", version, n)
		}
	}
	if r, err := s.Get(t.Context(), k); err != nil || int(r.Version) != len(wins) {
		t.Errorf("version %d after %d changes, %v", r.Version, len(wins), err)
	}
}

// oauthLocks: a lock applies to one key, can be released twice, and does not prevent reading and
// writing.
func oauthLocks(t *testing.T, s oauth.Store) {
	t.Helper()
	k := tokensOf("locks")
	unlock := locked(t, s, k)
	locked(t, s, tokensOf("others"))()
	if _, err := s.Put(t.Context(), oauth.Record{Key: k, Data: []byte(`{}`)}); err != nil {
		t.Errorf("Put under a lock: %v", err)
	}
	unlock()
	unlock()
	locked(t, s, k)()
}

// locked locks a key. If that takes too long, locked ends the test.
func locked(t *testing.T, s oauth.Store, k oauth.Key) (unlock func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), late)
	t.Cleanup(cancel)
	unlock, err := lock(ctx, t, s, k)
	if err != nil {
		t.Fatalf("Lock: %v", err)
	}
	return unlock
}

func lock(ctx context.Context, t *testing.T, s oauth.Store, k oauth.Key) (unlock func(), err error) {
	t.Helper()
	return heeded(ctx, t, "Lock", func() (func(), error) { return s.Lock(ctx, k) })
}

// RunOAuthNodes tests the lock of a store that several processes share. open returns two values that
// share their data, as two processes do. [RunOAuth] tests everything else.
func RunOAuthNodes(t *testing.T, open func(t *testing.T) (a, b oauth.Store)) {
	t.Helper()
	a, b := open(t)
	k := tokensOf("nodes")
	unlock := locked(t, a, k)
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if second, err := lock(ctx, t, b, k); err == nil {
		second()
		t.Error("two processes have the lock of one key")
	} else if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Lock: %v", err)
	}
	unlock()
	locked(t, b, k)()
}

// oauthContexts: a context that has ended ends waiting calls, and changes nothing.
func oauthContexts(t *testing.T, s oauth.Store) {
	t.Helper()
	k := tokensOf("contexts")
	unlock := locked(t, s, k)
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if second, err := lock(ctx, t, s, k); err == nil {
		second() // a store that only one process uses does not need to lock
	} else if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Lock: %v", err)
	}
	cancel()
	if _, err := s.Put(ctx, oauth.Record{Key: k, Data: []byte(`{}`)}); err == nil {
		t.Error("Put with a context that has ended")
	}
	if _, err := s.Get(t.Context(), k); !errors.Is(err, oauth.ErrNotFound) {
		t.Errorf("it was stored: %v", err)
	}
}
