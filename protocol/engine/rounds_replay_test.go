package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/engine"
)

// TestReplayCheck tells of handlers that are not the same twice.
func TestReplayCheck(t *testing.T) {
	t.Parallel()
	n := 0
	for name, tt := range map[string]struct {
		h    handler
		want []string
	}{
		"the same": {func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
			_, _ = c.Once(ctx, "effect", func(context.Context) ([]byte, error) { return []byte("1"), nil })
			_, err := want(ctx, c, "k", "K?")
			return text("x"), err
		}, nil},
		"another question": {func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
			n++
			_, err := want(ctx, c, "k", fmt.Sprintf("number %d?", n))
			return text("x"), err
		}, []string{"- asks k: elicitation/create", "number 1?", "+ asks k", "number 2?"}},
		"another effect": {func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
			n++
			_, _ = c.Once(ctx, fmt.Sprint("effect ", n%2), func(context.Context) ([]byte, error) { return []byte("1"), nil })
			_, err := want(ctx, c, "k", "K?")
			return text("x"), err
		}, []string{"- does effect 1", "+ does effect 0"}},
	} {
		n = 0
		a, f := start(t, tt.h, func(cfg *engine.Config) { cfg.ReplayCheck = true })
		a.send("").asks(t, "k")
		a.p.served.Wait()
		var replay *engine.ReplayError
		switch {
		case tt.want == nil && len(f.all) == 0:
		case len(f.all) != 1 || !errors.As(f.all[0], &replay):
			t.Errorf("%s: %v", name, f.all)
		default:
			shows(t, replay.Diff, tt.want...)
		}
	}
}

// claims are a claim.Store without lives, which heeds its contexts as one behind a network does.
type claims struct {
	mu     sync.Mutex
	values map[string][]byte
}

func (c *claims) Claim(ctx context.Context, key string, value []byte, _ time.Duration) ([]byte, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	if held, ok := c.values[key]; ok {
		return held, false, nil
	}
	c.values[key] = bytes.Clone(value)
	return nil, true, nil
}

func (c *claims) Swap(ctx context.Context, key string, old, value []byte, _ time.Duration) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if held, ok := c.values[key]; !ok || !bytes.Equal(held, old) {
		return false, nil
	}
	c.values[key] = bytes.Clone(value)
	return true, nil
}

func (c *claims) Get(ctx context.Context, key string) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if held, ok := c.values[key]; ok {
		return held, nil
	}
	return nil, claim.ErrNotFound
}

func (c *claims) Delete(ctx context.Context, key string, old []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if old == nil || bytes.Equal(c.values[key], old) {
		delete(c.values, key)
	}
	return nil
}

func (c *claims) Add(context.Context, string, int64, time.Duration) (int64, error) { return 0, nil }

// TestResend: with a store a round that is sent again gets the outcome of the first
// execution, also while that runs; other answers to the same state are refused.
func TestResend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		store := &claims{values: map[string][]byte{}}
		a, f := start(t, func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
			v, err := want(ctx, c, "k", "K?")
			if err != nil {
				return nil, err
			}
			time.Sleep(time.Minute)
			if v == "fail" {
				return nil, protocol.Faultf(protocol.FaultInvalidParams, "run %d", runs.Add(1))
			}
			if v == "crash" && runs.Add(1) == 1 {
				return nil, errors.New("internal")
			}
			return text(fmt.Sprintf("%s in run %d", v, runs.Add(1))), nil
		}, func(cfg *engine.Config) { cfg.Claims = store })
		for _, v := range []string{"v", "fail", "crash"} {
			runs.Store(0)
			a.send("").asks(t, "k")
			state := a.state
			a.p.patience = time.Hour // handlers take a minute of the bubble
			send := func(value string) outcome {
				a.state = state
				return a.answer(`{"k":` + accepted(value) + `}`)
			}
			other := *a
			other.p, other.id = connect(t, a.p.e), 0
			other.p.patience = time.Hour
			joined := make(chan outcome, 1)
			go func() {
				time.Sleep(time.Second) // while the first runs
				other.state = state
				joined <- other.answer(`{"k":` + accepted(v) + `}`)
			}()
			first := send(v)
			if v == "crash" { // no outcome: the other one ran in its place
				if first.Error == nil || first.Error.Code != -32603 {
					t.Errorf("crash: %v", first)
				}
				(<-joined).says(t, "crash in run 3")
				continue
			}
			(<-joined).says(t, first.String())
			send(v).says(t, first.String())
			if o := send("another"); o.Error == nil || o.Error.Code != -32602 || strings.Contains(o.Error.Message, "run") {
				t.Errorf("other answers: %v", o)
			}
			if n := runs.Load(); n != 1 {
				t.Errorf("%s ran %d times", v, n)
			}
		}
		if len(f.all) != 1 {
			t.Errorf("%v", f.all)
		}
	})
}

// TestShorterAnswer checks that a round with answers that are too long to be kept has no outcome.
// The client may send shorter answers, as the error suggests.
func TestShorterAnswer(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		a, f := start(t, func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
			first, err := want(ctx, c, "k", "K?")
			if err != nil {
				return nil, err
			}
			_, err = want(ctx, c, "l", "L?")
			return text(first), err
		}, func(cfg *engine.Config) { cfg.Claims, cfg.SharedClaims = &claims{values: map[string][]byte{}}, shared })
		a.send("").asks(t, "k")
		state := a.state
		for range 2 {
			a.state = state
			if o := a.answer(`{"k":` + accepted(strings.Repeat("v", 2<<20)) + `}`); o.Error == nil || o.Error.Code != -32602 || !strings.Contains(o.Error.Message, "answer with less") {
				t.Errorf("a long answer: %.200s", o)
			}
		}
		a.state = state
		a.answer(`{"k":`+accepted("less")+`}`).asks(t, "l")
		a.answer(`{"l":`+accepted("more")+`}`).says(t, "less")
		if len(f.all) != 0 {
			t.Errorf("reported: %v", f.all)
		}
	}
}

