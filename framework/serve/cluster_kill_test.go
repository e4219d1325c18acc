//go:build unix

package serve_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/redisserver"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

const (
	killLease = 2 * time.Second
	killSweep = time.Second
	killSlack = 30 * time.Second // a busy machine stands still for seconds
	killSteps = 8
)

// death is the kill of a process.
type death struct {
	node string
	at   time.Time
}

// TestClusterWorkersKilled: whatever step a worker is killed at, another one ends its
// tasks in time, and no effect happens twice.
func TestClusterWorkersKilled(t *testing.T) {
	t.Parallel()
	total := rounds(100, 1000)
	redis, r := redisserver.Start(t), newReceiver(t)
	env := []string{
		"RECEIVER_URL=" + r.url, "LONG_STORE=redis://" + redis.Addr() + "/0" + patient,
		"LONG_LEASE=" + killLease.String(), "LONG_SWEEP=" + killSweep.String(),
	}
	node := runLong(t, "front", []string{"--http", "127.0.0.1:0"}, append(env, "LONG_WORKERS=0"))
	workers := make([]*process, 3)
	begin := func(i, life int) {
		workers[i] = runLong(t, fmt.Sprintf("worker-%d.%d", i, life), []string{"--worker"}, env)
	}
	for i := range workers {
		begin(i, 0)
	}
	c, _ := join(t, "http://"+node.serves()+"/mcp", protocol.Rev20260728)
	ctx, stop := context.WithCancel(bounded(t))
	var deaths []death
	var killing sync.WaitGroup
	killing.Go(func() {
		for life := 1; life <= rounds(12, 1000) && pauseFor(ctx, time.Duration(300+rand.IntN(600))*time.Millisecond); life++ {
			victim := rand.IntN(len(workers))
			for life%2 == 0 && !r.heard(workers[victim].name) && pauseFor(ctx, 10*time.Millisecond) {
				continue // half of them die of a task, however long they take to begin
			}
			deaths = append(deaths, death{workers[victim].name, time.Now()})
			workers[victim].kill()
			begin(victim, life)
		}
	})
	all := make([]survivor, total)
	fewAtOnce(total, rounds(25, 60), func(i int) { all[i] = surviveOn(ctx, t, c, i, 200*time.Millisecond) })
	stop()
	killing.Wait()
	want, failed := survivedAll(all)
	effects, again := r.once(t)
	if effects < want || effects > want && failed == 0 {
		t.Errorf("%d effects, want %d; %d requests failed", effects, want, failed)
	}
	hit, worst := recovery(r.effects(), deaths, all)
	t.Logf("%d tasks, %d kills that hit %d tasks, %d effects, %d of them sent again with their key, %d requests failed; the last to end did so %v after its kill",
		total, len(deaths), hit, effects, again, failed, worst.Round(time.Millisecond))
	if most := killLease + killSweep + killSlack; worst > most {
		t.Errorf("a task ended %v after the last kill that hit it, want %v at most", worst, most)
	}
	if hit == 0 {
		t.Error("no kill has hit anything")
	}
}

// recovery is how many tasks the deaths hit, and the longest time from the last one that
// did to the end of the task.
func recovery(effects []effect, deaths []death, all []survivor) (hit int, worst time.Duration) {
	byLabel := map[string][]effect{}
	for _, e := range effects {
		byLabel[e.label] = append(byLabel[e.label], e)
	}
	for _, s := range all {
		var last time.Time
		for _, d := range deaths {
			if d.at.Before(s.over) && runsAt(byLabel[s.label], d.at) == d.node {
				last = d.at
			}
		}
		if !last.IsZero() {
			hit++
			worst = max(worst, s.over.Sub(last))
		}
	}
	return hit, worst
}

// heard says whether a node has done something.
func (r *receiver) heard(node string) bool {
	return slices.ContainsFunc(r.effects(), func(e effect) bool { return e.node == node })
}

// runsAt is who was heard of last by then: each run says that it begins.
func runsAt(effects []effect, at time.Time) (node string) {
	for _, e := range effects {
		if e.at.Before(at) {
			node = e.node
		}
	}
	return node
}

