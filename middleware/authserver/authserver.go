package authserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/middleware/internal/proof"
)

// Mode is Own or Broker. Sealed.
type Mode interface {
	// bind is called once, by New.
	bind(s *Server) error
	// routes adds endpoints with pages.
	routes(mux *http.ServeMux)
	// ask shows the consent page of a visit, or has the user log in first.
	ask(w http.ResponseWriter, r *http.Request, v *visit) error
	// user returns the user who is logged in. In Broker it returns the zero User, because only the
	// provider knows the user.
	user(r *http.Request) (*User, error)
	// agreed redirects the browser after the user agreed.
	agreed(w http.ResponseWriter, r *http.Request, v *visit, u *User) error
	// lookup returns the user of a grant. If there is no such user any more, it returns ErrUnknown,
	// which ends the grant.
	lookup(ctx context.Context, reference string, g *grant) (*User, error)
}

// Server is an authorization server. It is safe for concurrent use.
type Server struct {
	config
	issuer string
	base   *url.URL // of the issuer
	mode   Mode
	byHand map[string]*Client

	sealer     sealer
	proofs     *proof.Checker
	nonces     *proof.Nonces // nil if proofs need no nonce
	registered table[clientRecord]
	index      table[clientIndex]
	visits     table[visit]
	grants     table[grant]
	owners     table[owner]
	once       table[struct{}]
	documents  documents
	keySets    recent[*keySet] // of clients with a JWKSURI, by URL
	counters   [places]counter
	open       openVisits
	keysAsked  atomic.Int64 // when refreshKeys last asked, in nanoseconds since 1970
	alive      recent[lived]

	mu        sync.Mutex           // guards all below, and config.resources, which guards add to
	verifiers map[string]*auth.JWT // by resource
}

// New returns a server. It checks all options and returns all their faults at once. If there are none,
// it returns the faults of m. issuer is the URL that clients see: https, or http on loopback. If it
// has a path, the endpoints are below it. It is compared byte by byte everywhere, so it must not end
// with a slash.
func New(issuer string, m Mode, opts ...Option) (*Server, error) {
	c, err := newConfig(opts)
	s := &Server{config: c, issuer: issuer, mode: m, byHand: map[string]*Client{}, proofs: proof.New(), verifiers: map[string]*auth.JWT{}}
	u, _ := url.Parse(issuer) // isResource reports the error
	switch {
	case !isResource(issuer) || u.RawQuery != "":
		err = errors.Join(err, fmt.Errorf("authserver: the issuer %q is not an absolute URL without query and fragment", issuer))
	case u.Scheme == "http" && !isLoopback(u):
		err = errors.Join(err, fmt.Errorf("authserver: the issuer %s must be https, except on loopback", issuer))
	case strings.HasSuffix(issuer, "/"):
		err = errors.Join(err, fmt.Errorf("authserver: the issuer %s must not end with a slash: clients compare it byte by byte", issuer))
	}
	sealer, failed := newSealer(c.seals)
	s.base, s.sealer, err = u, sealer, errors.Join(err, failed)
	if m == nil {
		err = errors.Join(err, errors.New("authserver: no Mode: pass Own or Broker"))
	}
	if err != nil {
		return nil, err
	}
	s.prepare()
	if err := m.bind(s); err != nil {
		return nil, err
	}
	return s, nil
}

// prepare connects the parts of the server that cannot have faults.
func (s *Server) prepare() {
	s.registered = table[clientRecord]{"client", s.store}
	s.index = table[clientIndex]{"clients", s.store}
	s.visits = table[visit]{"visit", s.store}
	s.grants = table[grant]{"grant", s.store}
	s.owners = table[owner]{"owner", s.store}
	s.once = table[struct{}]{"once", s.store}
	for i := range s.clients {
		s.byHand[s.clients[i].ID] = &s.clients[i]
	}
	for i := range s.assertions {
		s.assertions[i].prepare(s.issuer)
	}
	if s.nonceKey != nil {
		s.nonces = proof.NewNonces(s.nonceKey)
	}
	if k, ok := s.keys.(*rotating); ok {
		k.server, k.rings = s, table[ring]{"keys", s.store}
	}
}

// at returns the URL of an endpoint.
func (s *Server) at(path string) string { return s.issuer + path }

// path returns the path of an endpoint, as browsers and the handler see it.
func (s *Server) path(path string) string { return s.base.Path + path }

// secure reports whether browsers reach the server over https.
func (s *Server) secure() bool { return s.base.Scheme == "https" }

