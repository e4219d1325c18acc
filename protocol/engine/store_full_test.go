package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// crammed is a store that has no room for a while.
type crammed struct {
	task.Store
	full *atomic.Bool
}

func (s crammed) Update(ctx context.Context, r task.Record) error {
	if s.full.Load() {
		return fmt.Errorf("no room: %w", task.ErrFull)
	}
	return s.Store.Update(ctx, r)
}

// TestRefusedRunKeepsEffects: an effect of a run that was refused does not happen again.
func TestRefusedRunKeepsEffects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Bool
		var effects, runs atomic.Int64
		e := engine.New(engine.Config{
			Info: protocol.Implementation{Name: "s", Version: "1"}, Tasks: crammed{memory.New().Tasks(), &full},
			Catalog: tasked{catalog{"film": func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
				run := runs.Add(1)
				full.Store(run == 1)
				_, err := c.Once(ctx, "a", func(context.Context) ([]byte, error) { effects.Add(1); return []byte("1"), nil })
				if err != nil {
					return nil, err
				}
				if run == 1 {
					full.Store(true)
					time.AfterFunc(time.Second, func() { full.Store(false) })
					return nil, protocol.TooMany(2*time.Second, "later")
				}
				return text("ok"), nil
			}}},
		})
		defer func() { _ = e.Shutdown(t.Context()) }()
		p := connect(t, e)
		p.initialize("2025-11-25", `{}`)
		p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"film","arguments":{},"task":{}}}`)
		time.Sleep(time.Minute)
		if effects.Load() != 1 || runs.Load() > 2 {
			t.Errorf("%d effects in %d runs", effects.Load(), runs.Load())
		}
		p.close()
		p.served.Wait()
	})
}

// crowded is a store of claims that is full.
type crowded struct {
	claim.Store
	full *atomic.Bool
}

func (s crowded) Claim(ctx context.Context, key string, value []byte, life time.Duration) ([]byte, bool, error) {
	if s.full.Load() {
		return nil, false, fmt.Errorf("no room: %w", claim.ErrFull)
	}
	return s.Store.Claim(ctx, key, value, life)
}

// TestTasksAreReadIfClaimsAreFull: a full store does not keep tasks from being read again after messages were
// lost.
func TestTasksAreReadIfClaimsAreFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := memory.New()
		var full atomic.Bool
		var gets atomic.Int32
		var failed atomic.Int32
		e := engine.New(engine.Config{
			Info: protocol.Implementation{Name: "s", Version: "1"}, Tasks: counted{all.Tasks(), &gets}, Changes: all.Changes(),
			Claims: crowded{all.Claims(), &full}, SharedClaims: true,
			Catalog: tasked{catalog{"film": func(ctx context.Context, _ *engine.Call) (protocol.Result, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}}}, Failed: func(_ context.Context, _ *engine.Call, err error) {
				if strings.Contains(err.Error(), "secret") && errors.Is(err, claim.ErrFull) {
					failed.Add(1)
				}
			},
		})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		p := connect(t, e)
		p.initialize("2025-11-25", `{}`)
		p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"film","arguments":{},"task":{}}}`)
		time.Sleep(time.Second)
		full.Store(true)
		gets.Store(0)
		if err := all.Changes().Publish(t.Context(), []byte(`{"engine":"lost","node":"another"}`)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if n := failed.Load(); n == 0 || n > 61 || gets.Load() == 0 {
			t.Errorf("the store of the secret failed %d times in a minute, and the task was read %d times", n, gets.Load())
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = e.Shutdown(ctx)
		p.close()
		p.served.Wait()
	})
}

// counted counts the reads of a store.
type counted struct {
	task.Store
	gets *atomic.Int32
}

func (s counted) Get(ctx context.Context, id string) (task.Record, error) {
	s.gets.Add(1)
	return s.Store.Get(ctx, id)
}
