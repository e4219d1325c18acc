package client

import (
	"context"
	"errors"
	"os/exec"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/inmem"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

// Target is the server to connect to. It is sealed.
type Target interface{ target() dialer }

// dialer opens one connection. The connection must not outlive ctx.
type dialer func(ctx context.Context) (transport.Conn, error)

func (d dialer) target() dialer { return d }

// Command returns a target that starts a process and connects to it over stdio. The process ends
// with the client. If cmd.Stderr is nil, the process writes to the standard error of this process.
// A command can be connected to only once. Connect may start it a second time; cmd then describes
// the second process.
func Command(cmd *exec.Cmd) Target { return command{cmd} }

type command struct{ cmd *exec.Cmd }

// target returns a dialer that may be called again when the process has ended.
func (c command) target() dialer {
	var unstarted *exec.Cmd
	return func(ctx context.Context) (transport.Conn, error) {
		switch {
		case unstarted != nil:
			*c.cmd = *unstarted // an exec.Cmd starts only once
		case c.cmd != nil:
			first := *c.cmd
			unstarted = &first
		}
		return stdio.Dial(ctx, c.cmd)
	}
}

// Over returns a target for any transport. dial opens one connection; the client closes it. Connect
// may call dial a second time, after it has closed the first connection. The context of dial ends
// when Connect fails or the client is closed, not when Connect returns. If dial returns neither a
// connection nor an error, Connect returns an error.
func Over(dial func(context.Context) (transport.Conn, error)) Target { return dialer(dial) }

// InMemory returns a target for a server in this process. The server sees the principal of
// Connect's context ([transport.WithPrincipal]) as the caller. If host is nil, Connect returns an
// error.
func InMemory(host transport.Host) Target {
	return dialer(func(ctx context.Context) (transport.Conn, error) {
		if host == nil {
			return nil, errors.New("the server is nil")
		}
		return inmem.Dial(ctx, host), nil
	})
}
