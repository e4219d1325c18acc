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

// failingBus panics in the first subscription, and returns err in the second.
type failingBus struct {
	change.Bus
	began atomic.Int32
	err   error
}

func (b *failingBus) Subscribe(_ context.Context, fn func([]byte)) error {
	fn(nil)
	if b.began.Add(1) == 1 {
		panic("broken")
	}
	return b.err
}

// TestSubscribesAgain: Subscribe subscribes again after a panic, and returns after an error. The end
// of the context ends the pause.
func TestSubscribesAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var panics, looks int
		bus := &failingBus{err: errors.New("over")}
		safe := safestore.Changes(bus, func(error) { panics++ })
		if err := safe.Subscribe(t.Context(), func([]byte) { looks++ }); !errors.Is(err, bus.err) || panics != 1 || looks != 2 {
			t.Errorf("%v; %d panics reported, %d subscriptions", err, panics, looks)
		}
		bus.began.Store(0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := safe.Subscribe(ctx, func([]byte) {}); !errors.Is(err, context.DeadlineExceeded) || bus.began.Load() != 1 {
			t.Errorf("%v after %d subscriptions", err, bus.began.Load())
		}
	})
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
