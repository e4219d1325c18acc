package serve_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/serve"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

// TestHTTP: --http serves every revision at /mcp until ctx ends, and with --stdio
// both at once: the end of stdin ends only its own.
func TestHTTP(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--http", "127.0.0.1:0"}, {"--http", "127.0.0.1:0", "--stdio"}} {
		ctx, stop := context.WithCancel(t.Context())
		said, errs := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- serve.Run(ctx, greeter(), args, serve.Streams(strings.NewReader(""), io.Discard, errs))
		}()
		line := make([]byte, 200)
		n, err := said.Read(line)
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, said) }() // nothing else that is logged may hold it up
		_, addr, _ := strings.Cut(strings.TrimSpace(string(line[:n])), " on ")
		for _, revision := range []protocol.Revision{protocol.Rev20241105, protocol.Rev20251125, protocol.Rev20260728} {
			c, err := client.Connect(ctx, client.HTTP("http://"+addr+"/mcp"), client.Revisions(revision))
			if err != nil {
				t.Fatalf("%v at %s: %v", args, addr, err)
			}
			if got := c.Revision(); got != revision.String() {
				t.Errorf("revision %s, want %s", got, revision)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("%v: %v", args, err)
		}
		_ = errs.Close()
	}
}

// TestHTTPOptions reach the carrier; the environment stands for the flag.
func TestHTTPOptions(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KAGAMI_HTTP", ":0")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- serve.Run(ctx, greeter(), nil, serve.Streams(strings.NewReader(""), io.Discard, io.Discard), serve.HTTP(fiberhttp.Listener(l)))
	}()
	resp, err := http.Get("http://" + l.Addr().String() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("healthz: %d", resp.StatusCode)
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestOpenAddress: an address that others reach must say under which names.
func TestOpenAddress(t *testing.T) {
	t.Parallel()
	_, _, err := run(t, greeter(), []string{"--http", "0.0.0.0:0"})
	if err == nil || !strings.Contains(err.Error(), "AllowedHosts") {
		t.Errorf("%v", err)
	}
}

// TestWrongAddress: what cannot be listened on is said once, as what it is.
func TestWrongAddress(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	for address, want := range map[string]string{
		taken.Addr().String(): "listen tcp " + taken.Addr().String() + ": bind: address already in use",
		"999.1.1.1:80":        `address "999.1.1.1:80": "999.1.1.1" is not an IP address`,
		"1.2.3:80":            `address "1.2.3:80": "1.2.3" is not an IP address`,
		"[::g]:80":            `address "[::g]:80": "::g" is not an IP address`,
	} {
		if _, _, err := run(t, greeter(), []string{"--http", address}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", address, err, want)
		}
	}
}

// TestLandingOptions checks what a browser gets at the root.
func TestLandingOptions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		opts   []serve.Option
		status int
		text   string
	}{
		"default": {nil, http.StatusOK, "A server for AI assistants."},
		"a text":  {[]serve.Option{serve.Landing("Prices of <our> shop.")}, http.StatusOK, "Prices of &lt;our&gt; shop."},
		"off":     {[]serve.Option{serve.NoLanding()}, http.StatusNotFound, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _ := withOptions(t, greeter(), tt.opts, "--http", "127.0.0.1:0")
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Accept", "text/html")
			answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = answer.Body.Close() }()
			body, err := io.ReadAll(answer.Body)
			if err != nil || answer.StatusCode != tt.status || !strings.Contains(string(body), tt.text) || tt.text == "" && strings.Contains(string(body), "<html") {
				t.Errorf("%d, %v: %s", answer.StatusCode, err, body)
			}
		})
	}
}
