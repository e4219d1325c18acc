package framework_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// TestStoreThatIsBehind: a store may refuse each Update, because its reads do not see the last one. The
// server then returns an error after a few seconds, and does not try forever.
func TestStoreThatIsBehind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var behind atomic.Bool
		var updates atomic.Int32
		h := &hooks{update: func() error {
			if behind.Load() {
				updates.Add(1)
				return task.ErrConflict
			}
			return nil
		}}
		p := dialTasks(t, build(t, quiet(framework.WithStore(hooked{memory.New(), h})).Add(framework.Tool("job", func(ctx context.Context, _ struct{}) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}, framework.Describe("d"), framework.Task(framework.TaskOptional)))))
		id := p.task("job", `{}`)
		time.Sleep(time.Second)
		behind.Store(true)
		begun := time.Now()
		p.call("tasks/cancel", `{"taskId":"`+id+`"}`).mentions("cannot reach its store")
		if waited := time.Since(begun); waited > 10*time.Second || updates.Load() > 1000 {
			t.Errorf("it is answered after %v and %d updates", waited, updates.Load())
		}
		behind.Store(false)
		p.call("tasks/cancel", `{"taskId":"`+id+`"}`).ok()
	})
}
