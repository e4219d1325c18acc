package safestore_test

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/safestore"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// The operations of these ports wait for the end of their context.
type (
	slowSessions struct{ session.Store }
	slowEvents   struct{ eventlog.Store }
	slowClaims   struct{ claim.Store }
	slowTasks    struct{ task.Store }
	slowQueue    struct{ task.Queue }
	slowBus      struct{ change.Bus }
)

func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func (slowSessions) Create(ctx context.Context, _ session.Record) error { return hang(ctx) }
func (slowSessions) Get(ctx context.Context, _ string) (session.Record, error) {
	return session.Record{}, hang(ctx)
}
func (slowSessions) Update(ctx context.Context, _ session.Record) error     { return hang(ctx) }
func (slowSessions) Touch(ctx context.Context, _ string, _ time.Time) error { return hang(ctx) }
func (slowSessions) Delete(ctx context.Context, _ string) error             { return hang(ctx) }
func (slowEvents) Append(ctx context.Context, _ string, _ []byte) (uint64, error) {
	return 0, hang(ctx)
}

func (slowEvents) After(ctx context.Context, _ string, _ uint64) ([]eventlog.Event, error) {
	return nil, hang(ctx)
}
func (slowEvents) Drop(ctx context.Context, _ string) error { return hang(ctx) }
func (slowClaims) Claim(ctx context.Context, _ string, _ []byte, _ time.Duration) ([]byte, bool, error) {
	return nil, false, hang(ctx)
}

func (slowClaims) Swap(ctx context.Context, _ string, _, _ []byte, _ time.Duration) (bool, error) {
	return false, hang(ctx)
}
func (slowClaims) Get(ctx context.Context, _ string) ([]byte, error)    { return nil, hang(ctx) }
func (slowClaims) Delete(ctx context.Context, _ string, _ []byte) error { return hang(ctx) }
func (slowClaims) Add(ctx context.Context, _ string, _ int64, _ time.Duration) (int64, error) {
	return 0, hang(ctx)
}
func (slowTasks) Create(ctx context.Context, _ task.Record) error { return hang(ctx) }
func (slowTasks) Get(ctx context.Context, _ string) (task.Record, error) {
	return task.Record{}, hang(ctx)
}
func (slowTasks) Update(ctx context.Context, _ task.Record) error { return hang(ctx) }
func (slowTasks) Delete(ctx context.Context, _ string) error      { return hang(ctx) }
func (slowTasks) List(ctx context.Context, _, _ string, _ int) ([]task.Record, error) {
	return nil, hang(ctx)
}
func (slowTasks) Count(ctx context.Context, _ string) (int, error)          { return 0, hang(ctx) }
func (slowQueue) Take(ctx context.Context) (task.Lease, error)              { return task.Lease{}, hang(ctx) }
func (slowQueue) Renew(ctx context.Context, _ task.Lease) error             { return hang(ctx) }
func (slowQueue) Release(ctx context.Context, _ task.Lease) error           { return hang(ctx) }
func (slowBus) Publish(ctx context.Context, _ []byte) error                 { return hang(ctx) }
func (slowBus) Subscribe(ctx context.Context, _ func(message []byte)) error { return hang(ctx) }

// TestHangs: an operation ends after a while, even if its context has no end. Take and Subscribe wait for
// work, so they end only with their context.
func TestHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		report := func(err error) { t.Error(err) }
		for _, port := range []any{
			safestore.Sessions(slowSessions{}, report), safestore.Events(slowEvents{}, report), safestore.Claims(slowClaims{}, report),
			safestore.Tasks(slowTasks{}, report), safestore.Queue(slowQueue{}, report), safestore.Changes(slowBus{}, report),
		} {
			v := reflect.ValueOf(port)
			for i := range v.NumMethod() {
				operation := v.Type().Method(i).Name
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				in := arguments(v.Method(i).Type())
				in[0] = reflect.ValueOf(ctx)
				begun := time.Now()
				results := v.Method(i).Call(in)
				waited := time.Since(begun)
				if endless := operation == "Take" || operation == "Subscribe"; endless != (waited == time.Hour) || !endless && waited > time.Minute {
					t.Errorf("%T.%s ended after %v", port, operation, waited)
				}
				if results[len(results)-1].IsNil() {
					t.Errorf("%T.%s has no error", port, operation)
				}
				cancel()
			}
		}
	})
}
