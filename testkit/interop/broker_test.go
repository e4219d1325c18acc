package interop_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/middleware/authserver"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
	"github.com/kagami-mcp/kagami/testkit"
	kagami "github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// brokered is a server of ours in front of oidc-provider, as two processes with one store would be.
type brokered struct {
	*issuer
	url  string
	both []*authserver.Server
	twin auth.Verifier // of the second process
}

func startBroker(t *testing.T, vouch time.Duration) *brokered {
	t.Helper()
	installNode(t, "issuer")
	b := &brokered{issuer: &issuer{}}
	store, key := memory.New().Sessions(), make([]byte, 32)
	b.url = testkit.Serve(t, func(url string) *framework.App {
		b.start(t, url, 2)
		origin := strings.TrimSuffix(url, "/mcp")
		id, secret := b.register(t, origin+"/callback/provider")
		for range 2 {
			as, err := authserver.New(origin, authserver.Broker(authserver.Provider{
				Issuer: b.issuer.url, ClientID: id, ClientSecret: secret, Scopes: []string{"openid", "offline_access"}, Extra: map[string]string{"prompt": "consent"},
			}, authserver.Vouch(vouch)), authserver.Store(store), authserver.Seal(key))
			if err != nil {
				t.Fatal(err)
			}
			b.both = append(b.both, as)
		}
		b.twin = b.both[1].Verifier(url)
		return framework.New("notes", "1", framework.WithLogger(zap.NewNop()), framework.WithAuth(b.both[0].Guard(url))).Add(
			framework.Tool("who", func(ctx context.Context, _ struct{}) (string, error) { return kagami.PrincipalFrom(ctx).Subject, nil }),
			framework.Tool("upstream", func(ctx context.Context, _ struct{}) (bool, error) {
				up, err := b.both[0].Upstream(ctx, kagami.PrincipalFrom(ctx))
				return err == nil && time.Now().Before(up.Expires), err
			}))
	}, nethttp.Route("/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { b.both[0].Handler().ServeHTTP(w, r) })))
	return b
}

// register registers our server at the provider, as its operator would by hand.
func (b *brokered) register(t *testing.T, redirect string) (id, secret string) {
	t.Helper()
	body := `{"redirect_uris":["` + redirect + `"],"grant_types":["authorization_code","refresh_token"],"token_endpoint_auth_method":"client_secret_basic"}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.issuer.url+"/reg", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Secret == "" {
		t.Fatalf("%+v, %v", answer, err)
	}
	return answer.ID, answer.Secret
}

func (b *brokered) login(t *testing.T) (*client.Client, *oauth.Flow) {
	t.Helper()
	f := b.flow(t)
	c, err := client.Connect(t.Context(), client.HTTP(b.url, f.HTTP()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, f
}

// A certified provider stands behind the Broker: its refresh tokens rotate, two processes and many calls
// renew them once each time, and in the end it is away for a while.
func TestBrokerAtOIDCProvider(t *testing.T) {
	t.Parallel()
	b := startBroker(t, 4*time.Second)
	c, f := b.login(t)
	b.who(t, c, "ann")
	for range 3 {
		time.Sleep(4500 * time.Millisecond) // the provider's confirmation of the login is too old
		token, err := f.Token(t.Context(), b.url)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() { b.who(t, c, "ann") })
			wg.Go(func() {
				if p, err := b.twin.Verify(t.Context(), token.Value); err != nil || p.Subject != "ann" {
					t.Errorf("the second process: %v, %v", p, err)
				}
			})
			wg.Go(func() {
				if good, err := client.Call[bool](t.Context(), c, "upstream", nil); err != nil || !good {
					t.Errorf("upstream: %v, %v", good, err)
				}
			})
		}
		wg.Wait()
	}
	b.tell(t, "gone")
	time.Sleep(4500 * time.Millisecond)
	b.who(t, c, "ann") // its last word is believed for a while
	time.Sleep(4500 * time.Millisecond)
	if _, err := client.Call[string](t.Context(), c, "who", nil); err == nil {
		t.Error("the provider has been away for more than twice Vouch, and a call is answered")
	}
	b.tell(t, "up")
	time.Sleep(5 * time.Second) // one that was away is asked again after that
	b.who(t, c, "ann")
}

// Whether the provider is away at the page, at the callback or at a renewal: no user is locked out.
func TestBrokerProviderAway(t *testing.T) {
	t.Parallel()
	b := startBroker(t, time.Minute)
	b.tell(t, "gone")
	if _, err := client.Connect(t.Context(), client.HTTP(b.url, b.flow(t, oauth.Patience(2*time.Second)).HTTP())); err == nil {
		t.Fatal("a login without a provider")
	}
	b.tell(t, "up")
	b.tell(t, "down") // its token endpoint only
	if _, err := client.Connect(t.Context(), client.HTTP(b.url, b.flow(t, oauth.Patience(5*time.Second)).HTTP())); err == nil {
		t.Fatal("a login without a token endpoint")
	}
	b.tell(t, "up")
	c, _ := b.login(t)
	b.who(t, c, "ann")
}
