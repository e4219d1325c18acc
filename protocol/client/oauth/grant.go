package oauth

import (
	"context"
	"crypto"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

// grant is the content of a Tokens record: a Grant with its secrets and the data for its renewal.
type grant struct {
	Server   string         `json:"server"`
	Resource string         `json:"resource"`
	ClientID string         `json:"client_id"`
	Known    Known          `json:"known"`
	Secret   string         `json:"client_secret,omitempty"` // with Method, of a client that has registered itself; its record may be replaced by another registration
	Method   string         `json:"token_endpoint_auth_method,omitempty"`
	Access   string         `json:"access_token"`
	Scheme   string         `json:"scheme"`
	Refresh  string         `json:"refresh_token,omitempty"`
	ID       string         `json:"id_token,omitempty"` // ID token of an identity provider
	Scopes   []string       `json:"scopes,omitempty"`
	Asked    []string       `json:"asked,omitempty"`
	Obtained time.Time      `json:"obtained"`
	Expires  time.Time      `json:"expires,omitzero"`
	Key      string         `json:"dpop_key,omitempty"`
	Issuer   issuerMetadata `json:"issuer_metadata"`
}

// live is a grant in use by this process. It is immutable.
type live struct {
	grant
	key     Key
	version uint64
	bound   crypto.Signer // nil if the token is not bound
	early   time.Duration // how long before it expires the token is renewed
	login   bool          // the grant comes from a login of this process, not from a renewal or the store
	unsaved bool          // the store does not have the grant
}

const (
	// margin is how long before its end a token is renewed, at least. A short-lived token is used
	// for half its life.
	margin = time.Minute
	// renewalPause is the shortest time to the next renewal ahead of time if one has failed.
	renewalPause = 10 * time.Second
	// jitter prevents all clients of a server from renewing at the same time.
	jitter = 10 * time.Second
)

func (g *grant) life(key Key, version uint64, bound crypto.Signer) *live {
	l := &live{grant: *g, key: key, version: version, bound: bound}
	if whole := g.Expires.Sub(g.Obtained); !g.Expires.IsZero() {
		l.early = min(margin+rand.N(jitter), whole/2)
	}
	return l
}

// expired reports whether the token ends within early.
func (l *live) expired(early time.Duration) bool {
	return !l.Expires.IsZero() && !time.Now().Before(l.Expires.Add(-early))
}

func (g *grant) public() *Grant {
	return &Grant{
		Server: g.Server, Resource: g.Resource, Issuer: g.Issuer.Issuer, ClientID: g.ClientID, Known: g.Known,
		Scopes: slices.Clone(g.Scopes), Asked: slices.Clone(g.Asked), Expires: g.Expires,
		Renewable: g.Refresh != "", Bound: g.Scheme == "DPoP",
	}
}

// site is the state for one server. A goroutine that holds the turn may change current, loaded and
// refused. The turn is a lock in the form of a channel with one element, so that a wait for it ends
// with a context (take, tryTake, leave). Reading current and loaded does not need the turn. The
// nonces have a lock of their own.
type site struct {
	flow    *Flow
	server  string
	turn    chan struct{}
	current atomic.Pointer[live] // nil without a grant; changed by the holder of the turn
	nonces  nonces
	loaded  atomic.Bool          // the store was read
	refused map[string]time.Time // refused scopes, and until when they count; used by the holder of the turn
	paused  time.Time            // until then no token is renewed ahead of time; used by the holder of the turn
}

func (s *site) take(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tryTake takes the turn if it is free, and reports whether it did.
func (s *site) tryTake() bool {
	select {
	case s.turn <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s *site) leave() { <-s.turn }

// idle reports whether the turn is free and the store has everything important about the site. A
// client without a user can always ask for another token.
func (s *site) idle() bool {
	g := s.current.Load()
	return len(s.turn) == 0 && (g == nil || !g.unsaved || s.flow.config.machine != nil)
}

// ready returns a grant with a usable token. It renews the grant first if necessary. If there is no
// usable grant, it returns nil.
func (s *site) ready(ctx context.Context, w *web) (*live, error) {
	g := s.current.Load()
	switch {
	case g == nil && s.loaded.Load(), g != nil && !g.expired(g.early):
		return g, nil
	case g != nil && !g.expired(0): // another request may be renewing, and the token is still valid
		if !s.tryTake() {
			return g, nil
		}
	default:
		if err := s.take(ctx); err != nil {
			return nil, err
		}
	}
	defer s.leave()
	if g = s.current.Load(); g == nil && !s.loaded.Load() {
		var err error
		if g, err = s.fromStore(ctx); err != nil {
			return nil, err
		}
		s.current.Store(g)
		s.loaded.Store(true)
	}
	if g == nil || !g.expired(g.early) || !g.expired(0) && time.Now().Before(s.paused) {
		return g, nil
	}
	if s.flow.config.machine != nil || g.Refresh == "" {
		if g.expired(0) {
			return nil, nil // a challenge will lead to a new grant
		}
		return g, nil
	}
	renewed, err := s.renew(ctx, w, g)
	switch {
	case err == nil:
		return renewed, nil
	case s.current.Load() == nil:
		return nil, nil // logged out in another process
	case !g.expired(0):
		s.paused = time.Now().Add(renewalPause)
		return g, nil // a valid token remains usable after a failed renewal
	case errors.Is(err, ErrLogin):
		return nil, nil
	}
	return nil, err
}

// fromStore returns the newest tokens for the server, or nil. If newer tokens in memory could not be
// saved, it returns the tokens in memory.
func (s *site) fromStore(ctx context.Context) (*live, error) {
	all, err := s.flow.stored(ctx, s.server)
	if err != nil {
		return nil, err
	}
	if g := s.current.Load(); g != nil {
		if at := slices.IndexFunc(all, func(l *live) bool { return l.key == g.key }); at >= 0 {
			all[at] = s.unsaved(g.key, all[at])
		} else if s.unsaved(g.key, nil) != nil {
			all = append(all, g)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return slices.MaxFunc(all, func(a, b *live) int { return a.Obtained.Compare(b.Obtained) }), nil
}

// stored returns the tokens of the profile in the store, for one server, or for all if server is
// empty. If some of them cannot be read, it returns the others and an error. A record of an unknown
// server is an error only if server is empty.
func (f *Flow) stored(ctx context.Context, server string) (all []*live, failed error) {
	keys, err := f.config.store.List(ctx)
	if _, partial := errors.AsType[partialError](err); !partial || server == "" {
		failed = storeError(err)
	}
	for _, k := range keys {
		if k.Kind != Tokens || k.Profile != f.config.profile || server != "" && k.Resource != server {
			continue
		}
		g, err := f.read(ctx, k)
		failed = errors.Join(failed, err)
		if g != nil {
			all = append(all, g)
		}
	}
	return all, failed
}

// read returns the tokens of a record, or nil if the record does not exist.
func (f *Flow) read(ctx context.Context, k Key) (*live, error) {
	var g grant
	version, err := f.load(ctx, k, &g)
	if err != nil || version == 0 {
		return nil, err
	}
	bound := f.config.dpopKey
	if g.Key != "" {
		if bound, err = unmarshalKey(g.Key); err != nil {
			return nil, storeError(err)
		}
	}
	return g.life(k, version, bound), nil
}

// key returns the key of the server's own record. Its Resource is the server, and not the resource of
// the server's metadata, which several servers may share.
func (s *site) key(kind Kind, issuer string) Key {
	return Key{Kind: kind, Issuer: issuer, Resource: s.server, Profile: s.flow.config.profile}
}

// maxConflicts limits how often keep tries again because another process was faster.
const maxConflicts = 10

// keep stores a new grant and replaces the stored one, because the user, or the client itself, has
// just agreed to it.
func (s *site) keep(ctx context.Context, g *grant, bound crypto.Signer) (*live, error) {
	key := s.key(Tokens, g.Issuer.Issuer)
	for again := 0; ; again++ {
		version, err := s.flow.load(ctx, key, &grant{})
		if former := s.current.Load(); err != nil && former != nil && former.key == key {
			version = former.version // unsaved compares it with the stored one
		}
		if err == nil {
			var saved uint64
			if saved, err = s.flow.save(ctx, key, version, g); err == nil {
				version = saved
			}
		}
		if isConflict(err) && again < maxConflicts {
			continue
		}
		l := g.life(key, version, bound)
		l.login, l.unsaved = true, err != nil
		s.current.Store(l) // even if the grant was not saved, because the user has logged in
		s.loaded.Store(true)
		if err != nil {
			return nil, err
		}
		return l, nil
	}
}

// unsaved returns the grant in memory if saving it has failed and the record has not changed since. The
// stored refresh token is then used up or refused. Otherwise unsaved returns stored, which is nil if the
// record does not exist.
func (s *site) unsaved(key Key, stored *live) *live {
	g := s.current.Load()
	switch {
	case g == nil || g.key != key || !g.unsaved:
		return stored
	case stored == nil && g.version == 0, stored != nil && g.version == stored.version && !g.Obtained.Before(stored.Obtained):
		return g
	}
	return stored
}

// replace returns a grant other than old, because the server has refused old's token. It is a grant
// that another request or process has obtained, a renewed grant, or the grant of a login.
func (s *site) replace(ctx context.Context, w *web, old *live, d demand) (*live, error) {
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	another := func(g *live) bool { return g != nil && (old == nil || g.Access != old.Access) && !g.expired(0) }
	if g := s.current.Load(); another(g) { // another request was faster
		return g, nil
	}
	g, err := s.fromStore(ctx)
	if err != nil {
		return nil, err
	}
	if another(g) { // another process was faster
		s.current.Store(g)
		s.loaded.Store(true)
		return g, nil
	}
	if s.flow.config.machine != nil {
		if d.renewed {
			return nil, s.rejected(nil)
		}
		return s.login(ctx, w, d)
	}
	if g != nil {
		old = g // another process may have stored it, and it may be renewable although it has expired
	}
	if old != nil && old.Refresh != "" && !d.renewed && !s.moved(ctx, w, old, d) {
		g, err := s.renew(ctx, w, old)
		if err == nil || !errors.Is(err, ErrLogin) {
			return g, err
		}
	}
	if d.silent {
		return nil, &Error{Step: stepGrant, Server: s.server, Err: ErrLogin}
	}
	return s.login(ctx, w, d)
}

// moved reports whether the server now names another authorization server than the grant's.
func (s *site) moved(ctx context.Context, w *web, old *live, d demand) bool {
	if d.metadata == "" {
		return false
	}
	meta, err := w.resourceMetadata(ctx, d.metadata)
	if err != nil || meta == nil {
		return false // the authorization server of the grant is still the best guess
	}
	if slices.ContainsFunc(meta.Issuers, old.Issuer.isNamed) {
		return false
	}
	s.flow.tell(ctx, Event{Kind: Moved, Server: s.server, Issuer: old.Issuer.Issuer, ClientID: old.ClientID})
	return true
}
