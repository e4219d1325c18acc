package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

func TestCancellation(t *testing.T) {
	t.Parallel()
	for _, era := range eras() {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			c, wait := connect(t, func(f *fake) {
				f.era(era)
				call := f.expect(protocol.MethodCallTool)
				cancel()
				m := f.expect(protocol.NotificationCancelled)
				if m.at("requestId") != string(call.ID) {
					f.t.Errorf("cancelled %s, want id %s", m.text, call.ID)
				}
				f.result(call, `{"content":[]}`) // late: dropped
				f.result(f.next(), `{}`)
			})
			if _, err := c.CallTool(ctx, "slow", nil); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			if err := c.Ping(t.Context()); err != nil {
				t.Error(err)
			}
			wait()
		})
	}
}

// TestCancellationThatNobodyTakes: the cancellation for a server that does not read is dropped
// after a while, so that cancellations do not pile up.
func TestCancellationThatNobodyTakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, wait := connect(t, func(f *fake) {
			f.modern()
			f.expect(protocol.MethodCallTool)
			time.Sleep(time.Minute)
			f.result(f.expect(protocol.MethodDiscover), discovery) // and no notification before it
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if _, err := c.CallTool(ctx, "slow", nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 2*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		time.Sleep(30 * time.Second)
		if err := c.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		wait()
	})
}

// TestCancellationOfAnAnsweredCall: no cancellation is sent after the answer.
func TestCancellationOfAnAnsweredCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c, wait := connect(t, func(f *fake) {
			f.legacy("2025-11-25")
			call := f.expect(protocol.MethodCallTool)
			f.notify(protocol.NotificationToolsChanged, `{}`)
			f.result(call, `{"content":[]}`)
			f.result(f.expect(protocol.MethodPing), `{}`)
		}, client.OnNotification(func(context.Context, protocol.Notification) { <-release }))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := c.CallTool(ctx, "x", nil)
			ended <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		close(release)
		if err := c.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		wait()
	})
}

// TestCallTaskIsGivenUp: a request for a task must not be cancelled by notification.
func TestCallTaskIsGivenUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c, wait := connect(t, func(f *fake) {
		f.result(f.expect(protocol.MethodInitialize), `{"protocolVersion":"2025-11-25","capabilities":{"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":`+serverInfo+`}`)
		f.expect(protocol.NotificationInitialized)
		if m := f.expect(protocol.MethodCallTool); m.at("task") == "" {
			f.t.Errorf("frame %s", m.text)
		}
		cancel()
		f.result(f.expect(protocol.MethodPing), `{}`)
	}, only(t, "2025-11-25"))
	if _, err := c.CallTask(ctx, "x", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	wait()
}
