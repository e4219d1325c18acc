package main

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
)

// suiteDocument is the client ID that the suite's authorization servers accept.
const suiteDocument = "https://conformance-test.local/client-metadata.json"

// suiteContext is the context of a scenario, which the suite passes in MCP_CONFORMANCE_CONTEXT.
type suiteContext struct {
	ClientID      string `json:"client_id"`
	ClientSecret  string `json:"client_secret"`
	PrivateKey    string `json:"private_key_pem"`
	Algorithm     string `json:"signing_algorithm"`
	IDPClient     string `json:"idp_client_id"`
	IDPToken      string `json:"idp_id_token"`
	IDPIssuer     string `json:"idp_issuer"`
	IDPTokenPlace string `json:"idp_token_endpoint"`
	Assertion     string `json:"valid_jwt"`
}

// authorized returns the option for a scenario of authorization.
func authorized(scenario string) (client.HTTPOption, error) {
	var told suiteContext
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &told); err != nil {
			return nil, fmt.Errorf("reading MCP_CONFORMANCE_CONTEXT: %w", err)
		}
	}
	page := &quickUser{answers: make(chan url.Values, 1)}
	opts := []oauth.Option{oauth.Keep(oauth.Memory()), oauth.Document(suiteDocument, nil), oauth.Browser(page.visit), oauth.Receive(page)}
	registered := oauth.Credentials{ID: told.ClientID, Secret: told.ClientSecret}
	switch scenario {
	case "auth/pre-registration":
		opts = append(opts, oauth.Registered(registered))
	case "auth/client-credentials-basic":
		opts = append(opts, oauth.Registered(registered), oauth.ClientCredentials())
	case "auth/client-credentials-jwt":
		key, err := signer(told.PrivateKey)
		if err != nil {
			return nil, err
		}
		opts = append(opts, oauth.ClientCredentials(), oauth.Registered(oauth.Credentials{ID: told.ClientID, Key: key, Algorithm: told.Algorithm}))
	case "auth/enterprise-managed-authorization", "auth/cross-app-access-complete-flow": // the second is its name in stable versions of the suite
		opts = append(opts, oauth.Registered(registered), oauth.EnterpriseManaged(oauth.Enterprise{
			Issuer: told.IDPIssuer, Token: told.IDPTokenPlace, Credentials: oauth.Credentials{ID: told.IDPClient},
			Identity: func(context.Context) (string, string, error) {
				return told.IDPToken, "urn:ietf:params:oauth:token-type:id_token", nil
			},
		}))
	case "auth/wif-jwt-bearer":
		opts = append(opts, oauth.Registered(registered), oauth.Assertion(func(context.Context, string, string) (string, error) {
			return told.Assertion, nil
		}))
	case "auth/dpop", "auth/dpop-nonce":
		opts = append(opts, oauth.DPoP(nil, true))
	}
	return oauth.Client(opts...), nil
}

func signer(text string) (crypto.Signer, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("the private key is not PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	s, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a key of type %T cannot sign", key)
	}
	return s, nil
}

// quickUser is a user who agrees to everything. It requests the page once, and reads the answer
// from the redirect, without following it.
type quickUser struct{ answers chan url.Values }

func (u *quickUser) visit(ctx context.Context, address string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultTransport.RoundTrip(r) // RoundTrip does not follow redirects
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	_, query, ok := strings.Cut(resp.Header.Get("Location"), "?")
	if !ok {
		return fmt.Errorf("the authorization server answers %d without sending the browser back", resp.StatusCode)
	}
	values, err := url.ParseQuery(query)
	u.answers <- values
	return err
}

// Open, Receive, Answer and Close implement oauth.Receiver.
func (u *quickUser) Open(context.Context) (string, error) {
	return "http://localhost:3000/callback", nil
}

func (u *quickUser) Receive(ctx context.Context, _ string) (url.Values, error) {
	select {
	case values := <-u.answers:
		return values, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (u *quickUser) Answer(error) {}

func (u *quickUser) Close() error { return nil }
