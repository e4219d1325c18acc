package redisstore_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/kagami-mcp/kagami/framework/internal/redisserver"
	"github.com/kagami-mcp/kagami/framework/store/redisstore"
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

// pairs returns a function that opens two stores with one new prefix. Each store has its own connections,
// as in two processes.
func pairs(t *testing.T, addr string, opts ...redisstore.Option) func(t testing.TB, more ...redisstore.Option) (a, b *redisstore.Store) {
	t.Helper()
	clients := []*redis.Client{clientOf(t, addr), clientOf(t, addr)}
	var n atomic.Int64
	return func(t testing.TB, more ...redisstore.Option) (a, b *redisstore.Store) {
		t.Helper()
		all := slices.Concat([]redisstore.Option{redisstore.Prefix(fmt.Sprint("pair ", n.Add(1), ":"))}, opts, more)
		return storeWith(t, clients[0], all...), storeWith(t, clients[1], all...)
	}
}

// ofBoth returns what port returns for both stores of a pair.
func ofBoth[S any](open func(t testing.TB, more ...redisstore.Option) (a, b *redisstore.Store), port func(*redisstore.Store) S) func(t testing.TB) (a, b S) {
	return func(t testing.TB) (S, S) {
		t.Helper()
		a, b := open(t)
		return port(a), port(b)
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
			open, both := opener(t, clientOf(t, server.Addr()), opts...), pairs(t, server.Addr(), opts...)
			t.Run("Sessions", func(t *testing.T) {
				t.Parallel()
				storetest.Sessions(t, storetest.SessionNodes(ofBoth(both, (*redisstore.Store).Sessions)))
			})
			t.Run("Tasks", func(t *testing.T) {
				t.Parallel()
				storetest.Tasks(t, storetest.TaskNodes(ofBoth(both, (*redisstore.Store).Tasks)))
			})
			t.Run("TasksFull", func(t *testing.T) {
				t.Parallel()
				storetest.TasksFull(t, func(t testing.TB, most, bytes int) task.Store {
					return open(t, redisstore.EndedTasks(most), redisstore.EndedBytes(bytes), redisstore.LiveBytes(bytes/2)).Tasks()
				})
			})
			t.Run("Events", func(t *testing.T) {
				t.Parallel()
				storetest.Events(t, storetest.EventNodes(ofBoth(both, (*redisstore.Store).Events)))
			})
			t.Run("Claims", func(t *testing.T) {
				t.Parallel()
				storetest.Claims(t, storetest.ClaimNodes(ofBoth(both, (*redisstore.Store).Claims)))
			})
			t.Run("Changes", func(t *testing.T) {
				t.Parallel()
				storetest.Changes(t, storetest.ChangeNodes(ofBoth(both, (*redisstore.Store).Changes)))
			})
			t.Run("Queue", func(t *testing.T) {
				t.Parallel()
				storetest.Queue(t, func(t testing.TB, life time.Duration) (a, b storetest.QueueStore) {
					x, y := both(t, redisstore.LeaseLife(life), redisstore.Sweep(100*time.Millisecond))
					return x.Tasks().(storetest.QueueStore), y.Tasks().(storetest.QueueStore)
				})
			})
		})
	}
}
