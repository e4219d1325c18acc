package oauth

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Option configures New and Client. Sealed. Two that contradict each other, such as two grants, are
// an error of New.
type Option interface{ option(c *config) }

type optionFunc func(*config)

func (f optionFunc) option(c *config) { f(c) }

// config is what the options say.
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

	machine  machine // nil: a user logs in
	machines int     // options that set it
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
	case c.machines == 1 && len(c.credentials) == 0 && c.document == "" && c.machine.needsClient():
		return errors.New("a grant without a user needs Registered")
	case c.document != "" && !documentURL(c.document):
		return fmt.Errorf("the client id %q is not an https URL with a path", c.document)
	case c.store == nil || c.ui == nil || c.receiver == nil || c.browser == nil:
		return errors.New("a store, UI, browser or receiver is nil")
	case c.stepUps < 0 || c.patience <= 0:
		return errors.New("a number of step-ups below 0, or no patience")
	}
	if c.documentKey != nil {
		if _, err := algorithmOf(c.documentKey, ""); err != nil {
			return err
		}
	}
	if c.dpopKey != nil {
		if _, err := algorithmOf(c.dpopKey, ""); err != nil {
			return err
		}
	}
	return nil
}

// ---- who the client is

// Credentials belong to a client that was registered by hand with one authorization server. They are
// used with no other (2026-07-28 client-registration "Authorization Server Binding").
type Credentials struct {
	Issuer    string // empty: the one that the server names first, and from then on only that
	ID        string
	Secret    string        // for client_secret_basic and client_secret_post
	Key       crypto.Signer // for private_key_jwt: ECDSA P-256, RSA or Ed25519
	KeyID     string
	Algorithm string // of Key; default: ES256, RS256 or EdDSA, by its type
	Method    string // of the token endpoint; default: the first of private_key_jwt, client_secret_basic, client_secret_post, none that both sides can
}

// String hides the secret.
func (c Credentials) String() string { return c.ID + " (secret hidden)" }

// GoString hides the secret.
func (c Credentials) GoString() string { return c.String() }

// Registered gives credentials; several, for several issuers. They come before all other ways.
func Registered(creds ...Credentials) Option {
	return optionFunc(func(c *config) { c.credentials = append(c.credentials, creds...) })
}

// Document is the https URL of this client's metadata document; used where the authorization
// server supports that. key may be nil: then the client is public.
func Document(url string, key crypto.Signer) Option {
	return optionFunc(func(c *config) { c.document, c.documentKey = url, key })
}

// Metadata describes the client for dynamic registration (RFC 7591). application_type, redirect
// URIs, grant and response types are filled in by the flow.
type Metadata struct {
	Name, URI, LogoURI string
	Contacts           []string
	SoftwareID         string
	SoftwareVersion    string
	InitialToken       string         // for servers that let only invited clients register
	More               map[string]any // further members, which must not be those above
}

// Register describes the client; default: the name "Kagami".
func Register(m Metadata) Option {
	return optionFunc(func(c *config) { c.metadata = m })
}

// NoRegistration forbids dynamic registration.
func NoRegistration() Option {
	return optionFunc(func(c *config) { c.noRegistration = true })
}

// ---- what is asked for

// Scopes are asked for in addition to those that a challenge names. For a challenge that names no
// scopes, the server's metadata lists them.
func Scopes(scopes ...string) Option {
	return optionFunc(func(c *config) { c.scopes = append(c.scopes, scopes...) })
}

// Narrow decides what is asked for: it gets what would be, and returns what shall be. It does not
// see offline_access.
func Narrow(fn func(server string, scopes []string) []string) Option {
	return optionFunc(func(c *config) { c.narrow = fn })
}

// Offline says whether refresh tokens are wanted; default true. offline_access is asked for only if
// the authorization server lists it.
func Offline(wanted bool) Option {
	return optionFunc(func(c *config) { c.offline = wanted })
}

// StepUps bounds how often one request may lead to an authorization with more scopes, default 1, and
// for how long the flow remembers that a scope was refused, default 10 minutes. With 0 a 403 is an
// error.
func StepUps(perRequest int, remember time.Duration) Option {
	return optionFunc(func(c *config) { c.stepUps, c.remember = perRequest, remember })
}

// Choose picks one of several authorization servers; default: one there is a grant for, then one
// there are credentials for, then the first.
func Choose(fn func(ctx context.Context, server string, issuers []string) (string, error)) Option {
	return optionFunc(func(c *config) { c.choose = fn })
}

// ---- trust

// HTTPClient is used for metadata, registration and tokens; default: the client of the connection, so
// that its proxy and its certificates count here, too. Redirects are not followed, answers are
// bounded to 1 MiB and 15 seconds in any case.
func HTTPClient(h *http.Client) Option {
	return optionFunc(func(c *config) { c.http = h })
}

// PublicOnly refuses addresses that are not public, loopback included, at the time of dialing, so
// that a name cannot change in between. It is for clients that run on a server and connect where
// strangers tell them to. Default: a server that is public itself cannot send the client to an
// address that is not. Through a proxy only the name in the URL is looked at, and for an HTTP client
// whose Transport is not an *http.Transport the name is resolved before the request.
func PublicOnly() Option {
	return optionFunc(func(c *config) { c.publicOnly = true })
}

// Plain allows http for these hosts; loopback is always allowed.
func Plain(hosts ...string) Option {
	return optionFunc(func(c *config) { c.plain = append(c.plain, hosts...) })
}

// StrictIssuer refuses an authorization server whose name differs by a slash at the end of a URL
// without a path: "https://a.example/" in the server's metadata, "https://a.example" in its own.
// Default: that one difference is accepted, since some large providers have it, the well-known URL
// of both is the same, and the value of the authorization server's metadata is what counts from then on.
func StrictIssuer() Option {
	return optionFunc(func(c *config) { c.strictIssuer = true })
}

// AssumePKCE goes on at these issuers although their metadata does not say that they support S256.
// The specification forbids that; some large providers support it and do not say so.
func AssumePKCE(issuers ...string) Option {
	return optionFunc(func(c *config) { c.assumePKCE = append(c.assumePKCE, issuers...) })
}

// DPoP binds tokens to a key (RFC 9449) where the authorization server lists its algorithm. With
// nil, a key is made per grant and kept with it. must refuses tokens that are not bound.
func DPoP(key crypto.Signer, must bool) Option {
	return optionFunc(func(c *config) { c.dpop, c.dpopKey, c.dpopMust = true, key, must })
}

// ---- where tokens are kept

// Keep uses a store; default: File("").
func Keep(s Store) Option {
	return optionFunc(func(c *config) { c.store = s })
}

// Profile names the account, for users who have several at one server.
func Profile(name string) Option {
	return optionFunc(func(c *config) { c.profile = name })
}
