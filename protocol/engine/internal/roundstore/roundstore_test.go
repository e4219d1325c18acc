package roundstore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/roundstore"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/rounds"
)

func newStore(t *testing.T, claims claim.Store, now func() time.Time) *roundstore.Store {
	t.Helper()
	return roundstore.New(roundstore.Config{
		Claims: claims, Shared: claims != nil, TTL: time.Minute, Now: now, Running: wait.NewGroup(),
		Failed: func(_ context.Context, err error) { t.Error(err) },
	})
}

// TestStates: a node opens the states of another after both have agreed on the secret. A state that is
// large travels by name. A state with another binding, or an expired one, is refused.
func TestStates(t *testing.T) {
	t.Parallel()
	ctx, clock, shared := t.Context(), time.Unix(100, 0), memory.New().Claims()
	now := func() time.Time { return clock }
	a, b, foreign := newStore(t, shared, now), newStore(t, shared, now), newStore(t, nil, now)
	if err := errors.Join(a.Agree(ctx), b.Agree(ctx), foreign.Agree(ctx)); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1, 100_000} {
		j := &rounds.Journal{Call: "c", Effects: []rounds.Effect{{Key: "k", Value: make([]byte, size)}}}
		state, err := a.Seal(ctx, j, []byte("binding"))
		if err != nil || len(state) > 20_000 {
			t.Fatalf("a state of %d bytes, %v", len(state), err)
		}
		opened, err := b.Open(ctx, state, []byte("binding"))
		if err != nil || len(opened.Effects) != 1 || len(opened.Effects[0].Value) != size {
			t.Errorf("opened %+v, %v", opened, err)
		}
		if _, err := b.Open(ctx, state, []byte("other")); err == nil {
			t.Error("a state was opened with another binding")
		}
		if _, err := foreign.Open(ctx, state, []byte("binding")); err == nil {
			t.Error("a state was opened with another secret")
		}
		clock = clock.Add(2 * time.Minute)
		if _, err := b.Open(ctx, state, []byte("binding")); err == nil {
			t.Error("an expired state was opened")
		}
	}
	large := &rounds.Journal{Effects: []rounds.Effect{{Value: make([]byte, a.Limit()+1)}}}
	if _, err := a.Seal(ctx, large, nil); err == nil {
		t.Error("a journal above the limit was sealed")
	}
}

// TestNewerState checks that a state from a newer version of the program is not reported as the
// client's fault. Its journal has an unknown format, in the state itself or in the store.
func TestNewerState(t *testing.T) {
	t.Parallel()
	ctx, shared := t.Context(), memory.New().Claims()
	s := newStore(t, shared, time.Now)
	if _, _, err := shared.Claim(ctx, "state/x", []byte{2}, time.Minute); err != nil {
		t.Fatal(err)
	}
	for where, plain := range map[string]string{"the state": "\x02", "the store": "\xffstate/x"} {
		_, err := s.Open(ctx, s.Sealer().Seal([]byte(plain), nil), nil)
		if fault, ok := errors.AsType[*protocol.Fault](err); !ok || fault.Kind != protocol.FaultInternal {
			t.Errorf("in %s: %v", where, err)
		}
	}
}

// TestKeep: if the store loses the secret, a node that runs stores it again for nodes that start later. It
// reports another secret.
func TestKeep(t *testing.T) {
	t.Parallel()
	ctx, shared := t.Context(), memory.New().Claims()
	var reported []error
	a := roundstore.New(roundstore.Config{
		Claims: shared, Shared: true, TTL: time.Minute, Now: time.Now, Running: wait.NewGroup(),
		Failed: func(_ context.Context, err error) { reported = append(reported, err) },
	})
	late, other := newStore(t, shared, time.Now), newStore(t, shared, time.Now)
	lose := func() error { return shared.Delete(ctx, "secret/states", nil) }
	if err := errors.Join(a.Keep(ctx), a.Agree(ctx), a.Keep(ctx), lose(), a.Keep(ctx), late.Agree(ctx)); err != nil {
		t.Fatal(err)
	}
	state, err := late.Seal(ctx, &rounds.Journal{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Open(ctx, state, nil); err != nil {
		t.Errorf("a state of the later node: %v", err)
	}
	if err := errors.Join(lose(), other.Agree(ctx), a.Keep(ctx), a.Keep(ctx)); err != nil {
		t.Fatal(err)
	}
	if len(reported) != 1 {
		t.Errorf("reported: %v, want the other secret once", reported)
	}
}

// TestClaims: a round that is sent again gets the recorded outcome. Other answers are refused, and
// after a release another execution may claim the round.
func TestClaims(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), newStore(t, memory.New().Claims(), time.Now)
	answers := map[string]json.RawMessage{"q": json.RawMessage(`{"b":1,"a":2}`)}
	again := map[string]json.RawMessage{"q": json.RawMessage(`{"a": 2, "b": 1}`)}
	for state, outcome := range map[string]*roundstore.Outcome{
		"result": {Result: []byte(`{"x":1}`)}, "fault": {Fault: &jsonrpc.Error{Code: -1, Message: "m"}}, "released": nil,
	} {
		c, err := s.Claim(ctx, ctx, state, answers)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Settle(ctx, ctx, outcome); err != nil {
			t.Fatal(err)
		}
		second, err := s.Claim(ctx, ctx, state, again)
		earlier, executed := errors.AsType[*roundstore.Outcome](err)
		switch {
		case outcome == nil:
			if err != nil || second.Settle(ctx, ctx, nil) != nil {
				t.Errorf("a released round: %v", err)
			}
			continue
		case !executed || string(earlier.Result) != string(outcome.Result) || (earlier.Fault == nil) != (outcome.Fault == nil):
			t.Errorf("%s: got %+v and %v", state, earlier, err)
		}
		_, err = s.Claim(ctx, ctx, state, nil)
		if _, refused := errors.AsType[*protocol.Fault](err); !refused {
			t.Errorf("%s with other answers: %v", state, err)
		}
	}
	if c, err := newStore(t, nil, time.Now).Claim(ctx, ctx, "state", nil); c != nil || err != nil {
		t.Errorf("without a claim store: %v, %v", c, err)
	}
}

// slowClaims is a store whose renewals take a second.
type slowClaims struct {
	claim.Store
	renewing atomic.Int32
}

func (s *slowClaims) Swap(ctx context.Context, key string, old, value []byte, life time.Duration) (bool, error) {
	if bytes.Equal(old, value) {
		s.renewing.Add(1)
		defer s.renewing.Add(-1)
		time.Sleep(time.Second)
	}
	return s.Store.Swap(ctx, key, old, value, life)
}

// TestRenewalEnds: when Settle has returned, nothing renews the lease any more, so the store may be
// closed.
func TestRenewalEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		claims := &slowClaims{Store: memory.New().Claims()}
		s := newStore(t, claims, time.Now)
		c, err := s.Claim(t.Context(), t.Context(), "state", nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(35*time.Second + time.Second/2)
		for claims.renewing.Load() == 0 {
			time.Sleep(time.Second / 4)
		}
		if err := c.Settle(t.Context(), t.Context(), &roundstore.Outcome{Result: []byte(`{}`)}); err != nil {
			t.Error(err)
		}
		if claims.renewing.Load() != 0 {
			t.Error("a renewal uses the store after Settle")
		}
	})
}