// origin returns the origin of the pages.
func (s *Server) origin() string { return s.base.Scheme + "://" + s.base.Host }

// addResource allows tokens for a resource.
func (s *Server) addResource(resource string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.resources, func(r resourceScopes) bool { return r.url == resource }) {
		s.resources = append(s.resources, resourceScopes{url: resource})
	}
}

// allResources returns the resources of the options and of the guards.
func (s *Server) allResources() []resourceScopes {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.resources)
}

// hasResource reports whether tokens may be for a resource.
func (s *Server) hasResource(resource string) bool {
	return slices.ContainsFunc(s.allResources(), func(r resourceScopes) bool { return r.url == resource })
}

var errTarget = refuse("invalid_target", "The resource is not one of this authorization server.")

// resourceFor returns the resource that a request is for, in the spelling of the options.
func (s *Server) resourceFor(asked []string) (string, error) {
	all := s.allResources()
	switch {
	case len(asked) > 1:
		return "", refuse("invalid_target", "A token is for one resource.")
	case len(asked) == 0 && len(all) == 1:
		return all[0].url, nil
	case len(asked) == 0:
		return "", refuse("invalid_target", "The resource is missing, and there are several.")
	}
	for _, r := range all {
		if r.url == asked[0] || isResource(asked[0]) && strings.TrimSuffix(r.url, "/") == strings.TrimSuffix(asked[0], "/") {
			return r.url, nil
		}
	}
	return "", errTarget
}

// scopesOf returns the scopes that can be granted for a resource.
func (s *Server) scopesOf(resource string) []Scope {
	all, resources := slices.Clone(s.scopes), s.allResources()
	i := slices.IndexFunc(resources, func(r resourceScopes) bool { return r.url == resource })
	if i < 0 {
		return all
	}
	for _, scope := range resources[i].scopes {
		if !slices.ContainsFunc(all, func(known Scope) bool { return known.Name == scope.Name }) {
			all = append(all, scope)
		}
	}
	return all
}

// choose returns the scopes that a client gets for its request. Unknown scopes are left out (RFC
// 6749 §3.3). If nothing would be left, choose returns an error, except for scopes of OpenID Connect:
// some clients always request these, and they have no meaning here.
func (s *Server) choose(asked, resource string, c *Client) ([]string, error) {
	known := s.scopesOf(resource)
	chosen := []string{}
	if asked == "" {
		for _, scope := range known {
			if scope.Default {
				chosen = append(chosen, scope.Name)
			}
		}
		return narrow(chosen, c.Scopes), nil
	}
	only := true // the client requests only scopes of OpenID Connect
	for name := range strings.FieldsSeq(asked) {
		only = only && slices.Contains([]string{"offline_access", "openid", "profile", "email"}, name)
		if slices.ContainsFunc(known, func(scope Scope) bool { return scope.Name == name }) && !slices.Contains(chosen, name) {
			chosen = append(chosen, name)
		}
	}
	chosen = narrow(chosen, c.Scopes)
	if len(chosen) == 0 && !only {
		return nil, refuse("invalid_scope", "None of the scopes is known, or the client may not ask for them.")
	}
	return chosen, nil
}

// owner holds the grants and consents of a user.
type owner struct {
	Grants   []ownedGrant   `json:"grants,omitempty"`
	Consents []givenConsent `json:"consents,omitempty"`
}

type ownedGrant struct {
	Reference string    `json:"reference"`
	Client    string    `json:"client"`
	Until     time.Time `json:"until"`
}

// givenConsent is a consent of the user.
type givenConsent struct {
	Client   string    `json:"client"`
	Redirect string    `json:"redirect"`
	Resource string    `json:"resource"`
	Scopes   []string  `json:"scopes"`
	At       time.Time `json:"at"`
}

// expires returns when the record may be forgotten: after latest, and after the end of all its
// grants. Lives may since have become shorter, but a grant keeps its end.
func (o *owner) expires(latest time.Time) time.Time {
	for _, g := range o.Grants {
		if g.Until.After(latest) {
			latest = g.Until
		}
	}
	return latest.Add(time.Minute)
}

// maxOwned is the maximum number of grants of a user. Beyond it, the grant that ends first is
// ended.
const maxOwned = 200

