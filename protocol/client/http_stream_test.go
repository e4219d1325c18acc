package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// The answer is a stream of three events that is cut after each of its bytes, and
// then resumed: nothing is lost and nothing comes twice.
func TestHTTPResumesAfterEveryByte(t *testing.T) {
	t.Parallel()
	var cut int
	var mu sync.Mutex
	set := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		cut = n
	}
	events := func(id string) []string {
		return []string{
			"retry: 1\r\n" + event("e1", `{"jsonrpc":"2.0","method":"one"}`),
			event("e2", `{"jsonrpc":"2.0",`+"\ndata: "+`"method":"two"}`),
			event("e3", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, ok)),
		}
	}
	var id string
	s := open(t, "2025-11-25", func(v *visit) bool {
		mu.Lock()
		at := cut
		mu.Unlock()
		switch {
		case v.Method == protocol.MethodCallTool:
			mu.Lock()
			id = string(v.ID)
			mu.Unlock()
			all := strings.Join(events(string(v.ID)), "")
			v.stream()
			v.write(all[:min(at, len(all))])
			panic(http.ErrAbortHandler)
		case v.verb == http.MethodGet && v.header("Last-Event-ID") != "":
			last := slices.Index([]string{"e1", "e2", "e3"}, v.header("Last-Event-ID"))
			mu.Lock()
			rest := strings.Join(events(id)[last+1:], "")
			mu.Unlock()
			v.stream()
			v.write(rest)
		default:
			return false
		}
		return true
	})
	var h heard
	c := visitor(t, s, nil, h.option())
	first := len(events("1001")[0])
	length := len(strings.Join(events("1001"), ""))
	for n := range length + 1 {
		set(n)
		h.mu.Lock()
		h.list = nil
		h.mu.Unlock()
		got, err := client.Call[string](t.Context(), c, "x", nil)
		if n < first {
			if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "broke before the answer") {
				t.Errorf("cut at %d, before an id: %q, %v", n, got, err)
			}
			continue
		}
		h.mu.Lock()
		list := slices.Clone(h.list)
		h.mu.Unlock()
		if err != nil || got != "ok" || !slices.Equal(list, []string{"one", "two"}) {
			t.Fatalf("cut at %d: %q, %v, heard %v", n, got, err, list)
		}
	}
}

