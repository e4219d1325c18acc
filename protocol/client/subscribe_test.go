package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

// acknowledge answers a subscriptions/listen with its own filter.
func (f *fake) acknowledge() message {
	f.t.Helper()
	m := f.expect(protocol.MethodListen)
	f.acknowledgeWith(m, m.at("notifications"))
	return m
}

func (f *fake) acknowledgeWith(m message, filter string) {
	f.t.Helper()
	f.notify(protocol.NotificationAcknowledged, fmt.Sprintf(`{"_meta":%s,"notifications":%s}`, subscription(m), filter))
}

func subscription(m message) string {
	return fmt.Sprintf(`{"io.modelcontextprotocol/subscriptionId":%s}`, m.ID)
}

func (f *fake) updated(m message, uri string) {
	f.t.Helper()
	f.notify(protocol.NotificationResourceUpdated, fmt.Sprintf(`{"_meta":%s,"uri":%q}`, subscription(m), uri))
}

func TestSubscribeOnAStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, wait := connect(t, func(f *fake) {
			f.modern()
			a, b := f.acknowledge(), f.acknowledge()
			if a.at("notifications", "resourceSubscriptions") != `["x://a"]` || a.at("_meta", metaVersion) == "" {
				f.t.Errorf("frame %s", a.text)
			}
			f.updated(a, "x://a")
			f.updated(a, "x://a/below")
			f.updated(a, "x://a") // not fetched yet: merged
			f.updated(b, "x://b")
			f.updated(message{ID: []byte("99")}, "x://a/unknown-stream")
			f.notify(protocol.NotificationResourceUpdated, `{"uri":"x://a/no-stream"}`)
			if m := f.expect(protocol.NotificationCancelled); m.at("requestId") != string(a.ID) {
				f.t.Errorf("cancelled %s", m.text)
			}
			f.result(b, `{"resultType":"complete","_meta":`+subscription(b)+`}`) // the server ends the other
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		first, err := c.Subscribe(ctx, "x://a")
		if err != nil {
			t.Fatal(err)
		}
		second, err := c.Subscribe(t.Context(), "x://b")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		var got []string
		for uri := range first {
			if got = append(got, uri); len(got) == 2 {
				cancel()
			}
		}
		if !slices.Equal(got, []string{"x://a", "x://a/below"}) {
			t.Errorf("updates %v", got)
		}
		if got := slices.Collect(second); !slices.Equal(got, []string{"x://b"}) {
			t.Errorf("updates %v", got)
		}
		wait()
	})
}

func TestSubscribeInASession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, wait := connect(t, func(f *fake) {
			f.legacy("2025-11-25")
			for range 2 {
				f.result(f.expect(protocol.MethodSubscribe), `{}`)
			}
			f.notify(protocol.NotificationResourceUpdated, `{"uri":"x://other"}`)
			f.notify(protocol.NotificationResourceUpdated, `{"uri":"x://a/below"}`)
			f.notify(protocol.NotificationResourceUpdated, `{"uri":"x://ab"}`)
			f.notify(protocol.NotificationResourceUpdated, `{"uri":"x://a?page=2"}`)
			f.notify(protocol.NotificationResourceUpdated, `{"uri":"x://a#part"}`)
			if m := f.expect(protocol.MethodUnsubscribe); m.at("uri") != `"x://a"` {
				f.t.Errorf("frame %s", m.text)
			} else {
				f.result(m, `{}`)
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		first, err := c.Subscribe(ctx, "x://a")
		if err != nil {
			t.Fatal(err)
		}
		stop, err := c.Listen(t.Context(), protocol.SubscriptionFilter{Tools: true, URIs: []string{"x://a"}})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		var got []string
		for uri := range first {
			if got = append(got, uri); len(got) == 3 {
				cancel()
			}
		}
		if want := []string{"x://a/below", "x://a?page=2", "x://a#part"}; !slices.Equal(got, want) {
			t.Errorf("updates %v, want %v", got, want)
		}
		synctest.Wait() // nothing is unsubscribed while the other watches
		stop()
		wait()
	})
}

