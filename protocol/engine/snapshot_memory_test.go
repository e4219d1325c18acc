package engine_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
)

// changing is a catalog that has another snapshot for each request.
type changing struct {
	catalog
	mu   sync.Mutex
	made []weak.Pointer[tasked]
}

func (k *changing) Snapshot() engine.Snapshot {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := &tasked{k.catalog}
	k.made = append(k.made, weak.Make(s))
	return s
}

// alive returns the number of snapshots that are in memory.
func (k *changing) alive() (n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range k.made {
		if s.Value() != nil {
			n++
		}
	}
	return n
}

// TestLongRequestsKeepNoSnapshot: a task that waits for an answer, and a listen stream, last long. They
// must not keep the catalog of the moment when they began.
func TestLongRequestsKeepNoSnapshot(t *testing.T) {
	t.Parallel()
	k := &changing{catalog: catalog{"film": func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		_, err := want(ctx, c, "name", "Name?")
		return nil, err
	}}}
	e := engine.New(engine.Config{
		Info: protocol.Implementation{Name: "s", Version: "1"}, Tasks: memory.New().Tasks(), Catalog: k,
	})
	t.Cleanup(func() { _ = e.Shutdown(t.Context()) })
	asking, listening := connect(t, e), connect(t, e)
	asking.initialize("2025-11-25", `{"elicitation":{}}`)
	shows(t, asking.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"film","arguments":{},"task":{}}}`), `"working"`)
	shows(t, listening.ask(`{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{`+modernMeta+`,"notifications":{"toolsListChanged":true}}}`), "acknowledged")
	for range 500 {
		if runtime.GC(); k.alive() == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d of %d snapshots are still in memory", k.alive(), len(k.made))
}
