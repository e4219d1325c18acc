package engine_test

import (
	"strconv"
	"sync"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
)

// TestUnfinishedWhileRequestsArrive: a server that stops may be asked for its requests while others arrive. The
// race detector sees what is read too early.
func TestUnfinishedWhileRequestsArrive(t *testing.T) {
	t.Parallel()
	e := newEngine(t, catalog{})
	stop := make(chan struct{})
	var looking sync.WaitGroup
	defer looking.Wait()
	defer close(stop)
	looking.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				e.Unfinished()
			}
		}
	})
	for range 100 {
		connect(t, e).initialize(protocol.Rev20251125.String(), `{}`)
	}
	p := connect(t, e)
	for id := range 100 {
		p.send(`{"jsonrpc":"2.0","id":` + strconv.Itoa(id) + `,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modernMeta + `}}`)
	}
	if left := e.Unfinished(); len(left) != 0 { // listen streams end with Shutdown
		t.Errorf("unfinished: %q", left)
	}
}
