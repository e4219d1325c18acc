package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// outages has the ports of a store. One of them fails while away is set.
type outages struct {
	task.Store
	task.Queue
	change.Bus

	away atomic.Bool
	port string
}

func (o *outages) fail(port string) error {
	if o.port == port && o.away.Load() {
		return errors.New("the " + port + " is away")
	}
	return nil
}

func (o *outages) Get(ctx context.Context, id string) (task.Record, error) {
	if err := o.fail("store"); err != nil {
		return task.Record{}, err
	}
	return o.Store.Get(ctx, id)
}

func (o *outages) Take(ctx context.Context) (task.Lease, error) {
	if err := o.fail("queue"); err != nil {
		return task.Lease{}, err
	}
	return o.Queue.Take(ctx)
}

func (o *outages) Publish(ctx context.Context, message []byte) error {
	if err := o.fail("bus"); err != nil {
		return err
	}
	return o.Bus.Publish(ctx, message)
}

// TestOutageIsReported checks that the failures of a store that is unavailable for ten minutes are
// reported once a minute, and then its recovery. A second failure soon after that is not reported
// at once.
func TestOutageIsReported(t *testing.T) {
	t.Parallel()
	for port, work := range map[string]string{"store": "reading a task", "queue": "taking a task", "bus": "notifying the other nodes"} {
		t.Run(port, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				o := &outages{Store: store.Tasks(), Queue: store.Tasks().(task.Queue), Bus: store.Changes(), port: port}
				var mu sync.Mutex
				var reports []error
				e := engine.New(engine.Config{
					Info: protocol.Implementation{Name: "s", Version: "1"}, Catalog: catalog{}, Tasks: o, Queue: o, Changes: o,
					Failed: func(_ context.Context, _ *engine.Call, err error) {
						mu.Lock()
						defer mu.Unlock()
						reports = append(reports, err)
					},
				})
				if err := e.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				uses := func(d time.Duration) {
					for range d / time.Second {
						e.Updated("test://r")
						time.Sleep(time.Second)
					}
				}
				now := time.Now()
				o.away.Store(true)
				if err := store.Tasks().Create(t.Context(), task.Record{ID: "x", Status: protocol.TaskWorking, Created: now, Updated: now, TTL: time.Hour}); err != nil {
					t.Fatal(err)
				}
				uses(10*time.Minute - 30*time.Second)
				o.away.Store(false)
				uses(3 * time.Second)
				o.away.Store(true)
				uses(3 * time.Second)
				o.away.Store(false)
				uses(3 * time.Second)
				if err := e.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
				about := slices.DeleteFunc(reports, func(err error) bool { return !strings.Contains(err.Error(), work) })
				if len(about) != 11 {
					t.Fatalf("%d reports, want 10 failures and an end: %v", len(about), about)
				}
				if first, last := about[0].Error(), about[9].Error(); strings.Contains(first, "has failed for") || !strings.Contains(last, "has failed for 9m") {
					t.Errorf("the first failure is %q, the last one %q", first, last)
				}
				over, ok := errors.AsType[*engine.RecoveredError](about[10])
				if !ok || over.Work != work || over.Lasted < 9*time.Minute || over.Lasted > 10*time.Minute {
					t.Errorf("the end is %v", about[10])
				}
			})
		})
	}
}
