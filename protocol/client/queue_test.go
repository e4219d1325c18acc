package client_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// questionScripts are servers that ask 20 questions at once: live, as tasks and in rounds. The live one
// withdraws the eighth.
func questionScripts() map[string]func(f *fake) {
	const question = `{"message":"%d","requestedSchema":{"type":"object","properties":{}}%s}`
	return map[string]func(f *fake){
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
	}
}

// TestOneByOne: questions that come at once are handled in their order, live, as tasks and in
// rounds; one that the server withdraws does not hold up those behind it.
func TestOneByOne(t *testing.T) {
	t.Parallel()
	for name, script := range questionScripts() {
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

// TestQuestionNumber: questions are numbered as the server asks them, and handlers run in any order.
func TestQuestionNumber(t *testing.T) {
	t.Parallel()
	for name, script := range questionScripts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				numbers := map[string]uint64{}
				c, wait := connect(t, script, client.OnElicit(func(ctx context.Context, q *client.ElicitRequest) (*client.ElicitAnswer, error) {
					mu.Lock()
					defer mu.Unlock()
					numbers[q.Message] = client.QuestionNumber(ctx)
					return &client.ElicitAnswer{Action: "decline"}, nil
				}))
				if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
					t.Error(err)
				}
				wait()
				mu.Lock() // the handler of the withdrawn question may still run
				defer mu.Unlock()
				if len(numbers) < 19 { // one may be withdrawn before its handler begins
					t.Errorf("asked %d questions", len(numbers))
				}
				for message, number := range numbers {
					if message != fmt.Sprint(number-1) {
						t.Errorf("question %s has number %d", message, number)
					}
				}
			})
		})
	}
	if n := client.QuestionNumber(t.Context()); n != 0 {
		t.Errorf("no question has number %d", n)
	}
}
