package lazyctx_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol/lazyctx"
)

type (
	parentKey struct{}
	otherKey  struct{}
)

// life is a context under test, with the function that ends it.
type life struct {
	ctx context.Context
	end func(cause error)
}

func lives(parent context.Context) map[string]life {
	var l lazyctx.Context
	l.Begin(parent, nil)
	ctx, cancel := context.WithCancelCause(parent)
	return map[string]life{"lazy": {&l, l.End}, "standard": {ctx, cancel}}
}

var errOfOwner, errOfParent = errors.New("of the owner"), errors.New("of the parent")

// lifeSteps are what may happen to a context, in any order.
var lifeSteps = map[string]func(l life, parent context.CancelCauseFunc){
	"end":           func(l life, _ context.CancelCauseFunc) { l.end(errOfOwner) },
	"done":          func(l life, _ context.CancelCauseFunc) { l.end(nil) },
	"parent ends":   func(_ life, parent context.CancelCauseFunc) { parent(errOfParent) },
	"somebody asks": func(l life, _ context.CancelCauseFunc) { l.ctx.Done() },
}

// TestIsAContext: a Context looks the same as a context of the standard library, in any order
// of events, whether or not its state was read before.
func TestIsAContext(t *testing.T) {
	t.Parallel()
	for a := range lifeSteps {
		for b := range lifeSteps {
			for c := range lifeSteps {
				t.Run(a+", "+b+", "+c, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						for _, looks := range []bool{false, true} {
							want := lifeStory(t, "standard", looks, a, b, c)
							if got := lifeStory(t, "lazy", looks, a, b, c); got != want {
								t.Errorf("looking %v: %s\nwant %s", looks, got, want)
							}
						}
					})
				})
			}
		}
	}
}

// lifeStory is what was seen after the last of the steps, and after each if looks.
func lifeStory(t *testing.T, kind string, looks bool, steps ...string) string {
	t.Helper()
	outer, stop := context.WithDeadline(context.WithValue(t.Context(), parentKey{}, "v"), time.Now().Add(time.Hour))
	defer stop()
	parent, cancel := context.WithCancelCause(outer)
	defer cancel(nil)
	l := lives(parent)[kind]
	defer l.end(nil)
	var story string
	for i, step := range steps {
		lifeSteps[step](l, cancel)
		synctest.Wait()
		if looks || i == len(steps)-1 {
			story += step + ": " + seen(l.ctx) + "; "
		}
	}
	return story
}

// seen is all that can be learnt of a context, and of one that derives from it.
func seen(ctx context.Context) string {
	deadline, timed := ctx.Deadline()
	child, stop := context.WithCancel(context.WithValue(ctx, otherKey{}, nil))
	defer stop()
	after := false
	context.AfterFunc(ctx, func() { after = true })
	synctest.Wait()
	ended := false
	select {
	case <-ctx.Done():
		ended = true
	default:
	}
	return fmt.Sprint(ctx.Err(), context.Cause(ctx), child.Err(), context.Cause(child), ended, after,
		time.Until(deadline), timed, ctx.Value(parentKey{}), context.Cause(context.WithoutCancel(ctx)))
}

// TestEndsItsChildren: the end of a Context ends its children at once, because they need no
// goroutine.
func TestEndsItsChildren(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := lives(t.Context())["lazy"]
		child, stop := context.WithTimeout(l.ctx, time.Hour)
		defer stop()
		l.end(errOfOwner)
		if child.Err() == nil || !errors.Is(context.Cause(child), errOfOwner) { // at once
			t.Errorf("the child's end is %v, its cause %v", child.Err(), context.Cause(child))
		}
	})
}

// TestEndsBeforeItBegins: after an early End, the context has ended as soon as Begin returns.
func TestEndsBeforeItBegins(t *testing.T) {
	t.Parallel()
	var l lazyctx.Context
	l.End(errOfOwner)
	l.End(errOfParent)
	l.Begin(t.Context(), nil)
	if l.Err() == nil || !errors.Is(context.Cause(&l), errOfOwner) {
		t.Errorf("%v, cause %v", l.Err(), context.Cause(&l))
	}
}

// TestEnded: a context has not ended before it begins, even if End was called.
func TestEnded(t *testing.T) {
	t.Parallel()
	parent, end := context.WithCancel(t.Context())
	var early, byEnd, byParent lazyctx.Context
	early.End(nil)
	if early.Ended() || byEnd.Ended() {
		t.Error("a context has ended before Begin")
	}
	for _, c := range []*lazyctx.Context{&early, &byEnd, &byParent} {
		c.Begin(parent, nil)
	}
	if !early.Ended() || byEnd.Ended() || byParent.Ended() {
		t.Error("after Begin, only the context with an early End has ended")
	}
	byEnd.End(nil)
	end()
	if !byEnd.Ended() || !byParent.Ended() {
		t.Error("a context has not ended")
	}
}

// TestUnderRace: all methods may run concurrently. It is for the race detector.
func TestUnderRace(t *testing.T) {
	t.Parallel()
	for range 200 {
		parent, cancel := context.WithCancelCause(t.Context())
		l := lives(parent)["lazy"]
		var all sync.WaitGroup
		for _, do := range []func(){
			func() { <-l.ctx.Done() },
			func() { _ = l.ctx.Err(); _ = context.Cause(l.ctx) },
			func() { l.ctx.Value(parentKey{}) },
			func() { l.end(errOfOwner) },
			func() { cancel(errOfParent) },
			func() { l.end(nil) },
		} {
			all.Go(do)
		}
		all.Wait()
		if l.ctx.Err() == nil {
			t.Fatal("it goes on")
		}
	}
}

// TestAllocations: a Context allocates nothing if nothing waits for its end.
func TestAllocations(t *testing.T) {
	parent, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	owners := make([]lazyctx.Context, 101)
	next := 0
	if n := testing.AllocsPerRun(100, func() {
		l := &owners[next]
		next++
		l.Begin(parent, nil)
		if l.Err() != nil || l.Value(parentKey{}) != nil {
			t.Fatal("it has ended, or has a value")
		}
		l.End(nil)
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// TestValues looks keys up in the values of a context first, before and after something derives from it.
func TestValues(t *testing.T) {
	t.Parallel()
	parent := context.WithValue(context.WithValue(t.Context(), parentKey{}, "parent"), otherKey{}, "hidden")
	var c lazyctx.Context
	c.Begin(parent, context.WithValue(context.Background(), otherKey{}, "own"))
	defer c.End(nil)
	for range 2 {
		if got := [2]any{c.Value(parentKey{}), c.Value(otherKey{})}; got != [2]any{"parent", "own"} {
			t.Errorf("got %v", got)
		}
		derived, cancel := context.WithCancel(&c)
		defer cancel()
		if got := [2]any{derived.Value(parentKey{}), derived.Value(otherKey{})}; got != [2]any{"parent", "own"} {
			t.Errorf("derived: got %v", got)
		}
	}
}
