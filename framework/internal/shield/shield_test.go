package shield_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/shield"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// TestPanics: every operation of every port that panics returns an error without a stack, and
// tells the panic once, with one. Ports without an implementation panic always.
func TestPanics(t *testing.T) {
	t.Parallel()
	var told []error
	tell := func(err error) { told = append(told, err) }
	for name, port := range map[string]reflect.Value{
		"Sessions": reflect.ValueOf(shield.Sessions(struct{ session.Store }{}, tell)),
		"Events":   reflect.ValueOf(shield.Events(struct{ eventlog.Store }{}, tell)),
		"Claims":   reflect.ValueOf(shield.Claims(struct{ claim.Store }{}, tell)),
		"Tasks":    reflect.ValueOf(shield.Tasks(struct{ task.Store }{}, tell)),
		"Queue":    reflect.ValueOf(shield.Queue(struct{ task.Queue }{}, tell)),
		"Changes":  reflect.ValueOf(shield.Changes(struct{ change.Bus }{}, tell)),
	} {
		for i := range port.NumMethod() {
			operation := port.Type().Method(i).Name
			if operation == "Subscribe" { // see TestSubscribesAgain
				continue
			}
			told = nil
			results := port.Method(i).Call(arguments(port.Method(i).Type()))
			err, _ := reflect.TypeAssert[error](results[len(results)-1])
			if err == nil || !strings.Contains(err.Error(), operation+" has panicked") {
				t.Errorf("%s.%s returned %v", name, operation, err)
			}
			if len(told) != 1 {
				t.Fatalf("%s.%s told %v", name, operation, told)
			}
			if p, ok := errors.AsType[*engine.PanicError](told[0]); !ok || !strings.Contains(string(p.Stack), "."+operation) {
				t.Errorf("%s.%s told %v", name, operation, told[0])
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

// TestSubscribesAgain: after a panic, and not after an error; the end of the context ends the pause.
func TestSubscribesAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told, looks int
		bus := &failingBus{err: errors.New("over")}
		shielded := shield.Changes(bus, func(error) { told++ })
		if err := shielded.Subscribe(t.Context(), func([]byte) { looks++ }); !errors.Is(err, bus.err) || told != 1 || looks != 2 {
			t.Errorf("%v; %d panics told, %d subscriptions", err, told, looks)
		}
		bus.began.Store(0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := shielded.Subscribe(ctx, func([]byte) {}); !errors.Is(err, context.DeadlineExceeded) || bus.began.Load() != 1 {
			t.Errorf("%v after %d subscriptions", err, bus.began.Load())
		}
	})
}

type locked struct{ session.Store }

func (locked) Opening() string { return "today" }

// TestExclusive: a shielded store is as exclusive as it was.
func TestExclusive(t *testing.T) {
	t.Parallel()
	x, ok := shield.Sessions(locked{}, nil).(session.Exclusive)
	if !ok || x.Opening() != "today" {
		t.Errorf("%v, %v", x, ok)
	}
	if x, ok := shield.Sessions(struct{ session.Store }{}, nil).(session.Exclusive); ok {
		t.Errorf("%v", x)
	}
}
