package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// TestTaskFailsWith503: error 503 of a task is its outcome, and Wait returns it at once.
func TestTaskFailsWith503(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		app := framework.New("s", "1", framework.WithLogger(zap.NewNop())).Add(
			framework.Tool("upstream", func(context.Context, struct{}) (string, error) {
				return "", &protocol.Error{Code: 503, Message: "the upstream is away"}
			}, framework.Describe("d"), framework.Task(framework.TaskOptional)))
		s, err := app.Build()
		if err != nil {
			t.Fatal(err)
		}
		c := inMemory(t, s, only(t, "2025-11-25"))
		task := callTask(t, c, "upstream", nil)
		time.Sleep(time.Second)
		began := time.Now()
		_, err = task.Wait(t.Context())
		if e, ok := errors.AsType[*protocol.Error](err); !ok || e.Code != 503 || time.Since(began) > 100*time.Millisecond {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// TestTaskQuestionOutlivesTheServersPatience: a user who is away for longer than the server waits for an
// answer is asked again, and the task goes on.
func TestTaskQuestionOutlivesTheServersPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		c := inMemory(t, jobs(t, framework.WithAskTimeout(time.Minute)), only(t, "2025-11-25"),
			client.OnElicit(func(ctx context.Context, q *client.ElicitRequest) (*client.ElicitAnswer, error) {
				if q.Message == "Last?" {
					if asked++; asked < 3 {
						<-ctx.Done()
						return nil, ctx.Err()
					}
				}
				return &client.ElicitAnswer{Action: "accept", Content: map[string]any{"name": q.Message[:1]}}, nil
			}))
		r, err := callTask(t, c, "ask", nil).Wait(t.Context())
		if text := textIn(t, r, err); text != "FSL" || asked != 3 {
			t.Errorf("got %q after %d questions", text, asked)
		}
	})
}
