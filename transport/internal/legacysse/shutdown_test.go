package legacysse_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/legacysse"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// stuck is the response to a client that reads the greeting and then nothing more.
type stuck struct {
	*sink
	writes  atomic.Int32
	blocked chan struct{} // closed when a Write blocks
	cut     chan struct{} // closed by the test: the carrier has closed the connection
}

func (s *stuck) Write(part []byte) error {
	if s.writes.Add(1) == 1 {
		return s.sink.Write(part)
	}
	close(s.blocked)
	<-s.cut
	return http.ErrHandlerTimeout
}

// A client that does not read does not keep Shutdown from ending the other connections.
func TestShutdownWithoutReader(t *testing.T) {
	t.Parallel()
	for name, stays := range map[string]bool{"in an exchange": true, "in a notification": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end := make(chan struct{})
			e := legacysse.New(hostFunc(func(ctx context.Context, frame []byte, out transport.Outbound) error {
				send := func() { _ = out.Send(ctx, transport.Frame{JSON: frame}) }
				switch {
				case string(frame) == "wait":
					<-end // and ignores ctx
				case stays:
					send()
				default:
					go send()
				}
				return nil
			}), streamable.Config{})
			reply := ask(t, e, legacysse.Stream, "", "a:0", "")
			s := &stuck{sink: &sink{parts: make(chan string, 1)}, blocked: make(chan struct{}), cut: make(chan struct{})}
			over := make(chan struct{})
			go func() { defer close(over); reply.Stream.Serve(t.Context(), s) }()
			_, query, _ := strings.Cut(<-s.parts, "?")
			ask(t, e, legacysse.Messages, strings.TrimSpace(query), "a:0", "{}")
			<-s.blocked
			all := make([]*connection, 16) // the stuck one is hardly the last that Shutdown ends
			for i := range all {
				all[i] = open(t, e, "a:1")
				ask(t, e, legacysse.Messages, all[i].query, "a:1", "wait")
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			stopped := make(chan error, 1)
			go func() { stopped <- e.Shutdown(ctx) }()
			late, done := context.WithTimeout(t.Context(), 10*time.Second)
			defer done()
			for i, c := range all {
				select {
				case <-c.over:
				case <-late.Done():
					t.Errorf("connection %d waits for the client that does not read", i)
				}
			}
			close(end)
			close(s.cut)
			<-over
			if err := <-stopped; !errors.Is(err, context.Canceled) {
				t.Errorf("Shutdown: %v", err)
			}
		})
	}
}
