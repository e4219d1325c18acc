package authserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/middleware/internal/proof"
	"github.com/kagami-mcp/kagami/protocol/session"
)

// Option configures New. Sealed.
type Option interface{ option(c *config) }

type optionFunc func(c *config)

func (f optionFunc) option(c *config) { f(c) }

// config holds the values of the options.
type config struct {
	scopes      []Scope
	resources   []resourceScopes
	lives       Lifetimes
	grace       time.Duration
	store       session.Store
	seals       [][]byte
	keys        Keys
	told        func(ctx context.Context, e Event)
	limits      [places]int
	remote      func(*http.Request) string
	credentials bool
	assertions  []AssertionIssuer
	dpop        bool
	nonceKey    []byte // of DPoPNonces; nil: proofs need no nonce
	clients     []Client
	policy      Policy
	fetcher     Fetcher // of what clients name that registered themselves
	trusted     Fetcher // of what clients by hand name
	pages       Pages   // nil: plain
	remember    time.Duration
	protect     func(http.Handler) http.Handler
}

type resourceScopes struct {
	url    string
	scopes []Scope
}

// Scope is a scope that clients may request. Text is shown to users.
type Scope struct {
	Name    string
	Text    string
	Implies []string
	Default bool // granted to clients that request no scope
}

// Resource adds a server that tokens may be for, and its scopes. Guard adds its own resource, so
// use Resource for servers in other processes. A request for any other resource is refused with
// invalid_target. A request without a resource is for the only resource; if there are several, it
// is refused.
func Resource(url string, scopes ...Scope) Option {
	return optionFunc(func(c *config) { c.resources = append(c.resources, resourceScopes{url, slices.Clone(scopes)}) })
}

// Scopes adds scopes of all resources.
func Scopes(scopes ...Scope) Option {
	return optionFunc(func(c *config) { c.scopes = append(c.scopes, scopes...) })
}

// Lifetimes sets how long codes, tokens and records are valid. 0 means the default. The least is one
// second, and a code is valid for at most 10 minutes.
type Lifetimes struct {
	Code    time.Duration // 1 minute
	Access  time.Duration // 10 minutes
	Refresh time.Duration // 30 days without use
	Grant   time.Duration // 90 days in all
	Visit   time.Duration // 10 minutes from the request to the decision
	Client  time.Duration // 90 days without use, for clients that registered themselves
}

// Lives sets the lifetimes.
func Lives(l Lifetimes) Option { return optionFunc(func(c *config) { c.lives = l }) }

// Grace sets how long a refresh token that was just rotated gets the same answer again. The default
// is 10 seconds, the maximum 5 minutes; 0 disables it. It is for clients that lost the answer, or
// that consist of several processes. Only the last rotated token counts, and only from the same client
// (and key). If the second request asks for other scopes, it gets an access token for these, and the
// same refresh token.
func Grace(d time.Duration) Option { return optionFunc(func(c *config) { c.grace = d }) }

// Store sets the store for clients, visits, grants and keys. The default is in memory. It has the
// interface of session stores, such as the stores in a file and on Redis. Its IDs have the prefix
// "as:". Use a separate store: stores are bounded, and many visits must not evict sessions.
func Store(s session.Store) Option { return optionFunc(func(c *config) { c.store = s }) }

// Seal encrypts secrets that the server must read again: the provider's tokens, private keys, and
// answers kept for Grace. The first key seals, and all keys open. Each key has 32 bytes. Seal is
// required with [Store]. Without Store, the default is a random key.
//
// To change the key, first add the new key after the old one in all processes, because a process
// without it cannot open what others seal. Then put the new key first in all processes. Take the
// longest of Lives.Grant and the interval of Rotating, and remove the old key two days after that
// time has passed. Until then, signing keys and the provider's tokens may be sealed with it.
func Seal(keys ...[]byte) Option {
	return optionFunc(func(c *config) { c.seals = append(c.seals, keys...) })
}

// ClientCredentialsGrant allows clients that were registered by hand to act for themselves, if
// their Grants contain client_credentials.
func ClientCredentialsGrant() Option { return optionFunc(func(c *config) { c.credentials = true }) }

