// Package oauth obtains, stores and renews the tokens of a client (basic/authorization of each
// revision). It reads the challenge of a 401 or 403, finds the authorization server, and makes the
// client known to it. Then it sends the user to a browser, or authenticates with a key.
//
//	c, err := client.Connect(ctx, client.HTTP("https://shop.example.com/mcp", oauth.Client()))
//
// # Discovery
//
// A Flow first reads the metadata of the server, from the URL in the challenge or from the two
// well-known URLs (RFC 9728). Then it reads the metadata of the authorization server (RFC 8414,
// then OpenID Connect Discovery).
//
// A server without metadata is its own authorization server (2025-03-26). The metadata of the
// authorization server is then at the origin. If there is none, the endpoints are /authorize,
// /token and /register.
//
// The flow ends with an [*Error] if the metadata names another issuer, if the resource is not this
// server, or if the authorization server does not support S256 (but see [AssumePKCE]).
//
// # Guarantees
//
// A Flow serves any number of servers and is safe for concurrent use. If several requests need a
// new token at the same time, they wait for one renewal, in all processes that share the store. A
// token is sent only to the server that it was made for. Credentials for one issuer are never sent
// to another.
//
// Without [Browser] or [Prompt] (or their defaults), the user is not asked. Error texts, events and
// logs do not contain secrets.
//
// A Flow does not start goroutines that outlive the call that needs them, with two exceptions: a
// read from a terminal, which cannot be interrupted, and the wait for a browser that the Flow has
// started.
//
// # Limits
//
// The package does not register custom URL schemes with the operating system. It does not implement
// the device flow (RFC 8628), and does not read configuration files.
package oauth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol/client"
)

// Client returns an option that authorizes one connection. It is short for New(opts...) and
// [Flow.HTTP]. If an option is wrong, client.Connect returns the error.
func Client(opts ...Option) client.HTTPOption {
	f, err := New(opts...)
	if err != nil {
		return client.Authorize(broken{err})
	}
	return f.HTTP()
}

// broken is an Authorizer that fails each request.
type broken struct{ err error }

// Do returns the error.
func (b broken) Do(*http.Client, *url.URL, *http.Request) (*http.Response, error) { return nil, b.err }

// Flow obtains and stores tokens. It is safe for concurrent use.
type Flow struct {
	config config

	mu      sync.Mutex       // guards the fields below
	sites   map[string]*site // state for each server, by its canonical URL
	telling sync.Mutex       // held during OnEvent, so that events come one at a time
}

// maxSites limits the servers that a Flow remembers outside its store.
const maxSites = 1000

// New returns a Flow, or an error if an option is wrong. It does not open the store; the first
// request does.
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

// HTTP returns an option that authorizes the requests of a connection.
func (f *Flow) HTTP() client.HTTPOption { return client.Authorize(&connection{flow: f}) }

// site returns the state for a server. The server is a canonical URL.
func (f *Flow) site(server string) *site {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.sites[server]; s != nil {
		return s
	}
	if len(f.sites) >= maxSites {
		maps.DeleteFunc(f.sites, func(_ string, s *site) bool { return s.idle() })
	}
	s := &site{flow: f, server: server, turn: make(chan struct{}, 1)}
	f.sites[server] = s
	return s
}

// Login obtains a new token for a server, even if there is one. It sends one request without
// credentials, and answers the server's challenge. It requests scopes in addition to the scopes of
// the challenge.
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
	return g.public(), nil
}

// open returns the state for a server, and a client for its metadata.
func (f *Flow) open(server string) (*site, *web, error) {
	name, err := canonical(server)
	if err != nil {
		return nil, nil, err
	}
	return f.site(name), newWeb(f, http.DefaultClient, name), nil
}

// Token returns a token for a server. It renews the token if necessary, usually a minute before it
// expires. It never asks the user: if only a login helps, it returns [ErrLogin].
func (f *Flow) Token(ctx context.Context, server string) (*Token, error) {
	s, web, err := f.open(server)
	if err != nil {
		return nil, err
	}
	g, err := s.ready(ctx, web)
	if err == nil && g == nil { // another process may have logged in, or the client obtains a token by itself
		g, err = s.replace(ctx, web, nil, demand{silent: true})
	}
	if err != nil {
		return nil, err
	}
	if g == nil || g.expired(0) {
		return nil, &Error{Step: "token", Server: s.server, Err: ErrLogin}
	}
	return &Token{Value: g.Access, Scheme: g.Scheme, Expires: g.Expires, Scopes: slices.Clone(g.Scopes)}, nil
}

// Grant is the result of an authorization, without secrets.
type Grant struct {
	Server    string    `json:"server"`   // canonical URL of the server
	Resource  string    `json:"resource"` // as in the server's metadata, byte for byte
	Issuer    string    `json:"issuer"`   // as in the authorization server's metadata, byte for byte
	ClientID  string    `json:"clientId"` // id of the client; Known is its origin
	Known     Known     `json:"known"`
	Scopes    []string  `json:"scopes,omitempty"` // granted scopes; if the authorization server did not name them, the requested scopes
	Asked     []string  `json:"asked,omitempty"`  // requested in all authorizations so far; a step-up adds to them
	Expires   time.Time `json:"expires,omitzero"` // zero if unknown
	Renewable bool      `json:"renewable"`        // there is a refresh token
	Bound     bool      `json:"bound,omitempty"`  // bound to a DPoP key
}

// Known is how the authorization server knows the client.
type Known string

// The ways, in the order of preference (2025-11-25 basic/authorization "Client Registration").
const (
	ByHand         Known = "registered by hand"
	ByDocument     Known = "client id metadata document"
	ByRegistration Known = "dynamic registration"
)

// Token is a credential. String, GoString and LogValue hide its value.
type Token struct {
	Value   string
	Scheme  string    // "Bearer" or "DPoP"
	Expires time.Time // zero if unknown
	Scopes  []string  // granted scopes
}

// String hides the token.
func (t *Token) String() string { return t.Scheme + " (hidden)" }

// GoString hides the token.
func (t *Token) GoString() string { return t.String() }

// LogValue hides the token.
func (t *Token) LogValue() slog.Value { return slog.StringValue(t.String()) }
