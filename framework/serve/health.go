package serve

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// healthPatience is how long --health waits for the server.
const healthPatience = 5 * time.Second

// ask runs --health: it asks the server that listens at --http on this machine whether it is ready.
// A container that contains only this program uses --health as its health check.
func (f *flags) ask(ctx context.Context) error {
	if f.http == "" {
		return usagef("--health asks a server over HTTP: give its --http")
	}
	host, port, err := net.SplitHostPort(f.http)
	if err != nil {
		return err
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, healthPatience)
	defer cancel()
	if f.tlsCert != "" {
		return ready(ctx, "https", net.JoinHostPort(host, port))
	}
	err = ready(ctx, "http", net.JoinHostPort(host, port))
	if err != nil && ready(ctx, "https", net.JoinHostPort(host, port)) == nil { // the program sets TLS itself
		return nil
	}
	return err
}

// ready asks the server at an address whether it is ready.
func ready(ctx context.Context, scheme, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+address+"/readyz", nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the certificate is for another name than this machine's
	}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the server is not ready: %s", response.Status)
	}
	return nil
}
