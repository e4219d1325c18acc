package client_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// watching acknowledges a subscriptions/listen with its own filter and announces changes.
func (v *visit) watching(uris ...string) {
	v.honoring(v.at("notifications"))
	meta := subscription(v.message)
	for _, uri := range uris {
		v.event("", fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"_meta":%s,"uri":%q}}`,
			protocol.NotificationResourceUpdated, meta, uri))
	}
}

func (v *visit) honoring(filter string) {
	v.stream()
	v.event("", fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"_meta":%s,"notifications":%s}}`,
		protocol.NotificationAcknowledged, subscription(v.message), filter))
}

// ending is the answer of a stream that the server ends.
func (v *visit) ending() {
	v.event("", v.answer(`{"resultType":"complete","_meta":`+subscription(v.message)+`}`))
}

// away connects to a server whose script answers subscriptions/listen, without a network.
func away(t *testing.T, script func(*visit)) (*client.Client, *site) {
	t.Helper()
	s := &site{t: t}
	carrier := &http.Client{Transport: local{func(w http.ResponseWriter, r *http.Request) {
		v := s.visit(w, r)
		if v.Method == protocol.MethodListen {
			script(v)
			return
		}
		plain(v, "2026-07-28")
	}}}
	c, err := client.Connect(t.Context(), client.HTTP("http://kept.test/mcp", client.HTTPClient(carrier)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, s
}

// However its stream ends, a subscription goes on, and says that something may be missed.
func TestHTTPSubscriptionOutlivesItsStream(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*visit){
		"the server ends it":      (*visit).ending,
		"the connection breaks":   func(*visit) { panic(http.ErrAbortHandler) },
		"it ends without a word":  func(*visit) {},
		"the server cancels it":   func(v *visit) { v.event("", cancelling(v)); v.hold() },
		"the server says no more": func(v *visit) { v.write(": bye\n\n") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, s := away(t, func(v *visit) {
					switch v.n {
					case 0:
						v.watching("x://a/first")
						end(v)
					case 1:
						v.say(503, "", "starting")
					case 2:
						v.say(401, "", "the token has expired")
					case 3:
						v.stream() // and away before it acknowledges
					default:
						v.watching("x://a/second")
						v.hold()
					}
				})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				updates, err := c.Subscribe(ctx, "x://a")
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for uri := range updates {
					if got = append(got, uri); len(got) == 3 {
						cancel()
					}
				}
				slices.Sort(got)
				if want := []string{"x://a", "x://a/first", "x://a/second"}; !slices.Equal(got, want) {
					t.Errorf("updates %v, want %v; seen %v", got, want, s.steps())
				}
			})
		})
	}
}

func cancelling(v *visit) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"requestId":%s}}`, protocol.NotificationCancelled, v.ID)
}

// What the server refuses is not asked for again.
func TestHTTPSubscriptionIsRefusedLater(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(*visit){
		"no such resource":  func(v *visit) { v.refuse(400, -32602, "no such resource any more", "") },
		"no such method":    func(v *visit) { v.refuse(404, -32601, "Method not found", "") },
		"not allowed":       func(v *visit) { v.say(403, "", "") },
		"nothing announced": func(v *visit) { v.honoring(`{}`); v.hold() },
		"an error at its end": func(v *visit) {
			v.watching()
			v.event("", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no"}}`, v.ID))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, s := away(t, func(v *visit) {
					if v.n > 0 {
						refuse(v)
						return
					}
					v.watching()
					v.ending()
				})
				updates, err := c.Subscribe(t.Context(), "x://a")
				if err != nil {
					t.Fatal(err)
				}
				for range updates { // ends
				}
				time.Sleep(time.Hour)
				if n := s.count("POST " + protocol.MethodListen); n != 2 {
					t.Errorf("asked %d times, want 2", n)
				}
			})
		})
	}
}

// Neither a server that ends each stream at once nor one that is away is asked often.
func TestHTTPSubscriptionHasPatience(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer      func(*visit)
		least, most int // requests in an hour
	}{
		"ends each": {func(v *visit) { v.watching(); v.ending() }, 100, 150},
		"away":      {func(v *visit) { v.say(503, "", "") }, 100, 150},
		"away for long": {func(v *visit) {
			v.w.Header().Set("Retry-After", "600")
			v.say(503, "", "")
		}, 6, 8},
		"away for good": {func(v *visit) {
			v.w.Header().Set("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT")
			v.say(503, "", "")
		}, 2, 2},
		"says nothing": {(*visit).hold, 35, 60},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, s := away(t, func(v *visit) {
					if v.n > 0 {
						tt.answer(v)
						return
					}
					v.watching()
					v.ending()
				})
				if _, err := c.Listen(t.Context(), protocol.SubscriptionFilter{Tools: true}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Hour)
				if n := s.count("POST " + protocol.MethodListen); n < tt.least || n > tt.most {
					t.Errorf("asked %d times in an hour, want %d to %d", n, tt.least, tt.most)
				}
			})
		})
	}
}

// TestHTTPListenKeepsItsFilter: a stream that is opened again has the filter that Listen got, whatever the caller has
// changed since.
func TestHTTPListenKeepsItsFilter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		changed, again := make(chan struct{}), make(chan string, 9)
		c, _ := away(t, func(v *visit) {
			v.honoring(v.at("notifications"))
			if v.n == 0 {
				<-changed
				v.ending()
				return
			}
			again <- v.at("notifications", "taskIds")
			v.hold()
		})
		ids := []string{"a"}
		if _, err := c.Listen(t.Context(), protocol.SubscriptionFilter{Tasks: ids}); err != nil {
			t.Fatal(err)
		}
		ids[0] = "b"
		close(changed)
		if got := <-again; got != `["a"]` {
			t.Errorf("the tasks are %s", got)
		}
	})
}

// TestHTTPCancelledStreamIsClosed: the response of a stream that the server cancels is closed.
func TestHTTPCancelledStreamIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		closed := make(chan struct{})
		c, _ := away(t, func(v *visit) {
			v.watching()
			if v.n == 0 {
				time.Sleep(time.Second)
				v.event("", cancelling(v))
				v.hold()
				close(closed)
				return
			}
			v.hold()
		})
		if _, err := c.Listen(t.Context(), protocol.SubscriptionFilter{Tools: true}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		select {
		case <-closed:
		default:
			t.Error("the response is still open")
		}
	})
}
