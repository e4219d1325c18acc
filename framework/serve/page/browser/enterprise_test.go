package browser_test

import (
	"context"
	"crypto/sha256"
	"testing"

	"github.com/kagami-mcp/kagami/middleware/authserver"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
	"github.com/kagami-mcp/kagami/testkit"
)

// The user of an organization logs in on the page of its identity provider, and on none of the server's.
// A second server of the organization shows no page.
func TestAuthServerEnterprise(t *testing.T) {
	idp := testkit.IdP(t)
	idp.Fault(testkit.Asks)
	idp.Client("agent", "s3cret")
	digest := sha256.Sum256([]byte("s3cret"))
	agent := authserver.Client{
		ID: "agent", SecretDigest: digest[:], Grants: []string{"urn:ietf:params:oauth:grant-type:jwt-bearer"},
	}
	trusts := []authserver.Option{authserver.Clients(agent), authserver.Assertions(authserver.AssertionIssuer{Issuer: idp.URL()})}
	first, second, b := newLogin(t, nil, trusts...), newLogin(t, nil, trusts...), newTab(t)
	pages := 0
	store := oauth.Memory()
	managed := func(issuer string) client.HTTPOption {
		return oauth.Client(
			oauth.Keep(store), oauth.Registered(oauth.Credentials{Issuer: issuer, ID: "agent", Secret: "s3cret"}),
			oauth.EnterpriseManaged(oauth.Enterprise{Issuer: idp.URL(), Credentials: oauth.Credentials{ID: "agent", Secret: "s3cret"}}),
			oauth.Browser(func(_ context.Context, address string) error {
				pages++
				b.visit(address)
				b.sees("h1", "Company login")
				b.click("button", "Continue as ann")
				return nil
			}),
		)
	}
	for _, l := range []*login{first, first, second} {
		c, err := client.Connect(t.Context(), client.HTTP(l.url, managed(l.origin)))
		if err != nil {
			t.Fatal(err)
		}
		if who, err := client.Call[string](t.Context(), c, "who", nil); err != nil || who != "ann" {
			t.Errorf("%q, %v", who, err)
		}
		_ = c.Close()
	}
	b.sees("h1", "You are logged in")
	b.noFaults()
	if pages != 1 {
		t.Errorf("%d pages of the identity provider, want 1", pages)
	}
	for _, l := range []*login{first, second} {
		if n := l.happened(authserver.VisitBegun); n != 0 || l.happened(authserver.TokenIssued) != 1 {
			t.Errorf("%d visits, %d tokens", n, l.happened(authserver.TokenIssued))
		}
	}
}
