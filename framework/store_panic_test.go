package framework_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
)

// TestStoreThatPanics: for a minute the store panics wherever the goroutines of tasks and of nodes
// use it. Only the log reports that, with a stack, and all tasks are completed afterwards.
func TestStoreThatPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var broken atomic.Bool
		fail := func() error {
			if broken.Load() {
				panic("nil map in a store")
			}
			return nil
		}
		h := &hooks{
			update: fail, publish: fail, take: func() { _ = fail() },
			get: func(context.Context, string) error { return fail() }, renew: func(context.Context) error { return fail() },
		}
		entries, logs := observer.New(zapcore.ErrorLevel)
		app := framework.New("test", "1.0.0", framework.WithLogger(zap.New(entries)), framework.WithStore(hooked{memory.New(), h}))
		app.Add(framework.Tool("job", func(context.Context, struct{}) (string, error) {
			time.Sleep(30 * time.Second)
			return "done", nil
		}, framework.Describe("d"), framework.Task(framework.TaskOptional)))
		p := dialTasks(t, build(t, app))
		before := p.task("job", `{}`)
		time.Sleep(time.Second)
		broken.Store(true)
		time.Sleep(time.Minute)
		broken.Store(false)
		after := p.task("job", `{}`)
		time.Sleep(5 * time.Minute)
		for _, id := range []string{before, after} {
			if got := p.get(id); got.Status != "completed" {
				t.Errorf("%+v", got)
			}
		}
		stacks := 0
		for _, e := range logs.All() {
			fields := e.ContextMap()
			if e.Message == "the store panicked" && strings.Contains(fmt.Sprint(fields["error"]), "nil map in a store") &&
				strings.Contains(fmt.Sprint(fields["stack"]), "hooked") {
				stacks++
			}
		}
		if stacks == 0 {
			t.Errorf("no panic in the log: %v", logs.All())
		}
	})
}
