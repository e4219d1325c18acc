package framework_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/kagami-mcp/kagami/framework"
)

// TestGoexit: a handler that ends its goroutine, as t.FailNow does, is answered like
// one that panics, inside and outside of a task.
func TestGoexit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		leave := func(context.Context, struct{}) (string, error) { runtime.Goexit(); return "", nil }
		s := build(t, quiet().Add(
			framework.Tool("plain", leave),
			framework.Tool("task", leave, framework.Describe("d"), framework.Task(framework.TaskOptional)),
		))
		p := dialTasks(t, s)
		id := p.task("task", `{}`)
		synctest.Wait()
		if got := p.get(id); got.Status != "failed" {
			t.Errorf("the task is %s", got.Status)
		}
		answered := make(chan struct{})
		go func() { // which ends with the handler
			defer close(answered)
			p.frame(`{"jsonrpc":"2.0","id":77,"method":"tools/call","params":` + p.params("tools/call", `{"name":"plain","arguments":{}}`) + `}`)
		}()
		<-answered
		p.mu.Lock()
		defer p.mu.Unlock()
		if got := p.answers["77"]; got.Error == nil || got.Error.Code != -32603 {
			t.Errorf("the call is answered %+v", got)
		}
	})
}
