package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/framework/serve"
	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// asProgram is the environment variable that makes the test binary a program on stdio.
const asProgram = "DOCS_AUTH_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		guard := Keys()
		serve.Main(NewApp(guard), serve.Stdio(auth.Env("SHOP_TOKEN", guard)))
	}
	goleak.VerifyTestMain(m)
}

const resource = "https://shop.example.com/mcp"

// site serves the app behind the guard.
func site(t *testing.T, guard transport.Authenticator) *httptest.Server {
	t.Helper()
	server, err := NewApp(guard).Build()
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(nethttp.Handler(server))
	t.Cleanup(func() {
		if err := server.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	return web
}

func visit(t *testing.T, url, token string) *client.Client {
	t.Helper()
	c, err := client.Connect(t.Context(), client.HTTP(url, client.BearerToken(func(context.Context) (string, error) { return token, nil })))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func tools(t *testing.T, c *client.Client) string {
	t.Helper()
	var names []string
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

func TestGuard(t *testing.T) {
	t.Parallel()
	idp := testkit.IdP(t)
	var told atomic.Int64
	web := site(t, Guard(idp.URL(), resource, func(context.Context, error) { told.Add(1) }))
	for scopes, want := range map[string]string{
		"shop": "hours", "shop orders:read": "hours orders", "shop orders:write": "hours orders refund",
	} {
		c := visit(t, web.URL, idp.Token("ann", resource, time.Hour, strings.Fields(scopes)...))
		if got := tools(t, c); got != want {
			t.Errorf("with %s: %s, want %s", scopes, got, want)
		}
		orders, err := client.Call[[]string](t.Context(), c, "orders", nil)
		if may := strings.Contains(want, "orders"); may != (err == nil) || may && fmt.Sprint(orders) != "[ann at "+idp.URL()+"]" {
			t.Errorf("with %s: %q, %v", scopes, orders, err)
		}
		if err != nil {
			refused, ok := errors.AsType[*client.HTTPError](err)
			if !ok || refused.Status != http.StatusForbidden {
				t.Errorf("with %s: %v", scopes, err)
			}
		}
	}
	if n := told.Swap(0); n != 0 {
		t.Errorf("%d requests were refused", n)
	}
	for name, token := range map[string]string{
		"another server's": idp.Token("ann", "https://other.example.com", time.Hour, "shop"),
		"expired":          idp.Token("ann", resource, -time.Hour, "shop"),
		"without shop":     idp.Token("ann", resource, time.Hour, "orders:write"),
	} {
		_, err := client.Connect(t.Context(), client.HTTP(web.URL, client.BearerToken(func(context.Context) (string, error) { return token, nil })))
		if err == nil || told.Swap(0) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A client that logs in gets the scopes of all tools.
func TestGuard_Login(t *testing.T) {
	t.Parallel()
	idp := testkit.IdP(t)
	var handler http.Handler
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	server, err := NewApp(Guard(idp.URL(), web.URL+"/mcp", nil)).Build()
	if err != nil {
		t.Fatal(err)
	}
	handler = UnderNetHTTP(server)
	t.Cleanup(func() {
		if err := server.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	c, err := client.Connect(t.Context(), client.HTTP(web.URL+"/mcp", oauth.Client(oauth.Keep(oauth.Memory()), oauth.Browser(testkit.Browse(t)))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if got := tools(t, c); got != "hours orders refund" {
		t.Errorf("after a login: %s", got)
	}
}

func TestClaims(t *testing.T) {
	t.Parallel()
	idp := testkit.IdP(t)
	web := site(t, Guard(idp.URL(), resource, nil))
	for _, role := range []string{"clerk", "manager"} {
		c := visit(t, web.URL, idp.Sign(map[string]any{
			"iss": idp.URL(), "sub": "ann", "aud": resource, "exp": time.Now().Add(time.Hour).Unix(),
			"scope": "shop orders:write", "roles": []string{role},
		}))
		_, err := client.Call[string](t.Context(), c, "refund", RefundIn{Order: "7", Cents: 20_000})
		if (err == nil) != (role == "manager") {
			t.Errorf("%s: %v", role, err)
		}
		if said, err := client.Call[string](t.Context(), c, "refund", RefundIn{Order: "7", Cents: 1}); err != nil || said != "Refunded 7." {
			t.Errorf("%s: %q, %v", role, said, err)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	web := site(t, Keys())
	if got := tools(t, visit(t, web.URL, "dev-bob")); got != "hours orders" {
		t.Errorf("bob sees %s", got)
	}
}

type database map[string]string

func (d database) Owner(_ context.Context, key string) (string, time.Time, error) {
	if d == nil {
		return "", time.Time{}, fmt.Errorf("%w: no database", auth.ErrUnavailable)
	}
	name, ok := d[key]
	if !ok {
		return "", time.Time{}, errors.New("no such key")
	}
	return name, time.Now().Add(time.Hour), nil
}

func TestAPIKeys(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		db     Database
		key    string
		status int
	}{
		"a key": {database{"k": "ann"}, "k", 0}, "another": {database{"k": "ann"}, "j", 401}, "no database": {database(nil), "k", 503},
	} {
		p, err := APIKeys(tt.db).Authenticate(t.Context(), http.Header{"Authorization": {"Bearer " + tt.key}})
		refused, ok := errors.AsType[*transport.AuthError](err)
		if tt.status == 0 && (err != nil || p.Subject != "ann") || tt.status != 0 && (!ok || refused.Status != tt.status) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func TestIntrospected(t *testing.T) {
	t.Parallel()
	idp := testkit.IdP(t)
	endpoint, id, secret := idp.Introspection()
	guard := Introspected(idp.URL(), endpoint, id, secret, resource)
	token := idp.Token("ann", resource, time.Hour)
	p, err := guard.Authenticate(t.Context(), http.Header{"Authorization": {"Bearer " + token}})
	if err != nil || p.Subject != "ann" {
		t.Errorf("%+v, %v", p, err)
	}
}

// command returns the test binary as the program on stdio, with this token.
func command(t *testing.T, token string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), asProgram+"=1", "SHOP_TOKEN="+token)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	return cmd, &errs
}

func TestOnStdio(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]string{"dev-ann": "hours orders refund", "dev-bob": "hours orders"} {
		cmd, errs := command(t, token)
		c, err := client.Connect(t.Context(), client.Command(cmd))
		if err != nil {
			t.Fatalf("%v\n%s", err, errs)
		}
		if got := tools(t, c); got != want {
			t.Errorf("%s: %s", token, got)
		}
		orders, err := client.Call[[]string](t.Context(), c, "orders", nil)
		if want := strings.TrimPrefix(token, "dev-") + " at "; err != nil || fmt.Sprint(orders) != "["+want+"]" {
			t.Errorf("%s: %v, %v", token, orders, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	for token, want := range map[string]string{
		"": "auth: set SHOP_TOKEN to a token", "s3cret": "the token in SHOP_TOKEN: auth: an unknown key",
	} {
		cmd, errs := command(t, token)
		out, _ := cmd.Output()
		if code := cmd.ProcessState.ExitCode(); code != 1 || len(out) > 0 || !strings.Contains(errs.String(), want) || strings.Contains(errs.String(), "s3cret") {
			t.Errorf("%q: exit code %d, stdout %q\n%s", token, code, out, errs)
		}
	}
}

// A test needs no token: it sets the principal directly.
func TestWithoutTokens(t *testing.T) {
	t.Parallel()
	testkit.BothEras(t, NewApp(Keys()), func(_ *testing.T, s *testkit.Session) {
		s.CallRaw("orders", `{}`).OK().Mentions("ann at")
		s.CallRaw("refund", `{"order":"7","cents":1}`).Mentions("unknown tool")
	}, testkit.User("ann", "orders:read"))
}
