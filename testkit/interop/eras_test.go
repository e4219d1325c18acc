package interop_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"testing"
)

// TestBothErasOnOneProcess sends a handshake session's requests and 2026-07-28
// requests in turn through one pipe, all at once, and holds each answer against
// the era of its request.
func TestBothErasOnOneProcess(t *testing.T) {
	const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	const calls = 200
	var requests bytes.Buffer
	fmt.Fprintln(&requests, `{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{`+modern+`}}`)
	fmt.Fprintln(&requests, `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	fmt.Fprintln(&requests, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for i := range calls {
		params := `"name":"test_simple_text"`
		if i%2 == 1 {
			params += "," + modern
		}
		fmt.Fprintf(&requests, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s}}`+"\n", i, params)
	}
	cmd := exec.CommandContext(t.Context(), everything)
	cmd.Stdin = &requests
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answered := 0
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var answer struct {
			ID     any
			Result struct {
				ResultType      string
				ProtocolVersion string
				Content         []struct{ Text string }
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &answer); err != nil {
			t.Fatalf("%v: %s", err, lines.Bytes())
		}
		n, numbered := answer.ID.(float64)
		if !numbered {
			continue
		}
		answered++
		isModern := answer.Result.ResultType == "complete"
		if len(answer.Result.Content) != 1 || isModern != (int(n)%2 == 1) {
			t.Fatalf("answer of the wrong era: %s", lines.Bytes())
		}
	}
	if err := cmd.Wait(); err != nil || answered != calls {
		t.Fatalf("%d of %d answered; the server ended with %v", answered, calls, err)
	}
}
