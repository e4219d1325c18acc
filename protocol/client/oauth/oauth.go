// Package oauth obtains, keeps and renews the tokens of a client (basic/authorization of each
// revision): it reads the challenge of a 401 or 403, finds the authorization server, makes the
// client known there, sends the user to a browser or proves itself by a key, and keeps what it gets.
//
//	c, err := client.Connect(ctx, client.HTTP("https://shop.example.com/mcp", oauth.Client()))
//
// # What is found out, in this order
//
// The metadata of the server, where the challenge says or at the two well-known places (RFC 9728); the authorization server's (RFC 8414, then OpenID Connect Discovery). A server
// without metadata is its own authorization server (2025-03-26): the metadata of that is at the
// origin, and without any there are /authorize, /token and /register. Metadata of another issuer,
// a resource that is not this server, and an authorization server without S256 end the flow with
// an [*Error].
//
// # What holds
//
// A Flow serves any number of servers and is safe for concurrent use. Requests that need a new
// token at the same time wait for one renewal, in all processes that share the store. A token goes
// to the server it was made for and to no other; credentials of one issuer are never shown to
// another. Nothing is asked of the user without [Browser] or [Prompt] (or their defaults). Secrets
// are in no error text, event or log. A Flow starts no goroutine that outlives the call that needs
// it, except for a read from a terminal, which cannot be interrupted, and the wait for a browser that
// it has started.
//
// The package does not register anything with the operating system (no custom URL schemes), does
// not speak the device flow (RFC 8628), and reads no configuration file.
package oauth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol/client"
)

// Client is New(opts...).HTTP(): authorization for one connection. An error of the options is an
// error of Connect.
func Client(opts ...Option) client.HTTPOption {
	f, err := New(opts...)
	if err != nil {
		return client.Authorize(broken{err})
	}
	return f.HTTP()
}

// broken fails each request.
type broken struct{ err error }

// Do returns the error.
func (b broken) Do(*http.Client, *url.URL, *http.Request) (*http.Response, error) { return nil, b.err }

// Flow obtains and keeps tokens.
type Flow struct {
	config config

	mu      sync.Mutex       // guards the fields below
	sites   map[string]*site // by server
	telling sync.Mutex       // events come one at a time
}

// maxSites bounds the servers that a Flow remembers outside its store.
const maxSites = 1000

// New checks the options. It opens nothing: the store is touched by the first request.
func New(opts ...Option) (*Flow, error) {
	f := &Flow{config: defaults(), sites: map[string]*site{}}
	for _, opt := range opts {
		if opt == nil {
			return nil, errors.New("oauth: an option is nil")
		}
		opt.option(&f.config)
	}
	if err := f.config.check(); err != nil {
		return nil, fmt.Errorf("oauth: %w", err)
	}
	return f, nil
}

// HTTP authorizes the requests of a connection.
func (f *Flow) HTTP() client.HTTPOption { return client.Authorize(&connection{flow: f}) }

// site returns the state for a server, which is a canonical URL.
func (f *Flow) site(server string) *site {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.sites[server]; s != nil {
		return s
	}
	if len(f.sites) >= maxSites {
		for name, s := range f.sites {
			if s.idle() {
				delete(f.sites, name)
			}
		}
	}
	s := &site{flow: f, server: server, turn: make(chan struct{}, 1)}
	f.sites[server] = s
	return s
}

// Login obtains a token for a server even if there is one, with these scopes in addition to those that
// the server asks for. It is what a challenge causes, without waiting for one: the server is asked once
// without credentials, to see what it demands.
func (f *Flow) Login(ctx context.Context, server string, scopes ...string) (*Grant, error) {
	s, web, err := f.open(server)
	if err != nil {
		return nil, err
	}
	demand, err := web.knock(ctx)
	if err != nil {
		return nil, err
	}
	demand.more = scopes
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	g, err := s.login(ctx, web, demand)
	if err != nil {
		return nil, err
	}
	public := g.public()
	return &public, nil
}

// open returns the state for a server and a client for its metadata.
func (f *Flow) open(server string) (*site, *web, error) {
	name, err := canonical(server)
	if err != nil {
		return nil, nil, err
	}
	return f.site(name), newWeb(f, http.DefaultClient, name), nil
}

// Token is a token for a server that is valid for at least a minute. It is renewed if need be, but
// the user is never asked: then the error is [ErrLogin].
func (f *Flow) Token(ctx context.Context, server string) (*Token, error) {
	s, web, err := f.open(server)
	if err != nil {
		return nil, err
	}
	g, err := s.ready(ctx, web)
	if err == nil && g == nil && f.config.machine != nil {
		g, err = s.replace(ctx, web, nil, demand{silent: true})
	}
	if err != nil {
		return nil, err
	}
	if g == nil || g.expired(0) {
		return nil, &Error{Step: "token", Server: s.server, Err: ErrLogin}
	}
	return &Token{Value: g.Access, Scheme: g.Scheme, Expires: g.Expires, Scopes: g.Scopes}, nil
}

// Grant is what one authorization led to, without secrets.
type Grant struct {
	Server    string    `json:"server"`   // as the caller names it
	Resource  string    `json:"resource"` // as its metadata names it, to the byte
	Issuer    string    `json:"issuer"`   // as the authorization server's metadata names it, to the byte
	ClientID  string    `json:"clientId"` // and how it came about:
	Known     Known     `json:"known"`
	Scopes    []string  `json:"scopes,omitempty"` // granted; those asked for, if the authorization server did not say
	Asked     []string  `json:"asked,omitempty"`  // in all authorizations so far: what step-up adds to
	Expires   time.Time `json:"expires,omitzero"` // zero: the authorization server did not say
	Renewable bool      `json:"renewable"`        // there is a refresh token
	Bound     bool      `json:"bound,omitempty"`  // to a DPoP key
}

// Known says how the authorization server came to know the client.
type Known string

// The ways, in the order of preference (2025-11-25 basic/authorization "Client Registration").
const (
	ByHand         Known = "registered by hand"
	ByDocument     Known = "client id metadata document"
	ByRegistration Known = "dynamic registration"
)

// Token is a credential. Its String, GoString and LogValue hide it.
type Token struct {
	Value   string
	Scheme  string // "Bearer" or "DPoP"
	Expires time.Time
	Scopes  []string
}

// String hides the token.
func (t *Token) String() string { return t.Scheme + " (hidden)" }

// GoString hides the token.
func (t *Token) GoString() string { return t.String() }

// LogValue hides the token.
func (t *Token) LogValue() slog.Value { return slog.StringValue(t.String()) }
