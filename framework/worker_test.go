package framework_test

import (
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// queueless is a store with tasks that are not a task.Queue.
type queueless struct{ *memory.Store }

func (q queueless) Tasks() task.Store { return struct{ task.Store }{q.Store.Tasks()} }

// TestWorkerNeedsAQueue: a worker that could never take a task is refused.
func TestWorkerNeedsAQueue(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		opts []framework.AppOption
		want string // in the error; empty for none
	}{
		"no store":   {nil, "framework.WithStore"},
		"no queue":   {[]framework.AppOption{framework.WithStore(queueless{memory.New()})}, "task.Queue"},
		"no workers": {[]framework.AppOption{framework.WithStore(memory.New()), framework.WithTaskWorkers(0)}, "WithTaskWorkers"},
		"a queue":    {[]framework.AppOption{framework.WithStore(memory.New())}, ""},
		"only tasks": {[]framework.AppOption{framework.WithStore(onlyTasks{memory.New()})}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := build(t, quiet(tt.opts...)).Worker()
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
