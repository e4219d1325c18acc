package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// resourceMetadata is the metadata of a server (RFC 9728).
type resourceMetadata struct {
	Resource string   `json:"resource"`
	Issuers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
}

// issuerMetadata is the metadata of an authorization server (RFC 8414 and OpenID Connect
// Discovery), as far as the flow needs it. It is kept with tokens, because renewal needs it.
type issuerMetadata struct {
	Issuer        string   `json:"issuer"`
	Authorization string   `json:"authorization_endpoint,omitempty"`
	Token         string   `json:"token_endpoint,omitempty"`
	Registration  string   `json:"registration_endpoint,omitempty"`
	Revocation    string   `json:"revocation_endpoint,omitempty"`
	Scopes        []string `json:"scopes_supported,omitempty"`
	Challenges    []string `json:"code_challenge_methods_supported,omitempty"`
	Methods       []string `json:"token_endpoint_auth_methods_supported,omitempty"`
	Documents     bool     `json:"client_id_metadata_document_supported,omitempty"`
	SaysIssuer    bool     `json:"authorization_response_iss_parameter_supported,omitempty"`
	DPoPKinds     []string `json:"dpop_signing_alg_values_supported,omitempty"`

	guessed bool // there is no metadata, and the endpoints are the defaults of 2025-03-26
}

// found is the result of discovery.
type found struct {
	resource string // resource that tokens are for
	issuers  []string
	issuer   issuerMetadata
	scopes   []string // all scopes of the server
	revision string   // revision of the applied rules
}

// Names of steps.
const (
	stepChallenge    = "challenge"
	stepResource     = "resource metadata"
	stepIssuer       = "issuer metadata"
	stepPKCE         = "pkce"
	stepRegistration = "registration"
	stepScopes       = "scopes"
	stepGrant        = "grant"
	stepVisit        = "visit"
	stepToken        = "token"
	stepRenewal      = "renewal"
	stepStore        = "store"
)

// Rules, as named in the steps of an Inspection.
const (
	ruleDiscovery = "2026-07-28 authorization-server-discovery"
	ruleResource  = "RFC 9728 §3.3"
	ruleIssuer    = "RFC 8414 §3.3"
	ruleFallback  = "2025-03-26 basic/authorization \"Fallbacks for Servers without Metadata Discovery\""
)

// canonical returns the URL under which the tokens of a server are kept. Scheme and host are in lower
// case. The default port, fragment, query, user information and the slash of an empty path are left
// out (RFC 8707 §2; 2026-07-28 basic/authorization "Resource Parameter Implementation").
func canonical(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("%w: the server %q is not an absolute http or https URL", ErrUnsafeURL, cleaned(server))
	}
	host := strings.ToLower(u.Host)
	if port := u.Port(); u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		host = strings.TrimSuffix(host, ":"+port)
	}
	path := u.EscapedPath()
	if path == "/" {
		path = ""
	}
	return u.Scheme + "://" + host + path, nil
}

// originAndPath divides a canonical URL, or an issuer.
func originAndPath(address string) (origin, path string) {
	u, err := url.Parse(address)
	if err != nil {
		return address, ""
	}
	return u.Scheme + "://" + u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
}

// discover finds the authorization server. demand may name the place of the server's metadata.
func (w *web) discover(ctx context.Context, d demand) (*found, error) {
	meta, err := w.resourceMetadata(ctx, d.metadata)
	if err != nil {
		return nil, &Error{Step: stepResource, Server: w.server, Err: err}
	}
	if meta == nil {
		return w.discoverAtOrigin(ctx)
	}
	f := &found{resource: meta.Resource, issuers: meta.Issuers, scopes: meta.Scopes, revision: "2026-07-28"}
	issuer, err := w.choose(ctx, meta.Issuers)
	if err != nil {
		return f, &Error{Step: stepIssuer, Server: w.server, Err: err}
	}
	f.issuer, err = w.issuerMetadata(ctx, issuer)
	if err != nil {
		return f, &Error{Step: stepIssuer, Server: w.server, Issuer: issuer, Err: err, Hint: issuerHint(err)}
	}
	return f, nil
}

func issuerHint(err error) string {
	if _, foreign := errors.AsType[foreignError](err); foreign {
		return "The metadata that was found belongs to another authorization server. Its operator must correct that."
	}
	return ""
}

