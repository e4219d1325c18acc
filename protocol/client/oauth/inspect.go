package oauth

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
)

// Inspection is the result of Inspect.
type Inspection struct {
	Server    string            `json:"server"`
	Resource  string            `json:"resource,omitempty"`
	Issuers   []string          `json:"issuers,omitempty"`
	Issuer    string            `json:"issuer,omitempty"` // the chosen one
	Known     Known             `json:"known,omitempty"`  // how the client would be known
	Scopes    []string          `json:"scopes,omitempty"`
	Grant     *Grant            `json:"grant,omitempty"` // grant in the store
	Steps     []Step            `json:"steps"`
	Revision  string            `json:"revision,omitempty"` // revision of the applied rules; "2025-03-26" if the server has no metadata
	Endpoints map[string]string `json:"endpoints,omitempty"`
}

// Step is one attempt of a flow.
type Step struct {
	Name    string        `json:"name"` // "challenge", "resource metadata", "issuer metadata", "registration", "scopes", "pkce", ...
	URL     string        `json:"url,omitempty"`
	Status  int           `json:"status,omitempty"`
	Took    time.Duration `json:"took,omitempty"`
	Verdict string        `json:"verdict"`        // one sentence
	Rule    string        `json:"rule,omitempty"` // source of the rule: "2026-07-28 authorization-server-discovery", "RFC 8414 §3.3"
	Failed  bool          `json:"failed,omitempty"`
	Warning bool          `json:"warning,omitempty"` // accepted against a SHOULD
}

// fail makes err the verdict of a step, and returns it.
func (s *Step) fail(err error) error {
	s.Verdict, s.Failed = err.Error(), true
	return err
}

// Inspect does everything that a login does without the user. Each step has the request, the answer
// and the rule that decided. Inspect changes nothing, registers nothing and shows no secret. The
// error comes from the first step that would have ended a login; the steps are returned anyway.
func (f *Flow) Inspect(ctx context.Context, server string) (*Inspection, error) {
	s, w, err := f.open(server)
	if err != nil {
		return &Inspection{Server: server}, err
	}
	in := &Inspection{Server: s.server, Steps: []Step{}}
	w.steps = &in.Steps
	d, err := w.knock(ctx)
	if err != nil {
		return in, err
	}
	found, err := w.discover(ctx, d)
	if found != nil {
		in.Resource, in.Issuers, in.Issuer, in.Revision = found.resource, found.issuers, found.issuer.Issuer, found.revision
		in.Endpoints = found.issuer.endpoints()
	}
	if err != nil {
		return in, err
	}
	in.Scopes = f.scopesFor(s.server, found, d)
	w.note(Step{Name: stepScopes, Verdict: asked(in.Scopes), Rule: "2026-07-28 basic/authorization \"Scope Selection Strategy\""})
	if f.config.machine == nil {
		err = w.provesPKCE(found)
	}
	known, unknown := w.wouldBeKnown(&found.issuer)
	in.Known = known
	step := Step{Name: stepRegistration, Verdict: string(known), Rule: "2026-07-28 client-registration"}
	if unknown != nil {
		step.Verdict, step.Failed = ErrNoWay.Error(), true
	}
	w.note(step)
	stored, failed := s.fromStore(ctx)
	if failed == nil && stored != nil {
		in.Grant = stored.public()
		w.note(Step{Name: stepGrant, Verdict: "the store has a grant, " + validity(stored)})
	}
	return in, cmp.Or(err, unknown, failed)
}

func asked(scopes []string) string {
	if len(scopes) == 0 {
		return "no scope is asked for"
	}
	return "asked for: " + strings.Join(scopes, " ")
}

func validity(g *live) string {
	switch {
	case g.Expires.IsZero():
		return "without a known end"
	case g.expired(0) && g.Refresh != "":
		return "whose token has expired and can be renewed"
	case g.expired(0):
		return "whose token has expired"
	}
	return "valid until " + g.Expires.Format(time.RFC3339)
}

func (m *issuerMetadata) endpoints() map[string]string {
	all := map[string]string{"authorization": m.Authorization, "token": m.Token, "registration": m.Registration, "revocation": m.Revocation}
	maps.DeleteFunc(all, func(_, address string) bool { return address == "" })
	return all
}

