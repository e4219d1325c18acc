package safestore_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/safestore"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// TestPanics: if an operation of a port panics, it returns an error without a stack, and the
// panic is reported once, with its stack. Ports without an implementation always panic.
func TestPanics(t *testing.T) {
	t.Parallel()
	var reported []error
	report := func(err error) { reported = append(reported, err) }
	for name, port := range map[string]reflect.Value{
		"Sessions": reflect.ValueOf(safestore.Sessions(struct{ session.Store }{}, report)),
		"Events":   reflect.ValueOf(safestore.Events(struct{ eventlog.Store }{}, report)),
		"Claims":   reflect.ValueOf(safestore.Claims(struct{ claim.Store }{}, report)),
		"Tasks":    reflect.ValueOf(safestore.Tasks(struct{ task.Store }{}, report)),
		"Queue":    reflect.ValueOf(safestore.Queue(struct{ task.Queue }{}, report)),
		"Changes":  reflect.ValueOf(safestore.Changes(struct{ change.Bus }{}, report)),
	} {
		for i := range port.NumMethod() {
			operation := port.Type().Method(i).Name
			if operation == "Subscribe" { // see TestSubscribesAgain
				continue
			}
			reported = nil
			results := port.Method(i).Call(arguments(port.Method(i).Type()))
			err, _ := reflect.TypeAssert[error](results[len(results)-1])
			if err == nil || !strings.Contains(err.Error(), operation+" has panicked") {
				t.Errorf("%s.%s returned %v", name, operation, err)
			}
			if len(reported) != 1 {
				t.Fatalf("%s.%s reported %v", name, operation, reported)
			}
			if p, ok := errors.AsType[*engine.PanicError](reported[0]); !ok || !strings.Contains(string(p.Stack), "."+operation) {
				t.Errorf("%s.%s reported %v", name, operation, reported[0])
			}
		}
	}
}

// arguments are zero values, with a context.
func arguments(method reflect.Type) []reflect.Value {
	in := make([]reflect.Value, method.NumIn())
	for i := range in {
		in[i] = reflect.Zero(method.In(i))
	}
	in[0] = reflect.ValueOf(context.Background())
	return in
}

// failingBus panics in the first subscription, and returns err in the second and third.
type failingBus struct {
	change.Bus
	began atomic.Int32
	err   error
}

func (b *failingBus) Subscribe(ctx context.Context, fn func([]byte)) error {
	fn(nil)
	switch b.began.Add(1) {
	case 1:
		panic("broken")
	case 2, 3:
		return b.err
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// TestSubscribesAgain: Subscribe subscribes again after a panic, and after a return before the end of
// its context, also without an error. It reports an error that stays the same once. The end of the
// context ends the pause and the subscription.
func TestSubscribesAgain(t *testing.T) {
	t.Parallel()
	for _, over := range []error{errors.New("over"), nil} {
		synctest.Test(t, func(t *testing.T) {
			for life, subscriptions := range map[time.Duration]int32{time.Millisecond: 1, time.Hour: 4} {
				var panics, returns, looks int
				bus := &failingBus{err: over}
				safe := safestore.Changes(bus, func(err error) {
					if _, ok := errors.AsType[*engine.PanicError](err); ok {
						panics++
					} else {
						returns++
					}
				})
				ctx, cancel := context.WithTimeout(t.Context(), life)
				err := safe.Subscribe(ctx, func([]byte) { looks++ })
				cancel()
				if !errors.Is(err, context.DeadlineExceeded) || bus.began.Load() != subscriptions || looks != int(subscriptions) {
					t.Errorf("%v after %d subscriptions with %d looks", err, bus.began.Load(), looks)
				}
				if panics != 1 || returns != min(1, int(subscriptions)-1) {
					t.Errorf("%d panics and %d returns are reported", panics, returns)
				}
			}
		})
	}
}

// dyingBus returns the same error from each subscription after life.
type dyingBus struct {
	change.Bus
	life time.Duration
}

func (b dyingBus) Subscribe(ctx context.Context, _ func([]byte)) error {
	select {
	case <-time.After(b.life):
		return errors.New("EOF")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// TestReportsAgain: an error that follows a long subscription is a new loss, and is reported again.
func TestReportsAgain(t *testing.T) {
	t.Parallel()
	for life, want := range map[time.Duration]int{time.Second: 1, time.Hour: 3} {
		synctest.Test(t, func(t *testing.T) {
			reports := 0
			ctx, cancel := context.WithTimeout(t.Context(), 3*life+time.Minute)
			defer cancel()
			_ = safestore.Changes(dyingBus{life: life}, func(error) { reports++ }).Subscribe(ctx, nil)
			if reports != want {
				t.Errorf("%d reports of subscriptions of %v, want %d", reports, life, want)
			}
		})
	}
}

type locked struct{ session.Store }

func (locked) Opening() string { return "today" }

// TestExclusive: a wrapped store is a session.Exclusive if and only if the store is.
func TestExclusive(t *testing.T) {
	t.Parallel()
	x, ok := safestore.Sessions(locked{}, nil).(session.Exclusive)
	if !ok || x.Opening() != "today" {
		t.Errorf("%v, %v", x, ok)
	}
	if x, ok := safestore.Sessions(struct{ session.Store }{}, nil).(session.Exclusive); ok {
		t.Errorf("%v", x)
	}
}
