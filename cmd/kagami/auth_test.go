package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/cmd/kagami/internal/login"
	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// guarded returns a server that wants a token of the issuer.
func guarded(t *testing.T) (url string, issuer *testkit.Issuer) {
	t.Helper()
	issuer = testkit.IdP(t)
	url = testkit.Serve(t, func(url string) *framework.App {
		return framework.New("shop", "1", framework.WithLogger(zap.NewNop()), framework.WithAuth(
			auth.Bearer(&auth.JWT{Issuer: issuer.URL()}, auth.Resource(url)),
		)).Add(
			framework.Tool("who", func(ctx context.Context, _ struct{}) (string, error) {
				return transport.PrincipalFrom(ctx).Subject, nil
			}),
			framework.Tool("refund", func(context.Context, struct{}) (string, error) { return "paid", nil }, framework.Scopes("orders:write")),
		)
	})
	return url, issuer
}

// withBrowser runs a command. A simulated user opens its pages and agrees to everything.
func withBrowser(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	var stdout bytes.Buffer
	var stderr shared
	a := &cli{out: &stdout, errs: &stderr, browse: testkit.Browse(t)}
	code = a.run(t.Context(), args)
	return stdout.String(), stderr.String(), code
}

// ownTokens gives a test a directory for its tokens.
func ownTokens(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "auth")
	t.Setenv("KAGAMI_AUTH_DIR", dir)
	return dir
}

// The steps of a login: no login, login, calls, token, status, more scopes, logout.
func TestAuth(t *testing.T) {
	dir := ownTokens(t)
	url, issuer := guarded(t)

	beforeLogin(t, url, issuer)
	out, errs, code := withBrowser(t, "auth", "login", url)
	if code != 0 || !strings.Contains(out, "Logged in at "+issuer.URL()+": valid until you log out") || !strings.Contains(errs, "/authorize?") {
		t.Fatalf("login: exit code %d\n%s%s", code, out, errs)
	}
	if out, errs, code := kagami(t, "call", url, "who"); code != 0 || out != "ann\n" {
		t.Errorf("call: exit code %d\n%s%s", code, out, errs)
	}
	if out, errs, code := kagami(t, "doctor", url, "--idle", "10ms"); strings.Contains(out, "login:") || strings.Contains(out, "Give a token") {
		t.Errorf("doctor: exit code %d\n%s%s", code, out, errs)
	}
	token, _, code := kagami(t, "auth", "token", url)
	if code != 0 || strings.Count(token, ".") != 2 {
		t.Errorf("token: exit code %d\n%s", code, token)
	}
	out, _, code = kagami(t, "auth", "status", "--json")
	var status struct {
		Logins []struct{ Server, Issuer string }
	}
	if err := json.Unmarshal([]byte(out), &status); err != nil || code != 0 || len(status.Logins) != 1 || status.Logins[0].Server != url || strings.Contains(out, strings.TrimSpace(token)) {
		t.Errorf("status: exit code %d, %v\n%s", code, err, out)
	}

	if _, errs, code := kagami(t, "call", url, "refund"); code != 3 {
		t.Errorf("without the scope: exit code %d\n%s", code, errs)
	}
	if out, errs, code := withBrowser(t, "auth", "login", url, "--scope", "orders:write"); code != 0 || !strings.Contains(out, "orders:write") {
		t.Errorf("login with a scope: exit code %d\n%s%s", code, out, errs)
	}
	if out, errs, code := kagami(t, "call", url, "refund"); code != 0 || out != "paid\n" {
		t.Errorf("with the scope: exit code %d\n%s%s", code, out, errs)
	}

	// The flags and the registration of a second server stay after a logout, and without a login.
	second, _ := guarded(t)
	for _, args := range [][]string{{"auth", "login", second, "--callback-host", "localhost"}, {"auth", "logout", second}} {
		if out, errs, code := withBrowser(t, args...); code != 0 {
			t.Errorf("%s: exit code %d\n%s%s", args, code, out, errs)
		}
	}
	if out, errs, code := kagami(t, "auth", "logout", "--all", "--forget"); code != 0 || out != "Logged out of "+url+".\n" {
		t.Errorf("logout: exit code %d\n%s%s", code, out, errs)
	}
	if n := issuer.Requests("/revoke"); n != 2 {
		t.Errorf("%d revocations", n)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "*.json")); err != nil || len(files) != 0 {
		t.Errorf("files are left: %v, %v", files, err)
	}
	if _, _, code := kagami(t, "call", url, "who"); code != 3 {
		t.Errorf("after: exit code %d", code)
	}
}

