package redisstore_test

import (
	"strings"
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

// clusterOf is one of a single node.
func clusterOf(t *testing.T) *redis.ClusterClient {
	t.Helper()
	server := redisserver.Start(t, "--cluster-enabled", "yes")
	node := clientOf(t, server.Addr())
	if err := node.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		info, err := node.ClusterInfo(t.Context()).Result()
		if strings.Contains(info, "cluster_state:ok") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no cluster: %v\n%s", err, info)
		}
		time.Sleep(10 * time.Millisecond)
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{server.Addr()}})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// TestCluster is everything on a Cluster of one node, which has all slots, and refuses
// scripts whose keys are in several.
func TestCluster(t *testing.T) {
	t.Parallel()
	client := clusterOf(t)
	open := opener(t, client)
	t.Run("Sessions", func(t *testing.T) {
		t.Parallel()
		storetest.Sessions(t, func(t testing.TB) session.Store { return open(t).Sessions() })
	})
	t.Run("Tasks", func(t *testing.T) {
		t.Parallel()
		storetest.Tasks(t, func(t testing.TB) task.Store { return open(t).Tasks() })
	})
	t.Run("Claims", func(t *testing.T) {
		t.Parallel()
		storetest.Claims(t, func(t testing.TB) claim.Store { return open(t).Claims() })
	})
	t.Run("Events", func(t *testing.T) {
		t.Parallel()
		storetest.Events(t, func(t testing.TB) eventlog.Store { return open(t).Events() })
	})
	t.Run("Changes", func(t *testing.T) {
		t.Parallel()
		storetest.Changes(t, func(t testing.TB) change.Bus { return open(t).Changes() })
	})
	t.Run("Queue", func(t *testing.T) {
		t.Parallel()
		storetest.Queue(t, func(t testing.TB, life time.Duration) (a, b storetest.QueueStore) {
			t.Helper()
			s := open(t, redisstore.LeaseLife(life), redisstore.Sweep(100*time.Millisecond)).Tasks().(storetest.QueueStore)
			return s, s
		})
	})
}

// TestSlots: keys that one script uses are in one slot, whatever is in their names.
func TestSlots(t *testing.T) {
	t.Parallel()
	node := clientOf(t, redisserver.Start(t, "--cluster-enabled", "yes").Addr())
	names := []string{"", "a", "b", "}", "{", "{}", "}{", "{a}", "a}b", "\x00"}
	for _, prefix := range []string{"kagami:", "", "a", "{", "}", "{a}", "a{b"} {
		s := redisstore.New(node, redisstore.Prefix(prefix))
		tasks := []string{s.LineKey()}
		for _, name := range names {
			tasks = append(tasks, s.RecordKey(name), s.OwnerKey(name), s.LiveKey(name))
			oneSlot(t, node, s.StreamKeys(name)...)
		}
		oneSlot(t, node, tasks...)
	}
}

func oneSlot(t *testing.T, node *redis.Client, keys ...string) {
	t.Helper()
	first := int64(-1)
	for _, key := range keys {
		slot, err := node.ClusterKeySlot(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		if first < 0 {
			first = slot
		}
		if slot != first {
			t.Errorf("%q is in slot %d, %q in %d", keys[0], first, key, slot)
		}
	}
}
