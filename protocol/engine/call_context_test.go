package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type parentKey struct{}

// life is a lifetime, and what package context would have made instead.
type life struct {
	ctx  context.Context
	end  func(error)
	done func()
}

func lives(parent context.Context) map[string]life {
	x := &exchange{conn: &conn{e: &Engine{}}}
	x.life.x = x
	x.life.begin(parent)
	ctx, cancel := context.WithCancelCause(parent)
	return map[string]life{
		"lifetime": {&x.life, x.life.end, x.life.done},
		"standard": {ctx, cancel, func() { cancel(nil) }},
	}
}

var errOfCall, errOfParent = errors.New("of the call"), errors.New("of the parent")

// lifeSteps are what may happen to a context, in any order.
var lifeSteps = map[string]func(l life, parent context.CancelCauseFunc){
	"end":           func(l life, _ context.CancelCauseFunc) { l.end(errOfCall) },
	"done":          func(l life, _ context.CancelCauseFunc) { l.done() },
	"parent ends":   func(_ life, parent context.CancelCauseFunc) { parent(errOfParent) },
	"somebody asks": func(l life, _ context.CancelCauseFunc) { l.ctx.Done() },
}

// What is seen of a lifetime is what is seen of the context of the standard library, in
// whatever order things happen, and whether anybody has looked before or not.
func TestLifetimeIsAContext(t *testing.T) {
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
	defer l.done()
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
	child, stop := context.WithCancel(context.WithValue(ctx, callKey{}, nil))
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
func TestLifetimeEndsItsChildren(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := lives(t.Context())["lifetime"]
		child, stop := context.WithTimeout(l.ctx, time.Hour)
		defer stop()
		l.end(errOfCall)
		if child.Err() == nil || !errors.Is(context.Cause(child), errOfCall) { // at once
			t.Errorf("the child's end is %v, its cause %v", child.Err(), context.Cause(child))
		}
	})
}

// A call that is stopped before it is served is over when it begins.
func TestLifetimeThatEndsBeforeItBegins(t *testing.T) {
	t.Parallel()
	x := &exchange{conn: &conn{e: &Engine{}}}
	x.life.x = x
	x.life.end(errOfCall)
	x.life.end(errOfParent)
	x.life.begin(t.Context())
	if x.life.Err() == nil || !errors.Is(context.Cause(&x.life), errOfCall) {
		t.Errorf("%v, cause %v", x.life.Err(), context.Cause(&x.life))
	}
}

// All may happen at once. This is for the race detector.
func TestLifetimeUnderRace(t *testing.T) {
	t.Parallel()
	for range 200 {
		parent, cancel := context.WithCancelCause(t.Context())
		l := lives(parent)["lifetime"]
		var all sync.WaitGroup
		for _, do := range []func(){
			func() { <-l.ctx.Done() },
			func() { _ = l.ctx.Err(); _ = context.Cause(l.ctx) },
			func() { _ = From(l.ctx); l.ctx.Value(parentKey{}) },
			func() { l.end(errOfCall) },
			func() { cancel(errOfParent) },
			l.done,
		} {
			all.Go(do)
		}
		all.Wait()
		if l.ctx.Err() == nil {
			t.Fatal("it goes on")
		}
	}
}

// A call of which nobody waits for the end costs nothing.
func TestLifetimeAllocations(t *testing.T) {
	parent, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	x := &exchange{conn: &conn{e: &Engine{}}}
	x.life.x = x
	if n := testing.AllocsPerRun(100, func() {
		x.life.state.Store(quiet)
		x.life.begin(parent)
		if x.life.Err() != nil || From(&x.life) != nil {
			t.Fatal("it has ended, or has a call")
		}
		x.life.done()
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
