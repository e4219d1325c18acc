package redisstore_test

import (
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/kagami-mcp/kagami/framework/store/redisstore"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/testkit/storetest"
)

// mini is a miniredis whose time is the test's. Not on it: sessions and the queue, whose
// suites wait for the real clock to pass, by which nothing in a miniredis expires.
type mini struct {
	mu     sync.Mutex // guards all below
	server *miniredis.Miniredis
	now    time.Time
}

// open begins with the present time, and a server that is empty.
func (m *mini) open(t testing.TB) *redisstore.Store {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.server, m.now = miniredis.RunT(t), time.Now()
	m.server.SetTime(m.now)
	return storeOn(t, m.server.Addr())
}

func (m *mini) advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
	m.server.SetTime(m.now)
	m.server.FastForward(d)
}

func (m *mini) time() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func TestMini(t *testing.T) {
	t.Parallel()
	t.Run("Tasks", func(t *testing.T) {
		t.Parallel()
		m := &mini{}
		storetest.Tasks(t, func(t testing.TB) task.Store { return m.open(t).Tasks() }, storetest.Clock(m.advance), storetest.Now(m.time))
	})
	t.Run("Claims", func(t *testing.T) {
		t.Parallel()
		m := &mini{}
		storetest.Claims(t, func(t testing.TB) claim.Store { return m.open(t).Claims() }, storetest.Clock(m.advance))
	})
	t.Run("Events", func(t *testing.T) {
		t.Parallel()
		storetest.Events(t, func(t testing.TB) eventlog.Store { return (&mini{}).open(t).Events() })
	})
	t.Run("Changes", func(t *testing.T) {
		t.Parallel()
		storetest.Changes(t, func(t testing.TB) change.Bus { return (&mini{}).open(t).Changes() })
	})
}
