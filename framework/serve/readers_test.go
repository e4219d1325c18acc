package serve_test

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// TestConnectionOfARunningHandler checks that a client with a released stream can send its next
// request on the same connection. It does not wait for the handler, whatever goroutine the handler
// runs in.
func TestConnectionOfARunningHandler(t *testing.T) {
	onFaultCarriers(t, func(t *testing.T, c faultCarrier) {
		release := make(chan struct{})
		s := serveFaultApp(t, c, faultLimits{}, faultListener(t), newFaultHub(), newReadersApp(func(ctx context.Context) {
			framework.ReleaseStream(ctx)
			<-release
		}))
		e := s.era(protocol.Rev20251125)
		w := s.dial()
		defer w.close()
		w.send(e.call(1, "run", `{}`, false))
		r := w.open() //nolint:bodyclose // the connection is closed
		if text, err := io.ReadAll(r.Body); err != nil || strings.Contains(string(text), `"result"`) {
			t.Errorf("%q, %v", text, err)
		}
		if !r.Close {
			w.send(e.call(2, "name", `{}`, false))
			if _, _, body := w.whole(); !strings.Contains(body, `"id":2,"result"`) {
				t.Errorf("%q", body)
			}
		}
		close(release)
	})
}

// TestGoexitOverHTTP checks that a call is answered although its handler ends its goroutine, which
// may be the goroutine of the connection. The next request of the client is also answered.
func TestGoexitOverHTTP(t *testing.T) {
	onFaultCarriers(t, func(t *testing.T, c faultCarrier) {
		s := serveFaultApp(t, c, faultLimits{}, faultListener(t), newFaultHub(), newReadersApp(func(context.Context) { runtime.Goexit() }))
		for _, revision := range []protocol.Revision{protocol.Rev20251125, protocol.Rev20260728} {
			e := s.era(revision)
			w := s.dial()
			for range 3 {
				w.send(e.call(1, "run", `{}`, false))
				if status, _, body := w.whole(); status != http.StatusOK || !strings.Contains(body, `"code":-32603`) {
					t.Errorf("%d, %q", status, body)
				}
				w.send(e.call(2, "name", `{}`, false))
				if _, _, body := w.whole(); !strings.Contains(body, `"id":2,"result"`) {
					t.Errorf("%q", body)
				}
			}
			w.close()
		}
	})
}

// newReadersApp has a tool that runs something, and one that answers at once.
func newReadersApp(run func(context.Context)) *framework.App {
	return framework.New("readers", "1", framework.WithLogger(zap.NewNop())).Add(
		framework.Tool("run", func(ctx context.Context, _ struct{}) (string, error) { run(ctx); return "ran", nil }),
		framework.Tool("name", func(context.Context, struct{}) (string, error) { return "a name", nil }),
	)
}