// beforeLogin checks that commands report that a login is needed, and send nothing to the issuer.
func beforeLogin(t *testing.T, url string, issuer *testkit.Issuer) {
	t.Helper()
	_, errs, code := kagami(t, "call", url, "who")
	if code != 3 || !strings.Contains(errs, "kagami auth login") {
		t.Errorf("before: exit code %d\n%s", code, errs)
	}
	if len(issuer.Log()) != 0 {
		t.Errorf("a command without a terminal has asked the issuer: %v", issuer.Log())
	}
	if out, errs, code := kagami(t, "auth", "status"); code != 0 || out != "There is no login.\n" {
		t.Errorf("status: exit code %d\n%s%s", code, out, errs)
	}
	if out, _, code := kagami(t, "auth", "token", url); code != 3 || out != "" {
		t.Errorf("token: exit code %d\n%s", code, out)
	}
	out, errs, code := kagami(t, "auth", "debug", url)
	for _, want := range []string{"ok    challenge: a challenge of the scheme bearer", "resource metadata", "by RFC", "pkce: S256 is supported", "registration: dynamic registration"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("debug has not %q: exit code %d\n%s%s", want, code, out, errs)
		}
	}
}

// One client ID may be registered at two authorization servers.
func TestAuthOneClientAtTwoIssuers(t *testing.T) {
	ownTokens(t)
	for n := range 2 {
		url, issuer := guarded(t)
		issuer.Client("me", "s3cret")
		t.Setenv("SECRET", "s3cret")
		args := []string{"auth", "login", url, "--client-id", "me", "--client-secret-env", "SECRET"}
		if n == 1 {
			_, errs, code := withBrowser(t, args...)
			if code != 3 || !strings.Contains(errs, "--client-issuer") || !strings.Contains(errs, issuer.URL()) || len(issuer.Log()) != 0 {
				t.Errorf("without the issuer: exit code %d\n%s", code, errs)
			}
			args = append(args, "--client-issuer", issuer.URL())
		}
		for _, args := range [][]string{args, {"auth", "login", url}} { // the flags are saved
			if out, errs, code := withBrowser(t, args...); code != 0 || issuer.Requests("/register") != 0 {
				t.Errorf("%s: exit code %d\n%s%s", args, code, out, errs)
			}
		}
		t.Setenv("KAGAMI_CLIENT_ID", "me")
		t.Setenv("KAGAMI_CLIENT_SECRET", "s3cret")
		t.Setenv("KAGAMI_CLIENT_ISSUER", issuer.URL())
		t.Setenv("KAGAMI_ACCOUNT", "robot")
		if out, errs, code := kagami(t, "call", url, "who"); code != 0 || out != "me\n" {
			t.Errorf("call: exit code %d\n%s%s", code, out, errs)
		}
		t.Setenv("KAGAMI_ACCOUNT", "")
		t.Setenv("KAGAMI_CLIENT_SECRET", "")
	}
}

// TestAuthSecretOfAnotherIssuer: a saved secret is not used at an issuer that is named later, and a
// client that was given is never replaced by one that is registered.
func TestAuthSecretOfAnotherIssuer(t *testing.T) {
	ownTokens(t)
	url, issuer := guarded(t)
	issuer.Client("me", "s3cret")
	t.Setenv("SECRET", "s3cret")
	if _, errs, code := withBrowser(t, "auth", "login", url, "--client-id", "me", "--client-secret-env", "SECRET"); code != 0 {
		t.Fatalf("login: exit code %d\n%s", code, errs)
	}
	for _, named := range []string{issuer.URL(), issuer.URL() + "/other"} {
		_, errs, code := withBrowser(t, "auth", "login", url, "--client-issuer", named)
		if code == 0 || issuer.Requests("/register") != 0 {
			t.Errorf("%s: exit code %d, %d clients registered\n%s", named, code, issuer.Requests("/register"), errs)
		}
	}
}

