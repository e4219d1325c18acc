package oauth

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Option configures New and Client. It is sealed. If options contradict each other, such as two
// grants, New returns an error.
type Option interface{ option(c *config) }

type optionFunc func(*config)

func (f optionFunc) option(c *config) { f(c) }

type config struct {
	credentials    []Credentials
	document       string
	documentKey    crypto.Signer
	metadata       Metadata
	noRegistration bool

	scopes   []string
	narrow   func(server string, scopes []string) []string
	offline  bool
	stepUps  int
	remember time.Duration
	choose   func(ctx context.Context, server string, issuers []string) (string, error)

	http         *http.Client
	publicOnly   bool
	plain        []string
	strictIssuer bool
	assumePKCE   []string
	noResource   []string // issuers of WithoutResource
	dpop         bool
	dpopKey      crypto.Signer
	dpopMust     bool

	onEvent func(context.Context, Event)
	store   Store
	profile string

	ui       UI
	browser  func(context.Context, string) error
	patience time.Duration
	receiver Receiver

	machine  *machine // nil if a user logs in
	machines int      // number of options that set machine
}

func defaults() config {
	return config{
		metadata: Metadata{Name: "Kagami"}, offline: true, stepUps: 1, remember: 10 * time.Minute,
		patience: 5 * time.Minute, store: File(""), browser: systemBrowser, ui: terminalOfProcess(), receiver: Listener(),
	}
}

func (c *config) check() error {
	issuers := map[string]bool{}
	for _, creds := range c.credentials {
		switch {
		case creds.ID == "":
			return errors.New("credentials without a client id")
		case issuers[creds.Issuer]:
			return fmt.Errorf("two credentials for the same issuer %q", creds.Issuer)
		}
		if creds.Key != nil {
			if _, err := algorithmOf(creds.Key, creds.Algorithm); err != nil {
				return err
			}
		}
		issuers[creds.Issuer] = true
	}
	switch {
	case c.machines > 1:
		return errors.New("ClientCredentials, Assertion and EnterpriseManaged exclude each other")
	case c.machines == 1 && len(c.credentials) == 0 && c.document == "" && c.machine.needsClient:
		return errors.New("a grant without a user needs Registered")
	case c.document != "" && !documentURL(c.document):
		return fmt.Errorf("the client id %q is not an https URL with a path", c.document)
	case c.store == nil || c.ui == nil || c.receiver == nil || c.browser == nil:
		return errors.New("a store, UI, browser or receiver is nil")
	case c.stepUps < 0 || c.patience <= 0:
		return errors.New("StepUps must be at least 0, Patience more than 0")
	}
	for _, key := range []crypto.Signer{c.documentKey, c.dpopKey} {
		if key == nil {
			continue
		}
		if _, err := algorithmOf(key, ""); err != nil {
			return err
		}
	}
	return nil
}

// ---- identity of the client

// Credentials belong to a client that was registered by hand with one authorization server. They
// are not used with any other (2026-07-28 client-registration "Authorization Server Binding").
type Credentials struct {
	Issuer    string // if empty, the credentials belong to the first issuer that they are used with
	ID        string
	Secret    string        // for client_secret_basic and client_secret_post
	Key       crypto.Signer // for private_key_jwt: ECDSA P-256, RSA or Ed25519
	KeyID     string
	Algorithm string // algorithm of Key; by default ES256, RS256 or EdDSA, by the type of Key
	Method    string // method at the token endpoint; by default the first that both sides support of private_key_jwt, client_secret_basic, client_secret_post and none
}

// String hides the secret.
func (c Credentials) String() string { return c.ID + " (secret hidden)" }

// GoString hides the secret.
func (c Credentials) GoString() string { return c.String() }

// Registered adds credentials, for one or several issuers. They take precedence over all other ways
// to make the client known.
func Registered(creds ...Credentials) Option {
	creds = slices.Clone(creds)
	return optionFunc(func(c *config) { c.credentials = append(c.credentials, creds...) })
}

// Document sets the https URL of the client's metadata document. It is used if the authorization
// server supports such documents. If key is nil, the client is public.
func Document(url string, key crypto.Signer) Option {
	return optionFunc(func(c *config) { c.document, c.documentKey = url, key })
}

// Metadata describes the client for dynamic registration (RFC 7591). The flow fills in
// application_type, redirect URIs, grant types, response types and the method at the token endpoint,
// in place of members of More.
type Metadata struct {
	Name, URI, LogoURI string
	Contacts           []string
	SoftwareID         string
	SoftwareVersion    string
	InitialToken       string         // for authorization servers that let only invited clients register
	More               map[string]any // further members; must not repeat those above
}

// Register sets the description of the client for dynamic registration. By default, only the name
// is set, to "Kagami".
func Register(m Metadata) Option {
	return optionFunc(func(c *config) { c.metadata = m })
}

