//go:build unix

package serve_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// strain is load on a cluster, and what came of it.
type strain struct {
	c   *cluster
	ctx context.Context

	plain, failedPlain        atomic.Int64 // calls that need no store
	inSession, failedSession  atomic.Int64
	accepted, refused, failed atomic.Int64 // tasks; failed are of those accepted
	wrong                     atomic.Int64

	mu   sync.Mutex // guards open and took
	open map[string]*client.Task
	took []time.Duration // by each call that needs no store
	all  sync.WaitGroup
}

// begin lets clients work until ctx ends.
func (c *cluster) begin(ctx context.Context, t *testing.T) *strain {
	s := &strain{c: c, ctx: ctx, open: map[string]*client.Task{}}
	for worker := range 2 {
		modern, _ := join(t, c.balancer.url, protocol.Rev20260728)
		old, _ := join(t, c.balancer.url, protocol.Rev20251125)
		s.all.Go(func() { s.repeat(func(int) { s.call(t, modern, &s.plain, &s.failedPlain) }) })
		s.all.Go(func() { s.repeat(func(int) { s.call(t, old, &s.inSession, &s.failedSession) }) })
		s.all.Go(func() {
			s.repeat(func(i int) { s.task(modern, fmt.Sprintf("strain %d.%d", worker, i)) })
		})
	}
	return s
}

func (s *strain) repeat(do func(i int)) {
	for i := 0; pauseFor(s.ctx, 10*time.Millisecond); i++ {
		do(i)
	}
}

// call must be answered rightly, or fail.
func (s *strain) call(t *testing.T, c *client.Client, made, failed *atomic.Int64) {
	begun := time.Now()
	got, err := client.Call[string](s.ctx, c, "where", nil)
	took := time.Since(begun)
	switch {
	case s.ctx.Err() != nil:
	case err != nil:
		if failed.Add(1); made == &s.plain {
			t.Errorf("a call that needs no store: %v", err)
		}
	case !strings.HasPrefix(got, "n"):
		s.wrong.Add(1)
		t.Errorf("a call was answered %q", got)
	default:
		made.Add(1)
	}
	if made == &s.plain && s.ctx.Err() == nil {
		s.mu.Lock()
		s.took = append(s.took, took)
		s.mu.Unlock()
	}
}

// usual is the median of what calls that need no store have taken, after the first so many.
func (s *strain) usual(first int) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	later := slices.Sorted(slices.Values(s.took[min(first, len(s.took)):]))
	if len(later) == 0 {
		return 0
	}
	return later[len(later)/2]
}

// task makes one, and leaves it for finish.
func (s *strain) task(c *client.Client, label string) {
	ctx, cancel := context.WithTimeout(s.ctx, 10*time.Second)
	defer cancel()
	made, err := c.CallTask(ctx, "steps", map[string]any{"label": label, "steps": 4, "pause_ms": 20})
	if err != nil {
		s.refused.Add(1)
		return
	}
	s.accepted.Add(1)
	s.mu.Lock()
	s.open[label] = made
	s.mu.Unlock()
}

// finish waits for all tasks that were accepted, and checks them.
func (s *strain) finish(t *testing.T) {
	s.all.Wait()
	ctx := bounded(t)
	var waiting sync.WaitGroup
	places := make(chan struct{}, 32)
	for label, made := range s.open {
		waiting.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			result, err := outcome(ctx, made)
			if got := text(result); err != nil || got != label+": 4 steps" {
				s.failed.Add(1)
				t.Errorf("%s was accepted: %q, %v", label, got, err)
			}
		})
	}
	waiting.Wait()
	effects, again := s.c.once(t)
	t.Logf("%d calls that need no store, %d failed; %d of sessions, %d failed; %d tasks accepted, %d of them failed, %d refused; %d wrong answers; %d effects, %d sent again with their key",
		s.plain.Load(), s.failedPlain.Load(), s.inSession.Load(), s.failedSession.Load(),
		s.accepted.Load(), s.failed.Load(), s.refused.Load(), s.wrong.Load(), effects, again)
	if s.plain.Load() == 0 || s.inSession.Load() == 0 || s.accepted.Load() == 0 {
		t.Error("there was no load")
	}
}

