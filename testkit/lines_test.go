package testkit_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/testkit"
)

// asFailing makes the test binary run a test that fails.
const asFailing = "TESTKIT_FAILING"

// TestFailuresAreAtTheLineOfTheTest checks failures in a goroutine of the client, of the server or
// of a cleanup. They are reported at the line of the test that waits for it.
func TestFailuresAreAtTheLineOfTheTest(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFailing$")
	cmd.Env = append(os.Environ(), asFailing+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("the tests pass:\n%s", out)
	}
	told := 0
	for line := range strings.SplitSeq(string(out), "\n") {
		place, what, ok := strings.Cut(strings.TrimSpace(line), ": testkit: ")
		if !ok {
			continue
		}
		told++
		if !strings.HasPrefix(place, "lines_test.go:") {
			t.Errorf("%s is told at %s", what, place)
		}
	}
	if told < 8 { // each failure, and the exchange of a session
		t.Errorf("%d messages in\n%s", told, out)
	}
}

func TestFailing(t *testing.T) { //nolint:tparallel // what they tell is read in their order
	t.Parallel()
	if os.Getenv(asFailing) == "" {
		t.Skip("it fails: see TestFailuresAreAtTheLineOfTheTest")
	}
	t.Run("a question", func(t *testing.T) { testkit.New(t, newHandles().app()).CallRaw("greet", "") })
	t.Run("an answer", func(t *testing.T) { testkit.New(t, newHandles().app()).OnElicit("x", 1) })
	t.Run("a handler that varies", func(t *testing.T) {
		s := testkit.New(t, varying)
		s.OnElicit("", "x")
		s.CallRaw("vary", "")
	})
	t.Run("an app", func(t *testing.T) {
		h := newHandles()
		testkit.New(t, h.app().Add(h.wait))
	})
	t.Run("a goroutine", func(t *testing.T) {
		release := make(chan struct{})
		t.Cleanup(func() { close(release) })
		testkit.New(t, forgetful(release)).CallRaw("forget", "")
	})
	t.Run("a rule", func(t *testing.T) {
		testkit.Conformance(t, newHandles().app().UseFrames(saying(`"jsonrpc":"2.0"`, `"jsonrpc":"2.1"`)), live)
	})
	t.Run("chaos", func(t *testing.T) {
		n := 0
		s := testkit.New(t, func() *framework.App {
			return framework.New("kit", "1").Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
				n++
				return framework.Once(ctx, strings.Repeat("x", n), func(context.Context) (string, error) { return "", nil })
			}))
		})
		s.Chaos()
		s.CallRaw("t", "").OK()
	})
}
