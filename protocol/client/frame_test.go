package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

type callKey struct{}

// TestOnFrame shows both directions in order, and the context of the call with what it sends.
func TestOnFrame(t *testing.T) {
	t.Parallel()
	for _, era := range eras() {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var seen []string
			look := func(ctx context.Context, f client.Frame) {
				var m struct {
					Method string          `json:"method"`
					Result json.RawMessage `json:"result"`
				}
				if err := json.Unmarshal(f.Text, &m); err != nil {
					m.Method = "no JSON"
				}
				direction := "<"
				if f.Sent {
					direction = ">"
				}
				of, _ := ctx.Value(callKey{}).(string)
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, strings.TrimSpace(direction+m.Method+" "+of))
			}
			c, _ := connect(t, func(f *fake) {
				f.era(era)
				m := f.expect(protocol.MethodCallTool)
				f.notify(protocol.NotificationMessage, `{"level":"info","data":1}`)
				f.send("Listening on port 80")
				f.result(m, `{"resultType":"complete","content":[]}`)
			}, client.OnFrame(look))
			mu.Lock()
			seen = nil // what Connect has sent is not looked at here
			mu.Unlock()
			if _, err := c.CallTool(context.WithValue(t.Context(), callKey{}, "mine"), "x", nil); err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			defer mu.Unlock()
			got, want := strings.Join(seen, "\n"), ">tools/call mine\n<notifications/message\n<no JSON\n<"
			if got != want {
				t.Errorf("frames:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func TestDone(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	c, _ := connect(t, func(f *fake) {
		f.modern()
		<-end
		_ = f.Close()
	})
	select {
	case <-c.Done():
		t.Fatal("done while connected")
	default:
	}
	if err := c.Err(); err != nil {
		t.Fatalf("error while connected: %v", err)
	}
	close(end)
	<-c.Done()
	if err := c.Err(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("after the server has gone: %v", err)
	}
}
