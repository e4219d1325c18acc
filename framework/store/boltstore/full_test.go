//go:build linux || darwin

package boltstore_test

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kagami-mcp/kagami/framework/store/boltstore"
)

// limitVariable makes a victim's files not larger than 2 MiB, as if the disk were full.
const limitVariable = "BOLTSTORE_LIMIT"

func limitFiles() error {
	if os.Getenv(limitVariable) == "" {
		return nil
	}
	signal.Ignore(syscall.SIGXFSZ)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 2 << 20, Max: 2 << 20})
}

// TestFull: a write for which the disk has no room is an error. What was acknowledged
// before is there, and when there is room again the store goes on.
func TestFull(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store")
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), victimPath+"="+path, limitVariable+"=1")
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
