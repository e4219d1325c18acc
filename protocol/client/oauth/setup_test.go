package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/testkit/transporttest"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("KAGAMI_OAUTH_TEST_HOLD"); dir != "" {
		hold(dir)
		return
	}
	http.DefaultTransport = &http.Transport{DisableKeepAlives: true}
	goleak.VerifyTestMain(transporttest.Settled(m))
}

// shop is a server that wants tokens of an issuer for itself.
type shop struct {
	url    string
	issuer *testkit.Issuer

	mu      sync.Mutex
	revoked map[string]bool
	last    string // the token that was used last
	calls   int
	away    string // where requests are redirected to; "": they are answered
	first   func(w http.ResponseWriter, r *http.Request) (answered bool)
}

// open starts a server with the tools hours, which any token may call, and refund, which needs
// orders:write.
func open(t *testing.T, opts ...auth.Option) *shop {
	t.Helper()
	s := &shop{issuer: testkit.IdP(t), revoked: map[string]bool{}}
	web := httptest.NewUnstartedServer(nil)
	s.url = "http://" + web.Listener.Addr().String() + "/mcp"
	verify := &auth.JWT{Issuer: s.issuer.URL(), Audience: s.url}
	guard := auth.Bearer(auth.VerifierFunc(func(ctx context.Context, token string) (*transport.Principal, error) {
		s.mu.Lock()
		revoked := s.revoked[token]
		s.last = token
		s.calls++
		s.mu.Unlock()
		if revoked {
			return nil, errors.New("revoked")
		}
		return verify.Verify(ctx, token)
	}), append([]auth.Option{
		auth.Resource(s.url), auth.AuthorizationServers(s.issuer.URL()), auth.Supported("orders:read"),
	}, opts...)...)
	app := framework.New("shop", "1", framework.WithLogger(zap.NewNop()), framework.WithAuth(guard)).Add(
		framework.Tool("hours", func(ctx context.Context, _ struct{}) (string, error) {
			return transport.PrincipalFrom(ctx).Subject, nil
		}),
		framework.Tool("refund", func(context.Context, struct{}) (string, error) { return "paid", nil }, framework.Scopes("orders:write")),
	)
	server, err := app.Build()
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mcp := nethttp.Handler(server)
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		away, first := s.away, s.first
		s.mu.Unlock()
		if first != nil && first(w, r) {
			return
		}
		if away != "" {
			http.Redirect(w, r, away, http.StatusTemporaryRedirect)
			return
		}
		mcp.ServeHTTP(w, r)
	})
	metadata := nethttp.Metadata(server)
	mux.Handle("/.well-known/oauth-protected-resource", metadata)
	mux.Handle("/.well-known/oauth-protected-resource/", metadata)
	web.Config.Handler = mux
	web.Start()
	t.Cleanup(web.Close)
	return s
}

// intercept has fn see requests first.
func (s *shop) intercept(fn func(w http.ResponseWriter, r *http.Request) (answered bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = fn
}

// revoke ends the token that was used last.
func (s *shop) revoke() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked[s.last] = true
	return s.last
}

// user has a browser, and counts pages.
type user struct {
	mu    sync.Mutex
	pages int
	delay time.Duration
}

func (u *user) browser(t testing.TB) oauth.Option {
	next := testkit.Browse(t)
	return oauth.Browser(func(ctx context.Context, address string) error {
		u.mu.Lock()
		u.pages++
		delay := u.delay
		u.mu.Unlock()
		time.Sleep(delay)
		return next(ctx, address)
	})
}

func (u *user) seen() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.pages
}

// hidden is a UI that shows nothing.
type hidden struct{}

func (hidden) Show(context.Context, *oauth.Visit) error { return errors.New("no terminal") }
func (hidden) Paste(ctx context.Context, _ *oauth.Visit) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}
func (hidden) Done(context.Context, *oauth.Visit, error) {}

// flow returns a Flow with a user who answers within seconds: a login that ends at an error page of
// the issuer fails its test, and does not keep it for minutes.
func flow(t testing.TB, opts ...oauth.Option) *oauth.Flow {
	t.Helper()
	defaults := []oauth.Option{
		oauth.Keep(oauth.Memory()), oauth.Prompt(hidden{}), oauth.NoBrowser(), oauth.Patience(20 * time.Second),
	}
	f, err := oauth.New(append(defaults, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// connect opens a connection that ends with the test.
func connect(t testing.TB, f *oauth.Flow, server string, opts ...client.Option) (*client.Client, error) {
	t.Helper()
	c, err := client.Connect(t.Context(), client.HTTP(server, f.HTTP()), opts...)
	if err == nil {
		t.Cleanup(func() { _ = c.Close() })
	}
	return c, err
}

func mustConnect(t testing.TB, f *oauth.Flow, server string, opts ...client.Option) *client.Client {
	t.Helper()
	c, err := connect(t, f, server, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func call(t testing.TB, c *client.Client, tool, want string) {
	t.Helper()
	if got, err := client.Call[string](t.Context(), c, tool, nil); err != nil || got != want {
		t.Errorf("%s: %q, %v; want %q", tool, got, err, want)
	}
}

// scripted is a server of documents. All other paths are 404.
type scripted struct {
	*httptest.Server

	mu       sync.Mutex
	document map[string]string
	asked    []string
}

func script(t testing.TB, documents map[string]string) *scripted {
	t.Helper()
	s := &scripted{document: map[string]string{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.Method+" "+r.URL.Path)
		text, ok := s.document[r.URL.Path]
		s.mu.Unlock()
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if status, rest, special := strings.Cut(text, "|"); special {
			code := http.StatusOK
			_, _ = fmt.Sscan(status, &code)
			if where, redirects := strings.CutPrefix(rest, "to "); redirects {
				w.Header().Set("Location", where)
			}
			if challenges, are := strings.CutPrefix(rest, "challenge "); are {
				w.Header()["Www-Authenticate"] = strings.Split(challenges, "\n")
			}
			if !strings.HasPrefix(rest, "{") {
				rest = ""
			}
			w.WriteHeader(code)
			_, _ = w.Write([]byte(rest))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(s.Close)
	s.set(documents)
	return s
}

// set adds documents, in which URL stands for the server's own.
func (s *scripted) set(documents map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, text := range maps.Clone(documents) {
		s.document[path] = strings.ReplaceAll(text, "URL", s.URL)
	}
}

func (s *scripted) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}