// wouldBeKnown returns how identify would identify the client. It does not register.
func (w *web) wouldBeKnown(m *issuerMetadata) (Known, error) {
	c := &w.flow.config
	switch {
	case slices.ContainsFunc(c.credentials, func(creds Credentials) bool { return creds.Issuer == "" || creds.Issuer == m.Issuer }):
		return ByHand, nil
	case c.document != "" && m.Documents:
		return ByDocument, nil
	case m.Registration != "" && !c.noRegistration && c.machine == nil:
		return ByRegistration, nil
	case c.machine != nil && !c.machine.needsClient:
		return ByHand, nil
	}
	return "", w.unknown(m)
}

// Grants returns all grants in the store for the profile, sorted by server. If some of them cannot be
// read, Grants returns the others and an error.
func (f *Flow) Grants(ctx context.Context) ([]Grant, error) {
	stored, err := f.stored(ctx, "")
	var all []Grant
	for _, g := range stored {
		all = append(all, *g.public())
	}
	slices.SortStableFunc(all, func(a, b Grant) int { return strings.Compare(a.Server, b.Server) })
	return all, err
}

// LogoutOption configures Logout. A nil option makes Logout return an error. It is sealed.
type LogoutOption interface{ logoutOption(o *logout) }

type logoutOptionFunc func(*logout)

func (f logoutOptionFunc) logoutOption(o *logout) { f(o) }

type logout struct{ forget bool }

// Forget removes the registration at the authorization server from the store as well.
func Forget() LogoutOption {
	return logoutOptionFunc(func(o *logout) { o.forget = true })
}

// Logout revokes the tokens for a server, refresh token first, if the authorization server supports
// that (RFC 7009). It deletes them from the store in any case. The registration stays, unless
// [Forget] is given. A server without tokens is not an error. In that case, Forget makes Logout
// request the server's metadata, to find the authorization server of the registration.
func (f *Flow) Logout(ctx context.Context, server string, opts ...LogoutOption) error {
	var o logout
	for _, opt := range opts {
		if opt == nil {
			return errors.New("oauth: an option is nil")
		}
		opt.logoutOption(&o)
	}
	s, w, err := f.open(server)
	if err != nil {
		return err
	}
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.logout(ctx, w, o.forget)
}

// logout ends the grants of the store, and those that another program saves meanwhile. The caller has
// taken s.
func (s *site) logout(ctx context.Context, w *web, forget bool) error {
	var failed error
	for ended := false; ; ended = true {
		g, err := s.fromStore(ctx)
		if err == nil && g == nil && !ended {
			err = s.logoutWithoutGrant(ctx, w, forget)
		}
		if err != nil || g == nil {
			s.current.Store(nil)
			return errors.Join(failed, err)
		}
		failed = errors.Join(failed, s.end(ctx, w, g))
		if s.current.Load() == g { // an unsaved grant is only in memory
			s.current.Store(nil)
		}
		if err := s.flow.config.store.Delete(ctx, g.key, g.version); err != nil && !isConflict(err) {
			return errors.Join(failed, storeError(err))
		}
		if forget {
			if err := w.forgetClient(ctx, g); err != nil {
				return errors.Join(failed, err)
			}
		}
	}
}

// logoutWithoutGrant logs out from a server without a readable grant in the store. It returns an error
// for a record that cannot be read, because the record may be the grant.
func (s *site) logoutWithoutGrant(ctx context.Context, w *web, forget bool) error {
	keys, err := s.flow.config.store.List(ctx)
	registered := func(k Key) bool { return k.Kind == Registration && k.Profile == s.flow.config.profile }
	if err != nil || !forget || !slices.ContainsFunc(keys, registered) {
		return storeError(err)
	}
	d, err := w.knock(ctx)
	if err != nil {
		return err
	}
	f, err := w.discover(ctx, d)
	if err != nil {
		return err
	}
	return w.forgetRegistered(ctx, f.issuer.Issuer)
}

// end revokes the tokens of a grant.
func (s *site) end(ctx context.Context, w *web, g *live) error {
	id, err := s.identityOf(ctx, w, g)
	if err != nil {
		return err
	}
	e := &endpoint{g.Issuer, id.Credentials, nil, &s.nonces} // a revocation needs no proof
	return errors.Join(w.revoke(ctx, e, "refresh_token", g.Refresh), w.revoke(ctx, e, "access_token", g.Access))
}
