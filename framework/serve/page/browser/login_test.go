package browser_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/page"
	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport"
)

// TestLogin: the page shows a server that wants a login, and the user logs in in a browser. The
// address at which that ends has nothing of the response.
func TestLogin(t *testing.T) {
	issuer := testkit.IdP(t)
	url := testkit.Serve(t, func(url string) *framework.App {
		return framework.New("shop", "1", framework.WithLogger(zap.NewNop()), framework.WithAuth(
			auth.Bearer(&auth.JWT{Issuer: issuer.URL()}, auth.Resource(url)),
		)).Add(framework.Tool("who", func(ctx context.Context, _ struct{}) (string, error) {
			return transport.PrincipalFrom(ctx).Subject, nil
		}))
	})
	user := newTab(t)
	flow, err := oauth.New(oauth.Keep(oauth.Memory()), oauth.HTTPClient(http.DefaultClient), oauth.Browser(func(_ context.Context, address string) error {
		return chromedp.Run(user.ctx, chromedp.Navigate(address))
	}))
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(t)
	b.open(serve(t, page.Options{URL: url, Authorize: flow.HTTP()}))
	b.sees(".cat", "who")
	b.click(".rail a", "who")
	b.sees("h1", "who")
	press(b)
	b.sees("[aria-label='What the server says']", "ann")
	if n := issuer.Requests("/authorize"); n != 1 {
		t.Errorf("%d logins", n)
	}
	user.sees("h1", "You are logged in")
	if address := user.eval("location.href"); !strings.HasSuffix(address, "/done") {
		t.Errorf("the browser has ended at %s", address)
	}
	user.noFaults()
}
