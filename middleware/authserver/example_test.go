package authserver_test

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
	"github.com/kagami-mcp/kagami/middleware/authserver"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

// OwnTokens issues tokens to the users of the program itself.
func OwnTokens(users authserver.Users, kept session.Store, seal []byte) (*authserver.Server, error) {
	return authserver.New("https://shop.example.com", authserver.Own(users),
		authserver.Scopes(
			authserver.Scope{Name: "orders:read", Text: "See your orders", Default: true},
			authserver.Scope{Name: "orders:write", Text: "Change your orders", Implies: []string{"orders:read"}},
		),
		authserver.Store(kept), // a file or a Redis of its own; without it, state ends with the process
		authserver.Seal(seal),  // 32 bytes, the same in all processes
	)
}

// ServeShop has the pages and endpoints of the authorization server beside the endpoint of MCP.
func ServeShop(as *authserver.Server, newApp func(transport.Authenticator) *framework.App) {
	app := newApp(as.Guard("https://shop.example.com/mcp"))
	serve.Main(app, serve.HTTP(
		fiberhttp.AllowedHosts("shop.example.com"),
		fiberhttp.Route("/", as.Handler()),
	))
}

// Accounts are users who log in at the program's own site, which sets a cookie.
type Accounts struct{ site Site }

// Current reads the cookie of the site.
func (a Accounts) Current(ctx context.Context, r *http.Request) (*authserver.User, error) {
	cookie, err := r.Cookie("__Host-shop")
	if err != nil {
		return nil, authserver.ErrNobody
	}
	id, err := a.site.UserOf(ctx, cookie.Value)
	if errors.Is(err, errNoAccount) {
		return nil, authserver.ErrNobody
	}
	if err != nil {
		return nil, err // such as a database that is down: another login would not help
	}
	return a.Lookup(ctx, id)
}

// Login sends the browser to the page of the site, which sends it back.
func (a Accounts) Login(w http.ResponseWriter, r *http.Request, back string) {
	http.Redirect(w, r, a.site.LoginPage(back), http.StatusSeeOther)
}

// Lookup is called at each renewal of a token. If you delete a user, the user's tokens are not renewed.
func (a Accounts) Lookup(ctx context.Context, subject string) (*authserver.User, error) {
	account, err := a.site.Account(ctx, subject)
	if errors.Is(err, errNoAccount) {
		return nil, authserver.ErrUnknown
	}
	if err != nil {
		return nil, err
	}
	scopes := append([]string{}, account.Scopes...) // nil would be every scope
	return &authserver.User{Subject: subject, Name: account.Name, Scopes: scopes}, nil
}

// BrokeredTokens issues tokens to users of a provider that lets no client register itself.
func BrokeredTokens(id, secret string, kept session.Store, seal []byte) (*authserver.Server, error) {
	provider := authserver.Provider{
		Issuer:       "https://accounts.google.com",
		ClientID:     id, // registered by hand, with https://shop.example.com/callback/provider
		ClientSecret: secret,
		// Without these, Google gives no refresh token, and a login ends after an hour.
		Extra: map[string]string{"access_type": "offline", "prompt": "consent"},
	}
	return authserver.New("https://shop.example.com", authserver.Broker(provider, authserver.Admit(onlyOurs)),
		authserver.Store(kept), authserver.Seal(seal))
}

// onlyOurs admits users with a verified address of the company. They may grant every scope.
func onlyOurs(_ context.Context, claims map[string]any) (*authserver.User, error) {
	subject, _ := claims["sub"].(string)
	email, _ := claims["email"].(string)
	if claims["email_verified"] != true || claims["hd"] != "example.com" {
		return nil, errors.New("not of the company")
	}
	return &authserver.User{Subject: subject, Name: email}, nil
}

// Events is a tool that calls the provider's API with the caller's token.
func Events(as *authserver.Server, calendar Calendar) func(ctx context.Context, in struct{}) ([]string, error) {
	return func(ctx context.Context, _ struct{}) ([]string, error) {
		token, err := as.Upstream(ctx, framework.Caller(ctx).Principal)
		if err != nil {
			return nil, err
		}
		return calendar.Events(ctx, token.Scheme+" "+token.Value)
	}
}

// KeysOfFiles signs with the key in the first file, and publishes the keys of all files.
func KeysOfFiles(files ...string) (authserver.Option, error) {
	var keys []crypto.Signer
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		block, _ := pem.Decode(text)
		if block == nil {
			return nil, fmt.Errorf("%s: not a PEM file", file)
		}
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		signer, ok := key.(crypto.Signer)
		if !ok {
			return nil, fmt.Errorf("%s: a key of type %T cannot sign", file, key)
		}
		keys = append(keys, signer)
	}
	return authserver.KeysFrom(authserver.SigningKeys(keys...)), nil
}

// Site is what the program has of its users already.
type Site interface {
	UserOf(ctx context.Context, cookie string) (id string, err error) // errNoAccount if the cookie is not valid
	LoginPage(back string) string
	Account(ctx context.Context, id string) (Account, error)
}

// Account is one user.
type Account struct {
	Name   string
	Scopes []string
}

// Calendar is an API of the provider.
type Calendar interface {
	Events(ctx context.Context, authorization string) ([]string, error)
}

var errNoAccount = errors.New("no account")

func ExampleDevLogin() {
	as, err := authserver.New("http://127.0.0.1:8080", authserver.Own(authserver.DevLogin(
		authserver.User{Subject: "ann"}, authserver.User{Subject: "bob", Scopes: []string{"orders:read"}},
	)))
	if err != nil {
		fmt.Println(err)
		return
	}
	guard := as.Guard("http://127.0.0.1:8080/mcp") // for framework.WithAuth
	fmt.Println(guard != nil, as.Handler() != nil)
	// Output: true true
}
