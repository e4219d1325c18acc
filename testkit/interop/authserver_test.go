package interop_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
	gosdkauth "github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware/authserver"
	"github.com/kagami-mcp/kagami/testkit"
	kagami "github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// authServer is a server of ours that issues its own tokens, which are valid for two seconds.
type authServer struct {
	url string

	mu     sync.Mutex // guards events
	events []authserver.Event
}

func startAuthServer(t *testing.T, mode func(origin string) authserver.Mode) *authServer {
	t.Helper()
	s := &authServer{}
	var as *authserver.Server
	s.url = testkit.Serve(t, func(url string) *framework.App {
		origin := strings.TrimSuffix(url, "/mcp")
		var err error
		as, err = authserver.New(origin, mode(origin), authserver.Lives(authserver.Lifetimes{Access: 2 * time.Second}),
			authserver.Scopes(authserver.Scope{Name: "notes", Text: "Use your notes", Default: true}),
			authserver.OnEvent(func(_ context.Context, e authserver.Event) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.events = append(s.events, e)
			}))
		if err != nil {
			t.Fatal(err)
		}
		return framework.New("notes", "1", framework.WithLogger(zap.NewNop()), framework.WithAuth(as.Guard(url))).Add(
			framework.Tool("whoami", func(ctx context.Context, _ struct{}) (string, error) {
				return kagami.PrincipalFrom(ctx).Subject, nil
			}, framework.Scopes("notes")))
	}, nethttp.Route("/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { as.Handler().ServeHTTP(w, r) })))
	return s
}

func devLogin(string) authserver.Mode {
	return authserver.Own(authserver.DevLogin(authserver.User{Subject: "ann"}))
}

// happened counts events of a kind.
func (s *authServer) happened(kind authserver.EventKind) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// flowed says whether the client has logged in once, and renewed its token since.
func (s *authServer) flowed(t *testing.T) {
	t.Helper()
	if s.happened(authserver.CodeIssued) != 1 || s.happened(authserver.TokenIssued) != 1 || s.happened(authserver.Refreshed) == 0 || s.happened(authserver.RefreshReplayed) != 0 {
		t.Errorf("%+v", s.events)
	}
}

// The clients of both TypeScript SDKs register, log in, and renew their tokens.
func TestAuthServerTypeScript(t *testing.T) {
	t.Parallel()
	installNode(t, "node")
	for _, version := range []string{"v1", "v2"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := startAuthServer(t, devLogin)
			node := exec.CommandContext(t.Context(), "node", "login.mjs", version, s.url)
			node.Dir = "node"
			var errs strings.Builder
			node.Stderr = &errs
			stdin, lines := piped(t, node)
			said := 0
			for said < 2 && lines.Scan() {
				if at, ok := strings.CutPrefix(lines.Text(), "open "); ok {
					if err := testkit.Browse(t)(t.Context(), at); err != nil {
						t.Error(err)
					}
					continue
				}
				if said++; lines.Text() != `[{"type":"text","text":"ann"}]` {
					t.Errorf("it said %s", lines.Text())
				}
				if said == 1 {
					time.Sleep(2100 * time.Millisecond) // the token has expired
					_, _ = fmt.Fprintln(stdin, "again")
				}
			}
			_ = stdin.Close()
			if err := node.Wait(); err != nil || said != 2 {
				t.Errorf("%d answers, %v\n%s", said, err, &errs)
			}
			s.flowed(t)
		})
	}
}

// callbacks is where a client of Go waits for the browser.
func callbacks(t *testing.T) (at string, arrived chan url.Values) {
	t.Helper()
	arrived = make(chan url.Values, 1)
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { arrived <- r.URL.Query() }))
	t.Cleanup(web.Close)
	return web.URL + "/callback", arrived
}

// The Go SDK's handler registers, logs in, and renews its token.
func TestAuthServerGoSDK(t *testing.T) {
	t.Parallel()
	s := startAuthServer(t, devLogin)
	at, arrived := callbacks(t)
	web := newWeb(t)
	handler, err := gosdkauth.NewAuthorizationCodeHandler(&gosdkauth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &gosdkauth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Go SDK", RedirectURIs: []string{at}, GrantTypes: []string{"authorization_code", "refresh_token"}, TokenEndpointAuthMethod: "none",
		}},
		Client: web.client(),
		AuthorizationCodeFetcher: func(ctx context.Context, args *gosdkauth.AuthorizationArgs) (*gosdkauth.AuthorizationResult, error) {
			if err := testkit.Browse(t)(ctx, args.URL); err != nil {
				return nil, err
			}
			q := <-arrived
			return &gosdkauth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.url, HTTPClient: web.client(), OAuthHandler: handler}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for range 2 {
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "whoami"})
		if err != nil || r.IsError || r.Content[0].(*mcp.TextContent).Text != "ann" {
			t.Fatalf("%+v, %v", r, err)
		}
		time.Sleep(2100 * time.Millisecond)
	}
	s.flowed(t)
}

// mcp-go's client registers, logs in, and renews its token.
func TestAuthServerMCPGo(t *testing.T) {
	t.Parallel()
	s := startAuthServer(t, devLogin)
	at, arrived := callbacks(t)
	c, err := mcpgo.NewOAuthStreamableHttpClient(s.url, mcpgo.OAuthConfig{RedirectURI: at, PKCEEnabled: true, TokenStore: transport.NewMemoryTokenStore(), HTTPClient: newWeb(t).client()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	start := func() error {
		if err := c.Start(t.Context()); err != nil {
			return err
		}
		ask := mcpgotypes.InitializeRequest{}
		ask.Params.ProtocolVersion, ask.Params.ClientInfo = mcpgotypes.LATEST_PROTOCOL_VERSION, mcpgotypes.Implementation{Name: "test", Version: "1"}
		_, err := c.Initialize(t.Context(), ask)
		return err
	}
	err = start()
	if !mcpgo.IsOAuthAuthorizationRequiredError(err) {
		t.Fatalf("without a token: %v", err)
	}
	h := mcpgo.GetOAuthHandler(err)
	if err := h.RegisterClient(t.Context(), "mcp-go"); err != nil {
		t.Fatal(err)
	}
	verifier, err := mcpgo.GenerateCodeVerifier()
	if err != nil {
		t.Fatal(err)
	}
	page, err := h.GetAuthorizationURL(t.Context(), "the-state", mcpgo.GenerateCodeChallenge(verifier))
	if err == nil {
		err = testkit.Browse(t)(t.Context(), page)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := h.ProcessAuthorizationResponse(t.Context(), (<-arrived).Get("code"), "the-state", verifier); err != nil {
		t.Fatal(err)
	}
	if err := start(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		ask := mcpgotypes.CallToolRequest{}
		ask.Params.Name = "whoami"
		r, err := c.CallTool(t.Context(), ask)
		if err != nil || r.IsError || r.Content[0].(mcpgotypes.TextContent).Text != "ann" {
			t.Fatalf("%+v, %v", r, err)
		}
		time.Sleep(2100 * time.Millisecond)
	}
	s.flowed(t)
}
