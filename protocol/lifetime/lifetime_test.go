package lifetime_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol/lifetime"
)

type (
	parentKey struct{}
	otherKey  struct{}
)

// life is a context, and what package context would have made instead.
type life struct {
	ctx context.Context
	end func(cause error)
}

func lives(parent context.Context) map[string]life {
	var l lifetime.Context
	l.Begin(parent)
	ctx, cancel := context.WithCancelCause(parent)
	return map[string]life{"lifetime": {&l, l.End}, "standard": {ctx, cancel}}
}

var errOfOwner, errOfParent = errors.New("of the owner"), errors.New("of the parent")

// lifeSteps are what may happen to a context, in any order.
var lifeSteps = map[string]func(l life, parent context.CancelCauseFunc){
	"end":           func(l life, _ context.CancelCauseFunc) { l.end(errOfOwner) },
	"done":          func(l life, _ context.CancelCauseFunc) { l.end(nil) },
	"parent ends":   func(_ life, parent context.CancelCauseFunc) { parent(errOfParent) },
	"somebody asks": func(l life, _ context.CancelCauseFunc) { l.ctx.Done() },
}

// What is seen of it is what is seen of the context of the standard library, in
// whatever order things happen, and whether anybody has looked before or not.
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
							if got := lifeStory(t, "lifetime", looks, a, b, c); got != want {
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

// A child ends with it, without a goroutine of its own, whenever it was made.
func TestEndsItsChildren(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := lives(t.Context())["lifetime"]
		child, stop := context.WithTimeout(l.ctx, time.Hour)
		defer stop()
		l.end(errOfOwner)
		if child.Err() == nil || !errors.Is(context.Cause(child), errOfOwner) { // at once
			t.Errorf("the child's end is %v, its cause %v", child.Err(), context.Cause(child))
		}
	})
}

// What is ended before it begins is over when it does.
func TestEndsBeforeItBegins(t *testing.T) {
	t.Parallel()
	var l lifetime.Context
	l.End(errOfOwner)
	l.End(errOfParent)
	l.Begin(t.Context())
	if l.Err() == nil || !errors.Is(context.Cause(&l), errOfOwner) {
		t.Errorf("%v, cause %v", l.Err(), context.Cause(&l))
	}
}

// All may happen at once. This is for the race detector.
func TestUnderRace(t *testing.T) {
	t.Parallel()
	for range 200 {
		parent, cancel := context.WithCancelCause(t.Context())
		l := lives(parent)["lifetime"]
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

// Where nobody waits for the end it costs no memory but its owner's.
func TestAllocations(t *testing.T) {
	parent, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	owners := make([]lifetime.Context, 101)
	next := 0
	if n := testing.AllocsPerRun(100, func() {
		l := &owners[next]
		next++
		l.Begin(parent)
		if l.Err() != nil || l.Value(parentKey{}) != nil {
			t.Fatal("it has ended, or has a value")
		}
		l.End(nil)
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
