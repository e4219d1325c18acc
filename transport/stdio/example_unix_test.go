package stdio_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

// UnixTransport serves many connections over a Unix socket, each framed as on
// stdio (2026-07-28 basic/transports: custom transports). It does not authenticate
// callers.
type UnixTransport struct {
	Listener net.Listener
	Options  []stdio.Option // of each connection
}

// Serve accepts connections until ctx ends, and then waits until all have ended.
func (u UnixTransport) Serve(ctx context.Context, host transport.Host) error {
	var conns sync.WaitGroup
	defer conns.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end() // before the wait: if accepting fails, the connections also end
	context.AfterFunc(ctx, func() { _ = u.Listener.Close() })
	for {
		conn, err := u.Listener.Accept()
		if ctx.Err() != nil && errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accepting a connection: %w", err)
		}
		conns.Go(func() {
			defer func() { _ = conn.Close() }()
			// A fault of one connection does not end the others.
			_ = stdio.New(append(slices.Clip(u.Options),
				stdio.Streams(conn, conn),
				stdio.Peer(transport.Peer{Carrier: "unix", RemoteAddr: conn.RemoteAddr().String()}),
			)...).Serve(ctx, host)
		})
	}
}

// DialUnix is the client's half.
func DialUnix(ctx context.Context, path string) (transport.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("dialing %s: %w", path, err)
	}
	return stdio.NewConn(conn, conn, conn.Close), nil
}

// A custom transport over a Unix socket.
func Example_unixSocket() {
	dir, err := os.MkdirTemp("", "kagami")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "mcp.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- UnixTransport{Listener: listener}.Serve(ctx, hostFunc(echo)) }() // host: a *framework.Server

	conn, err := DialUnix(ctx, path)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := conn.Write(ctx, []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)); err != nil {
		fmt.Println(err)
	}
	frame, err := conn.Read(ctx)
	fmt.Println(string(frame), err)
	fmt.Println(conn.Close())

	cancel()
	fmt.Println(<-served)
	// Output:
	// {"jsonrpc":"2.0","id":1,"method":"ping"} <nil>
	// <nil>
	// <nil>
}
