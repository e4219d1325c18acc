//go:build unix

package serve_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// TestClusterResume: streams that break at any byte go on at any node, with each event
// once.
func TestClusterResume(t *testing.T) {
	t.Parallel()
	c := newCluster(t, patient, 3, 0)
	const streams = 8
	each := rounds(1000, 10_000) / streams
	var clients []*client.Client
	for _, revision := range []protocol.Revision{protocol.Rev20250326, protocol.Rev20250618, protocol.Rev20251125} {
		me, _ := join(t, c.balancer.url, revision)
		clients = append(clients, me)
	}
	ctx := bounded(t)
	var wrong atomic.Int64
	c.cut.Store(8 << 10) // an event is about 150 bytes
	fewAtOnce(streams, streams, func(i int) {
		next := 1
		got, err := client.Call[string](ctx, clients[i%len(clients)], "count", map[string]int{"n": each, "pause_us": 2000},
			client.OnProgress(func(p protocol.Progress) {
				if p.Done != float64(next) {
					wrong.Add(1)
				}
				next = int(p.Done) + 1
			}))
		if err != nil || got != fmt.Sprint(each) || next != each+1 {
			t.Errorf("stream %d: %q after event %d of %d, %v", i, got, next-1, each, err)
		}
	})
	c.balancer.mu.Lock()
	defer c.balancer.mu.Unlock()
	t.Logf("%d events on %d streams, %d times cut, %d out of order", streams*each, streams, c.cuts, wrong.Load())
	if wrong.Load() > 0 || c.cuts < streams {
		t.Errorf("%d events were lost or doubled, in %d cuts", wrong.Load(), c.cuts)
	}
}

// TestClusterRollingRestart: nodes that are replaced one after the other cost no call;
// a request that no node has read is sent to another node, once.
func TestClusterRollingRestart(t *testing.T) {
	t.Parallel()
	c := newCluster(t, patient, 3, 1, "LONG_WORKERS=4")
	ctx, stop := context.WithCancel(bounded(t))
	defer stop()
	var calls, asked, made, failed atomic.Int64
	var load sync.WaitGroup
	for worker := range 8 {
		me, _ := join(t, c.balancer.url, protocol.Rev20260728)
		load.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				label := fmt.Sprintf("load %d.%d", worker, i)
				if err := c.oneOf(ctx, me, i, label, &calls, &asked, &made); err != nil && ctx.Err() == nil {
					failed.Add(1)
					t.Errorf("%s: %v", label, err)
				}
				pauseFor(ctx, 5*time.Millisecond)
			}
		})
	}
	for range rounds(1, 5) {
		for name, p := range c.nodes {
			addr := p.serves()
			p.stop()
			c.nodes[name] = runLong(t, name, []string{"--http", addr}, c.env)
			c.nodes[name].serves()
			pauseFor(ctx, 300*time.Millisecond)
		}
	}
	stop()
	load.Wait()
	effects, again := c.once(t)
	c.balancer.mu.Lock()
	defer c.balancer.mu.Unlock()
	t.Logf("%d calls, %d with questions, %d tasks; %d failed; %d requests were sent to another node; %d effects, %d sent again with their key",
		calls.Load(), asked.Load(), made.Load(), failed.Load(), c.retried, effects, again)
	for _, problem := range c.broken {
		t.Log("the balancer: ", problem)
	}
	if calls.Load() == 0 || asked.Load() == 0 || made.Load() == 0 {
		t.Error("there was no load")
	}
}

// oneOf makes a call, a call that asks, or a task.
func (c *cluster) oneOf(ctx context.Context, me *client.Client, i int, label string, calls, asked, made *atomic.Int64) error {
	var got, want string
	var err error
	var counter *atomic.Int64
	switch i % 16 {
	default:
		counter, want = calls, "n"
		got, err = client.Call[string](ctx, me, "where", nil)
	case 3, 7, 11:
		counter, want = asked, label+": from-n"
		got, err = client.Call[string](ctx, me, "ask_inline", map[string]string{"label": label})
	case 15:
		counter, want = made, label+": 3 steps"
		var task *client.Task
		if task, err = me.CallTask(ctx, "steps", map[string]any{"label": label, "steps": 3, "pause_ms": 40}); err == nil {
			var result *protocol.CallToolResult
			result, err = task.Wait(ctx)
			got = text(result)
		}
	}
	if err != nil {
		return err
	}
	if counter.Add(1); !strings.HasPrefix(got, want) {
		return fmt.Errorf("%q, want %q", got, want)
	}
	return nil
}
