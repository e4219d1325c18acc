// Command auth is the code of docs/auth.md.
package main

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

// Guard accepts tokens that one issuer has signed for this server.
func Guard(issuer, resource string, refused func(ctx context.Context, err error)) transport.Authenticator {
	return auth.Bearer(&auth.JWT{Issuer: issuer},
		auth.Resource(resource), // also the required audience of tokens
		auth.Require("shop"),
		auth.Supported("orders:read", "orders:write"),
		auth.Implies("orders:write", "orders:read"),
		auth.OnRefuse(refused),
	)
}

// NewApp returns the app. Tests also call it.
func NewApp(guard transport.Authenticator) *framework.App {
	return framework.New("shop", "1.0.0", framework.WithAuth(guard)).Add(
		framework.Tool("hours", Hours, framework.Describe("Opening hours."), framework.ReadOnly()),
		framework.Tool("orders", Orders, framework.Describe("List the orders."), framework.ReadOnly(), framework.Scopes("orders:read")),
		framework.Tool("refund", Refund, framework.Describe("Refund an order."), framework.Scopes("orders:write")),
	)
}

func main() {
	guard := Guard("https://login.example.com", "https://shop.example.com/mcp", func(ctx context.Context, err error) {
		slog.WarnContext(ctx, "a request was refused", "reason", err)
	})
	serve.Main(NewApp(guard),
		serve.HTTP(fiberhttp.AllowedHosts("shop.example.com")),
		serve.Stdio(auth.Env("SHOP_TOKEN", guard)),
	)
}

// Keys accepts fixed tokens for development, each with a subject and scopes.
func Keys() transport.Authenticator {
	return auth.Bearer(auth.Static{
		"dev-ann": {Subject: "ann", Scopes: []string{"orders:write", "orders:read"}},
		"dev-bob": {Subject: "bob", Scopes: []string{"orders:read"}},
	})
}

// Database stores API keys.
type Database interface {
	Owner(ctx context.Context, key string) (name string, until time.Time, err error)
}

// APIKeys accepts keys of a database instead of tokens.
func APIKeys(db Database) transport.Authenticator {
	return auth.Bearer(auth.VerifierFunc(func(ctx context.Context, key string) (*transport.Principal, error) {
		owner, until, err := db.Owner(ctx, key)
		if err != nil {
			return nil, err // 401; for 503, wrap auth.ErrUnavailable if the database cannot be reached
		}
		return &transport.Principal{Subject: owner, Issuer: "api-keys", Expires: until}, nil
	}))
}

// Introspected asks the authorization server about each token, and caches the answer for a short
// time.
func Introspected(issuer, endpoint, clientID, secret, resource string) transport.Authenticator {
	return auth.Bearer(
		&auth.Introspection{Endpoint: endpoint, ClientID: clientID, ClientSecret: secret, Audience: resource},
		auth.Resource(resource),
		auth.AuthorizationServers(issuer), // clients log in here
	)
}

// Hours needs a token, but no further scope.
func Hours(context.Context, struct{}) (string, error) { return "9 to 5", nil }

// Orders returns the caller's own orders.
func Orders(ctx context.Context, _ struct{}) ([]string, error) {
	p := framework.Caller(ctx).Principal
	return ordersOf(p.Issuer, p.Subject), nil
}

func ordersOf(issuer, subject string) []string { return []string{subject + " at " + issuer} }

// RefundIn is the input of the tool refund.
type RefundIn struct {
	Order string `json:"order" doc:"number of the order"`
	Cents int    `json:"cents" doc:"how much" validate:"min=1"`
}

// Refund limits the amount, which a scope cannot express.
func Refund(ctx context.Context, in RefundIn) (string, error) {
	if in.Cents > 10_000 && !mayRefundMuch(framework.Caller(ctx).Principal) {
		return "", framework.UserErrorf("More than 100.00 is for managers.")
	}
	return "Refunded " + in.Order + ".", nil
}

// mayRefundMuch reads a claim of the token. Numbers in claims are of type json.Number.
func mayRefundMuch(p *transport.Principal) bool {
	roles, _ := p.Claims["roles"].([]any)
	return slices.Contains(roles, any("manager"))
}
