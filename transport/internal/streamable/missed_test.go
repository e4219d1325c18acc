package streamable_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// TestMissedUpdateReachesFreshStream: an update that the host sends while the node becomes the writer reaches a
// client that opens the stream without an event id.
func TestMissedUpdateReachesFreshStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := memory.New()
		store := &watched{Store: all.Sessions()}
		node := func() *host {
			return &host{plan: polling, log: all.Events(), sessions: store, changes: all.Changes(), closing: make(chan struct{}), handle: answers}
		}
		a, other := newSite(t, node(), streamable.Config{}), node()
		other.adopt = func(link *transport.Connection, missed bool) {
			if missed { // the feed's goroutine may be as fast
				_ = link.Out.Send(context.Background(), transport.Frame{JSON: []byte(`"missed"`)})
			}
		}
		b := &site{t: t, e: streamable.New(other, streamable.Config{}), session: a.session}
		defer a.stop()
		defer b.stop()
		stream := b.carry(b.do(http.MethodGet, ""), -1)
		time.Sleep(time.Second)
		if !strings.Contains(stream.text(), `"missed"`) {
			t.Errorf("the client got %q", stream.text())
		}
	})
}

// TestDeleteAndLeave: a client need not wait for the response to its DELETE.
func TestDeleteAndLeave(t *testing.T) {
	t.Parallel()
	p := newPair(t, polling, streamable.Config{StreamDelay: time.Minute}, answers)
	defer p.stop()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := p.b.doContext(ctx, http.MethodDelete, ""); r.Status != http.StatusNoContent {
		t.Errorf("DELETE: %d %s", r.Status, r.Body)
	}
	if r := p.a.do(http.MethodPost, "get"); r.Status != http.StatusNotFound {
		t.Errorf("after the end: %d", r.Status)
	}
}
