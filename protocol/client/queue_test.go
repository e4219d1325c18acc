package client_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// TestOneByOne: questions that come at once are handled in their order, live, as tasks and in
// rounds; one that the server withdraws does not hold up those behind it.
func TestOneByOne(t *testing.T) {
	t.Parallel()
	const question = `{"message":"%d","requestedSchema":{"type":"object","properties":{}}%s}`
	for name, script := range map[string]func(f *fake){
		"live": func(f *fake) {
			f.legacy("2025-11-25")
			m := f.expect(protocol.MethodCallTool)
			for i := range 20 {
				f.send(`{"jsonrpc":"2.0","id":%d,"method":"elicitation/create","params":%s}`, i, fmt.Sprintf(question, i, ""))
			}
			f.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
			for range 19 {
				f.next()
			}
			f.result(m, complete)
		},
		"tasks": func(f *fake) {
			f.legacy("2025-11-25")
			m := f.expect(protocol.MethodCallTool)
			for i := range 20 {
				f.send(`{"jsonrpc":"2.0","id":%d,"method":"elicitation/create","params":%s}`, i, fmt.Sprintf(question, i, `,"task":{}`))
			}
			for range 40 { // each task, and that it is over
				f.next()
			}
			f.result(m, complete)
		},
		"rounds": func(f *fake) {
			f.modern()
			requests := "{"
			for i := range 20 {
				requests += fmt.Sprintf(`%.*s"k%d":{"method":"elicitation/create","params":%s}`, min(i, 1), ",", i, fmt.Sprintf(question, i, ""))
			}
			f.result(f.expect(protocol.MethodCallTool), required(requests+"}", ""))
			f.result(f.expect(protocol.MethodCallTool), complete)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var running atomic.Int32
				var asked []string
				c, wait := connect(t, script, client.OneByOne(), client.OnElicit(func(_ context.Context, q *client.ElicitRequest) (*client.ElicitAnswer, error) {
					defer running.Add(-1)
					if running.Add(1) > 1 {
						return nil, errors.New("two at once")
					}
					asked = append(asked, q.Message)
					synctest.Wait() // the others have all come
					return &client.ElicitAnswer{Action: "decline"}, nil
				}))
				if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
					t.Error(err)
				}
				wait()
				next := 0
				for _, message := range asked {
					if name == "live" && next == 7 {
						next++
					}
					if message != fmt.Sprint(next) {
						t.Fatalf("asked in the order %v", asked)
					}
					next++
				}
				if next != 20 {
					t.Errorf("asked %v", asked)
				}
			})
		})
	}
}
