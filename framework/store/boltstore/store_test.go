package boltstore_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/boltstore"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/testkit/storetest"
)

// open opens a new store that ends with the test.
func open(t testing.TB, opts ...boltstore.Option) *boltstore.Store {
	t.Helper()
	return reopen(t, filepath.Join(t.TempDir(), "store"), opts...)
}

// reopen opens the store at the path. It may be closed before the end of the test.
func reopen(t testing.TB, path string, opts ...boltstore.Option) *boltstore.Store {
	t.Helper()
	s, err := boltstore.Open(path, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closes(t, s) })
	return s
}

func closes(t testing.TB, s *boltstore.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	storetest.Sessions(t, func(t testing.TB) session.Store { return open(t).Sessions() })
}

func TestTasks(t *testing.T) {
	t.Parallel()
	storetest.Tasks(t, func(t testing.TB) task.Store { return open(t).Tasks() })
}

func TestTasksFull(t *testing.T) {
	t.Parallel()
	storetest.TasksFull(t, func(t testing.TB, most, bytes int) task.Store {
		return open(t, boltstore.Sized(memory.Bounds{TaskRecords: most, TaskBytes: bytes})).Tasks()
	})
}

func TestQueue(t *testing.T) {
	t.Parallel()
	storetest.Queue(t, func(t testing.TB, life time.Duration) (a, b storetest.QueueStore) {
		q := open(t, boltstore.Sized(memory.Bounds{LeaseLife: life})).Tasks().(storetest.QueueStore)
		return q, q
	})
}

func TestEvents(t *testing.T) {
	t.Parallel()
	storetest.Events(t, func(t testing.TB) eventlog.Store { return open(t).Events() })
}

func TestSyncedEvents(t *testing.T) {
	t.Parallel()
	storetest.Events(t, func(t testing.TB) eventlog.Store { return open(t, boltstore.SyncEvents()).Events() })
}

func TestEventsFull(t *testing.T) {
	t.Parallel()
	storetest.EventsFull(t, func(t testing.TB, total int) eventlog.Store {
		return open(t, boltstore.Sized(memory.Bounds{TotalBytes: total})).Events()
	})
}

func TestClaims(t *testing.T) {
	t.Parallel()
	storetest.Claims(t, func(t testing.TB) claim.Store { return open(t).Claims() })
}

func TestChanges(t *testing.T) {
	t.Parallel()
	storetest.Changes(t, func(t testing.TB) change.Bus { return open(t).Changes() })
}