// noteOwned records a grant of a user before the grant is stored, and again before its code is
// redeemed. Revoke therefore finds every grant. If the user has too many grants, noteOwned ends
// one.
func (s *Server) noteOwned(ctx context.Context, subject string, g ownedGrant, given *givenConsent) error {
	var ends ownedGrant
	err := s.owners.change(ctx, subject, func(o *owner) (time.Time, error) {
		now := time.Now()
		ends = ownedGrant{}
		o.Grants = slices.DeleteFunc(o.Grants, func(old ownedGrant) bool { return now.After(old.Until) || old.Reference == g.Reference })
		if len(o.Grants) >= maxOwned { // ends the grant that ends first, so that short grants do not evict long ones
			ends = slices.MinFunc(o.Grants, func(a, b ownedGrant) int { return a.Until.Compare(b.Until) })
			o.Grants = slices.DeleteFunc(o.Grants, func(old ownedGrant) bool { return old.Reference == ends.Reference })
		}
		o.Grants = append(o.Grants, g)
		if given != nil {
			o.Consents = slices.DeleteFunc(o.Consents, func(old givenConsent) bool {
				within := len(narrow(old.Scopes, append([]string{}, given.Scopes...))) == len(old.Scopes)
				return old.Client == given.Client && old.Redirect == given.Redirect && old.Resource == given.Resource && within || now.Sub(old.At) > s.lives.Grant
			})
			o.Consents = append(o.Consents, *given)
			o.Consents = o.Consents[max(len(o.Consents)-maxOwned, 0):]
		}
		return o.expires(now.Add(s.lives.Grant)), nil
	})
	if err == nil && ends.Reference != "" {
		_, err = s.endOwned(ctx, ends)
	}
	return err
}

// Revoke ends all grants of a user. If client is not empty, it ends only the grants of that client. It
// also forgets what the user agreed to: the next consent page is shown in spite of [Remember].
//
// Guards of this process refuse the access tokens at once, and guards of other processes that share
// the store within 5 seconds. Resource servers that only check signatures accept the tokens until
// they expire.
func (s *Server) Revoke(ctx context.Context, subject, client string) (ended int, err error) {
	var going []ownedGrant
	err = s.owners.change(ctx, subject, func(o *owner) (time.Time, error) {
		going = slices.DeleteFunc(slices.Clone(o.Grants), func(g ownedGrant) bool { return client != "" && g.Client != client })
		o.Consents = slices.DeleteFunc(o.Consents, func(c givenConsent) bool { return client == "" || c.Client == client })
		return o.expires(time.Now().Add(s.lives.Grant)), nil
	})
	if err != nil {
		return 0, err
	}
	for _, g := range going {
		was, failed := s.endOwned(ctx, g)
		if was {
			ended++
			s.tell(ctx, Event{Kind: Revoked, Subject: subject, ClientID: g.Client, Grant: g.Reference})
		}
		err = errors.Join(err, failed)
	}
	return ended, err
}

// end ends a grant, and reports whether it was alive. It also revokes the provider's tokens, even
// if the grant had already ended by a replay.
func (s *Server) end(ctx context.Context, reference string) (was bool, err error) {
	return s.endUntil(ctx, reference, time.Time{})
}

// endOwned ends a grant of a user. Its record may not be stored yet, because noteOwned runs before.
// Then endOwned stores a dead record, and createGrant fails.
func (s *Server) endOwned(ctx context.Context, g ownedGrant) (was bool, err error) {
	latest := time.Now().Add(max(s.lives.Code, s.lives.Access) + time.Minute) // of a grant that is being created
	if g.Until.After(latest) {
		g.Until = latest
	}
	return s.endUntil(ctx, g.Reference, g.Until)
}

// endUntil ends a grant. If it has no record, a dead one is stored until the given time.
func (s *Server) endUntil(ctx context.Context, reference string, until time.Time) (was bool, err error) {
	var upstream string
	err = s.grants.change(ctx, reference, func(g *grant) (time.Time, error) {
		if g.Client == "" && !g.Dead && time.Now().Before(until) {
			g.Dead, g.Until = true, until
			return until, nil
		}
		was = g.Client != "" && !g.Dead
		if !was && g.Upstream == "" {
			return time.Time{}, errSame
		}
		upstream = g.Upstream
		g.Dead, g.Last, g.Upstream = true, "", ""
		return g.Until, nil
	})
	if err != nil {
		return false, err
	}
	s.noteAlive(reference, lived{true, time.Now().Add(aliveFor)})
	if b, ok := s.mode.(*broker); ok && upstream != "" {
		b.giveBack(ctx, upstream)
	}
	return was, nil
}
