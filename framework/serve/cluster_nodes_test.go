//go:build unix

package serve_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/redisserver"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// cluster is nodes that serve, and workers, on one Redis.
type cluster struct {
	redis *redisserver.Server
	*receiver
	*balancer
	env   []string
	nodes map[string]*process
}

// patient is for the URL of a Redis that is never away: a machine that stands still for
// seconds is no reason to fail.
const patient = "?dial_timeout=45s&read_timeout=45s&write_timeout=45s&pool_timeout=45s"

// newCluster starts them, with parameters for the URL of Redis. The nodes keep their addresses.
func newCluster(t testing.TB, params string, nodes, workers int, env ...string) *cluster {
	t.Helper()
	c := &cluster{redis: redisserver.Start(t), receiver: newReceiver(t), nodes: map[string]*process{}}
	c.env = append([]string{
		"RECEIVER_URL=" + c.receiver.url, "LONG_STORE=redis://" + c.redis.Addr() + "/0" + params,
		"LONG_LEASE=" + killLease.String(), "LONG_SWEEP=" + killSweep.String(),
	}, env...)
	addrs := map[string]string{}
	for i := range nodes {
		name := fmt.Sprint("n", i+1)
		c.nodes[name] = runLong(t, name, []string{"--http", fixedAddr(t)}, c.env)
		addrs[name] = c.nodes[name].serves()
	}
	for i := range workers {
		runLong(t, fmt.Sprint("w", i+1), []string{"--worker"}, c.env)
	}
	c.balancer = balance(t, addrs)
	return c
}

var allRevisions = []protocol.Revision{
	protocol.Rev20241105, protocol.Rev20250326, protocol.Rev20250618, protocol.Rev20251125, protocol.Rev20260728,
}

// since says whether a revision is that one or a later one.
func since(revision, first protocol.Revision) bool {
	return slices.Index(allRevisions, revision) >= slices.Index(allRevisions, first)
}

// TestClusterNodes: two nodes and a worker are one server to clients of all revisions,
// wherever their messages go.
func TestClusterNodes(t *testing.T) {
	t.Parallel()
	c := newCluster(t, patient, 2, 1)
	t.Cleanup(func() { c.judge(t) })
	for _, revision := range allRevisions {
		t.Run(revision.String(), func(t *testing.T) {
			t.Parallel()
			c.serveOne(t, revision)
		})
	}
}

// judge looks at what the balancer and the receiver have seen, when all is over.
func (c *cluster) judge(t *testing.T) {
	c.balancer.mu.Lock()
	defer c.balancer.mu.Unlock()
	effects, again := c.once(t)
	t.Logf("%d answers, %d of them to another node than the one that asked; %d effects, %d sent again with their key",
		c.answers, c.crossed, effects, again)
	if c.answers == 0 || 2*c.crossed < c.answers {
		t.Errorf("%d of %d answers went to another node", c.crossed, c.answers)
	}
	for _, n := range c.balancer.nodes {
		if n.posts.Load() == 0 {
			t.Errorf("%s got nothing", n.name)
		}
	}
}

// serveOne does all that a client of the revision can do.
func (c *cluster) serveOne(t *testing.T, revision protocol.Revision) {
	ctx, n := bounded(t), rounds(6, 40)
	address := c.balancer.url
	if revision == protocol.Rev20241105 {
		address = strings.TrimSuffix(address, "/mcp") + "/sse"
	}
	me, wired := join(t, address, revision)
	if got := me.Revision(); got != revision.String() {
		t.Fatalf("it speaks %s", got)
	}
	c.calls(ctx, t, me, n)
	c.questions(ctx, t, me, revision, n)
	c.updates(ctx, t, me, n)
	if since(revision, protocol.Rev20251125) {
		c.tasks(ctx, t, me, n)
		c.cancels(ctx, t, me, n/2)
	}
	c.ends(t, me, wired, revision)
}

func (c *cluster) calls(ctx context.Context, t *testing.T, me *client.Client, n int) {
	by := map[string]int{}
	for range 4 * n {
		got, err := client.Call[string](ctx, me, "where", nil)
		if by[got]++; err != nil {
			t.Errorf("a call: %v", err)
		}
	}
	if me.Revision() != protocol.Rev20241105.String() && len(by) != 2 {
		t.Errorf("calls were answered by %v", by)
	}
}

