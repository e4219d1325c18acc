package page

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/kagami-mcp/kagami/transport"
)

// Limits of the page's own HTTP server. Writing has no limit, because streams of events stay open.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10
	stopPatience  = 2 * time.Second // for requests in flight when Serve ends
)

// Serve serves the page at addr until ctx ends. addr is a loopback address such as "127.0.0.1:0";
// ":7000" means 127.0.0.1:7000. Serve calls ready once, with the address to open in a browser,
// which contains a key for one use. When Serve returns, the page is closed. For a Host, the caller
// is the principal in ctx ([transport.WithPrincipal]).
//
// An address that other machines can reach is an error. A user of the page can do everything that
// the server allows its client.
func (p *Page) Serve(ctx context.Context, addr string, ready func(address string)) error {
	defer p.leave()
	p.caller = transport.PrincipalFrom(ctx)
	listener, err := listen(ctx, addr)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: p.routes(true), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: log.New(io.Discard, "", 0), //nolint:forbidigo // net/http would report faults of clients
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	ready(p.address(listener.Addr().String()))
	select {
	case err = <-served:
		return fmt.Errorf("page: %w", err)
	case <-ctx.Done():
	}
	p.events.close() // ends the streams, because Shutdown would wait for them
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer cancel()
	if err := server.Shutdown(patient); errors.Is(err, context.DeadlineExceeded) {
		_ = server.Close()
	}
	<-served //nolint:errcheck // the server was closed on purpose
	return nil
}

// leave closes the page. It waits for a program to end. For handlers of a Host it waits only as
// long as stopPatience: a handler that does not end is the server's concern.
func (p *Page) leave() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = p.Close() // the process of a server may end in any way
	}()
	if p.options.Host == nil {
		<-closed
		return
	}
	timer := time.NewTimer(stopPatience)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
	}
}

// address returns the address to open in a browser, with a new key.
func (p *Page) address(host string) string { return "http://" + host + "/?k=" + p.guard.key() }

// LoopbackAddress returns addr with 127.0.0.1 in the place of an empty host or of localhost. It returns
// an error if addr has no port, or if others than this machine can reach its host. Serve has the same
// requirements; a program that takes the address from its user can check it before it starts anything.
func LoopbackAddress(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("address %q: want 127.0.0.1:PORT or :PORT", addr)
	}
	if host == "" || host == "localhost" {
		host = "127.0.0.1"
	}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		return "", fmt.Errorf("others can reach %s, and who opens the page can call every tool: "+
			"listen on 127.0.0.1:%s, or use page.Handler behind a login", addr, port)
	}
	return net.JoinHostPort(host, port), nil
}

// listen listens on a loopback address.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	local, err := LoopbackAddress(addr)
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", local)
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	return listener, nil
}
