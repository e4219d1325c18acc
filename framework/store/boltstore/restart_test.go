package boltstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/boltstore"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/testkit/storetest"
)

func queue(s *boltstore.Store) storetest.QueueStore { return s.Tasks().(storetest.QueueStore) }

func working(id string) task.Record {
	now := time.Now()
	return task.Record{ID: id, Owner: "owner", Status: protocol.TaskWorking, Created: now, Updated: now, TTL: time.Hour, Call: []byte(id)}
}

func creates(t testing.TB, s task.Store, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := s.Create(t.Context(), working(id)); err != nil {
			t.Fatalf("Create(%s): %v", id, err)
		}
	}
}

func takes(t testing.TB, q task.Queue) task.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	l, err := q.Take(ctx)
	if err != nil {
		t.Fatalf("Take: %v", err)
	}
	return l
}

func turns(t testing.TB, s task.Store, id string, to protocol.TaskStatus) {
	t.Helper()
	r, err := s.Get(t.Context(), id)
	if err == nil {
		r.Status = to
		err = s.Update(t.Context(), r)
	}
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
}

// TestLineAfterRestart: who was working is in line, in the order of creation, and the
// queue knows who was taken and not given back.
func TestLineAfterRestart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store")
	s := reopen(t, path)
	q := queue(s)
	creates(t, q, "held", "released", "answered", "done", "asks", "deleted")
	leases := map[string]task.Lease{}
	for range 6 {
		l := takes(t, q)
		leases[l.Task] = l
	}
	if err := q.Release(t.Context(), leases["released"]); err != nil {
		t.Fatal(err)
	}
	turns(t, q, "answered", protocol.TaskInputRequired)
	turns(t, q, "answered", protocol.TaskWorking)
	turns(t, q, "done", protocol.TaskCompleted)
	turns(t, q, "asks", protocol.TaskInputRequired)
	if err := q.Delete(t.Context(), "deleted"); err != nil {
		t.Fatal(err)
	}
	creates(t, q, "new")
	for range 2 { // a restart without anything is none
		closes(t, s)
		s = reopen(t, path)
	}
	q = queue(s)
	var got []string
	for range 4 {
		l := takes(t, q)
		got = append(got, fmt.Sprint(l.Task, " ", l.Again))
		if old := leases[l.Task]; l.Token == old.Token {
			t.Errorf("%s has the lease that it had before", l.Task)
		} else if err := q.Renew(t.Context(), old); !errors.Is(err, task.ErrLost) {
			t.Errorf("%s, renewed by a lease from before: %v", l.Task, err)
		}
	}
	if want := []string{"held true", "released false", "answered false", "new false"}; !slices.Equal(got, want) {
		t.Errorf("in line are %q, want %q", got, want)
	}
	if err := boltstore.Verify(s); err != nil {
		t.Error(err)
	}
}

func opening(t testing.TB, s *boltstore.Store) string {
	t.Helper()
	store, ok := s.Sessions().(session.Exclusive)
	if !ok {
		t.Fatal("it is not exclusive")
	}
	return store.Opening()
}

// TestRestart: all ports have what they had.
func TestRestart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store")
	s := reopen(t, path)
	ctx := t.Context()
	creates(t, s.Tasks(), "a", "b", "c", "d")
	if err := errors.Join(
		s.Tasks().Delete(ctx, "b"),
		s.Sessions().Create(ctx, session.Record{ID: "s", Principal: "p", Data: []byte("data")}),
	); err != nil {
		t.Fatal(err)
	}
	_, _, err := s.Claims().Claim(ctx, "k", []byte("v"), time.Hour)
	_, errAdd := s.Claims().Add(ctx, "k", 7, time.Hour)
	_, errAppend := s.Events().Append(ctx, "e", []byte("frame"))
	if err := errors.Join(err, errAdd, errAppend); err != nil {
		t.Fatal(err)
	}
	first := opening(t, s)
	closes(t, s)

	s = reopen(t, path)
	if now := opening(t, s); now == first || now == "" || now != opening(t, s) {
		t.Errorf("the opening is %q, after %q", now, first)
	}
	if list, err := s.Tasks().List(ctx, "owner", "b", 9); err != nil || len(list) != 2 || list[0].ID != "c" {
		t.Errorf("behind b, which is gone: %+v, %v", list, err)
	}
	if n, err := s.Tasks().Count(ctx, "owner"); n != 3 || err != nil {
		t.Errorf("Count = %d, %v", n, err)
	}
	creates(t, s.Tasks(), "e")
	if list, err := s.Tasks().List(ctx, "owner", "d", 9); err != nil || len(list) != 1 || list[0].ID != "e" {
		t.Errorf("behind d: %+v, %v", list, err)
	}
	if r, err := s.Sessions().Get(ctx, "s"); err != nil || r.Principal != "p" || string(r.Data) != "data" || r.Version != 1 || !r.Expires.IsZero() {
		t.Errorf("the session is %+v, %v", r, err)
	}
	if v, err := s.Claims().Get(ctx, "k"); err != nil || string(v) != "v" {
		t.Errorf("the claim is %q, %v", v, err)
	}
	if sum, err := s.Claims().Add(ctx, "k", 1, time.Hour); err != nil || sum != 8 {
		t.Errorf("the counter is at %d, %v", sum, err)
	}
	if seq, err := s.Events().Append(ctx, "e", nil); err != nil || seq != 2 {
		t.Errorf("the next event is %d, %v", seq, err)
	}
	if events, err := s.Events().After(ctx, "e", 0); err != nil || len(events) != 2 || string(events[0].Frame) != "frame" {
		t.Errorf("the events are %v, %v", events, err)
	}
}