// foreignError is the error of metadata that names another issuer.
type foreignError struct{ error }

func (e foreignError) Unwrap() error { return e.error }

// absentError is the error of an authorization server without metadata.
type absentError struct{ error }

func (e absentError) Unwrap() error { return e.error }

// choose picks an authorization server (RFC 9728 §7.6).
func (w *web) choose(ctx context.Context, issuers []string) (string, error) {
	if len(issuers) == 0 {
		return "", fmt.Errorf("%w: the server's metadata names no authorization server", ErrIssuer)
	}
	c := &w.flow.config
	if c.choose != nil {
		issuer, err := c.choose(ctx, w.server, slices.Clone(issuers))
		if err != nil {
			return "", because(ErrDenied, err)
		}
		if !slices.Contains(issuers, issuer) {
			return "", fmt.Errorf("%w: Choose returned %q: not in the server's metadata", ErrIssuer, issuer)
		}
		return issuer, nil
	}
	if len(issuers) == 1 {
		return issuers[0], nil
	}
	s := w.flow.site(w.server)
	g := s.current.Load()
	if g == nil {
		g, _ = s.fromStore(ctx) // a store that cannot be read fails the login itself
	}
	if g != nil {
		if i := slices.IndexFunc(issuers, g.Issuer.isNamed); i >= 0 {
			return issuers[i], nil
		}
	}
	for _, creds := range c.credentials {
		if slices.Contains(issuers, creds.Issuer) {
			return creds.Issuer, nil
		}
	}
	return issuers[0], nil
}

// resourceMetadata reads the metadata of the server, at the URL in a challenge or at the well-known
// URLs. If there is no metadata, it returns nil.
func (w *web) resourceMetadata(ctx context.Context, named string) (*resourceMetadata, error) {
	origin, path := originAndPath(w.server)
	if named != "" {
		meta, err := w.resourceMetadataAt(ctx, named, w.placed(named))
		if err == nil && meta == nil {
			err = fmt.Errorf("%w: the challenge names %s, where there is no metadata", ErrResource, cleaned(named))
		}
		return meta, err
	}
	places := []string{""}
	if path != "" {
		places = []string{path, ""}
	}
	for _, p := range places {
		meta, err := w.resourceMetadataAt(ctx, origin+wellKnownResource+p, origin+p)
		if meta != nil || err != nil {
			return meta, err
		}
	}
	return nil, nil
}

const wellKnownResource = "/.well-known/oauth-protected-resource"

// placed returns the resource with metadata at place, which is a well-known URL of the server's
// origin. For any other URL it returns "".
func (w *web) placed(place string) string {
	origin, _ := originAndPath(w.server)
	if rest, ok := strings.CutPrefix(place, origin+wellKnownResource); ok {
		return origin + strings.TrimSuffix(rest, "/")
	}
	return ""
}

// resourceMetadataAt reads one document. If there is none at place, it returns nil. The document
// must be about the server. It names the server, or the resource of its URL, if the server is at or
// below this resource by whole segments of the path.
func (w *web) resourceMetadataAt(ctx context.Context, place, of string) (*resourceMetadata, error) {
	step := Step{Name: stepResource, URL: place, Rule: ruleDiscovery}
	defer func() { w.note(step) }()
	var meta resourceMetadata
	if there, err := w.document(ctx, &step, ErrResource, &meta); !there {
		return nil, err
	}
	if !w.isAbout(meta.Resource, of) {
		step.Rule = ruleResource
		err := step.fail(fmt.Errorf("%w: %s: got resource %q, want %s", ErrResource, place, cleaned(meta.Resource), w.server))
		return nil, &Error{Step: stepResource, Server: w.server, Err: err, Hint: w.meant(meta.Resource)}
	}
	step.Verdict = cleaned(fmt.Sprintf("the resource is %s, its authorization servers are %v", meta.Resource, meta.Issuers))
	return &meta, nil
}

