package authserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/protocol/session"
)

// Errors of the interfaces.
var (
	ErrNobody     = errors.New("authserver: no user is logged in")
	ErrUnknown    = errors.New("authserver: unknown")
	ErrNoUpstream = errors.New("authserver: no provider session")
)

// User is a user who grants access.
type User struct {
	Subject string         `json:"subject"`          // stable, and never given to another user
	Name    string         `json:"name,omitempty"`   // shown on the consent page
	Email   string         `json:"email,omitempty"`  // shown on the consent page if there is no name
	Claims  map[string]any `json:"claims,omitempty"` // further claims of the access token; registered names are an error, and stored numbers are a json.Number
	Scopes  []string       `json:"scopes"`           // all scopes that this user may grant; nil means every scope
}

// Users identifies the user of a browser.
type Users interface {
	// Current returns the user who is logged in, by the program's own cookie. If there is none, it
	// returns ErrNobody.
	Current(ctx context.Context, r *http.Request) (*User, error)
	// Login answers a browser without a logged-in user, with a page or a redirect to one. After the
	// login, the program redirects the browser to back, which is a path of this server.
	Login(w http.ResponseWriter, r *http.Request, back string)
	// Lookup returns the user with the subject. It is called at each refresh. If there is no such
	// user any more, it returns ErrUnknown, which ends the grant. Any other error refuses only this
	// request.
	Lookup(ctx context.Context, subject string) (*User, error)
}

// Own returns the mode with the program's own users.
func Own(u Users) Mode { return &ownMode{users: u} }

type ownMode struct {
	users  Users
	server *Server
}

func (o *ownMode) bind(s *Server) error {
	switch {
	case o.users == nil:
		return errors.New("authserver: Own has no Users")
	case o.server != nil:
		return errors.New("authserver: a Mode is for one Server")
	}
	o.server = s
	if l, ok := o.users.(*localUsers); ok {
		return l.bind(s)
	}
	return nil
}

func (o *ownMode) routes(mux *http.ServeMux) {
	if l, ok := o.users.(*localUsers); ok {
		mux.HandleFunc("GET "+o.server.path("/login"), o.server.page(l.handlePage))
		mux.HandleFunc("POST "+o.server.path("/login"), o.server.page(l.handleForm))
	}
}

func (o *ownMode) user(r *http.Request) (*User, error) {
	u, err := o.users.Current(r.Context(), r)
	switch {
	case err != nil:
		return nil, err
	case u == nil || u.Subject == "":
		return nil, errors.New("authserver: Users.Current returned a user without a subject")
	}
	return u, o.server.judgeUser(u)
}

func (o *ownMode) ask(w http.ResponseWriter, r *http.Request, v *visit) error {
	if v.Answer != "" && o.server.remember > 0 { // otherwise a page that is loaded again would make another grant
		return o.server.leave(w, r, v, "")
	}
	u, err := o.user(r)
	if errors.Is(err, ErrNobody) {
		o.users.Login(w, r, o.server.path("/consent")+"?visit="+url.QueryEscape(v.ID))
		return nil
	}
	if err != nil {
		return err
	}
	return o.server.showConsent(w, r, v, u, "", nil)
}

func (o *ownMode) agreed(w http.ResponseWriter, r *http.Request, v *visit, u *User) error {
	return o.server.issueCode(w, r, v, u, "")
}

func (o *ownMode) lookup(ctx context.Context, _ string, g *grant) (*User, error) {
	u, err := o.users.Lookup(ctx, g.User.Subject)
	if err == nil && (u == nil || u.Subject != g.User.Subject) {
		err = errors.New("authserver: Users.Lookup returned another user")
	}
	if err != nil {
		return nil, err
	}
	return u, o.server.judgeUser(u)
}

// registered lists the claims that only the server sets.
var registered = []string{"iss", "sub", "aud", "exp", "nbf", "iat", "jti", "client_id", "scope", "gid", "cnf", "act"}

// judgeUser returns an error if the user has claims that only the server may set.
func (s *Server) judgeUser(u *User) error {
	for _, name := range registered {
		if _, has := u.Claims[name]; has {
			return fmt.Errorf("authserver: the claims of a User must not have %q", name)
		}
	}
	return nil
}

// issueCode creates the grant of a visit, and redirects the browser with its code.
func (s *Server) issueCode(w http.ResponseWriter, r *http.Request, v *visit, u *User, upstream string) error {
	ctx, now := r.Context(), time.Now()
	handle := newHandle()
	code, reference := newSecret(handle), referenceOf(handle)
	g := &grant{
		Client: v.Client, User: *u, Resource: v.Resource, Scopes: narrow(v.Scopes, u.Scopes), Key: v.Key, Until: now.Add(s.lives.Grant),
		Code: digest(code), CodeUntil: now.Add(s.lives.Code), Redirect: v.Redirect, Challenge: v.Challenge, Upstream: upstream,
	}
	given := &givenConsent{v.Client, v.Redirect, v.Resource, g.Scopes, now}
	if v.silent {
		given = nil
	}
	err := s.createGrant(ctx, reference, g, given)
	if errors.Is(err, errDead) {
		s.emit(r, Event{Kind: Revoked, Subject: u.Subject, ClientID: v.Client, Grant: reference, Resource: v.Resource, Reason: "before its code was sent"})
		return s.redirectError(w, r, v, "access_denied", "The access was ended.")
	}
	if err != nil {
		return err
	}
	s.emit(r, Event{Kind: CodeIssued, Subject: u.Subject, ClientID: v.Client, Grant: reference, Resource: v.Resource, Scopes: g.Scopes})
	return s.leave(w, r, v, s.response(v, url.Values{"code": {code}}))
}

// createGrant records a grant of a user, and then stores it. If it was revoked in between, the error
// is errDead.
func (s *Server) createGrant(ctx context.Context, reference string, g *grant, given *givenConsent) error {
	until := g.expires(s.lives.Refresh)
	if err := s.noteOwned(ctx, g.User.Subject, ownedGrant{reference, g.Client, until}, given); err != nil {
		return err
	}
	err := s.grants.create(ctx, reference, g, until)
	if !errors.Is(err, session.ErrExists) {
		return err
	}
	if b, ok := s.mode.(*broker); ok && g.Upstream != "" {
		b.giveBack(ctx, g.Upstream)
	}
	return errDead
}

// claimsOf returns the claims of an access token with some scopes of a grant.
func (s *Server) claimsOf(reference string, g *grant, scopes []string, now time.Time) map[string]any {
	claims := map[string]any{}
	maps.Copy(claims, g.User.Claims)
	maps.Copy(claims, map[string]any{
		"iss": s.issuer, "sub": g.User.Subject, "aud": g.Resource, "client_id": g.Client, "iat": now.Unix(),
		"exp": now.Add(s.lives.Access).Unix(), "jti": base64url(randomBytes(16)),
	})
	if len(scopes) > 0 {
		claims["scope"] = strings.Join(scopes, " ")
	}
	if reference != "" {
		claims["gid"] = reference
	}
	if g.Key != "" {
		claims["cnf"] = map[string]string{"jkt": g.Key}
	}
	return claims
}