// RequireDPoP issues only tokens that are bound to a key (RFC 9449), and Guard then requires
// proofs. Without it, tokens are bearer tokens, and proofs are ignored.
func RequireDPoP() Option { return optionFunc(func(c *config) { c.dpop = true }) }

// DPoPNonces makes [RequireDPoP] require a nonce of this server in each proof (RFC 9449 §8). A client
// then cannot make proofs ahead. The token endpoint answers a proof without a nonce with the error
// use_dpop_nonce and a nonce in DPoP-Nonce, and the client tries again. Later answers have the
// current nonce. Guard requires nonces in the same way, see [auth.DPoPNonces].
//
// key has 32 bytes, and is the same in all processes behind one URL. A nil key is replaced by a
// random one, for a single process.
func DPoPNonces(key []byte) Option {
	return optionFunc(func(c *config) {
		if key == nil {
			key = randomBytes(nonceKey)
		}
		c.nonceKey = append([]byte{}, key...) // not nil, so that an empty key is a fault
	})
}

// Look replaces the pages. The default pages are plain, in English, German or French, as the
// browser prefers.
func Look(p Pages) Option { return optionFunc(func(c *config) { c.pages = p }) }

// Remember skips the consent page if the user has agreed to the same client, redirect URI, resource
// and scopes within d. The browser must also report that no other site sent it (Sec-Fetch-Site:
// none or same-origin). The default is never.
//
// Users are always asked for clients that are known by registration, or with a redirect URI on
// loopback. In Broker, Remember has no effect, because the user is known only after the page.
func Remember(d time.Duration) Option { return optionFunc(func(c *config) { c.remember = d }) }

// Protect wraps the handler of the pages, for headers or checks of the program.
func Protect(mw func(http.Handler) http.Handler) Option {
	return optionFunc(func(c *config) { c.protect = mw })
}

const (
	nonceKey        = 32 // bytes
	defaultGrace    = 10 * time.Second
	longestGrace    = 5 * time.Minute
	defaultClients  = 10_000
	defaultRotation = 30 * 24 * time.Hour
	day             = 24 * time.Hour
)

// newConfig returns the config of the options and the defaults.
func newConfig(opts []Option) (config, error) {
	c := config{grace: defaultGrace}
	var faults []error
	for n, o := range opts {
		if o == nil {
			faults = append(faults, fmt.Errorf("authserver: option %d is nil", n+1))
			continue
		}
		o.option(&c)
	}
	l := &c.lives
	l.Code, l.Access = cmp.Or(l.Code, time.Minute), cmp.Or(l.Access, 10*time.Minute)
	l.Refresh, l.Grant = cmp.Or(l.Refresh, 30*day), cmp.Or(l.Grant, 90*day)
	l.Visit, l.Client = cmp.Or(l.Visit, 10*time.Minute), cmp.Or(l.Client, 90*day)
	c.limits[atRegister], c.limits[atLogin] = cmp.Or(c.limits[atRegister], 10), cmp.Or(c.limits[atLogin], 10)
	c.limits[atToken], c.limits[atPages] = cmp.Or(c.limits[atToken], 120), cmp.Or(c.limits[atPages], 120)
	c.policy.MaxClients = cmp.Or(c.policy.MaxClients, defaultClients)
	address := c.remote
	if address == nil {
		address = remoteAddress
	}
	c.remote = func(r *http.Request) string { return network(address(r)) }
	if c.trusted = c.fetcher; c.fetcher == nil {
		c.fetcher, c.trusted = newFetcher(public), newFetcher(nil)
	}
	if c.keys == nil {
		c.keys = Rotating(defaultRotation)
	}
	if len(c.seals) == 0 && c.store == nil {
		c.seals = [][]byte{randomBytes(32)}
	}
	if c.store == nil {
		c.store = memory.New().Sessions()
	}
	return c, errors.Join(append(faults, c.faults()...)...)
}

// faults collects the errors of a part of the configuration.
type faults struct {
	part string // the beginning of each text
	all  []error
}

func (f *faults) fault(wrong bool, format string, args ...any) {
	if wrong {
		f.all = append(f.all, errors.New(f.part+fmt.Sprintf(format, args...)))
	}
}

