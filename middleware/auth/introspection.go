package auth

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/middleware/internal/proof"
	"github.com/kagami-mcp/kagami/transport"
)

// Introspection verifies tokens by asking the authorization server (RFC 7662). Its answer is cached
// for TTL, so a revoked token may be accepted for that long. A stream that only listens lasts until
// the token expires. Set the fields before the first use, and do not copy an Introspection after
// that.
type Introspection struct {
	Endpoint     string
	ClientID     string
	ClientSecret string
	Audience     string        // this server, as in tokens; if empty, the Resource of Bearer
	TTL          time.Duration // 0 means 30 seconds; if negative, every call asks
	Client       *http.Client  // if nil, a client that does not follow redirects

	once   sync.Once
	client *http.Client
	broken error
	active *cache
	others *cache // separate, so that many made-up tokens do not evict valid ones
}

const (
	introspectedTTL    = 30 * time.Second
	introspectedTokens = 4096
	// short, because a token may become active just after it was refused
	inactiveTTL    = 5 * time.Second
	inactiveTokens = 1024
)

// Verify asks the authorization server about a token, unless it knows the answer, and returns the
// token's principal. If the server does not answer, or a field of i is wrong, the error wraps
// ErrUnavailable. Any other error means that the token is not valid. Verify is safe for concurrent use.
func (i *Introspection) Verify(ctx context.Context, token string) (*transport.Principal, error) {
	return i.verify(ctx, token, "")
}

func (i *Introspection) names() (issuer, audience string) { return "", i.Audience }

func (i *Introspection) prepare() {
	i.active, i.others = newCache(introspectedTokens), newCache(inactiveTokens)
	i.TTL, i.client = cmp.Or(i.TTL, introspectedTTL), cmp.Or(i.Client, newClient())
	i.broken = i.misset()
}

func (i *Introspection) fault(resource string) error {
	return cmp.Or(needed("Introspection", cmp.Or(i.Audience, resource)), i.misset())
}

// misset returns the error in the fields, or nil. This check takes too long for every call.
func (i *Introspection) misset() error {
	if httpURL(i.Endpoint) == nil {
		return missetf("Introspection: the Endpoint must be an absolute URL, not %q", i.Endpoint)
	}
	return nil
}

func (i *Introspection) verify(ctx context.Context, token, resource string) (*transport.Principal, error) {
	i.once.Do(i.prepare)
	audience := cmp.Or(i.Audience, resource)
	if err := cmp.Or(needed("Introspection", audience), i.broken); err != nil {
		return nil, err
	}
	d := digestOf(audience, token)
	if p, known := i.active.get(d); known {
		return p, nil
	}
	if _, known := i.others.get(d); known {
		return nil, errInactive
	}
	c, err := i.ask(ctx, token)
	if err != nil {
		return nil, unavailable("introspection: %w", err)
	}
	p, err := c.introspected(audience, time.Now())
	if i.TTL < 0 {
		return p, err
	}
	now := time.Now()
	if err != nil {
		i.others.put(d, nil, now.Add(min(i.TTL, inactiveTTL)))
		return nil, err
	}
	until := now.Add(i.TTL)
	if !p.Expires.IsZero() && p.Expires.Before(until) {
		until = p.Expires
	}
	i.active.put(d, p, until)
	return p, nil
}

var errInactive = errors.New("auth: the authorization server does not know the token, or no longer")

// introspected returns the principal of an answer. All members except "active" are optional (RFC
// 7662 §2.2). The audience is required here, because servers also know tokens for other servers.
func (c claims) introspected(audience string, now time.Time) (*transport.Principal, error) {
	if active, _ := c["active"].(bool); !active {
		return nil, errInactive
	}
	if c.isRefreshToken() {
		return nil, &rejection{told: "a refresh token is not an access token"}
	}
	if expires, ok := proof.NumericDate(c["exp"]); ok && !now.Before(expires) {
		return nil, errExpired
	}
	if begins, ok := proof.NumericDate(c["nbf"]); ok && now.Before(begins) {
		return nil, &rejection{told: "the token is not valid yet"}
	}
	if err := c.intendedFor(audience); err != nil {
		return nil, err
	}
	return c.principal()
}

// isRefreshToken reports whether an answer is about a refresh token. Authorization servers also know
// those, and some answer with the audience of the access tokens. Ory Hydra then sets "token_use",
// Keycloak "typ", with "Offline" for an offline session, and others "token_type".
func (c claims) isRefreshToken() bool {
	return c.text("typ") == "Offline" || slices.ContainsFunc([]string{"token_use", "token_type", "typ"}, func(name string) bool {
		return strings.HasPrefix(strings.ToLower(c.text(name)), "refresh")
	})
}

// ask sends the token in the body, and the server's own credentials in a header. The credentials
// are encoded as in a form (RFC 6749 §2.3.1).
func (i *Introspection) ask(ctx context.Context, token string) (claims, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, i.Endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	if i.ClientID != "" {
		r.SetBasicAuth(url.QueryEscape(i.ClientID), url.QueryEscape(i.ClientSecret))
	}
	body, err := do(i.client, r)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var c claims
	if err := decoder.Decode(&c); err != nil {
		return nil, fmt.Errorf("reading the answer of %s: %w", r.URL.Redacted(), err)
	}
	return c, nil
}
