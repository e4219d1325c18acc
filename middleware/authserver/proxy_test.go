package authserver_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware/authserver"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// The proxies end TLS, and serve everything below /shop. The endpoint of MCP loses the prefix on its
// way, and the paths of the authorization server keep it.

// goProxy is a proxy of the standard library.
func goProxy(t *testing.T, front *httptest.Server, backend *url.URL) {
	t.Helper()
	front.Config.Handler = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(backend)
		r.Out.Host = r.In.Host
		if r.In.URL.Path == "/shop/mcp" {
			r.Out.URL.Path = "/mcp"
		}
	}}
	front.StartTLS()
	t.Cleanup(front.Close)
}

const nginxConfig = `
daemon off;
master_process off;
pid %[1]s/pid;
error_log %[1]s/error.log;
events {}
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	server {
		listen %[2]s ssl;
		ssl_certificate %[1]s/cert.pem;
		ssl_certificate_key %[1]s/key.pem;
		proxy_http_version 1.1;
		proxy_set_header Host $http_host;
		proxy_set_header Connection "";
		proxy_buffering off;
		location = /shop/mcp { proxy_pass http://%[3]s/mcp; }
		location / { proxy_pass http://%[3]s; }
	}
}
`

// nginx is a real one, with the certificate of front.
func nginx(t *testing.T, front *httptest.Server, backend *url.URL) {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("no nginx")
	}
	at := front.Listener.Addr().String()
	front.StartTLS() // makes the certificate
	key, err := x509.MarshalPKCS8PrivateKey(front.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	front.Close()
	dir := t.TempDir()
	for name, text := range map[string][]byte{
		"cert.pem":   pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}),
		"key.pem":    pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		"nginx.conf": fmt.Appendf(nil, nginxConfig, dir, at, backend.Host),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := exec.CommandContext(t.Context(), program, "-p", dir, "-e", filepath.Join(dir, "error.log"), "-c", filepath.Join(dir, "nginx.conf"))
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait() // it was killed
	})
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", at)
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Since(began) > 20*time.Second {
			t.Fatal(err)
		}
	}
}

// The whole login works through a proxy that speaks https and has a path prefix.
func TestBehindAProxy(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T, front *httptest.Server, backend *url.URL){"net/http": goProxy, "nginx": nginx} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			front := httptest.NewUnstartedServer(nil)
			origin := "https://" + front.Listener.Addr().String()
			issuer, resource := origin+"/shop", origin+"/shop/mcp"
			as, err := authserver.New(issuer, authserver.Own(authserver.DevLogin(ann())), noteScopes(), authserver.Limit(1000, 1000, 1000, nil))
			if err != nil {
				t.Fatal(err)
			}
			backend, err := url.Parse(testkit.Serve(t, func(string) *framework.App {
				return framework.New("notes", "1", framework.WithLogger(zap.NewNop()), framework.WithAuth(as.Guard(resource))).Add(
					framework.Tool("whoami", func(ctx context.Context, _ struct{}) (string, error) {
						return transport.PrincipalFrom(ctx).Subject, nil
					}))
			}, nethttp.Route("/", as.Handler())))
			if err != nil {
				t.Fatal(err)
			}
			start(t, front, &url.URL{Scheme: "http", Host: backend.Host})
			trust := x509.NewCertPool()
			trust.AddCert(front.Certificate())
			web := func() *http.Client {
				return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: trust, MinVersion: tls.VersionTLS12}}}
			}
			b := &browser{t, web(), &site{t: t, resource: origin + "/mcp"}}
			if b.c.Jar, err = cookiejar.New(nil); err != nil {
				t.Fatal(err)
			}
			b.c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			login := oauth.Client(oauth.Keep(oauth.Memory()), oauth.HTTPClient(web()), oauth.Browser(func(_ context.Context, address string) error {
				page := b.login(address, "ann")
				if !strings.Contains(page.body, `action="/shop/consent"`) {
					t.Errorf("%s", page.body)
				}
				back := b.do(http.MethodGet, b.press(page, "decision", "approve").to.String(), nil)
				b.do(http.MethodGet, back.to.String(), nil)
				return nil
			}))
			c, err := client.Connect(t.Context(), client.HTTP(resource, client.HTTPClient(web()), login))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			if who, err := client.Call[string](t.Context(), c, "whoami", nil); err != nil || who != "ann" {
				t.Errorf("%q, %v", who, err)
			}
			at, _ := url.Parse(issuer)
			for _, cookie := range b.c.Jar.Cookies(at) {
				if !strings.HasPrefix(cookie.Name, "__Host-") {
					t.Errorf("the cookie %s is not for https only", cookie.Name)
				}
			}
			if len(b.c.Jar.Cookies(at)) == 0 {
				t.Error("no cookies")
			}
		})
	}
}
