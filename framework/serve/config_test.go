package serve_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
)

var update = flag.Bool("update-docs", false, "write the table in docs/config.md anew")

// overHTTP serves an app until the test ends, and returns where it listens and what it has printed.
func overHTTP(t *testing.T, app *framework.App, args ...string) (address string, printed func() string) {
	t.Helper()
	return withOptions(t, app, nil, args...)
}

// withOptions is like overHTTP, with options of the program.
func withOptions(t *testing.T, app *framework.App, opts []serve.Option, args ...string) (address string, printed func() string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var errs spoken
	done := make(chan error, 1)
	go func() { done <- serve.Run(ctx, app, args, append(opts, serve.Streams(nil, nil, &errs))...) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	listens := regexp.MustCompile(` on (\S+)\n`)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if found := listens.FindStringSubmatch(errs.String()); found != nil {
			return found[1], errs.String
		}
		select {
		case err := <-done:
			done <- nil
			t.Fatalf("Run: %v", err)
		default:
		}
	}
	t.Fatalf("it does not listen: %s", errs.String())
	return "", nil
}

// post sends a request for a revision without a handshake.
func post(t *testing.T, client *http.Client, url, host, origin string, size int) (status int) {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"pad":"` + strings.Repeat("x", size) + `","_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Origin": origin,
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover",
	} {
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return response.StatusCode
}

// TestHTTPFlags: each flag about HTTP does what it says, and its variable does the same.
func TestHTTPFlags(t *testing.T) {
	address, printed := overHTTP(t, greeter(), "--http", "0.0.0.0:0", "--allow-host", "mcp.example.com, other.example.com",
		"--allow-origin", "https://app.example.com", "--body-limit", "2KB", "--session-idle", "30m")
	_, port, _ := strings.Cut(address, "]:")
	if port == "" {
		_, port, _ = strings.Cut(address, ":")
	}
	url := "http://127.0.0.1:" + port + "/mcp"
	for _, c := range []struct {
		host, origin string
		size, want   int
	}{
		{"mcp.example.com", "", 0, http.StatusOK},
		{"other.example.com", "", 0, http.StatusOK},
		{"evil.example.com", "", 0, http.StatusForbidden},
		{"mcp.example.com", "https://app.example.com", 0, http.StatusOK},
		{"mcp.example.com", "https://evil.example.com", 0, http.StatusForbidden},
		{"mcp.example.com", "", 3000, http.StatusRequestEntityTooLarge},
	} {
		if status := post(t, http.DefaultClient, url, c.host, c.origin, c.size); status != c.want {
			t.Errorf("%+v: %d", c, status)
		}
	}
	if text := printed(); !strings.Contains(text, "Other machines reach this server, under mcp.example.com, other.example.com.") {
		t.Errorf("it says %s", text)
	}
	t.Setenv("KAGAMI_ALLOW_HOST", "env.example.com")
	t.Setenv("PORT", "0")
	address, _ = overHTTP(t, greeter(), "--http", "localhost")
	if status := post(t, http.DefaultClient, "http://"+address+"/mcp", "env.example.com", "", 0); status != http.StatusOK {
		t.Errorf("by the environment: %d", status)
	}
	t.Setenv("KAGAMI_ALLOW_HOST", "")
	if err := serve.Run(t.Context(), greeter(), []string{"--http", "[::]"}, serve.Streams(nil, nil, nil)); err == nil || !strings.Contains(err.Error(), "--allow-host") {
		t.Errorf("a host of IPv6 without a port: %v", err)
	}
}

// TestHealth: a second process of the program asks the first.
func TestHealth(t *testing.T) {
	t.Parallel()
	address, _ := overHTTP(t, greeter(), "--http", "127.0.0.1:0")
	ask := func(args ...string) error {
		return serve.Run(t.Context(), nil, append(args, "--health"), serve.Streams(nil, nil, nil))
	}
	if err := ask("--http", address); err != nil {
		t.Errorf("a server that is ready: %v", err)
	}
	if err := ask("--http", "127.0.0.1:1"); err == nil || serve.ExitCode(err) != 1 {
		t.Errorf("no server: %v", err)
	}
	if err := ask(); err == nil || serve.ExitCode(err) != 2 {
		t.Errorf("no address: %v", err)
	}
}

// TestPublicAddress: an address that others reach names the flag that it needs.
func TestPublicAddress(t *testing.T) {
	t.Parallel()
	err := serve.Run(t.Context(), greeter(), []string{"--http", "0.0.0.0:0"}, serve.Streams(nil, nil, nil))
	if err == nil || !strings.Contains(err.Error(), "--allow-host") {
		t.Errorf("%v", err)
	}
}