// TestBusyIsNoOutcome: that a server had no time for a round is not what the round came to: sent again, it
// runs.
func TestBusyIsNoOutcome(t *testing.T) {
	t.Parallel()
	for _, code := range []int{protocol.CodeTooMany, 503} {
		runs := 0
		a, _ := start(t, func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
			v, err := want(ctx, c, "k", "K?")
			if err != nil {
				return nil, err
			}
			if runs++; runs == 1 {
				return nil, &protocol.Error{Code: code, Message: "busy"}
			}
			return text(fmt.Sprintf("%s in run %d", v, runs)), nil
		}, func(cfg *engine.Config) { cfg.Claims = &claims{values: map[string][]byte{}} })
		a.send("").asks(t, "k")
		state := a.state
		if o := a.answer(`{"k":` + accepted("v") + `}`); o.Error == nil || o.Error.Message != "busy" {
			t.Errorf("%d: %v", code, o)
		}
		a.state = state
		a.answer(`{"k":`+accepted("v")+`}`).says(t, "v in run 2")
	}
}

// full is a store without room.
type full struct{ claims }

func (*full) Claim(context.Context, string, []byte, time.Duration) ([]byte, bool, error) {
	return nil, false, fmt.Errorf("no room: %w", claim.ErrFull)
}

// TestOutcomesAreBounded: of a large result only the mark is kept. A full store keeps no call from
// running.
func TestOutcomesAreBounded(t *testing.T) {
	t.Parallel()
	h := func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		v, err := want(ctx, c, "k", "K?")
		return text(strings.Repeat(v, 100_000)), err
	}
	store := &claims{values: map[string][]byte{}}
	a, _ := start(t, h, func(cfg *engine.Config) { cfg.Claims = store })
	a.send("").asks(t, "k")
	state := a.state
	a.answer(`{"k":`+accepted("v")+`}`).says(t, strings.Repeat("v", 100_000))
	a.state = state
	if o := a.answer(`{"k":` + accepted("v") + `}`); o.Error == nil || !strings.Contains(o.Error.Message, "too large") {
		t.Errorf("sent again: %.100s", o)
	}
	for key, value := range store.values {
		if len(value) > 100 {
			t.Errorf("%s holds %d bytes", key, len(value))
		}
	}
	b, f := start(t, h, func(cfg *engine.Config) { cfg.Claims = &full{} })
	b.send("").asks(t, "k")
	b.answer(`{"k":`+accepted("v")+`}`).says(t, strings.Repeat("v", 100_000))
	if len(f.all) != 0 {
		t.Errorf("%v", f.all)
	}
}

// tight is a store without room for anything larger than what is there already.
type tight struct{ claims }

func (c *tight) Swap(ctx context.Context, key string, old, value []byte, life time.Duration) (bool, error) {
	if len(value) > len(old) {
		return false, fmt.Errorf("no room: %w", claim.ErrFull)
	}
	return c.claims.Swap(ctx, key, old, value, life)
}

// TestNoRoomForOutcome: a store that has no room for the answer still knows that the state
// was answered, so that it is not used twice.
func TestNoRoomForOutcome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		h := func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
			v, err := want(ctx, c, "k", "K?")
			if err == nil {
				runs.Add(1)
			}
			return text(v), err
		}
		c, f := start(t, h, func(cfg *engine.Config) { cfg.Claims = &tight{claims{values: map[string][]byte{}}} })
		c.send("").asks(t, "k")
		state := c.state
		c.answer(`{"k":`+accepted("v")+`}`).says(t, "v")
		time.Sleep(time.Minute) // longer than the lease of an execution
		for again, want := range map[string]string{"v": "no room", "another": "other inputResponses"} {
			c.state = state
			if o := c.answer(`{"k":` + accepted(again) + `}`); o.Error == nil || o.Error.Code != -32602 || !strings.Contains(o.Error.Message, want) {
				t.Errorf("answered again with %q: %s", again, o)
			}
		}
		if n := runs.Load(); n != 1 || len(f.all) != 0 {
			t.Errorf("%d runs, %v", n, f.all)
		}
	})
}

// TestResendByLess: the outcome of a round that was sent again asks nothing that this request
// does not declare (2026-07-28 basic/patterns/mrtr).
func TestResendByLess(t *testing.T) {
	t.Parallel()
	a, _ := start(t, func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		if _, err := want(ctx, c, "k", "K?"); err != nil {
			return nil, err
		}
		replies := c.Questions(ctx, form("l", "L?"), engine.Question{Key: "r", Params: &protocol.ListRootsParams{}})
		return nil, replies[0].Err
	}, func(cfg *engine.Config) { cfg.Claims = &claims{values: map[string][]byte{}} })
	a.send("").asks(t, "k")
	state := a.state
	for _, tt := range []struct {
		caps   string
		missed bool
	}{{"", false}, {`{}`, true}, {`{"elicitation":{}}`, true}, {`{"elicitation":{"url":{}},"roots":{}}`, true}, {"", false}} {
		a.caps, a.state = tt.caps, state
		o := a.answer(`{"k":` + accepted("v") + `}`)
		if !tt.missed {
			o.asks(t, "l", "r")
			continue
		}
		if o.Error == nil || o.Error.Code != -32021 {
			t.Errorf("%s: %v", tt.caps, o)
		}
	}
}