func TestHTTPResumeWaits(t *testing.T) {
	t.Parallel()
	const retry = 60 * time.Millisecond
	ended := make(chan time.Time, 1)
	ids := make(chan string, 1)
	s := open(t, "2025-11-25", func(v *visit) bool {
		v.w.Header().Set("Mcp-Session-Id", "s")
		switch {
		case v.Method == protocol.MethodCallTool:
			ids <- string(v.ID)
			v.stream()
			v.write("id: p\nretry: 60\ndata: \n\n") // SEP-1699: the server ends the connection, not the stream
			ended <- time.Now()
		case v.header("Last-Event-ID") == "p":
			if since := time.Since(<-ended); since < retry {
				v.t.Errorf("resumed after %v", since)
			}
			if v.header("Mcp-Session-Id") != "s" || v.header("Mcp-Protocol-Version") != "2025-11-25" || v.header("Accept") != "text/event-stream" {
				v.t.Errorf("headers %v", v.r.Header)
			}
			v.stream()
			v.event("q", `{"jsonrpc":"2.0","id":`+<-ids+`,"result":`+ok+`}`)
		default:
			return false
		}
		return true
	})
	c := visitor(t, s, nil)
	if got, err := client.Call[string](t.Context(), c, "x", nil); err != nil || got != "ok" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestHTTPResumesAQuietStream: proxies cut streams that are quiet, each time after a while.
func TestHTTPResumesAQuietStream(t *testing.T) {
	t.Parallel()
	id, gets := "", 0
	s := open(t, "2025-11-25", func(v *visit) bool {
		switch {
		case v.Method == protocol.MethodCallTool:
			id = string(v.ID)
			v.stream()
			v.write("id: 1\ndata:\n\n")
		case v.header("Last-Event-ID") != "":
			v.stream()
			if gets++; gets > 10 {
				v.event("2", `{"jsonrpc":"2.0","id":`+id+`,"result":`+ok+`}`)
				return true
			}
			time.Sleep(time.Minute)
		default:
			return false
		}
		return true
	})
	synctest.Test(t, func(t *testing.T) {
		carrier := &http.Client{Transport: local{s.Config.Handler.ServeHTTP}}
		c := visitor(t, s, []client.HTTPOption{client.HTTPClient(carrier)})
		if got, err := client.Call[string](t.Context(), c, "x", nil); err != nil || got != "ok" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

func TestHTTPResumeFails(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer func(v *visit, n int) // of the n-th resuming GET
		gets   int
		err    string
	}{
		"405":                 {func(v *visit, _ int) { v.say(405, "", "") }, 1, "HTTP 405"},
		"400":                 {func(v *visit, _ int) { v.say(400, "", "unknown event") }, 1, "unknown event"},
		"no stream":           {func(v *visit, _ int) { v.say(200, "text/html", "") }, 1, "no event stream"},
		"nothing new":         {func(v *visit, _ int) { v.stream() }, 5, "resumed 5 times in vain"},
		"the same id":         {func(v *visit, _ int) { v.stream(); v.write("id: 1\ndata:\n\n") }, 5, "in vain"},
		"503":                 {func(v *visit, _ int) { v.say(503, "", "") }, 5, "in vain"},
		"409":                 {func(v *visit, _ int) { v.say(409, "", "") }, 5, "in vain"},
		"a broken network":    {func(*visit, int) { panic(http.ErrAbortHandler) }, 5, "in vain"},
		"something new, once": {func(v *visit, n int) { v.stream(); v.write(fmt.Sprintf("id: %d\ndata:\n\n", min(n, 4))) }, 10, "in vain"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			gets := 0
			s := open(t, "2025-11-25", func(v *visit) bool {
				switch {
				case v.Method == protocol.MethodCallTool && v.n == 0:
					v.stream()
					v.write("retry: 1\nid: 1\ndata:\n\n")
				case v.header("Last-Event-ID") != "":
					mu.Lock()
					n := gets
					gets++
					mu.Unlock()
					tt.answer(v, n)
				default:
					return false
				}
				return true
			})
			c := visitor(t, s, nil)
			_, err := c.CallTool(t.Context(), "x", nil)
			if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v", err)
			}
			mu.Lock()
			if gets != tt.gets && (name != "a broken network" || gets < tt.gets) { // net/http tries a GET again by itself
				t.Errorf("%d attempts, want %d", gets, tt.gets)
			}
			mu.Unlock()
			if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

func TestHTTPDoesNotResume(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2024-11-05", "2026-07-28"} {
		s := open(t, revision, func(v *visit) bool {
			if v.Method == protocol.MethodCallTool {
				v.stream()
				v.write("retry: 1\nid: 1\ndata:\n\n")
				return true
			}
			if v.header("Last-Event-ID") != "" {
				v.t.Errorf("%s: resumed", revision)
			}
			return false
		})
		c := visitor(t, s, nil)
		if _, err := c.CallTool(t.Context(), "x", nil); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: error %v", revision, err)
		}
		if n := s.count("POST tools/call"); n != 1 {
			t.Errorf("%s: called %d times", revision, n)
		}
	}
}

// An initialize whose answer breaks off is resumed with the session it was given.
func TestHTTPResumesInitialize(t *testing.T) {
	t.Parallel()
	ids := make(chan string, 1)
	s := open(t, "2025-11-25", func(v *visit) bool {
		switch {
		case v.Method == protocol.MethodInitialize:
			ids <- string(v.ID)
			v.w.Header().Set("Mcp-Session-Id", "s")
			v.stream()
			v.write("retry: 1\nid: 1\ndata:\n\n")
		case v.header("Last-Event-ID") == "1":
			if v.header("Mcp-Session-Id") != "s" {
				v.t.Errorf("headers %v", v.r.Header)
			}
			v.stream()
			v.event("", `{"jsonrpc":"2.0","id":`+<-ids+`,"result":`+initialization("2025-11-25")+`}`)
		default:
			return false
		}
		return true
	})
	visitor(t, s, nil)
}

func TestHTTPCancels(t *testing.T) {
	t.Parallel()
	for _, era := range eras() {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			begun, told, closed := make(chan string, 1), make(chan string, 1), make(chan bool, 1)
			s := open(t, era, func(v *visit) bool {
				switch v.Method {
				case protocol.MethodCallTool:
					v.stream()
					begun <- string(v.ID)
					if era != "2026-07-28" {
						select { // the stream must not end before the notification
						case <-v.r.Context().Done():
							v.t.Error("the stream was closed first")
						case id := <-told:
							told <- id
						}
					}
					v.hold()
					closed <- true
				case protocol.NotificationCancelled:
					told <- v.at("requestId")
					return false
				default:
					return false
				}
				return true
			})
			c := visitor(t, s, nil)
			ctx, cancel := context.WithCancel(t.Context())
			result := make(chan error, 1)
			go func() {
				_, err := c.CallTool(ctx, "x", nil)
				result <- err
			}()
			id := <-begun
			cancel()
			if err := <-result; !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			<-closed
			if era != "2026-07-28" {
				if got := <-told; got != id {
					t.Errorf("cancelled %s, want %s", got, id)
				}
			}
			if err := c.Ping(t.Context()); err != nil {
				t.Error(err)
			}
			if n := s.count("POST notifications/cancelled"); era == "2026-07-28" && n != 0 {
				t.Error("a notification was sent where the end of the response says it")
			}
		})
	}
}

// The end of the response shows the server that the client does not watch any more.
func TestHTTPListenStream(t *testing.T) {
	t.Parallel()
	closed := make(chan bool, 1)
	s := open(t, "2026-07-28", func(v *visit) bool {
		if v.Method != protocol.MethodListen {
			return false
		}
		v.watching("x://a")
		v.hold()
		closed <- true
		return true
	})
	c := visitor(t, s, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	updates, err := c.Subscribe(ctx, "x://a")
	if err != nil {
		t.Fatal(err)
	}
	for range updates {
		cancel()
	}
	<-closed
	if n := s.count("POST notifications/cancelled"); n != 0 {
		t.Error("a notification was sent where the end of the response says it")
	}
}

// TestHTTPInterrupted: a server that says that there will be no answer is heard at once, as one
// whose answer is lost. A wait for a task goes on.
func TestHTTPInterrupted(t *testing.T) {
	t.Parallel()
	const state = `"taskId":"t","createdAt":"2025-11-25T10:00:00Z","lastUpdatedAt":"2025-11-25T10:00:00Z","ttl":null`
	s := open(t, "2025-11-25", func(v *visit) bool {
		switch {
		case v.Method == protocol.MethodInitialize:
			v.result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":` + serverInfo + `}`)
		case v.Method == protocol.MethodCallTool, v.Method == protocol.MethodTaskResult && v.n == 0:
			v.stream()
			v.write("retry: 1\nid: " + string(v.ID) + "\ndata:\n\n")
		case v.header("Last-Event-ID") != "":
			v.stream()
			v.event("e", `{"jsonrpc":"2.0","id":`+v.header("Last-Event-ID")+`,"error":{"code":502,"message":"interrupted"}}`)
		case v.Method == protocol.MethodGetTask:
			v.result(`{` + state + `,"status":"completed"}`)
		case v.Method == protocol.MethodTaskResult:
			v.result(`{"content":[{"type":"text","text":"done"}]}`)
		default:
			return false
		}
		return true
	})
	c := visitor(t, s, nil)
	_, err := c.CallTool(t.Context(), "x", nil)
	e, ok := errors.AsType[*protocol.Error](err)
	if !ok || e.Code != protocol.CodeInterrupted || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
	if n := s.count("POST tools/call"); n != 1 {
		t.Errorf("called %d times", n)
	}
	r, err := c.Task("t").Wait(t.Context())
	if text := textIn(t, r, err); text != "done" {
		t.Errorf("the task: %q", text)
	}
}

// TestHTTPEndedContext: a call with a context that has ended is not sent.
func TestHTTPEndedContext(t *testing.T) {
	t.Parallel()
	for _, era := range eras() {
		s := open(t, era, nil)
		c := visitor(t, s, nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.CallTool(ctx, "x", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v", era, err)
		}
		if err := c.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		if n := s.count("POST tools/call") + s.count("POST notifications/cancelled"); n != 0 {
			t.Errorf("%s: seen %v", era, s.steps())
		}
	}
}