// TestExpiredAtOpen: nothing is left of what expired while the store was closed.
func TestExpiredAtOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store")
	s := reopen(t, path)
	ctx := t.Context()
	for i := range 30 {
		r := working(fmt.Sprint(i))
		r.Created = time.Now().Add(-time.Hour + 100*time.Millisecond)
		err := s.Tasks().Create(ctx, r)
		_, _, errClaim := s.Claims().Claim(ctx, r.ID, nil, 100*time.Millisecond)
		errSession := s.Sessions().Create(ctx, session.Record{ID: r.ID, Expires: time.Now().Add(100 * time.Millisecond)})
		if err := errors.Join(err, errClaim, errSession); err != nil {
			t.Fatal(err)
		}
	}
	closes(t, s)
	time.Sleep(200 * time.Millisecond)
	s = reopen(t, path)
	if n := boltstore.Rows(s); n != 0 {
		t.Errorf("%d are left", n)
	}
	if err := boltstore.Verify(s); err != nil {
		t.Error(err)
	}
}

// TestEventsOfAnotherBoot checks that events that were not synced when the machine stopped are not
// used. A reader gets an error for them. Synced events stay.
func TestEventsOfAnotherBoot(t *testing.T) {
	t.Parallel()
	for _, synced := range []bool{false, true} {
		var opts []boltstore.Option
		if synced {
			opts = append(opts, boltstore.SyncEvents())
		}
		path := filepath.Join(t.TempDir(), "store")
		s := reopen(t, path, opts...)
		if _, err := s.Events().Append(t.Context(), "e", nil); err != nil {
			t.Fatal(err)
		}
		if err := boltstore.Crash(s, "of another boot"); err != nil {
			t.Fatal(err)
		}
		s = reopen(t, path, opts...)
		_, err := s.Events().After(t.Context(), "e", 0)
		if synced != (err == nil) || !synced && !errors.Is(err, eventlog.ErrExpired) {
			t.Errorf("synced %v: %v", synced, err)
		}
	}
}

// TestEventsOfThisBoot: a process that was killed loses none.
func TestEventsOfThisBoot(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store")
	s := reopen(t, path)
	if _, err := s.Events().Append(t.Context(), "e", nil); err != nil {
		t.Fatal(err)
	}
	if err := boltstore.Crash(s, ""); err != nil {
		t.Fatal(err)
	}
	if events, err := reopen(t, path).Events().After(t.Context(), "e", 0); err != nil || len(events) != 1 {
		t.Errorf("%v, %v", events, err)
	}
}

// TestBootID: the ID stays the same while the machine runs, and an unknown ID is never the same boot.
func TestBootID(t *testing.T) {
	t.Parallel()
	id := string(boltstore.BootID())
	if again := string(boltstore.BootID()); id != again {
		t.Errorf("%q, then %q", id, again)
	}
	switch runtime.GOOS {
	case "linux", "darwin", "windows":
		if id == "?" || id == "" || strings.TrimSpace(id) != id {
			t.Errorf("got %q, want an ID", id)
		}
	}
	for _, tt := range []struct {
		was, now string
		want     bool
	}{
		{"a", "a", true},
		{"a", "b", false},
		{"?", "a", false},
		{"a", "?", false},
		{"?", "?", false},
	} {
		if got := boltstore.SameBoot([]byte(tt.was), []byte(tt.now)); got != tt.want {
			t.Errorf("%q and %q: the same boot is %v", tt.was, tt.now, got)
		}
	}
}

func TestPathOfURL(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ url, system, want string }{
		{"file:a.db", "linux", "a.db"},
		{"file:///var/a.db", "linux", "/var/a.db"},
		{"file:///C:/a.db", "linux", "/C:/a.db"},
		{"file:///C:/data/a.db", "windows", "C:/data/a.db"},
		{"file:C:/data/a.db", "windows", "C:/data/a.db"},
		{`file:C:\data\a.db`, "windows", `C:\data\a.db`},
		{"file:///data/a.db", "windows", "/data/a.db"},
		{"file:", "windows", ""},
	} {
		if got := boltstore.PathOf(tt.url, tt.system); got != tt.want {
			t.Errorf("%s on %s: got %q, want %q", tt.url, tt.system, got, tt.want)
		}
	}
}

// TestDamagedEvents: they are given up, and the server starts.
func TestDamagedEvents(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store")
	s := reopen(t, path)
	creates(t, s.Tasks(), "a")
	closes(t, s)
	if err := os.WriteFile(path+".events", make([]byte, 9999), 0o600); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, path)
	if seq, err := s.Events().Append(t.Context(), "e", nil); seq != 1 || err != nil {
		t.Errorf("%d, %v", seq, err)
	}
	if _, err := s.Tasks().Get(t.Context(), "a"); err != nil {
		t.Error(err)
	}
}
