package interop_test

import (
	"bufio"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestListenThenCall asks for a resource's updates and has it updated in one breath,
// as the Go SDK's Subscribe makes its users do at 2026-07-28: it does not wait for
// the acknowledgement. What came first must be in effect first.
func TestListenThenCall(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), everything)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	const (
		meta   = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		listen = `{"jsonrpc":"2.0","id":"listen%d","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["test://watched-resource"]},%s}}` + "\n"
		update = `{"jsonrpc":"2.0","id":"update%d","method":"tools/call","params":{"name":"update_watched",%s}}` + "\n"
		wait   = `{"jsonrpc":"2.0","id":"wait%d","method":"tools/call","params":{"name":"slow","arguments":{"seconds":0},%s}}` + "\n"
		stop   = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"listen%d",%s}}` + "\n"
		rounds = 600
	)
	lines := make(chan string, 64)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(out)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			lines <- scanner.Text()
		}
	}()
	lost := 0
	for i := range rounds {
		if _, err := fmt.Fprintf(in, listen+update+wait, i, meta, i, meta, i, meta); err != nil {
			t.Fatal(err)
		}
		updated, done := false, false
		late := time.NewTimer(10 * time.Second) // a slow machine loses nothing
		for open := true; open && (!done || !updated); {
			select {
			case line, more := <-lines:
				updated = updated || strings.Contains(line, "notifications/resources/updated") && strings.Contains(line, fmt.Sprintf(`"listen%d"`, i))
				done = done || strings.Contains(line, fmt.Sprintf(`"id":"wait%d"`, i))
				open = more
			case <-late.C:
				open = false
			}
		}
		late.Stop()
		if !updated {
			lost++
		}
		if _, err := fmt.Fprintf(in, stop, i, meta); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	for range lines { // to the end of the process
		continue
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if lost > 0 {
		t.Errorf("%d of %d updates were lost", lost, rounds)
	}
}