// Later commands use the flags for the client of "auth login".
func TestAuthSettings(t *testing.T) {
	ownTokens(t)
	url, issuer := guarded(t)
	issuer.Client("by-hand", "s3cret")
	issuer.Fault(testkit.NoRegistration, testkit.NoPKCE)
	_, errs, code := withBrowser(t, "auth", "login", url, "--client-id", "by-hand")
	if code != 3 || !strings.Contains(errs, "--assume-pkce "+issuer.URL()) {
		t.Errorf("without S256: exit code %d\n%s", code, errs)
	}
	if saved, err := login.Load(t.Context(), login.Store(), url, ""); err != nil || saved.ClientID != "" {
		t.Errorf("a login that failed has saved its flags: %+v, %v", saved, err)
	}
	t.Setenv("SECRET", "s3cret")
	_, errs, code = withBrowser(t, "auth", "login", url, "--client-id", "by-hand", "--client-secret-env", "SECRET",
		"--assume-pkce", issuer.URL(), "--without-resource", "https://a.example", "--callback-host", "localhost", "--account", "work")
	if code != 0 {
		t.Fatalf("login: exit code %d\n%s", code, errs)
	}
	if saved, err := login.Load(t.Context(), login.Store(), url, "work"); err != nil || !slices.Equal(saved.NoResource, []string{"https://a.example"}) {
		t.Errorf("saved: %+v, %v", saved, err)
	}
	t.Setenv("SECRET", "")
	if _, _, code := kagami(t, "call", url, "who"); code != 3 {
		t.Errorf("without the account: exit code %d", code)
	}
	t.Setenv("KAGAMI_ACCOUNT", "work")
	issuer.Withdraw()
	if out, errs, code := kagami(t, "call", url, "who"); code != 0 || out != "ann\n" {
		t.Errorf("call: exit code %d\n%s%s", code, out, errs)
	}
	for args, want := range map[string]string{
		"auth login":                  "want the URL",
		"auth login ./x":              "not a URL",
		"auth login localhost:80/mcp": "did you mean http://",
		"auth login " + url + " --callback-host evil":    "127.0.0.1 or localhost",
		"auth login " + url + " --client-secret-env NIL": "NIL is not set",
		"auth logout " + url + " --all":                  "leave out URL",
		"auth x":                                         "unknown command",
	} {
		if _, errs, code := kagami(t, strings.Fields(args)...); code != 2 || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d\n%s", args, code, errs)
		}
	}
}

// Advice names the server, and is never the command that was just run. What went wrong names the right
// server.
func TestAuthAdvice(t *testing.T) {
	ownTokens(t)
	url, issuer := guarded(t)
	closed := httptest.NewServer(nil)
	closed.Close()
	for args, tt := range map[string]struct{ want, never string }{
		"auth token " + url:                             {"kagami auth login " + url, "auth login URL"},
		"auth logout " + url:                            {"", "Logged out"},
		"auth debug " + closed.URL:                      {"oauth: unavailable: Post", "authorization server"},
		"auth login " + closed.URL:                      {"oauth: unavailable: Post", "authorization server"},
		"auth debug " + strings.TrimSuffix(url, "/mcp"): {"The server calls itself " + url, "auth debug"},
		"auth login " + strings.TrimSuffix(url, "/mcp"): {"kagami auth debug " + strings.TrimSuffix(url, "/mcp"), "auth debug URL"},
	} {
		out, errs, _ := kagami(t, strings.Fields(args)...)
		if !strings.Contains(errs, tt.want) || strings.Contains(out+errs, tt.never) {
			t.Errorf("%s: want %q and not %q\n%s%s", args, tt.want, tt.never, out, errs)
		}
	}
	if out, _, code := kagami(t, "auth", "status", "--json"); code != 0 || strings.Join(strings.Fields(out), "") != `{"logins":[]}` {
		t.Errorf("no logins: exit code %d\n%s", code, out)
	}
	if n := issuer.Requests("/revoke"); n != 0 {
		t.Errorf("%d revocations", n)
	}
}

// A login on a port that another program uses says so, and not to log in.
func TestAuthPortTaken(t *testing.T) {
	ownTokens(t)
	url, _ := guarded(t)
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, errs, code := withBrowser(t, "auth", "login", url, "--callback-port", port)
	if code != 3 || !strings.Contains(errs, "another program uses the port") || strings.Contains(errs, "Log in with") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

// An interrupt during a login is named as such.
func TestAuthInterrupted(t *testing.T) {
	ownTokens(t)
	url, _ := guarded(t)
	ctx, interrupt := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { interrupt(errors.New("interrupt signal received")) })
	var out, errs shared
	a := &cli{out: &out, errs: &errs, browse: func(context.Context, string) error { return errors.New("no browser") }}
	if code := a.run(ctx, []string{"auth", "login", url}); code != 130 || !strings.HasSuffix(errs.String(), "kagami: interrupt signal received\n") {
		t.Errorf("exit code %d\n%s", code, errs.String())
	}
}

