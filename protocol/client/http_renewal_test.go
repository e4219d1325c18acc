package client_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// TestHTTPNewSessionWithdrawsQuestions: the questions of an ended session are withdrawn, and the new
// session uses their ids again.
func TestHTTPNewSessionWithdrawsQuestions(t *testing.T) {
	t.Parallel()
	kept, answers := &sessions{}, make(chan string, 4)
	kept.more = func(v *visit) bool {
		if v.verb == http.MethodPost && v.Method == "" {
			answers <- v.text
		}
		if v.Method != protocol.MethodCallTool {
			return false
		}
		first := kept.current.Load() == 0 // after the event, the session may end at once
		v.stream()
		v.event("", `{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":`+form+`}`)
		if first {
			v.hold()
			return true
		}
		if got := <-answers; !strings.Contains(got, `"decline"`) {
			v.t.Errorf("answered with %s", got)
		}
		v.event("", v.answer(ok))
		return true
	}
	s := open(t, "2025-11-25", kept.script)
	var number atomic.Int64
	asked, withdrawn := make(chan struct{}, 2), make(chan struct{})
	c := visitor(t, s, nil, client.OnElicit(func(ctx context.Context, _ *client.ElicitRequest) (*client.ElicitAnswer, error) {
		asked <- struct{}{}
		if number.Add(1) == 1 {
			<-ctx.Done()
			close(withdrawn)
			return nil, ctx.Err()
		}
		return &client.ElicitAnswer{Action: "decline"}, nil
	}))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = c.CallTool(ctx, "x", nil)
	}()
	<-asked
	kept.drop()
	if got, err := client.Call[string](t.Context(), c, "x", nil); err != nil || got != "ok" {
		t.Errorf("%q, %v", got, err)
	}
	select {
	case <-withdrawn:
	case <-time.After(10 * time.Second):
		t.Error("the question of the ended session is still open")
	}
	cancel()
	<-done
}

// TestHTTPNewSessionTakesNoCallsYet: a new session gets no calls before the end of its handshake.
func TestHTTPNewSessionTakesNoCallsYet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept, s := &sessions{}, &site{t: t}
		shaking, release := make(chan struct{}), make(chan struct{})
		var ready atomic.Bool
		kept.more = func(v *visit) bool {
			switch {
			case v.Method == protocol.NotificationInitialized && v.n == 1:
				close(shaking)
				<-release
				ready.Store(true)
			case v.Method == protocol.MethodCallTool && kept.current.Load() == 1 && !ready.Load():
				v.t.Error("a call before the end of the handshake")
			}
			return false
		}
		carrier := &http.Client{Transport: local{func(w http.ResponseWriter, r *http.Request) {
			if v := s.visit(w, r); !kept.script(v) {
				plain(v, "2025-11-25")
			}
		}}}
		c := reach(t, client.HTTP("http://kept.test/mcp", client.HTTPClient(carrier)), only(t, "2025-11-25"))
		kept.drop()
		var group sync.WaitGroup
		call := func() {
			if got, err := client.Call[string](t.Context(), c, "x", nil); err != nil || got != "ok" {
				t.Errorf("%q, %v", got, err)
			}
		}
		group.Go(call)
		<-shaking
		group.Go(call)
		synctest.Wait() // until the second call waits, or has come too early
		close(release)
		group.Wait()
	})
}

// TestHTTPNewSessionBesideAHandler: a handler whose call waits for the new session does not hold it up.
func TestHTTPNewSessionBesideAHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept, s, news := &sessions{}, &site{t: t}, make(chan struct{})
		kept.more = func(v *visit) bool {
			if v.Method != protocol.MethodCallTool || v.at("name") != `"long"` {
				return false
			}
			v.stream()
			select {
			case <-news:
				v.event("", `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			case <-v.r.Context().Done():
			}
			v.hold()
			return true
		}
		carrier := &http.Client{Transport: local{func(w http.ResponseWriter, r *http.Request) {
			v := s.visit(w, r)
			if v.Method == protocol.MethodInitialize && v.n == 1 {
				close(news)
				time.Sleep(time.Second) // the handler makes its call meanwhile
			}
			if !kept.script(v) {
				plain(v, "2025-11-25")
			}
		}}}
		var c *client.Client
		called := make(chan error, 1)
		c = reach(t, client.HTTP("http://kept.test/mcp", client.HTTPClient(carrier)), only(t, "2025-11-25"),
			client.OnNotification(func(ctx context.Context, _ protocol.Notification) { called <- c.Ping(ctx) }))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = c.CallTool(ctx, "long", nil)
		}()
		synctest.Wait()
		kept.drop()
		began := time.Now()
		if got, err := client.Call[string](t.Context(), c, "x", nil); err != nil || got != "ok" || time.Since(began) > 10*time.Second {
			t.Errorf("after %v: %q, %v", time.Since(began), got, err)
		}
		if err := <-called; err != nil {
			t.Errorf("the call of the handler: %v", err)
		}
		cancel()
		<-done
	})
}

// TestHTTPUnaskedMessagesOfAQuietServer: the pauses do not grow if a proxy ends a quiet stream each minute.
func TestHTTPUnaskedMessagesOfAQuietServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &site{t: t}
		carrier := &http.Client{Transport: local{func(w http.ResponseWriter, r *http.Request) {
			v := s.visit(w, r)
			if v.verb != http.MethodGet {
				plain(v, "2025-11-25")
				return
			}
			v.stream()
			select {
			case <-time.After(time.Minute):
			case <-r.Context().Done():
			}
		}}}
		reach(t, client.HTTP("http://quiet.test/mcp", client.HTTPClient(carrier)), only(t, "2025-11-25"))
		time.Sleep(time.Hour)
		if n := s.count("GET "); n < 55 {
			t.Errorf("the stream was opened %d times in an hour", n)
		}
	})
}
