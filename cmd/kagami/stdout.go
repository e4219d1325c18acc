package main

import (
	"bytes"
	"context"
	"os/exec"

	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

const (
	shownLines = 5   // lines that are shown
	lineWidth  = 200 // characters that are shown of each
)

// heard returns a program as a server. It reports lines on the program's stdout that are not
// messages, because banners and logs on stdout often stop other clients from using a server. The
// client itself must ignore them.
//
// If again is false, Connect cannot start the program a second time. A server of Kagami does not end
// when it is probed, and would report its fault twice. An exec.Cmd starts only once, so it is reset for
// a second start.
func heard(program *exec.Cmd, again bool, tell func(format string, args ...any)) client.Target {
	unstarted, started := *program, false
	monitor := &stdoutMonitor{tell: tell} // of both processes, so that their lines are counted together
	return client.Over(func(ctx context.Context) (transport.Conn, error) {
		if started && again {
			*program = unstarted
		}
		started = true
		conn, err := stdio.Dial(ctx, program)
		if err != nil {
			return nil, err
		}
		monitor.Conn = conn // the connection before is closed
		return monitor, nil
	})
}

// stdoutMonitor is a connection that reports lines that are not messages.
type stdoutMonitor struct {
	transport.Conn
	tell func(format string, args ...any)
	told int // number of such lines; used only by the goroutine that reads
}

// Read returns every frame, also those that are not messages.
func (m *stdoutMonitor) Read(ctx context.Context) ([]byte, error) {
	frame, err := m.Conn.Read(ctx)
	if err == nil && !isMessage(frame) {
		m.nonMessage(frame)
	}
	return frame, err
}

// isMessage reports whether a line looks like a message. It does not validate the message.
func isMessage(frame []byte) bool {
	start := bytes.TrimLeft(frame, " \t")
	return len(start) > 0 && (start[0] == '{' || start[0] == '[') && bytes.Contains(frame, []byte(`"jsonrpc"`))
}

// nonMessage reports one of the first lines that are not messages.
func (m *stdoutMonitor) nonMessage(line []byte) {
	switch m.told++; {
	case m.told <= shownLines:
		text := []rune(string(line[:min(len(line), 4*lineWidth)]))
		m.tell("the server wrote to stdout something other than an MCP message: %s", onOneLine(string(text[:min(len(text), lineWidth)])))
	case m.told == shownLines+1:
		m.tell("the server writes more such lines; they are not shown")
	}
}
