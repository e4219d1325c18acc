package client_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

func TestNotificationsPrecedeTheResult(t *testing.T) {
	t.Parallel()
	const calls, each = 10, 100
	for _, era := range eras() {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			var seen []string // written by the dispatcher, read after the calls: the race detector proves the order
			var progress []protocol.Progress
			c, _ := connect(t, func(f *fake) {
				f.era(era)
				for range calls {
					m := f.expect(protocol.MethodCallTool)
					for i := range each {
						f.notify(protocol.NotificationProgress, fmt.Sprintf(`{"progressToken":%s,"progress":%d,"total":%d}`, m.at("_meta", "progressToken"), i+1, each))
						f.notify(protocol.NotificationMessage, fmt.Sprintf(`{"level":"info","data":%d}`, i))
					}
					f.result(m, `{"resultType":"complete","content":[]}`)
				}
			}, client.OnNotification(func(_ context.Context, n protocol.Notification) {
				seen = append(seen, n.Method)
			}))
			for call := range calls {
				_, err := c.CallTool(t.Context(), "x", nil, client.OnProgress(func(p protocol.Progress) { progress = append(progress, p) }))
				if err != nil {
					t.Fatal(err)
				}
				if len(seen) != 2*each*(call+1) || len(progress) != each*(call+1) {
					t.Fatalf("call %d: %d notifications, %d of progress", call, len(seen), len(progress))
				}
			}
			for i, p := range progress {
				if p.Done != float64(i%each+1) || p.Total != each {
					t.Fatalf("progress %d is %+v", i, p)
				}
			}
		})
	}
}

