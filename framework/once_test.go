package framework_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

type receipt struct {
	ID   string `json:"id"`
	Lost string `json:"-"`
}

func TestOnce(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		var keys []string
		fails := true
		charge := func(ctx context.Context) (receipt, error) {
			keys = append(keys, framework.IdempotencyKey(ctx))
			return receipt{ID: "r", Lost: "x"}, nil
		}
		s := build(t, quiet().Add(doing(func(ctx context.Context) error {
			call := framework.Caller(ctx).Call
			if framework.IdempotencyKey(ctx) != "" {
				t.Error("a key outside of an effect")
			}
			for range 2 {
				r, err := framework.Once(ctx, "charge", charge)
				if err != nil || r != (receipt{ID: "r"}) { // as it was read back, also the first time
					t.Errorf("got %+v, %v", r, err)
				}
			}
			if _, err := ask(ctx, "sure?"); err != nil {
				if _, err := framework.Once(ctx, "late", charge); !errors.Is(err, framework.ErrPending) {
					t.Errorf("an effect began while a question is pending: %v", err)
				}
				return err
			}
			_, err := framework.Once(ctx, "outer", func(ctx context.Context) (struct{}, error) {
				_, err := framework.Once(ctx, "inner", charge)
				return struct{}{}, err
			})
			if err != nil {
				t.Error(err)
			}
			failing := func(context.Context) (int, error) {
				if fails {
					fails = false
					return 0, errors.New("no")
				}
				return 7, nil
			}
			if _, err := framework.Once(ctx, "failing", failing); err == nil {
				t.Error("the effect failed")
			}
			if n, err := framework.Once(ctx, "failing", failing); n != 7 || err != nil {
				t.Errorf("a failed effect was journaled: %d, %v", n, err)
			}
			if want := []string{call + "/charge", call + "/outer/inner"}; fmt.Sprint(keys) != fmt.Sprint(want) {
				t.Errorf("keys %q", keys)
			}
			if _, err := framework.Once(ctx, "", charge); err == nil {
				t.Error("an effect without a key")
			}
			if _, err := framework.Once(ctx, "chan", func(context.Context) (chan int, error) { return make(chan int), nil }); err == nil {
				t.Error("a result without JSON")
			}
			return nil
		})))
		newAsker(t, s, rev, byMessage(nil)).do("tools/call", `{"name":"t"}`).ok()
	})
	n, err := framework.Once(t.Context(), "x", func(context.Context) (int, error) { return 3, nil })
	if n != 3 || err != nil {
		t.Errorf("outside of a handler: %d, %v", n, err)
	}
}

// TestOnceKeys checks that each effect has a key of its own. An effect inside another does not have
// the key of an effect with a name like its path.
func TestOnceKeys(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		var keys []string
		// once runs an effect. Inside it, it runs an effect for each of the keys inside.
		once := func(ctx context.Context, key string, inside ...string) {
			_, err := framework.Once(ctx, key, func(ctx context.Context) (struct{}, error) {
				keys = append(keys, framework.IdempotencyKey(ctx))
				for _, key := range inside {
					_, err := framework.Once(ctx, key, func(ctx context.Context) (struct{}, error) {
						keys = append(keys, framework.IdempotencyKey(ctx))
						return struct{}{}, nil
					})
					if err != nil {
						return struct{}{}, err
					}
				}
				return struct{}{}, nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		s := build(t, quiet().Add(doing(func(ctx context.Context) error {
			once(ctx, "a", "b/c", "b", "/3:b/c", "/")
			once(ctx, "a/b", "c", "/c")
			for _, key := range []string{"a/b/c", "a/", "a//", "/", "/3:a/b", "a//3:b/c"} {
				once(ctx, key)
			}
			return nil
		})))
		newAsker(t, s, rev, byMessage(nil)).do("tools/call", `{"name":"t"}`).ok()
		slices.Sort(keys)
		if distinct := slices.Compact(slices.Clone(keys)); len(keys) != 14 || len(distinct) != len(keys) {
			t.Errorf("%d effects of 14 have %d keys: %q", len(keys), len(distinct), keys)
		}
	})
}

func TestAtMostOnce(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.ErrorLevel)
	effects, crash := 0, ""
	s := build(t, framework.New("test", "1", framework.WithLogger(zap.New(core))).Add(doing(func(ctx context.Context) error {
		if _, err := ask(ctx, "sure?"); err != nil {
			return err
		}
		n, err := framework.Once(ctx, "charge", func(ctx context.Context) (int, error) {
			if _, err := framework.Elicit[bool](ctx, "in the effect"); !errors.Is(err, framework.ErrUnsupported) {
				t.Errorf("asked: %v", err)
			}
			if _, err := framework.Roots(ctx); !errors.Is(err, framework.ErrUnsupported) {
				t.Errorf("asked for roots: %v", err)
			}
			effects++
			if crash == "in the effect" {
				panic(crash)
			}
			return effects, nil
		}, framework.AtMostOnce())
		if crash != "" { // an internal error is no outcome: the round may be sent again
			return &protocol.Error{Code: protocol.CodeInternal, Message: "crashed " + crash}
		}
		if err != nil {
			return err
		}
		return framework.UserErrorf("effect %d", n)
	}, framework.With(framework.Middleware{Name: "crash", Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			result, err := next(ctx, call)
			if err != nil && crash != "" && !errors.Is(err, framework.ErrPending) {
				err = &protocol.Error{Code: protocol.CodeInternal, Message: "crashed " + crash}
			}
			return result, err
		}
	}}))))
	newAsker(t, s, protocol.Rev20251125, byMessage(nil)).do("tools/call", `{"name":"t"}`).isError().mentions("effect 1")
	for n, where := range []string{"after the effect", "in the effect"} {
		a := newAsker(t, s, protocol.Rev20260728, byMessage(nil))
		var required inputRequired
		unmarshal(t, a.tool("t", `{}`).ok().Result, &required)
		round := a.retry(`{"name":"t","arguments":{}}`, required)
		crash = where
		a.call("tools/call", round).code(protocol.CodeInternal)
		crash = ""
		want := map[string]string{"after the effect": "effect 2", "in the effect": "not certain"}[where]
		for range 2 {
			a.call("tools/call", round).isError().mentions(want)
		}
		if effects != n+2 {
			t.Errorf("%s: %d effects", where, effects)
		}
	}
	if logs.Len() == 0 {
		t.Error("nobody is told")
	}
}

func TestAtMostOnceOfOneExecution(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(doing(func(ctx context.Context) error {
		failing := func(context.Context) (int, error) { return 0, errors.New("timeout") }
		if _, err := framework.Once(ctx, "charge", failing, framework.AtMostOnce()); err == nil || errors.Is(err, framework.ErrUncertain) {
			t.Errorf("the effect's own error is %v", err)
		}
		_, err := framework.Once(ctx, "charge", failing, framework.AtMostOnce())
		if !errors.Is(err, framework.ErrUncertain) {
			t.Errorf("again: %v", err)
		}
		return err
	})))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		dial(t, s, rev).tool("t", `{}`).isError().mentions("not certain")
	})
}
