package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/testkit"
)

// In a terminal, a call starts a login by itself, and the time of the login does not count for the
// server.
func TestCallLogsInInATerminal(t *testing.T) {
	ownTokens(t)
	t.Setenv("TERM", "xterm")
	url, issuer := guarded(t)
	keys, tty := pty(t)
	var seen shared
	go func() { _, _ = io.Copy(&seen, keys) }() // ends with the terminal
	slow := testkit.Browse(t)
	run := func(args ...string) (string, int) {
		var out bytes.Buffer
		a := &cli{in: tty, out: &out, errs: newScreen(tty)}
		a.browse = func(ctx context.Context, address string) error {
			time.Sleep(5500 * time.Millisecond)
			return slow(ctx, address)
		}
		code := a.run(t.Context(), args)
		return out.String(), code
	}
	if out, code := run("call", url, "who", "--timeout", "5s"); code != 0 || out != "ann\n" {
		t.Errorf("exit code %d\n%s%s", code, out, seen.String())
	}
	if text := seen.String(); !strings.Contains(text, "wants you to log in") || !strings.Contains(text, issuer.URL()+"/authorize?") {
		t.Errorf("the terminal shows\n%s", text)
	}
	if out, code := run("call", url, "refund", "--timeout", "5s"); code != 0 || out != "paid\n" || !strings.Contains(seen.String(), "agree to orders:write") {
		t.Errorf("with more scopes: exit code %d\n%s%s", code, out, seen.String())
	}
	if out, code := run("call", url, "who", "--timeout", "5s"); code != 0 || out != "ann\n" || issuer.Requests("/authorize") != 2 {
		t.Errorf("again: exit code %d\n%s%d pages", code, out, issuer.Requests("/authorize"))
	}
}