// pauseFor says whether there is time left.
func pauseFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// TestClusterFileKilled: one process on a file is killed and begins again; its clients
// keep their sessions, and all tasks that they have the id of end.
func TestClusterFileKilled(t *testing.T) {
	t.Parallel()
	total := rounds(50, 200)
	r, addr := newReceiver(t), fixedAddr(t)
	env := []string{"RECEIVER_URL=" + r.url, "LONG_STORE=file:" + t.TempDir() + "/kept.db", "LONG_LEASE=" + killLease.String()}
	begin := func(life int) *process { return runLong(t, fmt.Sprint("life-", life), []string{"--http", addr}, env) }
	p := begin(0)
	p.serves()
	slowly := client.OnElicit(func(ctx context.Context, q *client.ElicitRequest) (*client.ElicitAnswer, error) {
		pauseFor(ctx, time.Duration(rand.IntN(1000))*time.Millisecond)
		return &client.ElicitAnswer{Action: "accept", Content: map[string]any{"value": "from-" + asker(q.Message)}}, nil
	})
	old, wired := join(t, "http://"+addr+"/mcp", protocol.Rev20251125, slowly)
	modern, _ := join(t, "http://"+addr+"/mcp", protocol.Rev20260728, slowly)
	ctx, stop := context.WithCancel(bounded(t))
	kills := 0 // bounded: on a busy machine the process might never get to anything
	var killing sync.WaitGroup
	killing.Go(func() {
		for kills < rounds(8, 40) && pauseFor(ctx, time.Duration(300+rand.IntN(600))*time.Millisecond) {
			p.kill()
			kills++
			p = begin(kills)
		}
	})
	all := make([]survivor, total)
	fewAtOnce(total, 10, func(i int) {
		c := old
		if i%2 == 0 {
			c = modern
		}
		all[i] = surviveOn(ctx, t, c, i, 120*time.Millisecond)
	})
	stop()
	killing.Wait()
	p.serves()
	want, failed := survivedAll(all)
	effects, again := r.once(t)
	t.Logf("%d tasks, %d kills, %d effects, %d sent again with their key; %d requests failed", total, kills, effects, again, failed)
	if effects < want { // a task whose id was lost on the way may have run, too
		t.Errorf("%d effects, want %d", effects, want)
	}
	if got := wired.seen(); len(got) != 1 {
		t.Errorf("the client of 2025-11-25 had %d sessions", len(got))
	}
	if kills == 0 {
		t.Error("nothing was killed")
	}
	if got, err := client.Call[string](t.Context(), old, "where", nil); err != nil || got != p.name {
		t.Errorf("the session at the end: %q, %v", got, err)
	}
}

// survivor is a task that ended.
type survivor struct {
	label   string
	over    time.Time
	effects int // that it has
	failed  int // requests about it that failed
}

// asks says which of the tasks ask.
func asks(i int) bool { return i%5 == 0 }

// surviveOn makes a task, as often as it takes to get an id, and waits for its end, as
// often as that takes: a request may meet a process that dies, or a store that is away.
func surviveOn(ctx context.Context, t *testing.T, c *client.Client, i int, pause time.Duration) survivor {
	var s survivor
	var made *client.Task
	for {
		s.label, s.effects = fmt.Sprintf("task %d, attempt %d", i, s.failed), killSteps
		tool, args := "steps", map[string]any{"label": s.label, "steps": killSteps, "pause_ms": pause.Milliseconds()}
		if asks(i) {
			tool, args, s.effects = "ask", map[string]any{"label": s.label}, 2
		}
		var err error
		if made, err = c.CallTask(ctx, tool, args); err == nil {
			break
		}
		if s.failed++; !pauseFor(ctx, 100*time.Millisecond) {
			t.Errorf("task %d was never taken: %v", i, err)
			return s
		}
	}
	want := fmt.Sprintf("%s: %d steps", s.label, killSteps)
	if asks(i) {
		want = s.label + ": from-"
	}
	for {
		result, err := made.Wait(ctx)
		switch {
		case err == nil && strings.HasPrefix(text(result), want):
			s.over = made.State().Updated
			return s
		case err == nil, errors.Is(err, client.ErrTaskGone), errors.Is(err, client.ErrTaskCancelled):
			t.Errorf("task %d: %q, %v", i, text(result), err)
			return s
		}
		if s.failed++; !pauseFor(ctx, 100*time.Millisecond) {
			t.Errorf("task %d did not end: %v", i, err)
			return s
		}
	}
}

// survivedAll is how many effects the tasks have, and how many requests failed.
func survivedAll(all []survivor) (effects, failed int) {
	for _, s := range all {
		effects += s.effects
		failed += s.failed
	}
	return effects, failed
}
