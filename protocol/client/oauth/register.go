package oauth

import (
	"context"
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

// identity is a client id at one issuer.
type identity struct {
	Credentials
	known Known
	fresh bool // the registration was made for this login
}

// registration is the content of a Registration record: a client that has registered itself.
type registration struct {
	ClientID string    `json:"client_id"`
	Secret   string    `json:"client_secret,omitempty"`
	Method   string    `json:"token_endpoint_auth_method,omitempty"`
	Redirect string    `json:"redirect_uri,omitempty"`
	Expires  time.Time `json:"expires,omitzero"` // of the secret
}

func documentURL(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.Path != "" && u.Path != "/" && u.User == nil && u.Fragment == ""
}

// identify returns the client ID for an issuer. If the client has no other way, identify registers
// it, with scopes if there are any (2025-11-25 basic/authorization "Client Registration"). redirect
// is empty if the browser is not needed.
func (w *web) identify(ctx context.Context, m *issuerMetadata, redirect string, scopes []string) (identity, error) {
	c := &w.flow.config
	creds, found, err := w.byHand(ctx, m.Issuer)
	switch {
	case err != nil:
		return identity{}, err
	case found:
		return identity{Credentials: creds, known: ByHand}, nil
	case c.document != "" && m.Documents:
		return identity{Credentials: Credentials{Issuer: m.Issuer, ID: c.document, Key: c.documentKey}, known: ByDocument}, nil
	case redirect == "" || c.noRegistration || m.Registration == "":
		return identity{}, w.unknown(m)
	}
	kept, version, err := w.flow.registered(ctx, m.Issuer)
	if err != nil {
		return identity{}, err
	}
	fresh := kept.Redirect != redirect || !kept.Expires.IsZero() && time.Now().After(kept.Expires)
	if fresh {
		if kept, err = w.register(ctx, m, redirect, scopes); err != nil {
			return identity{}, err
		}
		if _, err := w.flow.save(ctx, w.flow.registration(m.Issuer), version, kept); err != nil && !isConflict(err) {
			return identity{}, err // in a conflict, another process has also registered, and both can continue
		}
		w.flow.tell(ctx, Event{Kind: RegisteredNew, Server: w.server, Issuer: m.Issuer, ClientID: kept.ClientID})
	}
	creds = Credentials{Issuer: m.Issuer, ID: kept.ClientID, Secret: kept.Secret, Method: kept.Method}
	return identity{creds, ByRegistration, fresh}, nil
}

// unknown returns the error for a client that cannot be made known.
func (w *web) unknown(m *issuerMetadata) error {
	e := &Error{Step: stepRegistration, Server: w.server, Issuer: m.Issuer, Err: ErrNoWay}
	e.Hint = "It registers clients by hand only: register one there, and give its client id (Registered, or --client-id)."
	for _, creds := range w.flow.config.credentials {
		if creds.Issuer != "" && creds.Issuer != m.Issuer {
			e.Err = fmt.Errorf("%w: they are for %s", ErrForeign, creds.Issuer)
			e.Hint = "The server names " + m.Issuer + ". If you have registered the client there, give exactly this issuer with the credentials. Otherwise do not trust the server."
		}
	}
	return e
}

// byHand returns the credentials for an issuer. Credentials without an issuer belong to the first
// issuer that they were used with, in all processes that share the store.
func (w *web) byHand(ctx context.Context, issuer string) (Credentials, bool, error) {
	all := w.flow.config.credentials
	of := func(issuer string) int {
		return slices.IndexFunc(all, func(c Credentials) bool { return c.Issuer == issuer })
	}
	if i := of(issuer); i >= 0 {
		return all[i], true, nil
	}
	i := of("")
	if i < 0 {
		return Credentials{}, false, nil
	}
	creds := all[i]
	owner, err := w.bind(ctx, creds.ID, issuer)
	if err != nil {
		return Credentials{}, false, err
	}
	if owner != issuer {
		return Credentials{}, false, &Error{
			Step: stepRegistration, Server: w.server, Issuer: issuer,
			Err:  fmt.Errorf("%w: the client %s was used with %s", ErrForeign, cleaned(creds.ID), owner),
			Hint: "If you have registered a client with this id there, too, give the issuer with the credentials (Credentials.Issuer, or --client-issuer). Otherwise do not trust the server.",
		}
	}
	creds.Issuer = issuer
	return creds, true, nil
}

// bindings is the kind of records with the issuer that a client belongs to.
const bindings Kind = "client registered by hand"

func (w *web) binding(clientID string) Key {
	return Key{Kind: bindings, Resource: clientID, Profile: w.flow.config.profile}
}

// bind returns the issuer that a client belongs to. If it has none yet, it is this issuer from now
// on.
func (w *web) bind(ctx context.Context, clientID, issuer string) (owner string, err error) {
	key := w.binding(clientID)
	version, err := w.flow.load(ctx, key, &owner)
	if err != nil || version > 0 {
		return owner, err
	}
	_, err = w.flow.save(ctx, key, 0, issuer)
	if isConflict(err) { // another process was faster
		_, err = w.flow.load(ctx, key, &owner)
		return owner, err
	}
	return issuer, err
}

// register registers a client (RFC 7591).
func (w *web) register(ctx context.Context, m *issuerMetadata, redirect string, scopes []string) (registration, error) {
	about := w.clientMetadata(m, redirect)
	if len(scopes) > 0 {
		about["scope"] = strings.Join(scopes, " ")
	}
	body, err := json.Marshal(about)
	if err != nil {
		return registration{}, err
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if token := w.flow.config.metadata.InitialToken; token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	a, err := w.do(ctx, http.MethodPost, m.Registration, header, body)
	if err != nil {
		return registration{}, &Error{Step: stepRegistration, Server: w.server, Issuer: m.Issuer, Err: err}
	}
	var r struct {
		ClientID string          `json:"client_id"`
		Secret   string          `json:"client_secret"`
		Method   string          `json:"token_endpoint_auth_method"`
		Expires  json.RawMessage `json:"client_secret_expires_at"` // see seconds
		Code     string          `json:"error"`
		Text     string          `json:"error_description"`
	}
	failed := a.object(&r)
	if a.status/100 != 2 || failed != nil || r.ClientID == "" {
		return registration{}, w.notRegistered(m, a, a.shown(r.Code), a.shown(r.Text), redirect)
	}
	kept := registration{ClientID: r.ClientID, Secret: r.Secret, Method: r.Method, Redirect: redirect}
	if expires := seconds(r.Expires); expires > 0 {
		kept.Expires = time.Unix(int64(min(expires, latestTime)), 0)
	}
	switch { // RFC 7591 §2: basic by default
	case kept.Method == "" && r.Secret == "":
		kept.Method = methodNone
	case kept.Method == "":
		kept.Method = methodBasic
	}
	return kept, nil
}

// latestTime is the last time that is kept, in the year 9999. JSON has no later one.
const latestTime = 253_370_764_800

// clientMetadata returns the description of the client. Its application type distinguishes a client
// on the user's machine from a client at a web address. Authorization servers check redirect URIs
// by this type (2026-07-28 client-registration "Application Type").
func (w *web) clientMetadata(m *issuerMetadata, redirect string) map[string]any {
	given := &w.flow.config.metadata
	about := map[string]any{}
	maps.Copy(about, given.More)
	for name, value := range map[string]string{
		"client_name": given.Name, "client_uri": given.URI, "logo_uri": given.LogoURI, "software_id": given.SoftwareID, "software_version": given.SoftwareVersion,
	} {
		if value != "" {
			about[name] = value
		}
	}
	if len(given.Contacts) > 0 {
		about["contacts"] = given.Contacts
	}
	grants, kind := []string{grantCode}, "web"
	if w.flow.config.offline {
		grants = append(grants, grantRefresh)
	}
	if u, err := url.Parse(redirect); err == nil && isLoopback(u.Hostname()) {
		kind = "native"
	}
	method := methodNone
	if len(m.Methods) > 0 && !slices.Contains(m.Methods, methodNone) {
		for _, other := range []string{methodPost, methodBasic} {
			if slices.Contains(m.Methods, other) {
				method = other
			}
		}
	}
	about["redirect_uris"], about["response_types"] = []string{redirect}, []string{"code"}
	about["grant_types"], about["application_type"], about["token_endpoint_auth_method"] = grants, kind, method
	return about
}

func (w *web) notRegistered(m *issuerMetadata, a *answer, code, text, redirect string) error {
	e := &Error{Step: stepRegistration, Server: w.server, Issuer: m.Issuer, Code: code, Text: text, Err: ErrNoWay}
	if code == "" {
		e.Text = fmt.Sprintf("its registration endpoint answers %d", a.status)
	}
	switch {
	case a.isUnavailable(code):
		e.Err = ErrUnavailable
	case code == "invalid_redirect_uri", code == "invalid_client_metadata" && strings.Contains(text, "redirect"):
		e.Hint = "It does not take the redirect URI " + redirect + ": try another port or \"localhost\" (Listener(Port(n), Localhost()), or --callback-port and --callback-host)."
	case code == "" && m.guessed:
		e.Hint = "The server has no metadata about a login. If it works without a token, no login is needed. Otherwise register a client by hand, and give its client id (Registered, or --client-id)."
	default:
		e.Hint = "Register a client there by hand, and give its client id (Registered, or --client-id)."
	}
	return e
}

// forget removes the records about a client at an issuer.
func (w *web) forget(ctx context.Context, issuer, clientID string) error {
	store := w.flow.config.store
	kept, version, err := w.flow.registered(ctx, issuer)
	if err == nil && version > 0 && kept.ClientID == clientID {
		err = store.Delete(ctx, w.flow.registration(issuer), version)
	}
	if err != nil {
		return err
	}
	var owner string
	version, err = w.flow.load(ctx, w.binding(clientID), &owner)
	if err == nil && version > 0 && owner == issuer {
		err = store.Delete(ctx, w.binding(clientID), version)
	}
	return err
}

// forgetClient removes the records about the client of a grant. If the client has registered itself, a
// later registration may have replaced its own.
func (w *web) forgetClient(ctx context.Context, g *live) error {
	err := w.forget(ctx, g.Issuer.Issuer, g.ClientID)
	if err == nil && g.Known == ByRegistration {
		err = w.forgetRegistered(ctx, g.Issuer.Issuer)
	}
	return err
}

// forgetRegistered removes the records about the client that is registered at an issuer.
func (w *web) forgetRegistered(ctx context.Context, issuer string) error {
	kept, _, err := w.flow.registered(ctx, issuer)
	if err != nil {
		return err
	}
	return w.forget(ctx, issuer, kept.ClientID)
}

// registration returns the key of the client that has registered itself at an issuer.
func (f *Flow) registration(issuer string) Key {
	return Key{Kind: Registration, Issuer: issuer, Profile: f.config.profile}
}

// registered returns that client. If no client is registered, the version is 0.
func (f *Flow) registered(ctx context.Context, issuer string) (r registration, version uint64, err error) {
	version, err = f.load(ctx, f.registration(issuer), &r)
	return r, version, err
}

// load reads a record. If the record does not exist, the version is 0.
func (f *Flow) load(ctx context.Context, k Key, into any) (version uint64, err error) {
	r, err := f.config.store.Get(ctx, k)
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	if err == nil {
		if err = json.Unmarshal(r.Data, into); err != nil {
			err = fmt.Errorf("%w: a record of %s cannot be read", ErrStore, k.Issuer)
		}
	}
	if err != nil {
		return 0, storeError(err)
	}
	return r.Version, nil
}

func (f *Flow) save(ctx context.Context, k Key, version uint64, content any) (uint64, error) {
	data, err := json.Marshal(content)
	if err != nil {
		return 0, err
	}
	version, err = f.config.store.Put(ctx, Record{Key: k, Version: version, Data: data})
	return version, storeError(err)
}

// storeError adds the step to err. A conflict and the error of a context are returned unchanged.
func storeError(err error) error {
	if err == nil || isConflict(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &Error{Step: stepStore, Err: because(ErrStore, err)}
}
