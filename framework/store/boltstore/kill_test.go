package boltstore_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/boltstore"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/testkit/storetest"
)

// TestKill: a process that writes is killed at any moment. What was acknowledged is
// there then, nothing is half, and no task is lost to the queue.
func TestKill(t *testing.T) {
	t.Parallel()
	rounds := 50
	if testing.Short() {
		rounds = 5
	}
	path := filepath.Join(t.TempDir(), "store")
	acknowledged := 0
	for range rounds {
		acks := kill(t, path)
		acknowledged += acks.n
		s := reopen(t, path)
		if err := boltstore.Verify(s); err != nil {
			t.Fatal(err)
		}
		acks.verify(t, s)
		closes(t, s)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d acknowledged in %d rounds", acknowledged, rounds)
	if acknowledged < 10*rounds {
		t.Errorf("only %d were acknowledged in %d rounds: that is no test", acknowledged, rounds)
	}
}

// acks is what a victim said.
type acks struct {
	n        int
	tasks    map[string]uint64
	taken    map[string]bool
	deleted  map[string]bool
	sessions map[string]uint64
	sums     map[string]uint64
	events   map[string]uint64
}

// kill has a victim write for a while from its first acknowledgement on.
func kill(t *testing.T, path string) *acks {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), victimPath+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(rand.N(100*time.Millisecond), func() { _ = cmd.Process.Kill() })
	rest, err := io.ReadAll(lines)
	timer.Stop()
	if err := errors.Join(err, cmd.Process.Kill()); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	return parse(t, first+string(rest))
}

func parse(t *testing.T, said string) *acks {
	t.Helper()
	a := &acks{
		tasks: map[string]uint64{}, taken: map[string]bool{}, deleted: map[string]bool{},
		sessions: map[string]uint64{}, sums: map[string]uint64{}, events: map[string]uint64{},
	}
	end := strings.LastIndexByte(said, '\n')
	for line := range strings.Lines(said[:end+1]) {
		a.n++
		f := strings.Fields(line)
		var number uint64
		if len(f) == 3 {
			number, _ = strconv.ParseUint(f[2], 10, 64)
		}
		switch f[0] {
		case "t":
			a.tasks[f[1]] = max(a.tasks[f[1]], number)
		case "k":
			a.taken[f[1]] = true
		case "d":
			a.deleted[f[1]] = true
		case "s":
			a.sessions[f[1]] = number
		case "c":
			a.sums[f[1]] = number
		case "e":
			a.events[f[1]] = number
		default:
			t.Fatalf("the victim says: %s", line)
		}
	}
	return a
}

func (a *acks) verify(t *testing.T, s *boltstore.Store) {
	t.Helper()
	tasks := s.Tasks().(storetest.QueueStore)
	all, err := tasks.List(t.Context(), "owner", "", 1e6)
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string]task.Record{}
	for _, r := range all {
		stored[r.ID] = r
		if err := r.Validate(); err != nil {
			t.Error(err)
		}
		if !bytes.Equal(r.Call, victimBytes(r.ID, 0)) || r.Status == protocol.TaskWorking && !bytes.Equal(r.Journal, victimBytes(r.ID, r.Version)) {
			t.Errorf("%s is half: version %d, %s", r.ID, r.Version, r.Status)
		}
	}
	for id, version := range a.tasks {
		r, there := stored[id]
		switch {
		case a.deleted[id] && there:
			t.Errorf("%s is back", id)
		case there && (r.Version < version || r.Version > version+1):
			t.Errorf("%s has version %d, acknowledged was %d", id, r.Version, version)
		case !there && version < 2: // a deletion comes after the update
			t.Errorf("%s is gone", id)
		}
	}
	a.verifyLine(t, tasks, stored)
	a.verifyOthers(t, s)
}

// verifyLine takes them all, each once, and deletes them.
func (a *acks) verifyLine(t *testing.T, tasks storetest.QueueStore, stored map[string]task.Record) {
	t.Helper()
	var (
		all   sync.WaitGroup
		mu    sync.Mutex // guards leases
		lease = map[string]task.Lease{}
	)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	working := 0
	for _, r := range stored {
		if r.Status == protocol.TaskWorking {
			working++
		}
	}
	for range 16 {
		all.Go(func() {
			for {
				mu.Lock()
				enough := len(lease) >= working
				mu.Unlock()
				if enough {
					cancel()
				}
				l, err := tasks.Take(ctx)
				if err != nil {
					return
				}
				mu.Lock()
				if _, twice := lease[l.Task]; twice || stored[l.Task].Status != protocol.TaskWorking {
					t.Errorf("taken is %s, twice %v, which is %s", l.Task, twice, stored[l.Task].Status)
				}
				lease[l.Task] = l
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for id, r := range stored {
		l, ok := lease[id]
		if ok != (r.Status == protocol.TaskWorking) || ok && a.taken[id] && !l.Again {
			t.Errorf("%s is %s; taken %v; now in line %v, again %v", id, r.Status, a.taken[id], ok, l.Again)
		}
		all.Go(func() {
			if err := tasks.Delete(t.Context(), id); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func (a *acks) verifyOthers(t *testing.T, s *boltstore.Store) {
	t.Helper()
	ctx := t.Context()
	for id, version := range a.sessions {
		r, err := s.Sessions().Get(ctx, id)
		if err != nil || r.Version < version || !bytes.Equal(r.Data, victimBytes(id, r.Version)) {
			t.Errorf("session %s has version %d, acknowledged was %d: %v", id, r.Version, version, err)
		}
	}
	for name, sum := range a.sums {
		got, err := s.Claims().Add(ctx, name, 0, time.Hour)
		if err != nil || uint64(got) < sum || uint64(got) > sum+1 {
			t.Errorf("counter %s is %d, acknowledged was %d: %v", name, got, sum, err)
		}
	}
	for name, seq := range a.events {
		events, err := s.Events().After(ctx, name, 0)
		if n := uint64(len(events)); err != nil || n < seq || n > seq+1 {
			t.Errorf("stream %s has %d events, acknowledged were %d: %v", name, n, seq, err)
		}
		for _, e := range events {
			if !bytes.Equal(e.Frame, victimBytes(name, e.Seq)) {
				t.Errorf("event %d of %s is half: %d bytes", e.Seq, name, len(e.Frame))
			}
		}
	}
	if _, err := s.Sessions().Get(ctx, "no session"); !errors.Is(err, session.ErrNotFound) {
		t.Error(fmt.Errorf("a session that never was: %w", err))
	}
}
