package boltstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/boltstore"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// filled is the bytes of a store with something on many pages.
func filled(t testing.TB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store")
	s := reopen(t, path)
	var all sync.WaitGroup
	for i := range 1000 {
		all.Go(func() {
			r := working(fmt.Sprint("task ", i))
			r.Call = make([]byte, 500)
			if err := s.Tasks().Create(t.Context(), r); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	closes(t, s)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func opens(t testing.TB, data []byte) (*boltstore.Store, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return boltstore.Open(path)
}

// TestTorn: a file whose end is missing is an error that says so, and keeps no lock.
func TestTorn(t *testing.T) {
	t.Parallel()
	whole := filled(t)
	page := os.Getpagesize()
	used := len(bytes.TrimRight(whole, "\x00")) // bbolt makes the file larger than that
	for _, size := range []int{1, 100, page, 2 * page, 3 * page, 4 * page, 5*page + 1, used / 2, used - 2*page} {
		s, err := opens(t, whole[:size])
		if err == nil {
			closes(t, s)
		}
		if !errors.Is(err, boltstore.ErrDamaged) {
			t.Errorf("the first %d of %d bytes: %v", size, used, err)
		}
	}
	s, err := opens(t, whole)
	if err != nil {
		t.Fatal(err)
	}
	closes(t, s)
}

// TestDamagedPages: a page that is nothing, or another one, is an error or was free; it is
// no panic, then or later.
func TestDamagedPages(t *testing.T) {
	t.Parallel()
	whole, page := filled(t), os.Getpagesize()
	random, told := rand.New(rand.NewPCG(1, 2)), 0
	pages := len(bytes.TrimRight(whole, "\x00")) / page
	for range 100 {
		data := bytes.Clone(whole)
		at := random.IntN(pages-2) + 2
		hit := data[at*page : (at+1)*page]
		switch random.IntN(3) {
		case 0:
			clear(hit)
		case 1:
			copy(hit, whole[(random.IntN(pages-2)+2)*page:])
		default:
			for range 20 {
				hit[random.IntN(64)] = byte(random.Uint32())
			}
		}
		s, err := opens(t, data)
		if err != nil {
			if told++; !errors.Is(err, boltstore.ErrDamaged) {
				t.Errorf("page %d: %v", at, err)
			}
			continue
		}
		_, _ = s.Tasks().List(t.Context(), "owner", "", 1000)
		_ = s.Tasks().Create(t.Context(), working("new"))
		_ = s.Close()
	}
	if t.Logf("%d of 100 were found", told); told < 10 { // free pages are no damage
		t.Errorf("%d of 100 were found: that is no test", told)
	}
}

// TestForeign files are refused, and stay as they are.
func TestForeign(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store")
	closes(t, reopen(t, path))
	newer, other, foreign := path+" newer", path+" other", path+" foreign"
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{newer, other, foreign} {
		if err := os.WriteFile(name, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(
		boltstore.Rewrite(newer, "format", []byte{255}), boltstore.Rewrite(other, "kind", []byte("events")), boltstore.Rewrite(foreign, "format", nil),
	); err != nil {
		t.Fatal(err)
	}
	text := path + " text"
	if err := os.WriteFile(text, bytes.Repeat([]byte("a file of somebody's\n"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		newer:                            boltstore.ErrNewer.Error(),
		other:                            `has kind "events"`,
		foreign:                          "to another program",
		text:                             boltstore.ErrDamaged.Error(),
		t.TempDir():                      "not a file",
		filepath.Join(path, "x"):         "not a directory",
		filepath.Join(path+" gone", "x"): "no such file",
		path + ".events":                 `has kind "events"`,
		"":                               "no such file",
	} {
		before, _ := os.ReadFile(name)
		s, err := boltstore.Open(name)
		if err == nil {
			closes(t, s)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		if after, _ := os.ReadFile(name); !bytes.Equal(before, after) {
			t.Errorf("%s has changed", name)
		}
	}
}

func TestInUse(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store")
	s := reopen(t, path)
	start := time.Now()
	if _, err := boltstore.Open(path, boltstore.LockWait(200*time.Millisecond)); !errors.Is(err, boltstore.ErrInUse) || !strings.Contains(err.Error(), path) {
		t.Errorf("opened twice: %v", err)
	}
	if waited := time.Since(start); waited > 10*time.Second {
		t.Errorf("it waited for %v", waited)
	}
	opened := make(chan error)
	go func() { // the next process waits for the one before
		s, err := boltstore.Open(path, boltstore.LockWait(10*time.Second))
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	time.Sleep(100 * time.Millisecond)
	closes(t, s)
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// TestClose ends those who wait; what comes after it is an error.
func TestClose(t *testing.T) {
	t.Parallel()
	s := open(t)
	q, ctx := queue(s), t.Context()
	ended := make(chan error)
	const waiting = 8
	for range waiting {
		go func() {
			_, err := q.Take(ctx)
			ended <- err
		}()
	}
	time.Sleep(50 * time.Millisecond)
	closes(t, s)
	for range waiting {
		if err := <-ended; !errors.Is(err, boltstore.ErrClosed) {
			t.Errorf("Take: %v", err)
		}
	}
	closes(t, s)
	for i, op := range []func() error{
		func() error { return q.Create(ctx, working("a")) },
		func() error { _, err := q.Get(ctx, "a"); return err },
		func() error { return q.Update(ctx, working("a")) },
		func() error { return q.Delete(ctx, "a") },
		func() error { _, err := q.List(ctx, "owner", "", 1); return err },
		func() error { _, err := q.Count(ctx, "owner"); return err },
		func() error { _, err := q.Take(ctx); return err },
		func() error { return q.Renew(ctx, task.Lease{Task: "a", Token: "x"}) },
		func() error { return s.Sessions().Create(ctx, session.Record{ID: "s"}) },
		func() error { _, err := s.Sessions().Get(ctx, "s"); return err },
		func() error { return s.Sessions().Update(ctx, session.Record{ID: "s"}) },
		func() error { return s.Sessions().Touch(ctx, "s", time.Time{}) },
		func() error { return s.Sessions().Delete(ctx, "s") },
		func() error { _, _, err := s.Claims().Claim(ctx, "c", nil, 1); return err },
		func() error { _, err := s.Claims().Swap(ctx, "c", nil, nil, 1); return err },
		func() error { _, err := s.Claims().Get(ctx, "c"); return err },
		func() error { return s.Claims().Delete(ctx, "c", nil) },
		func() error { _, err := s.Claims().Add(ctx, "c", 1, 1); return err },
		func() error { _, err := s.Events().Append(ctx, "e", nil); return err },
		func() error { _, err := s.Events().After(ctx, "e", 0); return err },
		func() error { return s.Events().Drop(ctx, "e") },
		func() error { return s.Backup(&bytes.Buffer{}) },
	} {
		if err := op(); !errors.Is(err, boltstore.ErrClosed) {
			t.Errorf("operation %d: %v", i, err)
		}
	}
	if err := q.Release(ctx, task.Lease{Task: "a", Token: "x"}); err != nil {
		t.Errorf("releasing what is lost: %v", err)
	}
}

// TestCloseWhileWriting: each write is there, or was refused.
func TestCloseWhileWriting(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store")
	s := reopen(t, path)
	var (
		all  sync.WaitGroup
		mu   sync.Mutex // guards kept
		kept []string
	)
	for w := range 16 {
		all.Go(func() {
			for n := 0; ; n++ {
				id := fmt.Sprint(w, " ", n)
				if err := s.Tasks().Create(t.Context(), working(id)); err != nil {
					if !errors.Is(err, boltstore.ErrClosed) {
						t.Error(err)
					}
					return
				}
				mu.Lock()
				kept = append(kept, id)
				mu.Unlock()
			}
		})
	}
	time.Sleep(100 * time.Millisecond)
	closes(t, s)
	all.Wait()
	s = reopen(t, path)
	if list, err := s.Tasks().List(t.Context(), "owner", "", 1e6); err != nil || len(list) != len(kept) {
		t.Errorf("%d of %d are there: %v", len(list), len(kept), err)
	}
}

// TestWriteThatFails fails alone: those who share its commit are served.
func TestWriteThatFails(t *testing.T) {
	t.Parallel()
	s := open(t)
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			if i%10 == 0 {
				if err := boltstore.WriteBadly(s, false); err == nil {
					t.Error("a bad write is no error")
				}
				return
			}
			creates(t, s.Tasks(), fmt.Sprint(i))
		})
	}
	all.Wait()
	if n, err := s.Tasks().Count(t.Context(), "owner"); n != 90 || err != nil {
		t.Errorf("%d are there, %v", n, err)
	}
	if boltstore.Half(s) {
		t.Error("half of a bad write is there")
	}
}

func failed(s *boltstore.Store) bool {
	select {
	case <-s.Failed():
		return true
	default:
		return false
	}
}

// TestPanic of bbolt's ends the writes, and neither the process nor the reads.
func TestPanic(t *testing.T) {
	t.Parallel()
	s, err := boltstore.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	creates(t, s.Tasks(), "a")
	if failed(s) {
		t.Error("it has failed before the panic")
	}
	if err := boltstore.WriteBadly(s, true); !errors.Is(err, boltstore.ErrDamaged) {
		t.Errorf("the panic: %v", err)
	}
	if !failed(s) {
		t.Error("the store does not report that it has failed")
	}
	if err := s.Tasks().Create(t.Context(), working("b")); !errors.Is(err, boltstore.ErrDamaged) {
		t.Errorf("after it: %v", err)
	}
	for range 2 { // the task is not lost to the line
		if _, err := queue(s).Take(t.Context()); !errors.Is(err, boltstore.ErrDamaged) {
			t.Errorf("Take: %v", err)
		}
	}
	if _, err := s.Tasks().Get(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if err := s.Close(); !errors.Is(err, boltstore.ErrDamaged) {
		t.Errorf("Close: %v", err)
	}
}

func TestLongNames(t *testing.T) {
	t.Parallel()
	s, ctx, long := open(t), t.Context(), strings.Repeat("x", 4097)
	r := working(long)
	owned := working("a")
	owned.Owner = long
	_, _, errClaim := s.Claims().Claim(ctx, long, nil, 1)
	_, errAdd := s.Claims().Add(ctx, long, 1, 1)
	_, errAppend := s.Events().Append(ctx, long, nil)
	for i, err := range []error{
		s.Tasks().Create(ctx, r), s.Tasks().Create(ctx, owned), errClaim, errAdd, errAppend,
		s.Sessions().Create(ctx, session.Record{ID: long}), s.Sessions().Create(ctx, session.Record{ID: "s", Principal: long}),
	} {
		if err == nil {
			t.Errorf("%d: a long name is no error", i)
		}
	}
	if _, err := s.Tasks().Get(ctx, strings.Repeat("x", 1<<20)); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("Get: %v", err)
	}
	if err := s.Sessions().Delete(ctx, strings.Repeat("x", 1<<20)); err != nil {
		t.Errorf("Delete: %v", err)
	}
}

func TestBackup(t *testing.T) {
	t.Parallel()
	s := open(t)
	creates(t, s.Tasks(), "a", "b")
	var copied bytes.Buffer
	if err := s.Backup(&copied); err != nil {
		t.Fatal(err)
	}
	creates(t, s.Tasks(), "c")
	path := filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(path, copied.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := reopen(t, path).Tasks().Count(context.Background(), "owner"); n != 2 || err != nil {
		t.Errorf("the copy has %d tasks, %v", n, err)
	}
}

// TestUnreadable: a task that cannot be read hides none of the others, goes through the
// line, and can be deleted.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store")
	s, ctx := reopen(t, path), t.Context()
	for _, id := range []string{"a", "b", "c"} {
		if err := s.Tasks().Create(ctx, working(id)); err != nil {
			t.Fatal(err)
		}
	}
	if err := boltstore.Spoil(s, "b"); err != nil {
		t.Fatal(err)
	}
	closes(t, s)
	s = reopen(t, path)
	for after, want := range map[string]string{"": "abc", "a": "bc", "b": "c"} {
		list, err := s.Tasks().List(ctx, "owner", after, 9)
		got := ""
		for i, r := range list {
			got += r.ID
			if r.Readable() != (r.ID != "b") || r.Owner != "owner" {
				t.Errorf("record %d is %+v", i, r)
			}
		}
		if got != want || err != nil {
			t.Errorf("after %q: %q, %v", after, got, err)
		}
	}
	r, err := s.Tasks().Get(ctx, "b")
	if !errors.Is(err, task.ErrUnreadable) || !errors.Is(err, boltstore.ErrDamaged) {
		t.Errorf("Get: %+v, %v", r, err)
	}
	if err := s.Tasks().Update(ctx, working("b")); !errors.Is(err, task.ErrUnreadable) {
		t.Errorf("Update: %v", err)
	}
	for _, want := range []string{"a", "b", "c"} {
		if l, err := s.Tasks().(task.Queue).Take(ctx); l.Task != want || err != nil {
			t.Errorf("taken: %+v, %v", l, err)
		}
	}
	if err := s.Tasks().Delete(ctx, "b"); err != nil {
		t.Error(err)
	}
	if list, err := s.Tasks().List(ctx, "owner", "", 9); len(list) != 2 || err != nil {
		t.Errorf("%d tasks are left, %v", len(list), err)
	}
}

// stalled is a writer that waits until it is released.
type stalled struct {
	begun   chan struct{} // has an element after the first Write
	release chan struct{}
}

func (w *stalled) Write(p []byte) (int, error) {
	select {
	case w.begun <- struct{}{}:
	default:
	}
	<-w.release
	return len(p), nil
}

// TestBackupToASlowWriter: other operations do not wait for the writer of a backup, also if the file grows.
func TestBackupToASlowWriter(t *testing.T) {
	t.Parallel()
	s, w := open(t), &stalled{begun: make(chan struct{}, 1), release: make(chan struct{})}
	copied, wrote := make(chan error, 1), make(chan error, 1)
	go func() { copied <- s.Backup(w) }()
	<-w.begun
	go func() { // larger than what is mapped of a new file
		_, _, err := s.Claims().Claim(context.Background(), "large", make([]byte, 8<<20), time.Hour)
		wrote <- err
	}()
	select {
	case err := <-wrote:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("a write waits for the writer of the backup")
	}
	close(w.release)
	if err := <-copied; err != nil {
		t.Error(err)
	}
}
