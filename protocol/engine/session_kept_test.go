package engine_test

import (
	"context"
	"sync"
	"testing"

	"github.com/kagami-mcp/kagami/transport"
)

// keeper is the kept state of one session.
type keeper struct {
	mu      sync.Mutex
	data    string
	version uint64
}

func (k *keeper) Load() ([]byte, uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return []byte(k.data), k.version
}

func (k *keeper) Update(_ context.Context, change func([]byte) []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var before []byte
	if k.version > 0 {
		before = []byte(k.data)
	}
	k.data = string(change(before))
	k.version++
	return nil
}

// TestUnreadableSession: a session whose state cannot be read here, such as that of a newer
// program, stays as it is for those who can.
func TestUnreadableSession(t *testing.T) {
	t.Parallel()
	k := &keeper{}
	p := connect(t, newEngine(t, catalog{}))
	p.ctx = transport.Connect(p.ctx, transport.Peer{Out: p, SessionState: k})
	p.initialize("2025-11-25", "{}")
	const newer = `{"id":{"form":2}}`
	k.mu.Lock()
	k.data, k.version = newer, k.version+1
	k.mu.Unlock()
	shows(t, p.ask(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://r"}}`), `"code":-32603`)
	if data, _ := k.Load(); string(data) != newer {
		t.Errorf("the state is %s now", data)
	}
}