// NoRegistration forbids dynamic registration.
func NoRegistration() Option {
	return optionFunc(func(c *config) { c.noRegistration = true })
}

// ---- scopes

// Scopes adds scopes to request. They are requested in addition to the scopes of a challenge. If a
// challenge does not name scopes, the scopes in the server's metadata are used instead.
func Scopes(scopes ...string) Option {
	scopes = slices.Clone(scopes)
	return optionFunc(func(c *config) { c.scopes = append(c.scopes, scopes...) })
}

// Narrow sets a function that decides which scopes are requested. It gets the scopes that would be
// requested, without offline_access, and returns the scopes to request.
func Narrow(fn func(server string, scopes []string) []string) Option {
	return optionFunc(func(c *config) { c.narrow = fn })
}

// Offline sets whether refresh tokens are wanted; the default is true. offline_access is requested
// only if the authorization server lists it.
func Offline(wanted bool) Option {
	return optionFunc(func(c *config) { c.offline = wanted })
}

// StepUps limits how often one request may lead to an authorization with more scopes; the default
// is 1. If perRequest is 0, a 403 is an error. After a scope was refused, the flow does not request
// it again for the time remember. The default is 10 minutes; with 0 it requests the scope again
// each time.
func StepUps(perRequest int, remember time.Duration) Option {
	return optionFunc(func(c *config) { c.stepUps, c.remember = perRequest, remember })
}

// Choose sets a function that picks an authorization server if there are several. By default, the
// flow prefers one with a stored grant, then one with credentials, then the first.
func Choose(fn func(ctx context.Context, server string, issuers []string) (string, error)) Option {
	return optionFunc(func(c *config) { c.choose = fn })
}

// ---- trust

// HTTPClient sets the client for metadata, registration and tokens. The default is the client of
// the connection, with its proxy and its certificates. In any case, redirects are not followed, and
// answers are limited to 1 MiB and 15 seconds.
func HTTPClient(h *http.Client) Option {
	return optionFunc(func(c *config) { c.http = h })
}

// PublicOnly refuses addresses that are not public, loopback included. It checks them when dialing,
// so that a name cannot change in between. Use it for clients that run on a server and connect to
// URLs from untrusted parties.
//
// Without PublicOnly, a public server cannot send the client to an address that is not public. Two
// cases are checked less strictly. Through a proxy, only the name in the URL is checked. If the
// Transport of the HTTP client is not an *http.Transport, the name is resolved before the request.
func PublicOnly() Option {
	return optionFunc(func(c *config) { c.publicOnly = true })
}

// Plain allows http for these hosts. Loopback is always allowed.
func Plain(hosts ...string) Option {
	hosts = slices.Clone(hosts)
	return optionFunc(func(c *config) { c.plain = append(c.plain, hosts...) })
}

// StrictIssuer refuses an authorization server if its name differs by a slash at the end of a URL
// without a path. An example is "https://a.example/" in the server's metadata and
// "https://a.example" in the authorization server's. By default this one difference is accepted,
// because some large providers have it and the well-known URL of both is the same. From then on,
// the name in the authorization server's metadata is used.
func StrictIssuer() Option {
	return optionFunc(func(c *config) { c.strictIssuer = true })
}

// AssumePKCE continues at these issuers even if their metadata does not list S256. The
// specification forbids this, but some large providers support S256 without listing it. Requests to
// these issuers for offline_access have no prompt=consent, because Entra ID refuses it in tenants
// where only an administrator consents.
func AssumePKCE(issuers ...string) Option {
	issuers = slices.Clone(issuers)
	return optionFunc(func(c *config) { c.assumePKCE = append(c.assumePKCE, issuers...) })
}

// WithoutResource leaves out the server's URL, the parameter resource, in requests to these issuers. The
// specification requires the parameter (RFC 8707), but Entra ID refuses it with invalid_target if it is
// not the name of an application there. The scopes then decide which server a token is for, so use
// WithoutResource only if they name the server.
func WithoutResource(issuers ...string) Option {
	issuers = slices.Clone(issuers)
	return optionFunc(func(c *config) { c.noResource = append(c.noResource, issuers...) })
}

// DPoP binds tokens to a key (RFC 9449) if the authorization server lists the key's algorithm. If
// key is nil, the flow makes a key for each grant and stores it with the grant. If must is true,
// tokens that are not bound are refused.
func DPoP(key crypto.Signer, must bool) Option {
	return optionFunc(func(c *config) { c.dpop, c.dpopKey, c.dpopMust = true, key, must })
}

// ---- where tokens are kept

// Keep sets the store. The default is File("").
func Keep(s Store) Option {
	return optionFunc(func(c *config) { c.store = s })
}

// Profile sets the name of the account, for users with several accounts at one server.
func Profile(name string) Option {
	return optionFunc(func(c *config) { c.profile = name })
}
