package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/inspect"
	"github.com/kagami-mcp/kagami/framework/serve/page"
	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/transport"
)

// paged is a transport that also serves the page, until the transport ends.
//
// With --http the page is a client of the endpoint like every other client: it sees the header
// fields, and the server's login applies to it. On stdio another client has the streams, so the
// page reaches the server in memory. Its caller is then the caller set by the wraps of stdio.
type paged struct {
	transport.Transport
	settings *settings
	address  pageFlag
	server   *framework.Server
}

// Serve serves the transport and the page. If the page cannot be served, it returns an error.
func (p *paged) Serve(ctx context.Context, host transport.Host) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		ended <- p.show(ctx, host)
	}()
	err := p.Transport.Serve(ctx, host)
	cancel()
	return errors.Join(err, <-ended)
}

// show serves the page until ctx ends.
func (p *paged) show(ctx context.Context, host transport.Host) error {
	o := page.Options{Inside: func() *surface.Inside { return inspect.Inside(p.server) }}
	if p.settings.endpoint == nil {
		o.Host, o.Where, o.Start = host, os.Args[0], started()
	} else {
		select {
		case o.URL = <-p.settings.endpoint:
		case <-ctx.Done():
			return nil
		}
		if o.URL == "" {
			return errors.New("--page reaches the server over TCP, and the listener of the program is of another kind")
		}
		o.Header, o.Transport = reach(o.URL)
	}
	shown, err := page.New(o)
	if err != nil {
		return err
	}
	return shown.Serve(ctx, string(p.address), func(address string) {
		_, _ = fmt.Fprintf(p.settings.errs, "%s serves its page at this address, which works once, within 10 minutes:\n  %s\n", programName(), address)
	})
}

// started returns the command line of this process without the flag --page.
func started() []string {
	program, err := os.Executable()
	if err != nil {
		return nil
	}
	command := []string{program}
	for _, arg := range os.Args[1:] {
		if name := strings.TrimLeft(arg, "-"); name != "page" && !strings.HasPrefix(name, "page=") {
			command = append(command, arg)
		}
	}
	return command
}

// reach returns the header and the round tripper that the page uses for this process's own
// endpoint. The host localhost passes the check of hosts, whatever address the server listens on.
// The certificate is not checked: it is for another name, and the peer is this process.
func reach(endpoint string) (http.Header, http.RoundTripper) {
	header := http.Header{}
	u, err := url.Parse(endpoint)
	if err != nil {
		return header, nil
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !ip.IsLoopback() {
		header.Set("Host", net.JoinHostPort("localhost", u.Port()))
	}
	if u.Scheme != "https" {
		return header, nil
	}
	return header, &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // see above
}
