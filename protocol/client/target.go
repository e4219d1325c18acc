package client

import (
	"context"
	"errors"
	"os/exec"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/inmem"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

// Target is where a server is. Sealed.
type Target interface{ target() dialer }

// dialer opens one connection. ctx lives as long as the connection may.
type dialer func(ctx context.Context) (transport.Conn, error)

func (d dialer) target() dialer { return d }

// Command is a server to spawn and speak to over stdio. The process ends with the
// client. A nil cmd.Stderr is this process's. A command can be connected to once.
func Command(cmd *exec.Cmd) Target {
	return dialer(func(ctx context.Context) (transport.Conn, error) { return stdio.Dial(ctx, cmd) })
}

// Over is any carrier: dial opens one connection, which the client closes. Its context
// ends when Connect gives up or the client is closed, not when Connect returns. A nil
// connection without an error is an error of Connect.
func Over(dial func(context.Context) (transport.Conn, error)) Target { return dialer(dial) }

// InMemory is a server in this process. The caller is the principal in Connect's context
// ([transport.WithPrincipal]).
func InMemory(host transport.Host) Target {
	return dialer(func(ctx context.Context) (transport.Conn, error) {
		if host == nil {
			return nil, errors.New("the server is nil")
		}
		return inmem.Dial(ctx, host), nil
	})
}
