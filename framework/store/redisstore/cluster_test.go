package redisstore_test

import (
	"fmt"
	"net"
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

// clusterOf is one of three nodes, each with a third of the slots.
func clusterOf(t *testing.T) *redis.ClusterClient {
	t.Helper()
	var addrs []string
	var nodes []*redis.Client
	for i := range 3 {
		server := redisserver.Start(t, "--cluster-enabled", "yes")
		node := clientOf(t, server.Addr())
		const slots = 16384
		if err := node.ClusterAddSlotsRange(t.Context(), i*slots/3, (i+1)*slots/3-1).Err(); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			host, port, _ := net.SplitHostPort(addrs[0])
			if err := node.ClusterMeet(t.Context(), host, port).Err(); err != nil {
				t.Fatal(err)
			}
		}
		addrs, nodes = append(addrs, server.Addr()), append(nodes, node)
	}
	for _, node := range nodes {
		await(t, func() (bool, string) {
			info, err := node.ClusterInfo(t.Context()).Result()
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3"), fmt.Sprint(info, err)
		})
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, ReadTimeout: patience, WriteTimeout: patience, PoolTimeout: patience})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// await waits until a server says what it shall. A Sentinel that finds that the machine stood
// still for two seconds does nothing for thirty.
func await(t *testing.T, ok func() (bool, string)) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		done, said := ok()
		if done {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(said)
		}
	}
}

// TestCluster is everything on a Cluster, which refuses scripts whose keys are in several
// slots.
func TestCluster(t *testing.T) {
	t.Parallel()
	client := clusterOf(t)
	open := opener(t, client)
	t.Run("Open", func(t *testing.T) {
		t.Parallel()
		for _, node := range client.Options().Addrs { // one that has the slot of a key might seem to do
			if _, err := openFails(t, "redis://"+node); !strings.Contains(err.Error(), "is a node of a Cluster") || !strings.Contains(err.Error(), "redisstore.New") {
				t.Errorf("%s: %v", node, err)
			}
		}
	})
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

// TestReplicas: a client that reads from replicas is refused.
func TestReplicas(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*redis.ClusterOptions{
		"ReadOnly": {ReadOnly: true}, "RouteByLatency": {RouteByLatency: true}, "RouteRandomly": {RouteRandomly: true},
	} {
		o.Addrs = []string{"localhost:1"}
		client := redis.NewClusterClient(o)
		if _, err := redisstore.New(client).Sessions().Get(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "replicas") {
			t.Errorf("%s: %v", name, err)
		}
		if err := client.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}
