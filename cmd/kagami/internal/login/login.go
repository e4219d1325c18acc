// Package login decides how the commands of kagami log in at a server. The settings come from flags
// that "auth login" has saved, or from the environment.
package login

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/client/oauth"
)

// Environment variables.
const (
	EnvAccount   = "KAGAMI_ACCOUNT"        // default of --account
	envHelper    = "KAGAMI_AUTH_HELPER"    // program that stores the tokens
	envID        = "KAGAMI_CLIENT_ID"      // client ID for a login without a user
	envIssuer    = "KAGAMI_CLIENT_ISSUER"  // authorization server of that client
	envSecret    = "KAGAMI_CLIENT_SECRET"  // secret of that client
	envKey       = "KAGAMI_CLIENT_KEY"     // PEM file with the private key of that client
	envAssertion = "KAGAMI_ASSERTION_FILE" // file with the platform's token for this workload
)

// Settings has the saved flags for the login at one server. They are stored with its tokens.
type Settings struct {
	ClientID     string   `json:"client_id,omitempty"`
	ClientSecret string   `json:"client_secret,omitempty"`
	ClientIssuer string   `json:"client_issuer,omitempty"`   // "" is the first one that the client is used with
	Document     string   `json:"client_document,omitempty"` // URL of a client ID metadata document
	Host         string   `json:"callback_host,omitempty"`   // "localhost" or "127.0.0.1"
	Port         int      `json:"callback_port,omitempty"`
	AssumePKCE   []string `json:"assume_pkce,omitempty"`      // issuers
	NoResource   []string `json:"without_resource,omitempty"` // issuers
	DPoP         bool     `json:"dpop,omitempty"`
}

// kind is the kind of the store's records with Settings.
const kind oauth.Kind = "kagami settings"

// Store returns the store for tokens and settings.
func Store() oauth.Store {
	if program := os.Getenv(envHelper); program != "" {
		return oauth.Helper(program, "")
	}
	return oauth.File("")
}

func keyOf(server, account string) oauth.Key {
	return oauth.Key{Kind: kind, Issuer: canonical(server), Profile: account}
}

// canonical returns the URL of a server in the form under which package oauth keeps its tokens:
// scheme and host in lower case, and without default port, query, fragment, user information and the
// slash of an empty path. Other texts it returns unchanged.
func canonical(server string) string {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return server
	}
	host := strings.ToLower(u.Host)
	if port := u.Port(); u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		host = strings.TrimSuffix(host, ":"+port)
	}
	path := u.EscapedPath()
	if path == "/" {
		path = ""
	}
	return u.Scheme + "://" + host + path
}

// Load returns the saved settings for a server. If there are none, it returns the zero value.
func Load(ctx context.Context, store oauth.Store, server, account string) (s Settings, err error) {
	r, err := store.Get(ctx, keyOf(server, account))
	if errors.Is(err, oauth.ErrNotFound) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(r.Data, &s)
	}
	return s, err
}

// Save saves the settings for a server, and replaces earlier ones.
func Save(ctx context.Context, store oauth.Store, server, account string, s Settings) error {
	data, _ := json.Marshal(s) // encoding texts does not fail
	r, err := store.Get(ctx, keyOf(server, account))
	if err != nil && !errors.Is(err, oauth.ErrNotFound) {
		return err
	}
	_, err = store.Put(ctx, oauth.Record{Key: keyOf(server, account), Version: r.Version, Data: data})
	return err
}

// Forget removes the saved settings for a server.
func Forget(ctx context.Context, store oauth.Store, server, account string) error {
	r, err := store.Get(ctx, keyOf(server, account))
	if errors.Is(err, oauth.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = store.Delete(ctx, r.Key, r.Version)
	}
	return err
}

// ForgetAll removes all records of an account: settings, and what the flows have stored. It keeps
// records that it cannot read, and names them in the error.
func ForgetAll(ctx context.Context, store oauth.Store, account string) error {
	keys, err := store.List(ctx)
	for _, k := range keys {
		if k.Profile != account {
			continue
		}
		r, failed := store.Get(ctx, k)
		if failed == nil {
			failed = store.Delete(ctx, k, r.Version)
		}
		if failed != nil && !errors.Is(failed, oauth.ErrNotFound) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// Options returns the options of a flow for a server.
func (s Settings) Options() []oauth.Option {
	opts := []oauth.Option{oauth.Register(oauth.Metadata{Name: "Kagami", SoftwareID: "kagami"})}
	if s.ClientID != "" {
		opts = append(opts, oauth.Registered(oauth.Credentials{Issuer: s.ClientIssuer, ID: s.ClientID, Secret: s.ClientSecret}), oauth.NoRegistration())
	}
	if s.Document != "" {
		opts = append(opts, oauth.Document(s.Document, nil))
	}
	listen := []oauth.ListenerOption{oauth.Port(s.Port)}
	if s.Host == "localhost" {
		listen = append(listen, oauth.Localhost())
	}
	opts = append(opts, oauth.Receive(oauth.Listener(listen...)), oauth.AssumePKCE(s.AssumePKCE...), oauth.WithoutResource(s.NoResource...))
	if s.DPoP {
		opts = append(opts, oauth.DPoP(nil, false))
	}
	return opts
}

// Machine returns the options for a login without a user from the environment. If the environment
// has none, it returns nil.
func Machine(getenv func(string) string) ([]oauth.Option, error) {
	id, secret, keyFile := getenv(envID), getenv(envSecret), getenv(envKey)
	creds := oauth.Credentials{Issuer: getenv(envIssuer), ID: id, Secret: secret}
	if file := getenv(envAssertion); file != "" {
		opts := []oauth.Option{oauth.Assertion(oauth.AssertionFile(file))}
		if id != "" {
			opts = append(opts, oauth.Registered(creds))
		}
		return opts, nil
	}
	if secret == "" && keyFile == "" {
		return nil, nil
	}
	if id == "" {
		return nil, fmt.Errorf("%s or %s is set, but not %s", envSecret, envKey, envID)
	}
	if keyFile != "" {
		var err error
		if creds.Key, err = readKey(keyFile); err != nil {
			return nil, fmt.Errorf("%s: %w", envKey, err)
		}
	}
	return []oauth.Option{oauth.ClientCredentials(), oauth.Registered(creds)}, nil
}

func readKey(file string) (crypto.Signer, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the user names the file
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s is not a PEM file", file)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s is not a private key in PKCS #8: %w", file, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%s: a key of type %T cannot sign", file, key)
	}
	return signer, nil
}
