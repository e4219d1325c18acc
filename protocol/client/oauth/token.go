package oauth

import (
	"context"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Grant types and parameters of token requests.
const (
	grantCode        = "authorization_code"
	grantRefresh     = "refresh_token"
	grantCredentials = "client_credentials"
	grantAssertion   = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	grantExchange    = "urn:ietf:params:oauth:grant-type:token-exchange"

	typeAssertion = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	typeIDJAG     = "urn:ietf:params:oauth:token-type:id-jag"
	typeIDToken   = "urn:ietf:params:oauth:token-type:id_token"
)

// Methods of a client to authenticate at a token endpoint.
const (
	methodNone  = "none"
	methodBasic = "client_secret_basic"
	methodPost  = "client_secret_post"
	methodKey   = "private_key_jwt"
)

// tokenAnswer is the answer of a token endpoint (RFC 6749 §5). Some servers write optional members
// in other types, and their tokens are still usable.
type tokenAnswer struct {
	Access  string          `json:"access_token"`
	Type    string          `json:"token_type"`
	Expires json.RawMessage `json:"expires_in"` // see seconds
	Refresh string          `json:"refresh_token"`
	Scope   json.RawMessage `json:"scope"` // see granted
	ID      string          `json:"id_token"`
	Issued  string          `json:"issued_token_type"`

	Code        string `json:"error"`
	Description string `json:"error_description"`
}

// lifetime returns how long the token is valid, or 0 if unknown.
func (a *tokenAnswer) lifetime() time.Duration {
	return time.Duration(min(seconds(a.Expires), 10*365*24*3600)) * time.Second
}

// seconds returns the value of a member that is a positive number, with or without quotes. For any
// other member it returns 0.
func seconds(member json.RawMessage) float64 {
	var number json.Number
	if json.Unmarshal(member, &number) != nil {
		return 0
	}
	n, err := number.Float64()
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// endpoint is a token endpoint, with the credentials and the DPoP key of the client.
type endpoint struct {
	issuer issuerMetadata
	client Credentials
	dpop   crypto.Signer // nil if tokens are not bound
	nonces *nonces
}

// method returns how the client authenticates: the configured method, or the first that both sides
// support.
func (e *endpoint) method() (string, error) {
	c := &e.client
	can := map[string]bool{methodKey: c.Key != nil, methodBasic: c.Secret != "", methodPost: c.Secret != "", methodNone: c.Secret == "" && c.Key == nil}
	if c.Method != "" {
		if !can[c.Method] && c.Method != methodNone {
			return "", fmt.Errorf("%w: the method %s needs what the credentials do not have", ErrNoWay, cleaned(c.Method))
		}
		return c.Method, nil
	}
	all := []string{methodKey, methodBasic, methodPost, methodNone}
	for _, method := range all {
		if can[method] && slices.Contains(e.issuer.Methods, method) {
			return method, nil
		}
	}
	for _, method := range all { // a method that is not listed may still work, such as none
		if can[method] && (len(e.issuer.Methods) == 0 || method == methodNone) {
			return method, nil
		}
	}
	return "", fmt.Errorf("%w: the authorization server accepts %v, but the credentials fit none", ErrNoWay, e.issuer.Methods)
}

// authenticate adds the client's credentials to a token request.
func (e *endpoint) authenticate(form url.Values, header http.Header) error {
	method, err := e.method()
	if err != nil {
		return err
	}
	switch c := &e.client; method {
	case methodBasic: // RFC 6749 §2.3.1: form-encoded before base64
		pair := url.QueryEscape(c.ID) + ":" + url.QueryEscape(c.Secret)
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(pair)))
	case methodPost:
		form.Set("client_id", c.ID)
		form.Set("client_secret", c.Secret)
	case methodKey:
		assertion, err := clientAssertion(c.Key, *c, e.issuer.Issuer, time.Now())
		if err != nil {
			return err
		}
		form.Set("client_assertion_type", typeAssertion)
		form.Set("client_assertion", assertion)
	default:
		if c.ID != "" {
			form.Set("client_id", c.ID)
		}
	}
	return nil
}

// refusedError is an error answer of a token or registration endpoint.
type refusedError struct {
	status     int
	code, text string
}

