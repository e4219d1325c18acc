package transporttest_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/testkit/transporttest"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/inmem"
)

// asBroken makes the test binary run a suite that fails.
const asBroken = "TRANSPORTTEST_BROKEN"

// overtaken delivers the first note of an exchange after the second.
type overtaken struct {
	transport.Conn
	held []byte
}

func (c *overtaken) Read(ctx context.Context) ([]byte, error) {
	if held := c.held; held != nil {
		c.held = nil
		return held, nil
	}
	first, err := c.Conn.Read(ctx)
	if err != nil || !bytes.Contains(first, []byte(`"seq":0`)) {
		return first, err
	}
	c.held = first
	return c.Conn.Read(ctx)
}

func TestBrokenCarrier(t *testing.T) {
	t.Parallel()
	if os.Getenv(asBroken) == "" {
		t.Skip("it fails: see TestFailuresTellTheRule")
	}
	transporttest.Suite(t, func(t testing.TB, host transport.Host) transport.Conn {
		t.Helper()
		return &overtaken{Conn: inmem.Dial(t.Context(), host)}
	})
}

// A carrier that breaks a rule is told which.
func TestFailuresTellTheRule(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBrokenCarrier$/^(Echo|NotesBeforeResult)$")
	cmd.Env = append(os.Environ(), asBroken+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("a carrier that is broken passes:\n%s", out)
	}
	for _, want := range []string{
		"--- FAIL: TestBrokenCarrier/NotesBeforeResult", "came in place 0",
		"transporttest: the rule: What an exchange sends arrives complete, in its order, and before its result.",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(string(out), "TestBrokenCarrier/Echo") {
		t.Errorf("a rule that is kept is told:\n%s", out)
	}
}
