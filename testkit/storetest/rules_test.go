package storetest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/testkit/storetest"
)

// asBroken makes the test binary run a suite that fails.
const asBroken = "STORETEST_BROKEN"

// lastWins overwrites what others have written.
type lastWins struct{ session.Store }

func (s lastWins) Update(ctx context.Context, r session.Record) error {
	for {
		err := s.Store.Update(ctx, r)
		if !errors.Is(err, session.ErrConflict) {
			return err
		}
		now, err := s.Get(ctx, r.ID)
		if err != nil {
			return err
		}
		r.Version = now.Version
	}
}

func TestBrokenStore(t *testing.T) {
	t.Parallel()
	if os.Getenv(asBroken) == "" {
		t.Skip("it fails: see TestFailuresTellTheRule")
	}
	storetest.Sessions(t, func(testing.TB) session.Store { return lastWins{memory.New().Sessions()} })
}

// A store that breaks a rule is told which, and where that was seen.
func TestFailuresTellTheRule(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBrokenStore$")
	cmd.Env = append(os.Environ(), asBroken+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("a store that is broken passes:\n%s", out)
	}
	for _, want := range []string{
		"--- FAIL: TestBrokenStore/Conflict", "sessions.go:", "Update of version 1, 3 is stored: <nil>; want ErrConflict",
		"storetest: the rule: Update of another version than the stored one is ErrConflict, and changes nothing.",
		"--- FAIL: TestBrokenStore/RaceOfUpdates", "have won, want exactly one",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(string(out), "the rule: Touch") {
		t.Errorf("a rule that is kept is told:\n%s", out)
	}
}