// document reads the metadata at the URL of a step, and records how that went. If the server has no
// such document, it returns false without an error. kind is the error of an answer that is not metadata.
func (w *web) document(ctx context.Context, step *Step, kind error, into any) (there bool, err error) {
	a, err := w.do(ctx, http.MethodGet, step.URL, nil, nil)
	if err != nil {
		return false, step.fail(err)
	}
	step.Status, step.Took = a.status, a.took
	absent, err := isAbsent(a, step.URL, kind)
	switch {
	case err != nil:
		return false, step.fail(err)
	case absent:
		step.Verdict = "there is none"
		return false, nil
	}
	if err := a.object(into); err != nil {
		return false, step.fail(fmt.Errorf("%w: %s is not metadata: %w", kind, step.URL, err))
	}
	return true, nil
}

// meant returns a hint if the URL of the user or of the metadata is probably a mistake. The
// resource must have the scheme, host and port of the server's URL. Two names of this machine count
// as the same host. The hint therefore never sends the user to another machine.
func (w *web) meant(resource string) string {
	asked, err := url.Parse(w.server)
	named, failed := w.check(resource)
	if err != nil || failed != nil || named.Port() != asked.Port() || named.Scheme != asked.Scheme ||
		named.Hostname() != asked.Hostname() && (!isLoopback(named.Hostname()) || !isLoopback(asked.Hostname())) {
		return ""
	}
	if name, err := canonical(resource); err == nil && strings.HasPrefix(w.server, strings.TrimSuffix(name, "/")+"/") {
		return "The metadata is for " + cleaned(resource) + ", the beginning of your URL. If there is no MCP server at that URL, yours is right, and the operator has to correct the metadata."
	}
	return "The server calls itself " + cleaned(resource) + ". If you mean it, use exactly this URL."
}

// isAbsent reports whether there is no metadata at a URL, because the answer is 404 or 405, or a
// page. Any other failure is an error, because a document that cannot be read now may exist. But some
// authorization servers answer 400 or 401 for paths that they do not know.
func isAbsent(a *answer, place string, kind error) (bool, error) {
	switch {
	case a.status == http.StatusOK && a.isJSON():
		return false, nil
	case a.status == http.StatusOK, a.status == http.StatusNotFound, a.status == http.StatusMethodNotAllowed, a.status == http.StatusNotAcceptable, a.status == http.StatusGone:
		return true, nil
	case a.status/100 == 3:
		return false, fmt.Errorf("%w: %s redirects, which is not followed", ErrUnsafeURL, place)
	case a.status/100 != 4, a.status == http.StatusTooManyRequests:
		return false, fmt.Errorf("%w: %s answers %d", ErrUnavailable, place, a.status)
	case kind == ErrIssuer: //nolint:errorlint // it is one of two
		return true, nil
	}
	return false, fmt.Errorf("%w: %s answers %d, but metadata must be public", ErrResource, place, a.status)
}

// isAbout reports whether resource is the server, or the resource of the document's well-known URL.
func (w *web) isAbout(resource, of string) bool {
	name, err := canonical(resource)
	if err != nil || strings.Contains(resource, "#") {
		return false
	}
	name = strings.TrimSuffix(name, "/")
	server := strings.TrimSuffix(w.server, "/")
	if name == server {
		return true
	}
	return of != "" && name == of && strings.HasPrefix(server, name+"/")
}

// tokenMoved reports whether the metadata of an authorization server now names another token endpoint.
func (w *web) tokenMoved(ctx context.Context, m *issuerMetadata) bool {
	now, err := w.issuerMetadata(ctx, m.Issuer)
	return err == nil && now.Token != m.Token
}

// issuerMetadata reads the metadata of an authorization server, in the order of 2025-11-25
// basic/authorization "Authorization Server Metadata Discovery".
func (w *web) issuerMetadata(ctx context.Context, issuer string) (issuerMetadata, error) {
	u, err := w.check(issuer)
	if err != nil {
		return issuerMetadata{}, err
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return issuerMetadata{}, fmt.Errorf("%w: the issuer %s has a query or fragment", ErrUnsafeURL, cleaned(issuer))
	}
	origin, path := originAndPath(issuer)
	places := []string{origin + wellKnownOAuth + path, origin + wellKnownOpenID + path}
	if path != "" {
		places = append(places, origin+path+wellKnownOpenID)
	}
	for _, place := range places {
		meta, err := w.issuerMetadataAt(ctx, place, issuer)
		if err != nil {
			return issuerMetadata{}, err
		}
		if meta != nil {
			return *meta, nil
		}
	}
	return issuerMetadata{}, absentError{fmt.Errorf("%w: there is no metadata at %s", ErrIssuer, strings.Join(places, ", "))}
}