// TestAuthForgetWithoutLogin checks that auth logout --forget deletes the registration of a login
// that the user did not finish.
func TestAuthForgetWithoutLogin(t *testing.T) {
	dir := ownTokens(t)
	url, issuer := guarded(t)
	ctx, interrupt := context.WithCancel(t.Context())
	var out, errs shared
	a := &cli{out: &out, errs: &errs, browse: func(context.Context, string) error {
		interrupt()
		return nil
	}}
	if code := a.run(ctx, []string{"auth", "login", url}); code == 0 || issuer.Requests("/register") != 1 {
		t.Errorf("login: exit code %d\n%s", code, errs.String())
	}
	if out, errs, code := kagami(t, "auth", "logout", url, "--forget"); code != 0 || out != "There was no login at "+url+".\n" {
		t.Errorf("logout: exit code %d\n%s%s", code, out, errs)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "*.json")); err != nil || len(files) != 0 {
		t.Errorf("files are left: %v, %v", files, err)
	}
}

// A machine logs in with the credentials in its environment.
func TestAuthWithoutUser(t *testing.T) {
	ownTokens(t)
	url, issuer := guarded(t)
	issuer.Client("robot", "s3cret")
	t.Setenv("KAGAMI_CLIENT_SECRET", "s3cret")
	if _, errs, code := kagami(t, "call", url, "who"); code != 2 || !strings.Contains(errs, "not KAGAMI_CLIENT_ID") {
		t.Errorf("without an id: exit code %d\n%s", code, errs)
	}
	t.Setenv("KAGAMI_CLIENT_ID", "robot")
	if out, errs, code := kagami(t, "call", url, "who"); code != 0 || out != "robot\n" {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	t.Setenv("KAGAMI_CLIENT_SECRET", "wrong")
	if _, errs, code := kagami(t, "auth", "logout", url); code == 0 {
		t.Errorf("logout with a wrong secret: %s", errs)
	}
	if _, errs, code := kagami(t, "call", url, "who"); code != 3 || !strings.Contains(errs, "invalid_client") || !strings.Contains(errs, "kagami auth debug") {
		t.Errorf("a wrong secret: exit code %d\n%s", code, errs)
	}
}

// A broken token store does not stop calls of servers that want no token.
func TestAuthWithoutStore(t *testing.T) {
	dir := ownTokens(t)
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	app := framework.New("open", "1", framework.WithLogger(zap.NewNop())).Add(
		framework.Tool("hi", func(context.Context, struct{}) (string, error) { return "hi", nil }))
	server, err := app.Build()
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(nethttp.Handler(server))
	defer web.Close()
	if out, errs, code := kagami(t, "call", web.URL, "hi"); code != 0 || out != "hi\n" {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	if _, errs, code := kagami(t, "auth", "status"); code != 1 || !strings.Contains(errs, "not a directory") {
		t.Errorf("status: exit code %d\n%s", code, errs)
	}
	url, _ := guarded(t)
	if _, errs, code := kagami(t, "call", url, "who"); code == 0 || !strings.Contains(errs, "not a directory") {
		t.Errorf("a server that wants a token: exit code %d\n%s", code, errs)
	}
}

// TestAuthUnreadableRecord checks that a record that cannot be read does not affect other servers.
func TestAuthUnreadableRecord(t *testing.T) {
	dir := ownTokens(t)
	url, _ := guarded(t)
	if _, errs, code := withBrowser(t, "auth", "login", url); code != 0 {
		t.Fatalf("login: exit code %d\n%s", code, errs)
	}
	if err := os.WriteFile(filepath.Join(dir, "other.json"), []byte(`{"v":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := kagami(t, "auth", "status"); code != 1 || !strings.Contains(out, url) || !strings.Contains(errs, "other.json") {
		t.Errorf("status: exit code %d\n%s%s", code, out, errs)
	}
	if out, errs, code := kagami(t, "call", url, "who"); code != 0 || out != "ann\n" {
		t.Errorf("call: exit code %d\n%s%s", code, out, errs)
	}
	spoil := func(from, to string) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err == nil && bytes.Contains(text, []byte(`"kind":"tokens"`)) {
				err = os.WriteFile(file, bytes.Replace(text, []byte(from), []byte(to), 1), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	spoil(`"v":1`, `"v":2`)
	if out, errs, code := kagami(t, "call", url, "who"); code == 0 || !strings.Contains(errs, "newer version") {
		t.Errorf("call with an unreadable login: exit code %d\n%s%s", code, out, errs)
	}
	spoil(`"v":2`, `"v":1`)
	if out, errs, code := kagami(t, "auth", "logout", url, "--json"); code != 0 || out != "{\n  \"loggedOut\": [\n    \""+url+"\"\n  ]\n}\n" {
		t.Errorf("logout: exit code %d\n%s%s", code, out, errs)
	}
	if _, errs, code := kagami(t, "auth", "logout", url); code == 0 || !strings.Contains(errs, "other.json") { // the unreadable record may be this login
		t.Errorf("logout again: exit code %d\n%s", code, errs)
	}
	if _, errs, code := kagami(t, "auth", "logout", "--all", "--forget"); code == 0 || strings.Count(errs, "other.json") != 1 {
		t.Errorf("logout --all: exit code %d\n%s", code, errs)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "*.json")); err != nil || len(files) != 1 {
		t.Errorf("files are left: %v, %v", files, err)
	}
}

// TestAuthAgain checks that later logins use the flags for the client that the first one has saved.
func TestAuthAgain(t *testing.T) {
	ownTokens(t)
	url, issuer := guarded(t)
	issuer.Client("by-hand", "s3cret")
	issuer.Fault(testkit.NoRegistration)
	t.Setenv("SECRET", "s3cret")
	for _, flags := range [][]string{{"--client-id", "by-hand", "--client-secret-env", "SECRET", "--callback-host", "localhost"}, {"--scope", "orders:write"}, nil} {
		if out, errs, code := withBrowser(t, append([]string{"auth", "login", url}, flags...)...); code != 0 {
			t.Fatalf("%s: exit code %d\n%s%s", flags, code, out, errs)
		}
	}
	if saved, err := login.Load(t.Context(), login.Store(), url, ""); err != nil || saved.ClientID != "by-hand" || saved.ClientSecret != "s3cret" || saved.Host != "localhost" {
		t.Errorf("saved: %+v, %v", saved, err)
	}
}

// TestAuthSpelling checks that the saved flags are found however the URL is typed, as the tokens are.
func TestAuthSpelling(t *testing.T) {
	ownTokens(t)
	ctx, store := t.Context(), login.Store()
	for _, tt := range []struct {
		typed, later string
		same         bool
	}{
		{"https://shop.example.com/mcp", "HTTPS://Shop.Example.com:443/mcp?a=b#c", true},
		{"https://Shop.example.com/", "https://shop.example.com", true},
		{"http://LOCALHOST:80/mcp", "http://localhost/mcp", true},
		{"https://user@shop.example.com", "https://shop.example.com", true},
		{"https://shop.example.com/mcp", "https://shop.example.com/mcp/", false},
		{"https://shop.example.com/mcp", "https://shop.example.com/MCP", false},
		{"https://shop.example.com/mcp", "http://shop.example.com/mcp", false},
		{"https://shop.example.com/mcp", "https://shop.example.com:80/mcp", false},
	} {
		if err := login.Save(ctx, store, tt.typed, "", login.Settings{ClientID: "by-hand"}); err != nil {
			t.Fatal(err)
		}
		if saved, err := login.Load(ctx, store, tt.later, ""); err != nil || (saved.ClientID == "by-hand") != tt.same {
			t.Errorf("%s, then %s: %+v, %v", tt.typed, tt.later, saved, err)
		}
		if err := login.Forget(ctx, store, tt.typed, ""); err != nil {
			t.Fatal(err)
		}
	}
	url, issuer := guarded(t)
	issuer.Client("by-hand", "s3cret")
	issuer.Fault(testkit.NoRegistration)
	t.Setenv("SECRET", "s3cret")
	if out, errs, code := withBrowser(t, "auth", "login", url+"?a=b", "--client-id", "by-hand", "--client-secret-env", "SECRET"); code != 0 {
		t.Fatalf("login: exit code %d\n%s%s", code, out, errs)
	}
	if out, errs, code := withBrowser(t, "auth", "login", url); code != 0 {
		t.Errorf("a login again: exit code %d\n%s%s", code, out, errs)
	}
}
