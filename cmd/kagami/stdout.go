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
	shownStray = 5   // how many lines are shown
	strayWidth = 200 // how many characters of each
)

// started is a program as a server. The client ignores what is no message on the stdout of
// a server, as it must; a person is told: banners and logs there are what most often keeps
// other clients from understanding a server.
func (a *cli) started(program *exec.Cmd) client.Target { return a.heard(program, a.say) }

// heard is started, with another listener.
func (*cli) heard(program *exec.Cmd, tell func(format string, args ...any)) client.Target {
	return client.Over(func(ctx context.Context) (transport.Conn, error) {
		conn, err := stdio.Dial(ctx, program)
		if err != nil {
			return nil, err
		}
		return &overheard{Conn: conn, tell: tell}, nil
	})
}

// overheard is a connection that reports lines which are not messages.
type overheard struct {
	transport.Conn
	tell func(format string, args ...any)
	told int // used only by the goroutine that reads
}

// Read returns every frame.
func (o *overheard) Read(ctx context.Context) ([]byte, error) {
	frame, err := o.Conn.Read(ctx)
	if err == nil && !isMessage(frame) {
		o.stray(frame)
	}
	return frame, err
}

// isMessage is only good enough to tell messages from other output.
func isMessage(frame []byte) bool {
	start := bytes.TrimLeft(frame, " \t")
	return len(start) > 0 && (start[0] == '{' || start[0] == '[') && bytes.Contains(frame, []byte(`"jsonrpc"`))
}

func (o *overheard) stray(line []byte) {
	switch o.told++; {
	case o.told <= shownStray:
		text := []rune(string(line[:min(len(line), 4*strayWidth)]))
		o.tell("the server wrote to stdout something other than an MCP message: %s", onOneLine(string(text[:min(len(text), strayWidth)])))
	case o.told == shownStray+1:
		o.tell("the server prints more of that")
	}
}