// outcome returns the outcome of a task. After Redis has refused a node, the node answers for up to
// a second that it cannot reach Redis and that the client may try again.
func outcome(ctx context.Context, made *client.Task) (*protocol.CallToolResult, error) {
	for {
		result, err := made.Wait(ctx)
		if err == nil || !strings.Contains(err.Error(), "try again") || !pauseFor(ctx, 100*time.Millisecond) {
			return result, err
		}
	}
}

// TestClusterRedisRestarts: a Redis that is killed and comes back with what it had
// acknowledged costs no task, and makes no answer wrong.
func TestClusterRedisRestarts(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "", 2, 1)
	ctx, stop := context.WithCancel(bounded(t))
	defer stop()
	s := c.begin(ctx, t)
	for range rounds(3, 20) {
		pauseFor(ctx, time.Duration(500+rand.IntN(500))*time.Millisecond)
		c.redis.Restart()
	}
	before := s.inSession.Load() + s.accepted.Load()
	works := func() bool { return s.inSession.Load()+s.accepted.Load() > before }
	for late := time.Now().Add(clusterLate); !works() && time.Now().Before(late); { // who was refused waits before the next try
		pauseFor(ctx, 20*time.Millisecond)
	}
	if !works() {
		t.Error("nothing that needs the store works after the last restart")
	}
	stop()
	s.finish(t)
}

// TestClusterRedisPauses: while Redis does not answer, calls that need it fail, other calls go on, and
// no memory piles up.
func TestClusterRedisPauses(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "", 2, 1)
	ctx, stop := context.WithCancel(bounded(t))
	defer stop()
	s := c.begin(ctx, t)
	pauseFor(ctx, time.Second)
	before, plain := c.memory(t), s.plain.Load()
	c.redis.Pause()
	most, begun := map[string]int{}, time.Now()
	// However few calls a busy machine gets done in a while, they go on.
	enough := func() bool { return s.plain.Load() >= plain+50 }
	for least := time.Duration(rounds(3, 10)) * time.Second; time.Since(begun) < least || !enough() && time.Since(begun) < clusterLate; {
		pauseFor(ctx, 250*time.Millisecond)
		for name, kib := range c.memory(t) {
			most[name] = max(most[name], kib)
		}
	}
	usual, stood := s.usual(int(plain)), time.Since(begun)
	meanwhile := s.plain.Load() - plain
	c.redis.Continue()
	begun, after := time.Now(), s.accepted.Load()
	for s.accepted.Load() == after && time.Since(begun) < clusterLate && ctx.Err() == nil {
		pauseFor(ctx, 10*time.Millisecond)
	}
	back := time.Since(begun)
	stop()
	s.finish(t)
	t.Logf("Redis stood still for %v: %d calls that need no store, which usually took %v; memory in KiB before %v, most %v; a task was accepted %v after its return",
		stood.Round(time.Millisecond), meanwhile, usual.Round(time.Millisecond), before, most, back.Round(time.Millisecond))
	if meanwhile < 50 {
		t.Errorf("only %d calls that need no store were answered", meanwhile)
	}
	if usual > time.Second { // which is the shortest that one waits for Redis
		t.Errorf("a call that needs no store took %v", usual)
	}
	for name, kib := range most {
		if kib > before[name]+64<<10 {
			t.Errorf("%s grew from %d to %d KiB", name, before[name], kib)
		}
	}
	if s.accepted.Load() == after {
		t.Errorf("no task was accepted for %v", back)
	}
}

// memory is what the nodes have in memory, in KiB; nothing where the system does not say.
func (c *cluster) memory(t *testing.T) map[string]int {
	t.Helper()
	all := map[string]int{}
	for name, p := range c.nodes {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(status)) {
			if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmRSS:" {
				all[name], _ = strconv.Atoi(fields[1])
			}
		}
	}
	return all
}