// faults returns all errors in the options.
func (c *config) faults() []error {
	f, l := faults{part: "authserver: "}, c.lives
	f.fault(min(l.Code, l.Access, l.Refresh, l.Grant, l.Visit, l.Client) < time.Second, "Lives: a lifetime is at least a second")
	f.fault(l.Code > 10*time.Minute, "Lives: a code lives for at most 10 minutes (RFC 6749 §4.1.2)")
	f.fault(c.grace < 0 || c.grace > longestGrace, "Grace: want 0 to 5 minutes")
	f.fault(c.nonceKey != nil && len(c.nonceKey) != nonceKey, "DPoPNonces: the key has %d bytes instead of %d", len(c.nonceKey), nonceKey)
	f.fault(c.nonceKey != nil && !c.dpop, "DPoPNonces: it is for RequireDPoP")
	f.fault(len(c.seals) == 0, "Seal: it is required with a Store")
	f.fault(slices.Min(c.limits[:]) < 0, "Limit: a limit is not negative")
	f.fault(c.policy.MaxClients < 0, "Admission: MaxClients is not negative")
	if k, ok := c.keys.(*rotating); ok {
		f.fault(k.every < shortestKey, "Rotating: a key signs for at least an hour")
	}
	if k, ok := c.keys.(*fixedKeys); ok {
		f.all = append(f.all, k.faults...)
	}
	scopes := slices.Clone(c.scopes)
	for _, r := range c.resources {
		scopes = append(scopes, r.scopes...)
	}
	for _, scope := range scopes {
		f.fault(!proof.IsScope(scope.Name), "%q is not a scope: RFC 6749 §3.3 has printable characters, no spaces, quotes or backslashes", scope.Name)
	}
	for _, r := range c.resources {
		f.fault(!isResource(r.url), "Resource: %q is not an absolute http or https URL without fragment", r.url)
	}
	for _, scheme := range c.policy.Schemes {
		f.fault(slices.Contains([]string{"", "javascript", "data", "file", "blob", "about", "vbscript"}, strings.ToLower(scheme)) || scheme != strings.ToLower(scheme),
			"Admission: %q is not a scheme for redirect URIs; they are in lower case", scheme)
	}
	seen := map[string]bool{}
	for i := range c.clients {
		client := &c.clients[i]
		f.fault(seen[client.ID] || client.ID == "" || strings.ContainsFunc(client.ID, unprintable), "Clients: the id %q is empty, not printable, or there twice", client.ID)
		seen[client.ID] = true
		f.all = append(f.all, c.judge(client)...)
	}
	return append(f.all, c.assertionFaults()...)
}

// judge completes a client that was registered by hand, and returns its faults.
func (c *config) judge(client *Client) []error {
	f := faults{part: "authserver: Clients: " + client.ID + ": "}
	client.Known, client.Method = ByHand, client.methodByHand()
	_, keyless := readKeys(client.JWKS)
	switch client.Method {
	case methodNone:
		f.fault(client.may(grantCredentials) || client.may(grantAssertion), "a client that acts for itself, or for users of an identity provider, needs a secret or a key")
	case methodBasic, methodPost, methodSecret:
		f.fault(len(client.SecretDigest) != 32, "SecretDigest is not the SHA-256 of a secret")
	case methodKey:
		f.fault(client.JWKSURI == "" && keyless != nil, "JWKS has no public key for signatures")
		f.fault(client.JWKSURI != "" && (len(client.JWKS) > 0 || !isKeysURL(client.JWKSURI, true)), "JWKSURI stands instead of JWKS, and is https, or http on loopback")
	default:
		f.fault(true, "the method %s is not known", client.Method)
	}
	f.fault(client.Introspects && client.Method == methodNone, "a client that introspects needs a secret or a key")
	f.fault(client.may(grantCode) && len(client.RedirectURIs) == 0 && !client.Introspects, "there is no redirect URI")
	for _, uri := range client.RedirectURIs {
		_, err := judgeRedirect(uri, c.policy.Schemes)
		f.fault(err != nil, "%s: %v", uri, errRedirect)
	}
	return f.all
}

// isResource reports whether s can identify a resource (RFC 8707 §2).
func isResource(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && u.User == nil && !strings.Contains(s, "#")
}
