package streamable_test

import (
	"bytes"
	"context"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// TestIdleWorkersEnd: one goroutine serves requests that come one after the other. An idle endpoint has
// none, even without Shutdown; the bubble fails if one is left.
func TestIdleWorkersEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, &host{plan: modern, handle: func(context.Context, string, func(string) error) (int, string) {
			name, _, _ := bytes.Cut(debug.Stack(), []byte(" ["))
			return http.StatusOK, string(name)
		}}, streamable.Config{})
		served := make(map[string]int)
		for range 3 {
			for range 5 {
				served[string(s.do(http.MethodPost, "x").Body)]++
				synctest.Wait()
			}
			time.Sleep(time.Second)
		}
		if len(served) != 3 {
			t.Errorf("who served how often: %v", served)
		}
	})
}

// TestWorkersAreUsedAgain, whatever the handler before did to its goroutine and to its
// context.
func TestWorkersAreUsedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, &host{plan: modern, handle: func(ctx context.Context, method string, _ func(string) error) (int, string) {
			switch method {
			case "waits":
				<-ctx.Done()
			case "goes":
				runtime.Goexit()
			case "panics":
				panic("as asked")
			}
			if ctx.Err() != nil {
				return http.StatusOK, `{"cancelled":true}`
			}
			return http.StatusOK, `{"a":1}`
		}}, streamable.Config{})
		defer s.stop()
		for range 3 {
			left := s.carry(s.do(http.MethodPost, "waits"), -1)
			left.cancel()
			left.wait()
			s.do(http.MethodPost, "goes")
			s.do(http.MethodPost, "panics")
			for range 3 {
				if r := s.do(http.MethodPost, "x"); string(r.Body) != `{"a":1}` {
					t.Errorf("afterwards: %+v", r)
				}
			}
		}
	})
}

// TestPatience checks that the delay of a stream is the same for each request, however many wait.
func TestPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, &host{plan: modern, handle: func(_ context.Context, method string, _ func(string) error) (int, string) {
			if method == "slow" {
				time.Sleep(time.Second)
			}
			return http.StatusOK, `{"a":1}`
		}}, streamable.Config{StreamDelay: 30 * time.Millisecond})
		defer s.stop()
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				began := time.Now()
				if r := s.do(http.MethodPost, "quick"); string(r.Body) != `{"a":1}` || time.Since(began) != 0 {
					t.Errorf("quick: %+v after %v", r, time.Since(began))
				}
				stream := s.carry(s.do(http.MethodPost, "slow"), -1)
				if took := time.Since(began); took != 30*time.Millisecond {
					t.Errorf("request %d has waited for %v", i, took)
				}
				if stream.wait(); stream.status != http.StatusOK || !strings.Contains(stream.text(), `{"a":1}`) {
					t.Errorf("slow: %d %q", stream.status, stream.text())
				}
			})
		}
		all.Wait()
	})
}

// TestFrameIsNotKept: the sender's memory is its own again when Send has returned.
func TestFrameIsNotKept(t *testing.T) {
	t.Parallel()
	for _, accept := range []string{"Accept: application/json", "Accept: text/event-stream"} {
		h := &reusing{host: &host{plan: modern}}
		e := streamable.New(h, streamable.Config{StreamDelay: time.Minute})
		s := &site{t: t, e: e}
		want := map[string]string{"Accept: application/json": `{"a":1}`, "Accept: text/event-stream": "event: message\ndata: {\"a\":1}\n\n"}[accept]
		if r := s.do(http.MethodPost, "x", accept); string(r.Body) != want || r.Borrowed {
			t.Errorf("%s: %+v", accept, r)
		}
		s.stop()
	}
}

// reusing is a host that writes over what it has sent.
type reusing struct{ *host }

func (h *reusing) Accept(context.Context, []byte) (transport.Exchange, error) { return h, nil }

func (*reusing) Interrupted() []byte { return nil }

func (h *reusing) Plan() transport.Plan { return transport.Plan{Answered: true} }

func (h *reusing) Serve(ctx context.Context, out transport.Outbound) error {
	frame := []byte(`{"a":1}`)
	defer clear(frame)
	return out.Send(ctx, transport.Frame{JSON: frame, Final: true})
}
