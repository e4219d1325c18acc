package boltstore_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/kagami-mcp/kagami/framework/store/boltstore"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
)

// TestUpgrade: an older file becomes one of this format, with all that is in it.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	for _, from := range []byte{1, 2, 3} {
		t.Run(fmt.Sprint("Format", from), func(t *testing.T) {
			t.Parallel()
			t.Run("Tasks", func(t *testing.T) { upgradesTasks(t, from) })
			t.Run("Events", func(t *testing.T) { upgradesEvents(t, from) })
		})
	}
}

func upgradesTasks(t *testing.T, from byte) {
	path := filepath.Join(t.TempDir(), "store")
	s := reopen(t, path)
	for i := range 20 {
		r := working(fmt.Sprint("t", i))
		r.Owner = fmt.Sprint("owner ", i%2)
		if err := s.Tasks().Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if i%5 > 1 {
			turns(t, s.Tasks(), r.ID, protocol.TaskCompleted)
		}
	}
	if err := s.Tasks().Delete(t.Context(), "t0"); err != nil {
		t.Fatal(err)
	}
	closes(t, s)
	if err := boltstore.Downgrade(path, from); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, path, boltstore.Sized(memory.Bounds{TaskRecords: 19}))
	if err := boltstore.Verify(s); err != nil {
		t.Error(err)
	}
	if list, err := s.Tasks().List(t.Context(), "owner 0", "", 100); len(list) != 9 || err != nil {
		t.Errorf("%d tasks, %v", len(list), err)
	}
	creates(t, s.Tasks(), "new") // pushes out
	left := 0
	for i := range 20 {
		if _, err := s.Tasks().Get(t.Context(), fmt.Sprint("t", i)); err == nil {
			left++
		}
	}
	if left != 18 {
		t.Errorf("%d of the old ones are left, want 18", left)
	}
	if err := boltstore.Verify(s); err != nil {
		t.Error(err)
	}
}

func upgradesEvents(t *testing.T, from byte) {
	path, total := filepath.Join(t.TempDir(), "store"), boltstore.Sized(memory.Bounds{TotalBytes: 120 << 10})
	s := reopen(t, path, total)
	appends := func(format string, n, size int) {
		t.Helper()
		for i := range n {
			if _, err := s.Events().Append(t.Context(), fmt.Sprintf(format, i), make([]byte, size)); err != nil {
				t.Fatal(err)
			}
		}
		if err := boltstore.Verify(s); err != nil {
			t.Fatal(err)
		}
	}
	appends("small %d", 20, 10)
	appends("large %d", 9, 10<<10)
	appends("large %d", 2, 5<<10) // 0 and 1 have a new event
	closes(t, s)
	if err := boltstore.Downgrade(path, from); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, path, total)
	if err := boltstore.Verify(s); err != nil {
		t.Fatal(err)
	}
	appends("new %d", 4, 10<<10)
	for name, want := range map[string]bool{
		"small 0": true, "small 19": true, "large 0": true, "large 1": true, "large 2": false, "large 3": false, "large 4": false,
		"large 5": true, "large 8": true, "new 0": true, "new 3": true,
	} {
		if _, err := s.Events().After(t.Context(), name, 0); want != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