const (
	wellKnownOAuth  = "/.well-known/oauth-authorization-server"
	wellKnownOpenID = "/.well-known/openid-configuration"
)

// issuerMetadataAt reads one document. If there is none at place, it returns nil. It uses nothing
// of a document before it has checked the issuer.
func (w *web) issuerMetadataAt(ctx context.Context, place, issuer string) (*issuerMetadata, error) {
	step := Step{Name: stepIssuer, URL: place, Rule: ruleDiscovery}
	defer func() { w.note(step) }()
	var meta issuerMetadata
	if there, err := w.document(ctx, &step, ErrIssuer, &meta); !there {
		return nil, err
	}
	switch {
	case meta.Issuer == issuer:
		step.Verdict = "the issuer is the one that was asked for"
	case !w.flow.config.strictIssuer && sameButSlash(meta.Issuer, issuer):
		step.Verdict, step.Warning, step.Rule = fmt.Sprintf("the issuer is %q, which differs by a slash; it is what counts from now on", meta.Issuer), true, ruleIssuer
	default:
		step.Rule = ruleIssuer
		return nil, step.fail(foreignError{fmt.Errorf("%w: %s: got issuer %q, want %q", ErrIssuer, place, cleaned(meta.Issuer), issuer)})
	}
	for _, address := range []string{meta.Authorization, meta.Token, meta.Registration, meta.Revocation} {
		if address == "" {
			continue
		}
		if _, err := w.check(address); err != nil {
			return nil, step.fail(err)
		}
	}
	return &meta, nil
}

// isNamed reports whether issuer is the name of the authorization server, as a server may write it.
func (m *issuerMetadata) isNamed(issuer string) bool {
	return issuer == m.Issuer || sameButSlash(issuer, m.Issuer)
}

// sameButSlash reports whether two issuers without a path differ at most by a slash.
func sameButSlash(a, b string) bool {
	_, path := originAndPath(a)
	return path == "" && strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/")
}

// discoverAtOrigin is for servers of 2025-03-26, which have no metadata of their own. The
// authorization server is at the origin, with metadata or at three default paths.
func (w *web) discoverAtOrigin(ctx context.Context) (*found, error) {
	origin, _ := originAndPath(w.server)
	f := &found{resource: w.server, issuers: []string{origin}, revision: "2025-03-26"}
	meta, err := w.issuerMetadata(ctx, origin)
	_, absent := errors.AsType[absentError](err)
	switch {
	case err == nil:
		f.issuer = meta
		return f, nil
	case !absent:
		return f, &Error{Step: stepIssuer, Server: w.server, Issuer: origin, Err: err, Hint: issuerHint(err)}
	}
	f.issuer = issuerMetadata{
		Issuer: origin, Authorization: origin + "/authorize", Token: origin + "/token", Registration: origin + "/register", guessed: true,
	}
	w.note(Step{Name: stepIssuer, URL: origin, Verdict: "there is no metadata: /authorize, /token and /register of the server itself", Rule: ruleFallback, Warning: true})
	return f, nil
}

// provesPKCE returns an error if the authorization server does not support S256 (2025-11-25
// basic/authorization "Authorization Code Protection").
func (w *web) provesPKCE(f *found) error {
	m := &f.issuer
	step := Step{Name: stepPKCE, Rule: "2026-07-28 basic/authorization \"Authorization Code Protection\"", Verdict: "S256 is supported"}
	defer func() { w.note(step) }()
	switch {
	case slices.Contains(m.Challenges, "S256"):
		return nil
	case m.guessed:
		step.Verdict, step.Warning = "S256 is sent; without metadata it cannot be known whether it is supported", true
		return nil
	case slices.Contains(w.flow.config.assumePKCE, m.Issuer):
		step.Verdict, step.Warning = "S256 is assumed, as AssumePKCE says", true
		return nil
	}
	step.Verdict, step.Failed = ErrNoPKCE.Error(), true
	return &Error{
		Step: stepPKCE, Server: w.server, Issuer: m.Issuer, Err: ErrNoPKCE,
		Hint: "Its metadata has no code_challenge_methods_supported with S256. If you know that it supports S256, say so: AssumePKCE, or --assume-pkce " + m.Issuer,
	}
}