// TestTLSFlags: the server presents the certificate in the file.
func TestTLSFlags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := writeCertificate(t, dir)
	address, _ := overHTTP(t, greeter(), "--http", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key)
	if err := serve.Run(t.Context(), nil, []string{"--http", address, "--tls-cert", cert, "--tls-key", key, "--health"}, serve.Streams(nil, nil, nil)); err != nil {
		t.Errorf("its health: %v", err)
	}
	if err := serve.Run(t.Context(), nil, []string{"--http", address, "--health"}, serve.Streams(nil, nil, nil)); err != nil {
		t.Errorf("its health, asked without the flags of TLS: %v", err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}} //nolint:gosec // a certificate of this test
	if status := post(t, client, "https://"+address+"/mcp", "", "", 0); status != http.StatusOK {
		t.Errorf("over TLS: %d", status)
	}
	err := serve.Run(t.Context(), greeter(), []string{"--http", ":0", "--tls-cert", key, "--tls-key", filepath.Join(dir, "none")}, serve.Streams(nil, nil, nil))
	if err == nil || !strings.Contains(err.Error(), "--tls-cert") {
		t.Errorf("without a file: %v", err)
	}
}

func writeCertificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	defer server.Close()
	pair := server.TLS.Certificates[0]
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writePEM(t, cert, "CERTIFICATE", pair.Certificate[0])
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, key, "PRIVATE KEY", der)
	return cert, key
}

func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLogFlags: the level and the format, also of an app that has a logger of its own.
func TestLogFlags(t *testing.T) {
	t.Parallel()
	logs := func(app *framework.App, args ...string) string {
		var errs spoken
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		app.OnStart(func(_ context.Context, s *framework.Server) error {
			s.Logger().Debug("whispered")
			s.Logger().Warn("shouted")
			return nil
		})
		if err := serve.Run(ctx, app, args, serve.Streams(nil, nil, &errs)); err != nil {
			t.Fatal(err)
		}
		return errs.String()
	}
	own := func() *framework.App {
		return framework.New("own", "1", framework.WithLogger(zap.NewNop())).Add(framework.Tool("hello", hello, framework.Describe("Greet a person by name.")))
	}
	for name, c := range map[string]struct {
		app       *framework.App
		args      []string
		has, omit string
	}{
		"none":           {framework.New("bare", "1"), nil, `"msg":"shouted"`, "whispered"},
		"the app's own":  {own(), nil, "", "shouted"},
		"a level":        {own(), []string{"--log-level", "debug"}, `"msg":"whispered"`, ""},
		"another level":  {own(), []string{"--log-level", "error"}, "", "shouted"},
		"for people":     {own(), []string{"--log-format", "console"}, "WARN\tshouted", "whispered"},
		"for a computer": {own(), []string{"--log-format", "json"}, `"level":"warn"`, "whispered"},
	} {
		got := logs(c.app, c.args...)
		if !strings.Contains(got, c.has) || c.omit != "" && strings.Contains(got, c.omit) {
			t.Errorf("%s: %s", name, got)
		}
		if line, _, _ := strings.Cut(got, "\n"); strings.HasPrefix(c.has, `"`) && !json.Valid([]byte(line)) {
			t.Errorf("%s: no JSON: %s", name, line)
		}
	}
}

// TestConfigGuide: the table in docs/config.md is what --help says.
func TestConfigGuide(t *testing.T) {
	t.Parallel()
	out, _, err := run(t, greeter(), []string{"--help"}, serve.Env("KAGAMI"))
	if err != nil {
		t.Fatal(err)
	}
	_, flags, found := strings.Cut(out, "a flag takes precedence):\n")
	if !found {
		t.Fatalf("the help has no list of flags:\n%s", out)
	}
	table := "```text\n" + flags + "```\n"
	guide := filepath.Join("..", "..", "docs", "config.md")
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	const begins = "<!-- flags -->\n"
	before, rest, _ := strings.Cut(string(text), begins)
	old, after, _ := strings.Cut(rest, "<!-- end -->")
	if *update {
		if err := os.WriteFile(guide, []byte(before+begins+table+"<!-- end -->"+after), 0o644); err != nil { //nolint:gosec // a guide
			t.Fatal(err)
		}
	} else if old != table {
		t.Errorf("docs/config.md is stale: go test ./framework/serve -run TestConfigGuide -update-docs\n%s", table)
	}
}

// TestVariablesAboutHTTPOnStdio: without --http they are ignored.
func TestVariablesAboutHTTPOnStdio(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.pem")
	for _, variables := range []map[string]string{
		{"KAGAMI_TLS_CERT": missing},
		{"KAGAMI_TLS_CERT": missing, "KAGAMI_TLS_KEY": missing},
		{"KAGAMI_SESSION_IDLE": "-1s"},
		{"KAGAMI_SESSION_IDLE": "30"},
		{"KAGAMI_BODY_LIMIT": "8MiB"},
	} {
		t.Run("", func(t *testing.T) {
			for name, value := range variables {
				t.Setenv(name, value)
			}
			if _, _, err := run(t, greeter(), nil); err != nil {
				t.Errorf("%v: %v", variables, err)
			}
		})
	}
}