// questions are asked in the request; revisions without elicitation have a model.
func (c *cluster) questions(ctx context.Context, t *testing.T, me *client.Client, revision protocol.Revision, n int) {
	tool := "ask_inline"
	if !since(revision, protocol.Rev20250618) {
		tool = "consult"
	}
	fewAtOnce(n, 4, func(i int) {
		label := fmt.Sprintf("%s inline %d", revision, i)
		begun := time.Now()
		got, err := client.Call[string](ctx, me, tool, map[string]string{"label": label})
		if err != nil || !strings.HasPrefix(got, label+": from-n") {
			t.Errorf("%s: %q, %v", label, got, err)
		}
		if took := time.Since(begun); took > clusterLate {
			t.Errorf("%s took %v", label, took)
		}
	})
}

// updates are said by another client: no frame of the session tells the node that this
// one listens to what it watches.
func (c *cluster) updates(ctx context.Context, t *testing.T, me *client.Client, n int) {
	other, _ := join(t, c.balancer.url, protocol.Rev20260728)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	updates, err := me.Subscribe(ctx, "long://value")
	if err != nil {
		t.Errorf("subscribing: %v", err)
		return
	}
	seen := make(chan struct{}, 1000)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer stop()
	reading.Go(func() {
		for range updates {
			seen <- struct{}{}
		}
	})
	for i := range n {
		for len(seen) > 0 { // of the other clients
			<-seen
		}
		if _, err := other.CallTool(ctx, "touch", nil); err != nil {
			t.Errorf("touch: %v", err)
		}
		timer := time.NewTimer(clusterLate)
		select {
		case <-seen:
		case <-timer.C:
			t.Errorf("update %d did not come", i)
		}
		timer.Stop()
	}
}

func (c *cluster) tasks(ctx context.Context, t *testing.T, me *client.Client, n int) {
	fewAtOnce(n, 4, func(i int) {
		label := fmt.Sprintf("%s task %d", me.Revision(), i)
		made, err := me.CallTask(ctx, "ask", map[string]string{"label": label})
		if err != nil {
			t.Errorf("%s: %v", label, err)
			return
		}
		begun := time.Now()
		result, err := made.Wait(ctx)
		if err != nil || !strings.HasPrefix(text(result), label+": from-") {
			t.Errorf("%s: %q, %v", label, text(result), err)
		}
		if took := time.Since(begun); took > clusterLate {
			t.Errorf("%s took %v", label, took)
		}
	})
}

// cancels are of tasks that run, mostly on another process.
func (c *cluster) cancels(ctx context.Context, t *testing.T, me *client.Client, n int) {
	for i := range n {
		label := fmt.Sprintf("%s held %d", me.Revision(), i)
		made, err := me.CallTask(ctx, "hold", map[string]string{"label": label})
		if err != nil {
			t.Errorf("%s: %v", label, err)
			return
		}
		c.await(ctx, t, label, "held")
		begun := time.Now()
		if err := made.Cancel(ctx); err != nil {
			t.Errorf("cancelling %s: %v", label, err)
		}
		if cause := c.await(ctx, t, label, "cause:"); !strings.Contains(cause, "cancel") {
			t.Errorf("%s ended: %s", label, cause)
		}
		if took := time.Since(begun); took > clusterLate {
			t.Errorf("%s ended %v after its cancellation", label, took)
		}
		if got, err := made.Get(ctx); err != nil || got.Status != protocol.TaskCancelled {
			t.Errorf("%s is %s, %v", label, got.Status, err)
		}
	}
}

// await waits for an effect that begins so.
func (r *receiver) await(ctx context.Context, t *testing.T, label, prefix string) string {
	for {
		for _, e := range r.effects() {
			if e.label == label && strings.HasPrefix(e.what, prefix) {
				return e.what
			}
		}
		if !pauseFor(ctx, 10*time.Millisecond) {
			t.Errorf("%s: no %q", label, prefix)
			return ""
		}
	}
}

// ends: a session that is deleted on one node is gone on all.
func (c *cluster) ends(t *testing.T, me *client.Client, wired *wire, revision protocol.Revision) {
	if err := me.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	sessions := wired.seen()
	if want := map[bool]int{true: 1}[since(revision, protocol.Rev20250326) && !since(revision, protocol.Rev20260728)]; len(sessions) != want {
		t.Errorf("%d sessions, want %d", len(sessions), want)
	}
	for _, id := range sessions {
		for _, n := range c.balancer.nodes {
			if got := c.post(t, n, id, revision); got != http.StatusNotFound {
				t.Errorf("%s answers %d for a session that was deleted", n.name, got)
			}
		}
	}
}

func (c *cluster) post(t *testing.T, n *backend, session string, revision protocol.Revision) int {
	const ping = `{"jsonrpc":"2.0","id":9,"method":"ping"}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.target.String()+"/mcp", strings.NewReader(ping))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Session-Id": session, "Mcp-Protocol-Version": revision.String(),
	} {
		req.Header.Set(name, value)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}
