package redisstore_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/kagami-mcp/kagami/framework/internal/redisserver"
	"github.com/kagami-mcp/kagami/framework/store/redisstore"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/testkit/storetest"
)

// opener gives each test a store of its own prefix on one server.
func opener(t *testing.T, client redis.UniversalClient, opts ...redisstore.Option) func(t testing.TB, more ...redisstore.Option) *redisstore.Store {
	t.Helper()
	var n atomic.Int64
	return func(t testing.TB, more ...redisstore.Option) *redisstore.Store {
		t.Helper()
		all := append([]redisstore.Option{redisstore.Prefix(fmt.Sprint("test ", n.Add(1), ":"))}, opts...)
		return storeWith(t, client, append(all, more...)...)
	}
}

// nodes are two stores, each with connections of its own, on the same keys.
func nodes(t *testing.T, addr string, opts ...redisstore.Option) func(t testing.TB, life time.Duration) (a, b storetest.QueueStore) {
	t.Helper()
	clients := []*redis.Client{clientOf(t, addr), clientOf(t, addr)}
	var n atomic.Int64
	return func(t testing.TB, life time.Duration) (a, b storetest.QueueStore) {
		t.Helper()
		all := append([]redisstore.Option{
			redisstore.Prefix(fmt.Sprint("queue ", n.Add(1), ":")), redisstore.LeaseLife(life), redisstore.Sweep(100 * time.Millisecond),
		}, opts...)
		return storeWith(t, clients[0], all...).Tasks().(storetest.QueueStore), storeWith(t, clients[1], all...).Tasks().(storetest.QueueStore)
	}
}

// TestSuites is everything on a real server, in the clear and sealed.
func TestSuites(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]redisstore.Option{
		"Clear":  nil,
		"Sealed": {redisstore.Encrypt([]byte("a key of 16 bytes or more"), []byte("an older key, which opens"))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redisserver.Start(t)
			open := opener(t, clientOf(t, server.Addr()), opts...)
			t.Run("Sessions", func(t *testing.T) {
				t.Parallel()
				storetest.Sessions(t, func(t testing.TB) session.Store { return open(t).Sessions() })
			})
			t.Run("Tasks", func(t *testing.T) {
				t.Parallel()
				storetest.Tasks(t, func(t testing.TB) task.Store { return open(t).Tasks() })
			})
			t.Run("TasksFull", func(t *testing.T) {
				t.Parallel()
				storetest.TasksFull(t, func(t testing.TB, most, bytes int) task.Store {
					return open(t, redisstore.EndedTasks(most), redisstore.EndedBytes(bytes), redisstore.LiveBytes(bytes/2)).Tasks()
				})
			})
			t.Run("Events", func(t *testing.T) {
				t.Parallel()
				storetest.Events(t, func(t testing.TB) eventlog.Store { return open(t).Events() })
			})
			t.Run("Claims", func(t *testing.T) {
				t.Parallel()
				storetest.Claims(t, func(t testing.TB) claim.Store { return open(t).Claims() })
			})
			t.Run("Changes", func(t *testing.T) {
				t.Parallel()
				storetest.Changes(t, func(t testing.TB) change.Bus { return open(t).Changes() })
			})
			t.Run("Queue", func(t *testing.T) {
				t.Parallel()
				storetest.Queue(t, nodes(t, server.Addr(), opts...))
			})
		})
	}
}
