//go:build linux || darwin

package boltstore_test

import (
	"cmp"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/kagami-mcp/kagami/framework/store/boltstore"
)

// limitVariable makes a victim's files not larger than so many bytes, as if the disk were
// full.
const limitVariable = "BOLTSTORE_LIMIT"

func limitFiles() error {
	most, err := strconv.ParseUint(cmp.Or(os.Getenv(limitVariable), "0"), 10, 64)
	if most == 0 || err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: most})
}

// TestFull: a write for which the disk has no room is an error. What was acknowledged
// before is there, and when there is room again the store goes on.
func TestFull(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store")
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), victimPath+"="+path, limitVariable+"="+strconv.Itoa(2<<20))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err == nil {
		t.Error("it has not ended with an error")
	}
	said, failed, _ := strings.Cut(string(out), "!")
	if !strings.Contains(failed, "file too large") || strings.Contains(failed, boltstore.ErrDamaged.Error()) {
		t.Errorf("it failed with %s", failed)
	}
	acks := parse(t, said)
	if acks.n < 100 {
		t.Errorf("only %d were acknowledged: that is no test", acks.n)
	}
	s := reopen(t, path)
	if err := boltstore.Verify(s); err != nil {
		t.Error(err)
	}
	acks.verify(t, s)
	creates(t, s.Tasks(), "new")
}

// TestFullAtFirst: a disk that had no room for a new store has nothing of it afterwards,
// that would be taken for a store with damage.
func TestFullAtFirst(t *testing.T) {
	t.Parallel()
	for _, room := range []int{1, 5000, 10_000, 20_000, 40_000, 70_000} {
		path := filepath.Join(t.TempDir(), "store")
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), victimPath+"="+path, limitVariable+"="+strconv.Itoa(room))
		out, err := cmd.Output()
		if _, failed, _ := strings.Cut(string(out), "!"); err == nil || !strings.Contains(failed, "file too large") {
			t.Errorf("with room for %d bytes: %v, it failed with %q", room, err, failed)
		}
		creates(t, reopen(t, path).Tasks(), "new")
	}
}