// Error returns the code and the text of the answer.
func (e *refusedError) Error() string {
	switch {
	case e.code == "":
		return fmt.Sprintf("HTTP %d", e.status)
	case e.text == "":
		return e.code
	}
	return e.code + ": " + e.text
}

// absent reports whether there is no such endpoint, as far as its answer shows.
func (e *refusedError) absent() bool {
	return e.code == "" && (e.status == http.StatusNotFound || e.status == http.StatusMethodNotAllowed || e.status == http.StatusGone)
}

// codeOf returns the error code of RFC 6749 §5.2 for a refusal. It translates the codes of GitHub,
// which answers errors with status 200, and the codes of Entra ID that ask for a login.
func codeOf(err error) string {
	refused, ok := errors.AsType[*refusedError](err)
	if !ok {
		return ""
	}
	switch refused.code {
	case "bad_refresh_token", "bad_verification_code", "interaction_required", "consent_required", "login_required":
		return "invalid_grant"
	case "incorrect_client_credentials":
		return "invalid_client"
	}
	return refused.code
}

// token sends a token request. If the endpoint refuses it, the error is a *refusedError. After
// ErrUnavailable the outcome is unknown.
func (w *web) token(ctx context.Context, e *endpoint, form url.Values) (*tokenAnswer, error) {
	if e.issuer.Token == "" {
		return nil, fmt.Errorf("%w: its metadata has no token endpoint", ErrNoWay)
	}
	for again := false; ; again = true {
		proven := e.nonces.of(e.issuer.Token) // another request may learn a newer one meanwhile
		a, err := w.post(ctx, e, e.issuer.Token, form)
		if err != nil {
			return nil, err
		}
		var t tokenAnswer
		failed := a.object(&t)
		e.nonces.learn(e.issuer.Token, a.header)
		switch {
		case a.isUnavailable(t.Code):
			return nil, fmt.Errorf("%w: the token endpoint answers %d", ErrUnavailable, a.status)
		case a.status/100 == 2 && failed == nil && strings.ContainsFunc(t.Access, func(r rune) bool { return r < ' ' || r > '~' }):
			return nil, fmt.Errorf("%w: the token endpoint's answer has an access_token with characters that a header cannot have", ErrDenied)
		case a.status/100 == 2 && failed == nil && t.Access != "":
			return &t, nil
		case !again && t.Code == "use_dpop_nonce" && e.nonces.of(e.issuer.Token) != proven:
			continue // with the nonce of this answer (RFC 9449 §8)
		case !again && t.Code == "invalid_dpop_proof" && e.nonces.learnClock(a.header):
			continue // with a proof dated by the server's clock
		case a.status/100 == 2 && failed != nil:
			return nil, fmt.Errorf("%w: the token endpoint's answer cannot be read", ErrDenied) // it may contain a token
		case a.status/100 == 2 && t.Code == "":
			return nil, fmt.Errorf("%w: the token endpoint's answer has no access_token", ErrDenied)
		}
		return nil, &refusedError{a.status, a.shown(t.Code), a.shown(t.Description)}
	}
}

// secretParams are the parameters of a token request that are secret.
var secretParams = []string{"code", "code_verifier", "refresh_token", "assertion", "subject_token", "client_secret", "client_assertion", "token"}

// minSecret is the length of the shortest text that is hidden. Shorter ones can be parts of words.
const minSecret = 8

