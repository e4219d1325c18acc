package client_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// sessions is a server whose sessions can be dropped.
type sessions struct {
	current atomic.Int64
	broken  atomic.Bool // no new ones
	status  int         // for requests of a session that was dropped; 0: 404
	gone    string      // the body with it
	more    func(*visit) bool
}

func (s *sessions) id() string { return fmt.Sprintf("session-%d", s.current.Load()) }

func (s *sessions) drop() { s.current.Add(1) }

func (s *sessions) script(v *visit) bool {
	if v.Method == protocol.MethodDiscover {
		return false
	}
	if v.Method == protocol.MethodInitialize {
		if v.header("Mcp-Session-Id") != "" {
			v.t.Errorf("initialize with a session: %v", v.r.Header)
		}
		if s.broken.Load() {
			v.say(503, "", "full")
			return true
		}
		v.w.Header().Set("Mcp-Session-Id", s.id())
		return false
	}
	if v.header("Mcp-Session-Id") != s.id() {
		v.say(cmp.Or(s.status, 404), "application/json", s.gone)
		return true
	}
	return s.more != nil && s.more(v)
}

func TestHTTPNewSession(t *testing.T) {
	t.Parallel()
	for name, kept := range map[string]*sessions{
		"no body": {}, "text": {gone: "Session not found"},
		"JSON-RPC":               {gone: `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`},
		"400 of the Python SDK":  {status: 400, gone: "Bad Request: No valid session ID provided"},
		"400 of TypeScript apps": {status: 400, gone: `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`},
		"400 without sessions":   {status: 400, gone: `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, "2025-11-25", kept.script)
			c := visitor(t, s, nil)
			if err := c.SetLogLevel(t.Context(), "warning"); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Subscribe(t.Context(), "x://a"); err != nil {
				t.Fatal(err)
			}
			kept.drop()
			var group sync.WaitGroup
			for range 10 {
				group.Go(func() {
					if got, err := client.Call[string](t.Context(), c, "x", nil); err != nil || got != "ok" {
						t.Errorf("%q, %v", got, err)
					}
				})
			}
			group.Wait()
			for step, want := range map[string]int{
				"POST initialize": 2, "POST notifications/initialized": 2,
				"POST logging/setLevel": 2, "POST resources/subscribe": 2,
			} {
				if got := s.count(step); got != want {
					t.Errorf("%s %d times, want %d", step, got, want)
				}
			}
			kept.drop()
			if err := c.RootsChanged(t.Context()); err != nil || s.count("POST initialize") != 3 {
				t.Errorf("RootsChanged: %v, seen %v", err, s.steps())
			}
		})
	}
}

// What the new session refuses is the end of a subscription, not of the session.
func TestHTTPNewSessionRefusesASubscription(t *testing.T) {
	t.Parallel()
	kept := &sessions{}
	kept.more = func(v *visit) bool {
		if kept.current.Load() == 0 || v.Method != protocol.MethodSubscribe && v.Method != protocol.MethodSetLevel {
			return false
		}
		v.refuse(200, -32602, "no such thing any more", "")
		return true
	}
	s := open(t, "2025-11-25", kept.script)
	c := visitor(t, s, nil, client.LogLevel("info"))
	updates, err := c.Subscribe(t.Context(), "x://a")
	if err != nil {
		t.Fatal(err)
	}
	kept.drop()
	if _, err := c.CallTool(t.Context(), "x", nil); err != nil || s.count("POST resources/subscribe") != 2 {
		t.Errorf("error %v, seen %v", err, s.steps())
	}
	for uri := range updates { // ends
		t.Errorf("an update of %s", uri)
	}
}

func TestHTTPNewSessionTakesTooLong(t *testing.T) {
	t.Parallel()
	kept := &sessions{}
	begun := make(chan struct{})
	s := open(t, "2025-11-25", func(v *visit) bool {
		if v.Method == protocol.MethodInitialize && v.n > 0 {
			close(begun)
			v.hold()
			return true
		}
		return kept.script(v)
	})
	c := visitor(t, s, nil)
	kept.drop()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	if _, err := c.CallTool(ctx, "x", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestHTTPNewSessionOnceACall(t *testing.T) {
	t.Parallel()
	kept := &sessions{}
	kept.more = func(v *visit) bool {
		if v.Method != protocol.MethodCallTool {
			return false
		}
		v.say(404, "", "never")
		return true
	}
	s := open(t, "2025-11-25", kept.script)
	c := visitor(t, s, nil)
	_, err := c.CallTool(t.Context(), "x", nil)
	if e, isHTTP := errors.AsType[*client.HTTPError](err); !isHTTP || e.Status != 404 || s.count("POST tools/call") != 2 {
		t.Errorf("error %v, seen %v", err, s.steps())
	}
}

// 404 with "method not found" is the answer of a server that mixes up the revisions. 400 may also be
// the answer to a wrong request.
func TestHTTPRefusalIsNoDeadSession(t *testing.T) {
	t.Parallel()
	for name, say := range map[string]func(*visit){
		"404 for the method":     func(v *visit) { v.refuse(404, -32601, "Method not found", "") },
		"400 for the parameters": func(v *visit) { v.refuse(400, -32602, "session_id: want a text", "") },
		"400":                    func(v *visit) { v.refuse(400, -32000, "too long", "") },
		"400 for the call":       func(v *visit) { v.refuse(400, -32603, "ORM session closed", "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept := &sessions{}
			kept.more = func(v *visit) bool {
				if v.Method != "own/method" {
					return false
				}
				say(v)
				return true
			}
			s := open(t, "2025-11-25", kept.script)
			c := visitor(t, s, nil)
			_, err := c.Request(t.Context(), "own/method", nil)
			if _, isRPC := errors.AsType[*protocol.Error](err); !isRPC || s.count("POST initialize") != 1 || s.count("POST own/method") != 1 {
				t.Errorf("error %v, seen %v", err, s.steps())
			}
		})
	}
}

func TestHTTPNoNewSession(t *testing.T) {
	t.Parallel()
	kept := &sessions{}
	s := open(t, "2025-11-25", kept.script)
	c := visitor(t, s, nil)
	kept.drop()
	kept.broken.Store(true)
	for range 2 {
		_, err := c.CallTool(t.Context(), "x", nil)
		e, isHTTP := errors.AsType[*client.HTTPError](err)
		if !isHTTP || e.Status != 404 || !strings.Contains(err.Error(), "opening a new one failed") || !strings.Contains(err.Error(), "503") {
			t.Errorf("error %v", err)
		}
	}
	if err := c.RootsChanged(t.Context()); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("error %v", err)
	}
	kept.broken.Store(false)
	if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
		t.Error(err)
	}
}

func TestHTTPNewSessionOfAnotherRevision(t *testing.T) {
	t.Parallel()
	kept := &sessions{}
	s := open(t, "2025-11-25", func(v *visit) bool {
		if v.Method == protocol.MethodInitialize && v.n > 0 {
			v.w.Header().Set("Mcp-Session-Id", kept.id())
			v.result(initialization("2025-06-18"))
			return true
		}
		return kept.script(v)
	})
	c := visitor(t, s, nil)
	kept.drop()
	if _, err := c.CallTool(t.Context(), "x", nil); err == nil || !strings.Contains(err.Error(), "2025-06-18") {
		t.Errorf("error %v", err)
	}
}

func TestHTTPWithoutSession404IsAnError(t *testing.T) {
	t.Parallel()
	s := open(t, "2025-11-25", func(v *visit) bool {
		if v.Method != protocol.MethodCallTool {
			return false
		}
		v.say(404, "", "")
		return true
	})
	c := visitor(t, s, nil)
	_, err := c.CallTool(t.Context(), "x", nil)
	if e, isHTTP := errors.AsType[*client.HTTPError](err); !isHTTP || e.Status != 404 || s.count("POST initialize") != 1 {
		t.Errorf("error %v, seen %v", err, s.steps())
	}
}

// heard collects notifications.
type heard struct {
	mu   sync.Mutex
	list []string
	more chan struct{}
}

func (h *heard) option() client.Option {
	h.more = make(chan struct{}, 1000)
	return client.OnNotification(func(_ context.Context, n protocol.Notification) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.list = append(h.list, n.Method)
		h.more <- struct{}{}
	})
}

// wait returns the first n.
func (h *heard) wait(n int) []string {
	for range n {
		<-h.more
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.list)
}

func TestHTTPUnaskedMessages(t *testing.T) {
	t.Parallel()
	var ended atomic.Int64
	s := open(t, "2025-11-25", func(v *visit) bool {
		if v.verb != http.MethodGet {
			return false
		}
		if since := time.Since(time.UnixMicro(ended.Load())); v.n == 1 && since < 30*time.Millisecond {
			v.t.Errorf("the stream was opened again after %v", since)
		}
		want := []string{"", "a", "a", "b"}[min(v.n, 3)]
		if v.header("Last-Event-ID") != want {
			v.t.Errorf("stream %d after %q, want %q", v.n, v.header("Last-Event-ID"), want)
		}
		switch v.n {
		case 0:
			v.stream()
			v.write("retry: 30\n\n")
			v.event("a", `{"jsonrpc":"2.0","method":"first"}`)
			ended.Store(time.Now().UnixMicro())
		case 1:
			v.say(503, "", "") // an error that may pass
		case 2:
			v.stream()
			v.event("b", `{"jsonrpc":"2.0","method":"second"}`)
			panic(http.ErrAbortHandler)
		default:
			v.stream()
			v.event("c", `{"jsonrpc":"2.0","method":"third"}`)
			v.hold()
		}
		return true
	})
	var h heard
	visitor(t, s, nil, h.option())
	if got := h.wait(3); !slices.Equal(got, []string{"first", "second", "third"}) {
		t.Errorf("heard %v", got)
	}
}

// An id that no header can carry does not make the client deaf either.
func TestHTTPUnaskedMessagesAfterAnOddID(t *testing.T) {
	t.Parallel()
	s := open(t, "2025-11-25", func(v *visit) bool {
		if v.verb != http.MethodGet {
			return false
		}
		v.stream()
		v.event("a\x01b", fmt.Sprintf("{\"jsonrpc\":\"2.0\",\"method\":\"stream%d%s\"}", v.n, v.header("Last-Event-ID")))
		if v.write("retry: 10\n\n"); v.n > 0 {
			v.hold()
		}
		return true
	})
	var h heard
	visitor(t, s, nil, h.option())
	if got := h.wait(2); !slices.Equal(got, []string{"stream0", "stream1"}) {
		t.Errorf("heard %v", got)
	}
}

// A refusal does not make the client deaf for good: not of the event to resume
// after, and not of a token.
func TestHTTPUnaskedMessagesAfterARefusal(t *testing.T) {
	t.Parallel()
	for status, want := range map[int][]string{
		400: {"", "a", ""}, 405: {"", "a", ""}, 410: {"", "a", ""}, 404: {"", "a", ""}, // 404: there is no session that could be gone
		401: {"", "a", "a"}, 403: {"", "a", "a"}, 409: {"", "a", "a"}, 503: {"", "a", "a"},
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			s := open(t, "2025-11-25", func(v *visit) bool {
				if v.verb != http.MethodGet {
					return false
				}
				if got := v.header("Last-Event-ID"); v.n >= len(want) || got != want[v.n] {
					v.t.Errorf("stream %d after %q, want %q", v.n, got, want)
				}
				switch v.n {
				case 0:
					v.stream()
					v.write("retry: 1\n\n")
					v.event("a", `{"jsonrpc":"2.0","method":"first"}`)
				case 1:
					v.say(status, "", "")
				default:
					v.stream()
					v.event("", `{"jsonrpc":"2.0","method":"second"}`)
					v.hold()
				}
				return true
			})
			var h heard
			visitor(t, s, nil, h.option())
			if got := h.wait(2); !slices.Equal(got, []string{"first", "second"}) {
				t.Errorf("heard %v", got)
			}
		})
	}
}

// A server that refuses the stream itself, after it has refused to resume it, is
// left alone; one that refuses the token is asked again, but ever more seldom.
func TestHTTPUnaskedMessagesRefusedForGood(t *testing.T) {
	t.Parallel()
	for status, times := range map[int][2]int{400: {3, 3}, 405: {3, 3}, 401: {100, 150}, 403: {100, 150}} {
		s := open(t, "2025-11-25", func(v *visit) bool {
			if v.verb != http.MethodGet {
				return false
			}
			if v.n > 0 {
				v.say(status, "", "")
				return true
			}
			v.stream()
			v.write("id: a\ndata:\n\n")
			return true
		})
		synctest.Test(t, func(t *testing.T) {
			carrier := &http.Client{Transport: local{s.Config.Handler.ServeHTTP}}
			visitor(t, s, []client.HTTPOption{client.HTTPClient(carrier)})
			time.Sleep(time.Hour)
			if n := s.count("GET "); n < times[0] || n > times[1] {
				t.Errorf("%d: GET %d times, want %v", status, n, times)
			}
		})
	}
}

func TestHTTPNoStreamOfUnaskedMessages(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 404, 405, 200} {
		got := make(chan struct{}, 10)
		s := open(t, "2025-11-25", func(v *visit) bool {
			if v.verb != http.MethodGet {
				return false
			}
			v.say(status, "text/html", "")
			got <- struct{}{}
			return true
		})
		c := visitor(t, s, nil)
		<-got
		if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
			t.Error(err)
		}
		if n := s.count("GET "); n != 1 {
			t.Errorf("%d: GET %d times", status, n)
		}
	}
}

// What the server says right after the handshake has a place to go to.
func TestHTTPListensOnceConnected(t *testing.T) {
	t.Parallel()
	var taken atomic.Bool
	s := open(t, "2025-11-25", func(v *visit) bool {
		if v.verb != http.MethodGet {
			return false
		}
		time.Sleep(30 * time.Millisecond) // far more than Connect has left to do
		taken.Store(true)
		v.stream()
		v.hold()
		return true
	})
	visitor(t, s, nil)
	if !taken.Load() {
		t.Error("connected before the stream of unasked messages")
	}
}

// Some servers do not answer before they have something to say.
func TestHTTPListensToASilentServer(t *testing.T) {
	t.Parallel()
	s := open(t, "2025-11-25", func(v *visit) bool {
		if v.verb == http.MethodGet {
			v.hold()
		}
		return v.verb == http.MethodGet
	})
	if _, err := visitor(t, s, nil).CallTool(t.Context(), "x", nil); err != nil {
		t.Error(err)
	}
}

// A client that only listens notices, too, that its session has been dropped, and tries again if a new
// one cannot be opened yet.
func TestHTTPNewSessionForTheStream(t *testing.T) {
	t.Parallel()
	for _, starting := range []bool{false, true} {
		kept := &sessions{}
		kept.more = func(v *visit) bool {
			if v.verb != http.MethodGet {
				return false
			}
			v.stream()
			v.write("retry: 1\n\n")
			v.event("", fmt.Sprintf(`{"jsonrpc":"2.0","method":%q}`, kept.id()))
			if kept.current.Load() == 0 {
				kept.drop()
				return true
			}
			v.hold()
			return true
		}
		s := open(t, "2025-11-25", func(v *visit) bool {
			if starting && v.Method == protocol.MethodInitialize && v.n == 1 {
				v.say(503, "", "starting")
				return true
			}
			return kept.script(v)
		})
		var h heard
		visitor(t, s, nil, h.option())
		if got := h.wait(2); !slices.Equal(got, []string{"session-0", "session-1"}) {
			t.Errorf("heard %v", got)
		}
	}
}

func TestHTTPCloseIsBounded(t *testing.T) {
	t.Parallel()
	kept := &sessions{}
	kept.more = func(v *visit) bool {
		if v.verb == http.MethodDelete {
			v.hold()
			return true
		}
		return false
	}
	s := open(t, "2025-11-25", kept.script)
	c, err := client.Connect(t.Context(), client.HTTP(s.URL))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil || s.count("DELETE ") != 1 {
		t.Errorf("closed again: %v, seen %v", err, s.steps())
	}
	if _, err := c.CallTool(t.Context(), "x", nil); !errors.Is(err, client.ErrClosed) {
		t.Errorf("error %v", err)
	}
}

// Close ends calls, streams and a queue without a reader.
func TestHTTPCloseEndsEverything(t *testing.T) {
	t.Parallel()
	for _, era := range eras() {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			flooding := make(chan struct{})
			s := open(t, era, func(v *visit) bool {
				switch {
				case v.verb == http.MethodGet:
					v.stream()
					v.hold()
				case v.Method == protocol.MethodCallTool && strings.Contains(v.text, "flood"):
					v.stream()
					for i := 0; v.r.Context().Err() == nil; i++ {
						v.event("", `{"jsonrpc":"2.0","method":"x"}`)
						if i == 5000 {
							close(flooding)
						}
					}
				case v.Method == protocol.MethodCallTool:
					v.hold()
				default:
					return false
				}
				return true
			})
			stuck, release := make(chan struct{}), make(chan struct{})
			var once sync.Once
			c, err := client.Connect(t.Context(), client.HTTP(s.URL), client.OnNotification(func(ctx context.Context, _ protocol.Notification) {
				once.Do(func() { close(stuck) })
				<-ctx.Done()
				<-release
			}))
			if err != nil {
				t.Fatal(err)
			}
			results := make(chan error, 2)
			for _, name := range []string{"flood", "hang"} {
				go func() {
					_, err := c.CallTool(t.Context(), name, nil)
					results <- err
				}()
			}
			<-stuck
			<-flooding
			close(release)
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			for range 2 {
				if err := <-results; !errors.Is(err, client.ErrClosed) {
					t.Errorf("error %v", err)
				}
			}
		})
	}
}
