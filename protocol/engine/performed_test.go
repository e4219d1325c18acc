package engine_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// TestPerformed: an execution ends where Config.Performed says so. Nothing of it is
// kept, nothing else of it happens, and the round can be sent again.
func TestPerformed(t *testing.T) {
	t.Parallel()
	crash, told, done := true, []string{}, 0
	shared := &claims{values: make(map[string][]byte)}
	a, f := start(t, func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		if _, err := want(ctx, c, "k", "K?"); err != nil {
			return nil, err
		}
		effect := func(context.Context) ([]byte, error) { done++; return []byte("1"), nil }
		_, err := c.Once(ctx, "first", effect)
		if errors.Is(err, engine.ErrPending) {
			_, again := c.Once(ctx, "second", effect)
			_, asked := want(ctx, c, "more", "More?")
			if !c.Pending() || ctx.Err() == nil || !errors.Is(again, engine.ErrPending) || !errors.Is(asked, engine.ErrPending) {
				t.Errorf("it goes on after its end: %v, %v", again, asked)
			}
		}
		return text("x"), errors.New("whatever it says")
	}, func(cfg *engine.Config) {
		cfg.Claims = shared
		cfg.Performed = func(_ context.Context, key string) error {
			told = append(told, key)
			if crash {
				return &protocol.Error{Code: protocol.CodeInternal, Message: "crashed"}
			}
			return nil
		}
	})
	a.send("").asks(t, "k")
	state := a.state
	a.answer(`{"k":`+accepted("v")+`}`).says(t, "error -32603: crashed")
	if len(told) != 1 || told[0] != "first" || done != 1 || len(f.all) != 0 {
		t.Errorf("told of %q, %d effects, failed %v", told, done, f.all)
	}
	crash, a.state = false, state
	a.answer(`{"k":`+accepted("v")+`}`).says(t, "error -32603: internal error")
	if len(told) != 2 || done != 2 {
		t.Errorf("told of %q, %d effects", told, done)
	}
}

// TestReplayCheckOfParts: what names or effects make right is no difference.
func TestReplayCheckOfParts(t *testing.T) {
	t.Parallel()
	n := 0
	one := func(context.Context) ([]byte, error) { return []byte("1"), nil }
	for name, tt := range map[string]struct {
		h       handler
		asks    string
		differs bool
	}{
		"names in any order": {func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
			n++
			name := []string{"a", "b"}[n%2]
			_, err := want(ctx, c, name, name)
			return text("x"), err
		}, "b", false},
		"places in any order": {func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
			n++
			name := []string{"part/q1", "part/q2#2"}[n%2]
			_, err := want(ctx, c, name, name)
			return text("x"), err
		}, "part/q2#2", true},
		"nothing the second time": {func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
			if n++; n > 1 {
				return text("x"), nil
			}
			_, err := want(ctx, c, "a", "a")
			return text("x"), err
		}, "a", true},
		"within an effect": {func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
			_, err := c.Once(ctx, "e", func(ctx context.Context) ([]byte, error) {
				if _, err := c.Once(ctx, "e/one", one); err != nil {
					return nil, err
				}
				_, err := want(ctx, c, "e/q1", "inner")
				return []byte("1"), err
			})
			return text("x"), err
		}, "e/q1", false},
	} {
		n = 0
		a, f := start(t, tt.h, func(cfg *engine.Config) { cfg.ReplayCheck = true })
		a.send("").asks(t, tt.asks)
		a.p.served.Wait()
		if (len(f.all) > 0) != tt.differs {
			t.Errorf("%s: %v", name, f.all)
		}
	}
}

// slowTasks is a store. Its first Update says when it begins, and waits for release.
type slowTasks struct {
	task.Store
	writing chan struct{} // has room for one
	release chan struct{}
}

func (s slowTasks) Update(ctx context.Context, r task.Record) error {
	select {
	case s.writing <- struct{}{}:
		<-s.release
	default:
	}
	return s.Store.Update(ctx, r)
}

// TestOnceWaitsForTheRecord: no Once of a task returns before its effect is in the record, even if
// another goroutine is writing the record with it.
func TestOnceWaitsForTheRecord(t *testing.T) {
	t.Parallel()
	slow := slowTasks{memory.New().Tasks(), make(chan struct{}, 1), make(chan struct{})}
	var written atomic.Bool
	began, over := make(chan struct{}), make(chan struct{})
	effect := func(context.Context) ([]byte, error) { return []byte("1"), nil }
	e := engine.New(engine.Config{
		Info: protocol.Implementation{Name: "s", Version: "1"}, Tasks: slow,
		Catalog: tasked{catalog{"film": func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
			defer close(over)
			first := make(chan struct{})
			go func() {
				defer close(first)
				_, _ = c.Once(ctx, "a", effect)
			}()
			for len(slow.writing) == 0 {
				time.Sleep(time.Millisecond)
			}
			close(began)
			if _, err := c.Once(ctx, "a", effect); err != nil || !written.Load() {
				t.Errorf("Once has returned before the record was written: %v", err)
			}
			<-first
			return text("ok"), nil
		}}},
	})
	t.Cleanup(func() { _ = e.Shutdown(t.Context()) })
	p := connect(t, e)
	p.initialize("2025-11-25", `{}`)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"film","arguments":{},"task":{}}}`)
	<-began
	time.Sleep(20 * time.Millisecond)
	written.Store(true)
	close(slow.release)
	<-over
}