// secretsOf returns the secrets of a request, as they are and as they are encoded in its body. The
// longest is first, because it may contain others.
func secretsOf(header http.Header, body []byte) []string {
	_, credentials, _ := strings.Cut(header.Get("Authorization"), " ")
	secrets := []string{credentials, header.Get("DPoP")}
	if pair, err := base64.StdEncoding.DecodeString(credentials); err == nil {
		_, secret, _ := strings.Cut(string(pair), ":")
		secrets = append(secrets, secret)
	}
	form, _ := url.ParseQuery(string(body)) // a body of JSON has none of these parameters
	for _, name := range secretParams {
		secrets = append(secrets, form.Get(name))
	}
	for _, secret := range secrets {
		plain, _ := url.QueryUnescape(secret)
		secrets = append(secrets, plain, url.QueryEscape(secret))
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return slices.DeleteFunc(secrets, func(secret string) bool { return len(secret) < minSecret })
}

// setResource adds the resource that a token is for to a request to an issuer (RFC 8707).
func (f *Flow) setResource(request url.Values, issuer, resource string) {
	if resource != "" && f.sendsResource(issuer) {
		request.Set("resource", resource)
	}
}

func (f *Flow) sendsResource(issuer string) bool {
	return !slices.Contains(f.config.noResource, issuer)
}

// resourceHint returns the advice for an issuer that has refused the resource.
func (f *Flow) resourceHint(code, issuer string) string {
	if code != "invalid_target" || !f.sendsResource(issuer) {
		return ""
	}
	return "The authorization server does not know the server's URL as a resource. If you trust it to issue tokens for the server, leave the resource out: WithoutResource, or --without-resource " + issuer
}

// unavailable reports whether an error code means that the authorization server may answer the same
// request later (RFC 6749 §4.1.2.1). Some token endpoints use these codes with any status.
func unavailable(code string) bool {
	return code == "temporarily_unavailable" || code == "server_error"
}

// isUnavailable reports whether a token or registration endpoint may answer the same request later. code
// is the error code of the answer.
func (a *answer) isUnavailable(code string) bool {
	return a.status >= 500 || a.status == http.StatusTooManyRequests || a.status == http.StatusRequestTimeout || unavailable(code)
}

// post sends one request to an address of the authorization server, as the client of e.
func (w *web) post(ctx context.Context, e *endpoint, address string, form url.Values) (*answer, error) {
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	sent := url.Values{}
	maps.Copy(sent, form)
	if err := e.authenticate(sent, header); err != nil {
		return nil, err
	}
	if e.dpop != nil {
		u, err := w.check(address)
		if err != nil {
			return nil, err
		}
		text, err := proof(e.dpop, http.MethodPost, u, "", e.nonces.of(address), e.nonces.now())
		if err != nil {
			return nil, err
		}
		header.Set("DPoP", text)
	}
	return w.do(ctx, http.MethodPost, address, header, []byte(sent.Encode()))
}

// revoke revokes a token (RFC 7009). If the authorization server does not support this, revoke
// returns nil.
func (w *web) revoke(ctx context.Context, e *endpoint, kind, token string) error {
	if e.issuer.Revocation == "" || token == "" {
		return nil
	}
	a, err := w.post(ctx, e, e.issuer.Revocation, url.Values{"token": {token}, "token_type_hint": {kind}})
	if err != nil || a.status/100 == 2 {
		return err
	}
	var t tokenAnswer
	if a.object(&t) == nil && t.Code == "unsupported_token_type" {
		return nil // signed access tokens usually cannot be revoked (RFC 7009 §2.2.1)
	}
	return fmt.Errorf("%w: the revocation endpoint answers %d", ErrUnavailable, a.status)
}

// scheme returns the authentication scheme of a token, "Bearer" or "DPoP".
func (a *tokenAnswer) scheme(bound, must bool) (string, error) {
	switch {
	case strings.EqualFold(a.Type, "DPoP") && bound:
		return "DPoP", nil
	case strings.EqualFold(a.Type, "Bearer") || a.Type == "":
		if must {
			return "", fmt.Errorf("%w: the token is not bound to the key", ErrDenied)
		}
		return "Bearer", nil
	}
	return "", fmt.Errorf("%w: a token of the unknown type %q", ErrDenied, cleaned(a.Type))
}

// granted returns the scopes of a token. If the answer does not name scopes, they are the requested
// ones. Twitch writes a list. GitHub separates scopes by commas. A comma may also be part of a scope.
func (a *tokenAnswer) granted(asked []string) []string {
	var text *string
	var scopes []string
	switch {
	case json.Unmarshal(a.Scope, &text) == nil && text != nil:
		scopes = strings.Fields(*text)
	case json.Unmarshal(a.Scope, &scopes) == nil && scopes != nil:
		scopes = union(scopes)
	default:
		return slices.Clone(asked)
	}
	if len(scopes) == 1 && !slices.Contains(asked, scopes[0]) {
		return strings.FieldsFunc(scopes[0], func(r rune) bool { return r == ',' })
	}
	return scopes
}
