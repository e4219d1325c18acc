package oauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// secretText returns 43 characters for 32 random bytes. It is used for a state, or a verifier (RFC
// 7636 §4.1).
func secretText() string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails
	return base64.RawURLEncoding.EncodeToString(raw)
}

// visit is one authorization request, with the data for checking the response. It is complete
// before the browser opens the page (2026-07-28 basic/authorization "Mix-Up Protection").
type visit struct {
	Visit
	flow     *Flow
	issuer   issuerMetadata
	client   identity
	state    string
	verifier string

	opened chan error // result of the browser function
	left   bool       // the visit has ended without a response
}

// openReceiver opens the receiver. The listener uses the port that the client was registered with,
// if it is free, because some authorization servers compare ports. The redirect URI must be https, or
// http on this machine (2025-11-25 basic/authorization "Communication Security"). The private-use
// schemes of RFC 8252 are refused, too, because no revision allows them.
func (s *site) openReceiver(ctx context.Context, issuer string) (redirect string, err error) {
	recv := s.flow.config.receiver
	if l, ok := recv.(*listener); ok {
		var kept registration
		if kept, _, err = s.flow.registered(ctx, issuer); err != nil {
			return "", err
		}
		redirect, err = l.openLike(ctx, kept.Redirect)
	} else {
		redirect, err = recv.Open(ctx)
	}
	e := &Error{Step: stepVisit, Server: s.server, Issuer: issuer}
	switch {
	case err != nil:
		e.Err = because(ErrLogin, err)
	case openable(redirect) != nil:
		_ = recv.Close() // the error of the redirect URI is the useful one
		e.Err = fmt.Errorf("%w: got redirect URI %q, want https, or http on localhost", ErrUnsafeURL, cleaned(redirect))
		e.Hint = "The Receiver of this program must return another redirect URI."
	default:
		return redirect, nil
	}
	return "", e
}

// browse opens the page. The browser function may return only when the page is shown, which may be
// after the response was checked. leave ends the function.
func (v *visit) browse(ctx context.Context) (leave func()) {
	ctx, cancel := context.WithCancel(ctx)
	var browsing sync.WaitGroup
	browsing.Go(func() { v.opened <- v.flow.config.browser(ctx, v.URL) })
	return func() {
		cancel()
		browsing.Wait()
	}
}

// address returns the URL of the authorization request. bound is the thumbprint of a DPoP key, if
// there is one. If resource is empty, the request asks for no token for a resource.
func (v *visit) address(resource, bound string) (string, error) {
	u, err := url.Parse(v.issuer.Authorization)
	if err != nil {
		return "", fmt.Errorf("%w: %q", ErrUnsafeURL, cleaned(v.issuer.Authorization))
	}
	sum := sha256.Sum256([]byte(v.verifier))
	q := u.Query()
	q.Set("response_type", "code")
	q.Set("client_id", v.client.ID)
	q.Set("redirect_uri", v.Callback)
	q.Set("state", v.state)
	q.Set("code_challenge", base64.RawURLEncoding.EncodeToString(sum[:]))
	q.Set("code_challenge_method", "S256")
	for name, value := range map[string]string{"scope": strings.Join(v.Scopes, " "), "dpop_jkt": bound} {
		if value != "" {
			q.Set(name, value)
		}
	}
	v.flow.setResource(q, v.Issuer, resource)
	// OpenID Connect Core §11: without the prompt the scope is ignored. Entra ID does not need it, and
	// refuses it in tenants where only an administrator consents; AssumePKCE names such issuers.
	if slices.Contains(v.Scopes, scopeOffline) && !slices.Contains(v.flow.config.assumePKCE, v.issuer.Issuer) {
		q.Set("prompt", "consent")
	}
	u.RawQuery, u.Fragment = q.Encode(), ""
	return u.String(), nil
}

// response waits until the browser comes back, or the user pastes the address that the browser
// ended at.
func (v *visit) response(ctx context.Context) (url.Values, error) {
	c := &v.flow.config
	deadline := time.Now().Add(c.patience)
	caller := ctx
	ctx, cancel := context.WithDeadline(ctx, deadline)
	v.Deadline = deadline
	type result struct {
		query url.Values
		err   error
	}
	results := make(chan result, 2)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(func() {
		query, err := c.receiver.Receive(ctx, v.state)
		results <- result{query, err}
	})
	shown := c.ui.Show(ctx, &v.Visit)
	if shown == nil {
		group.Go(func() {
			query, err := v.pasted(ctx)
			if err == nil {
				results <- result{query, nil}
			}
		})
	}
	v.flow.tell(ctx, Event{Kind: Asked, Server: v.Server, Issuer: v.Issuer, ClientID: v.client.ID, Scopes: v.Scopes})
	for {
		select {
		case r := <-results:
			if r.err != nil && ctx.Err() != nil {
				return nil, v.noResponse(caller)
			}
			return r.query, r.err
		case opened := <-v.opened:
			if opened != nil && shown != nil {
				return nil, &Error{
					Step: stepVisit, Server: v.Server, Issuer: v.Issuer, Err: ErrLogin,
					Hint: "There is neither a browser nor a terminal here. Log in elsewhere with the same store, or use a grant without a user.",
				}
			}
		case <-ctx.Done():
			return nil, v.noResponse(caller)
		}
	}
}