// TestSubscribedInAnotherSpelling checks a server that names the resource in normal form. The
// sequence of updates uses the spelling of the subscription.
func TestSubscribedInAnotherSpelling(t *testing.T) {
	t.Parallel()
	spellings := []string{"https://example.com/", "https://example.com/a", "https://example.com:443"}
	for name, serve := range map[string]func(f *fake){
		"on a stream": func(f *fake) {
			f.modern()
			m := f.acknowledge()
			for _, uri := range spellings {
				f.updated(m, uri)
			}
			f.expect(protocol.NotificationCancelled)
		},
		"in a session": func(f *fake) {
			f.legacy("2025-11-25")
			f.result(f.expect(protocol.MethodSubscribe), `{}`)
			for _, uri := range append(slices.Clip(spellings), "https://example.org/") {
				f.notify(protocol.NotificationResourceUpdated, `{"uri":"`+uri+`"}`)
			}
			f.result(f.expect(protocol.MethodUnsubscribe), `{}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, wait := connect(t, serve)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				updates, err := c.Subscribe(ctx, "https://Example.com")
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				var got []string
				for uri := range updates {
					if got = append(got, uri); len(got) == 2 {
						cancel()
					}
				}
				if want := []string{"https://Example.com", "https://Example.com/a"}; !slices.Equal(got, want) {
					t.Errorf("updates %v, want %v", got, want)
				}
				wait()
			})
		})
	}
}

func TestSubscriptionsEndWithTheConnection(t *testing.T) {
	t.Parallel()
	for _, era := range eras() {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			c, wait := connect(t, func(f *fake) {
				f.era(era)
				if era == "2026-07-28" {
					f.updated(f.acknowledge(), "x://a")
				} else {
					f.result(f.expect(protocol.MethodSubscribe), `{}`)
					f.notify(protocol.NotificationResourceUpdated, `{"uri":"x://a"}`)
				}
				_ = f.Close()
			})
			updates, err := c.Subscribe(t.Context(), "x://a")
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.Collect(updates); !slices.Equal(got, []string{"x://a"}) {
				t.Errorf("updates %v", got)
			}
			wait()
		})
	}
}

// TestEndedSubscriptionsLeaveTheContext: a program may subscribe again and again with one context.
func TestEndedSubscriptionsLeaveTheContext(t *testing.T) {
	t.Parallel()
	for _, era := range eras() {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			c, wait := connect(t, func(f *fake) {
				f.era(era)
				if era == "2026-07-28" {
					f.acknowledge()
				} else {
					f.result(f.expect(protocol.MethodSubscribe), `{}`)
				}
				_ = f.Close()
			})
			ctx := &counting{Context: t.Context(), done: make(chan struct{})}
			updates, err := c.Subscribe(ctx, "x://a")
			if err != nil {
				t.Fatal(err)
			}
			for range updates {
				t.Error("an update")
			}
			wait()
			_ = c.Close()
			if n := ctx.registered.Load(); n != 0 {
				t.Errorf("%d contexts are still registered", n)
			}
		})
	}
}

// counting is a context that counts the contexts derived from it.
type counting struct {
	context.Context
	done       chan struct{}
	registered atomic.Int32
}

func (c *counting) Done() <-chan struct{} { return c.done }

func (c *counting) AfterFunc(func()) (stop func() bool) {
	c.registered.Add(1)
	return sync.OnceValue(func() bool { c.registered.Add(-1); return true })
}

func TestSubscribeIsRefused(t *testing.T) {
	t.Parallel()
	for _, era := range eras() {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			c, wait := connect(t, func(f *fake) {
				f.era(era)
				f.refuse(f.next(), -32602, "no such resource", "")
				if era == "2026-07-28" {
					m := f.expect(protocol.MethodListen)
					f.acknowledgeWith(m, `{}`)
					f.expect(protocol.NotificationCancelled)
					m = f.expect(protocol.MethodListen)
					f.notify(protocol.NotificationCancelled, `{"requestId":`+string(m.ID)+`}`)
					m = f.expect(protocol.MethodListen)
					f.acknowledgeWith(m, `{"taskIds":[]}`)
					f.expect(protocol.NotificationCancelled)
				}
			})
			_, err := c.Subscribe(t.Context(), "x://a")
			var refusal *protocol.Error
			var fault *protocol.Fault
			if !errors.As(err, &refusal) && !errors.As(err, &fault) {
				t.Errorf("error %v", err)
			}
			if era == "2026-07-28" {
				if _, err := c.Subscribe(t.Context(), "x://a"); err == nil {
					t.Error("no error for a server that announces nothing")
				}
				if _, err := c.Subscribe(t.Context(), "x://a"); err == nil {
					t.Error("no error for a stream that was cancelled")
				}
				if _, err := c.Listen(t.Context(), protocol.SubscriptionFilter{Tasks: []string{"x"}}); err == nil {
					t.Error("no error for a server that announces nothing of a task")
				}
			}
			wait()
		})
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 9)
	c, wait := connect(t, func(f *fake) {
		f.modern()
		m := f.expect(protocol.MethodListen)
		if m.at("notifications", "toolsListChanged") != "true" || m.at("notifications", "promptsListChanged") != "true" {
			f.t.Errorf("frame %s", m.text)
		}
		f.acknowledgeWith(m, `{"toolsListChanged":true}`)
		f.notify(protocol.NotificationToolsChanged, `{"_meta":`+subscription(m)+`}`)
		f.expect(protocol.NotificationCancelled)
	}, client.OnNotification(func(_ context.Context, n protocol.Notification) { seen <- n.Method }))
	stop, err := c.Listen(t.Context(), protocol.SubscriptionFilter{Tools: true, Prompts: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{protocol.NotificationAcknowledged, protocol.NotificationToolsChanged} {
		if got := <-seen; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	stop()
	stop()
	wait()
}

func TestUnfetchedUpdatesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, wait := connect(t, func(f *fake) {
			f.modern()
			m := f.acknowledge()
			for i := range 1025 {
				f.updated(m, fmt.Sprintf("x://a/%d", i))
			}
			_ = f.Close()
		})
		updates, err := c.Subscribe(t.Context(), "x://a")
		if err != nil {
			t.Fatal(err)
		}
		wait()
		synctest.Wait()
		if got := slices.Collect(updates); !slices.Equal(got, []string{"x://a"}) {
			t.Errorf("%d updates, want one of the whole", len(got))
		}
	})
}

// TestErrorWithoutIDBesideASubscription: an error without an id ends the only call, also beside a subscription.
func TestErrorWithoutIDBesideASubscription(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, wait := connect(t, func(f *fake) {
			f.modern()
			m := f.acknowledge()
			f.expect(protocol.MethodCallTool)
			f.send(`{"jsonrpc":"2.0","error":{"code":-32600,"message":"frame exceeds 1 bytes"}}`)
			f.updated(m, "x://a")
		})
		updates, err := c.Subscribe(t.Context(), "x://a")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := c.CallTool(ctx, "x", nil); err == nil || !strings.Contains(err.Error(), "exceeds") {
			t.Errorf("error %v", err)
		}
		for uri := range updates {
			if uri != "x://a" {
				t.Errorf("update %s", uri)
			}
			break
		}
		wait()
	})
}

// clipped is a connection that skips the frame "long" as one that is too long.
type clipped struct{ *fake }

func (c clipped) Read(ctx context.Context) ([]byte, error) {
	frame, err := c.fake.Read(ctx)
	if string(frame) == "long" {
		return nil, stdio.ErrFrameTooLong
	}
	return frame, err
}

// TestSubscriptionOutlivesALongFrame: an answer that is too long ends calls, and no subscription.
func TestSubscriptionOutlivesALongFrame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t, in: make(chan []byte), out: make(chan []byte), gone: make(chan struct{})}
		go func() {
			f.modern()
			m := f.acknowledge()
			f.expect(protocol.MethodReadResource)
			f.send("long")
			time.Sleep(time.Second) // until a subscription that it ends has ended
			f.updated(m, "x://a")
		}()
		c := reach(t, client.Over(func(context.Context) (transport.Conn, error) { return clipped{f}, nil }))
		updates, err := c.Subscribe(t.Context(), "x://a")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.ReadResource(t.Context(), "x://a"); !errors.Is(err, stdio.ErrFrameTooLong) {
			t.Errorf("error %v", err)
		}
		time.Sleep(2 * time.Second)
		got := 0
		for range updates {
			got++
			break
		}
		if got != 1 {
			t.Error("the subscription has ended")
		}
	})
}