func TestProgressOfOthersIsNotOurs(t *testing.T) {
	t.Parallel()
	c, _ := connect(t, func(f *fake) {
		f.modern()
		m := f.expect(protocol.MethodCallTool)
		f.notify(protocol.NotificationProgress, `{"progressToken":"other","progress":1}`)
		f.notify(protocol.NotificationProgress, `{"progressToken":`+string(m.ID)+`0,"progress":1}`)
		f.notify(protocol.NotificationProgress, `{"progress":"malformed"}`)
		f.result(m, `{"resultType":"complete","content":[]}`)
		f.notify(protocol.NotificationProgress, `{"progressToken":`+string(m.ID)+`,"progress":1}`) // too late
		f.result(f.next(), discovery)
	})
	_, err := c.CallTool(t.Context(), "x", nil, client.OnProgress(func(p protocol.Progress) { t.Errorf("got %+v", p) }))
	if err != nil {
		t.Error(err)
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// A handler that calls the client with its own context is not held up by itself.
func TestHandlersMayCall(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		own  bool // the call uses the handler's context
		want time.Duration
	}{
		"with the handler's context": {own: true, want: 0},
		"with another context":       {own: false, want: time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var c *client.Client
				called := make(chan time.Duration, 1)
				handler := func(ctx context.Context, n protocol.Notification) {
					if n.Method != protocol.NotificationToolsChanged {
						return
					}
					if !tt.own {
						ctx = t.Context()
					}
					start := time.Now()
					if _, err := c.CallTool(ctx, "inner", nil); err != nil {
						t.Error(err)
					}
					called <- time.Since(start)
				}
				c, _ = connect(t, func(f *fake) {
					f.legacy("2025-11-25")
					outer := f.expect(protocol.MethodCallTool)
					f.notify(protocol.NotificationToolsChanged, `{}`)
					inner := f.expect(protocol.MethodCallTool)
					f.notify(protocol.NotificationMessage, `{"level":"info","data":1}`)
					f.result(inner, `{"content":[]}`)
					f.result(outer, `{"content":[]}`)
				}, client.OnNotification(handler))
				if _, err := c.CallTool(t.Context(), "outer", nil); err != nil {
					t.Error(err)
				}
				if got := <-called; got != tt.want {
					t.Errorf("the call took %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// A call that a handler makes while the queue is full ends: its answer is behind
// notifications for which there is room when the handler has returned. It may be written
// already, or the server does not read before it has written.
func TestHandlersCallInAFlood(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		era   string
		reads bool // the server has read the call before it floods
		call  func(context.Context, *client.Client) error
	}{
		"a request":         {"2025-11-25", true, func(ctx context.Context, c *client.Client) error { return c.Ping(ctx) }},
		"a request, unread": {"2025-11-25", false, func(ctx context.Context, c *client.Client) error { return c.Ping(ctx) }},
		"an exchange":       {"2025-11-25", true, exchanged},
		"a subscription":    {"2026-07-28", true, listened},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var c *client.Client
				const sent = 3000
				handled, got := 0, make(chan error, 1)
				ready := make(chan struct{})
				c, wait := connect(t, func(f *fake) {
					f.era(tt.era)
					<-ready
					f.notify(protocol.NotificationToolsChanged, `{}`)
					if tt.reads {
						f.next()
					}
					for range sent {
						f.notify(protocol.NotificationMessage, `{"level":"info","data":1}`)
					}
					m := f.next()
					for m.Method != protocol.MethodCallTool { // a cancellation
						m = f.next()
					}
					f.result(m, `{"resultType":"complete","content":[]}`)
				}, client.OnNotification(func(ctx context.Context, n protocol.Notification) {
					if handled++; n.Method == protocol.NotificationToolsChanged {
						got <- tt.call(ctx, c)
					}
				}))
				close(ready)
				if err := <-got; err == nil || !strings.Contains(err.Error(), "1024 notifications waited") {
					t.Errorf("error %v", err)
				}
				if _, err := c.CallTool(t.Context(), "afterwards", nil); err != nil {
					t.Error(err)
				}
				if handled != sent+1 {
					t.Errorf("%d of %d notifications handled", handled, sent+1)
				}
				wait()
			})
		})
	}
}

func exchanged(ctx context.Context, c *client.Client) error {
	_, err := c.Exchange(ctx, []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	return err
}

func listened(ctx context.Context, c *client.Client) error {
	_, err := c.Listen(ctx, protocol.SubscriptionFilter{Tools: true})
	return err
}

// Handlers that are slow hold up the reader, not the memory.
func TestBackpressure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const sent = 5000
		release := make(chan struct{})
		handled, wrote := 0, 0
		c, wait := connect(t, func(f *fake) {
			f.legacy("2025-11-25")
			for range sent {
				f.notify(protocol.NotificationMessage, `{"level":"info","data":1}`)
				wrote++
			}
			f.result(f.expect(protocol.MethodPing), `{}`)
		}, client.OnNotification(func(context.Context, protocol.Notification) {
			<-release
			handled++
		}))
		synctest.Wait()
		if wrote < 1024 || wrote > 1030 {
			t.Errorf("%d frames were taken from the server while a handler blocked", wrote)
		}
		close(release)
		if err := c.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		if handled != sent {
			t.Errorf("%d of %d notifications handled", handled, sent)
		}
		wait()
	})
}

func TestCloseWhileHandlersWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handled := 0
		c, wait := connect(t, func(f *fake) {
			f.legacy("2025-11-25")
			for {
				select {
				case f.out <- []byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`):
				case <-f.gone:
					return
				}
			}
		}, client.OnNotification(func(ctx context.Context, _ protocol.Notification) {
			handled++
			<-ctx.Done()
		}))
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		wait()
		if handled != 1 {
			t.Errorf("%d notifications handled after Close", handled)
		}
	})
}

// What arrived before the connection was lost is still handled.
func TestNotificationsBeforeTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handled := 0
		_, wait := connect(t, func(f *fake) {
			f.legacy("2025-11-25")
			for range 100 {
				f.notify(protocol.NotificationMessage, `{"level":"info","data":1}`)
			}
			_ = f.Close()
		}, client.OnNotification(func(context.Context, protocol.Notification) { handled++ }))
		wait()
		synctest.Wait()
		if handled != 100 {
			t.Errorf("%d of 100 handled", handled)
		}
	})
}

func TestNotificationsArriveWhole(t *testing.T) {
	t.Parallel()
	got := make(chan protocol.Notification, 1)
	connect(t, func(f *fake) {
		f.modern()
		f.notify("example.com/event", `{"a":{"b":[1]}}`)
	}, client.OnNotification(func(_ context.Context, n protocol.Notification) { got <- n }))
	if n := <-got; n.Method != "example.com/event" || !strings.Contains(string(n.Params), `"b":[1]`) {
		t.Errorf("got %s %s", n.Method, n.Params)
	}
}