// noResponse returns the error of a visit that has ended without a response, because its caller has
// left or its deadline has passed.
func (v *visit) noResponse(caller context.Context) error {
	v.left = true
	if err := caller.Err(); err != nil {
		return err
	}
	e := &Error{Step: stepVisit, Server: v.Server, Issuer: v.Issuer, Err: ErrLogin, Text: fmt.Sprintf("no answer within %v", v.flow.config.patience)}
	if v.client.known == ByRegistration && !v.client.fresh {
		e.Hint = "If the page showed an error about the client, log in again. The client then registers again."
	}
	return e
}

// refusedWith returns the error code of a failed visit, or "".
func refusedWith(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return codeOf(err)
}

// mayBeUnregistered reports, after a failed visit, whether the authorization server may have dropped the
// client's registration. For an unknown client the server shows an error page, and no response
// comes (RFC 6749 §4.1.2.1). A user who leaves the page causes the same outcome.
func (v *visit) mayBeUnregistered(failed error) bool {
	code := refusedWith(failed)
	return v.client.known == ByRegistration && (code == "invalid_client" || code == "unauthorized_client" || v.left && !v.client.fresh)
}

// mayLackScopes reports whether a visit has failed because the scopes of the registration may be too
// few. If a registration names no scopes, some authorization servers allow the client only a few.
// Others refuse scopes that the registration did not name.
func (v *visit) mayLackScopes(failed error) bool {
	_, chosen := v.flow.config.metadata.More["scope"]
	return v.client.known == ByRegistration && refusedWith(failed) == "invalid_scope" && len(v.Scopes) > 0 && !chosen
}

// mayNotStayLoggedIn reports whether a visit has failed because the client may not have refresh tokens. An
// authorization server lists offline_access if any client may have them.
func (v *visit) mayNotStayLoggedIn(failed error) bool {
	return v.client.known != ByRegistration && refusedWith(failed) == "invalid_scope" && slices.Contains(v.Scopes, scopeOffline)
}

// forget removes the registration of the client, so that the next login registers again.
func (v *visit) forget(ctx context.Context, w *web) error {
	ctx, done := outlasting(ctx) // the caller may have left
	defer done()
	err := w.forget(ctx, v.Issuer, v.client.ID)
	if isConflict(err) { // another process has registered again
		return nil
	}
	return err
}

// pasted asks until the pasted text is an answer to this visit.
func (v *visit) pasted(ctx context.Context) (url.Values, error) {
	for {
		text, err := v.flow.config.ui.Paste(ctx, &v.Visit)
		if err != nil {
			return nil, err
		}
		if query := queryOf(text); sameText(query.Get("state"), v.state) {
			return query, nil
		}
		if err := v.flow.config.ui.Show(ctx, &v.Visit); err != nil {
			return nil, err
		}
	}
}

// queryOf returns the query in a text that the user has pasted: an address, or a query.
func queryOf(text string) url.Values {
	text = strings.TrimSpace(text)
	if _, after, ok := strings.Cut(text, "?"); ok {
		text = after
	}
	text, _, _ = strings.Cut(text, "#")
	query, err := url.ParseQuery(text)
	if err != nil {
		return url.Values{}
	}
	return query
}

func sameText(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// code checks a response and returns its code. It uses and shows nothing of the response before it
// has checked the issuer (RFC 9207 §2.4).
func (v *visit) code(query url.Values) (string, error) {
	rejected := func(kind error, text string) error {
		return &Error{Step: stepVisit, Server: v.Server, Issuer: v.Issuer, Err: kind, Text: text}
	}
	for _, name := range []string{"code", "state", "iss", "error"} {
		if len(query[name]) > 1 {
			return "", rejected(ErrMixUp, name+" is there more than once")
		}
	}
	if !sameText(query.Get("state"), v.state) {
		return "", rejected(ErrMixUp, "the state belongs to another visit")
	}
	issuer := query.Get("iss")
	switch {
	case query.Has("iss") && issuer != v.issuer.Issuer:
		return "", rejected(ErrMixUp, "it names another issuer")
	case !query.Has("iss") && v.issuer.SaysIssuer:
		return "", rejected(ErrMixUp, "it does not name an issuer, although the metadata of the authorization server promises one")
	}
	if query.Has("error") {
		e := &Error{Step: stepVisit, Server: v.Server, Issuer: v.Issuer, Err: ErrDenied, Code: cleaned(query.Get("error")), Text: cleaned(query.Get("error_description"))}
		e.Hint = v.flow.resourceHint(e.Code, v.Issuer)
		if unavailable(e.Code) {
			e.Err = ErrUnavailable
		}
		return "", e
	}
	if query.Get("code") == "" {
		return "", rejected(ErrMixUp, "it has neither a code nor an error")
	}
	return query.Get("code"), nil
}
