package oauth

import (
	"context"
	"crypto"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

// grant is the content of a record of Tokens: a Grant with its secrets, and what renewal needs.
type grant struct {
	Server   string         `json:"server"`
	Resource string         `json:"resource"`
	ClientID string         `json:"client_id"`
	Known    Known          `json:"known"`
	Access   string         `json:"access_token"`
	Scheme   string         `json:"scheme"`
	Refresh  string         `json:"refresh_token,omitempty"`
	ID       string         `json:"id_token,omitempty"` // of an identity provider
	Scopes   []string       `json:"scopes,omitempty"`
	Asked    []string       `json:"asked,omitempty"`
	Obtained time.Time      `json:"obtained"`
	Expires  time.Time      `json:"expires,omitzero"`
	Key      string         `json:"dpop_key,omitempty"`
	Issuer   issuerMetadata `json:"issuer_metadata"`
}

// live is a grant of this process.
type live struct {
	grant
	key     Key
	version uint64
	bound   crypto.Signer // nil: the token is not bound
	early   time.Duration // how long before its end it is renewed
	login   bool          // it comes from a login of this process, not from a renewal or the store
}

const (
	// margin is how long a token must still be valid. Short-lived ones are used for half their life.
	margin = time.Minute
	// jitter keeps the clients of a server from renewing all at once.
	jitter = 10 * time.Second
)

func (g *grant) life(key Key, version uint64, bound crypto.Signer) *live {
	l := &live{grant: *g, key: key, version: version, bound: bound}
	if whole := g.Expires.Sub(g.Obtained); !g.Expires.IsZero() {
		l.early = min(margin+rand.N(jitter), whole/2)
	}
	return l
}

// expired says that the token ends within early.
func (l *live) expired(early time.Duration) bool {
	return !l.Expires.IsZero() && !time.Now().Before(l.Expires.Add(-early))
}

func (g *grant) public() Grant {
	return Grant{
		Server: g.Server, Resource: g.Resource, Issuer: g.Issuer.Issuer, ClientID: g.ClientID, Known: g.Known,
		Scopes: slices.Clone(g.Scopes), Asked: slices.Clone(g.Asked), Expires: g.Expires,
		Renewable: g.Refresh != "", Bound: g.Scheme == "DPoP",
	}
}

// site is the state for one server. Whoever has the turn may change it: a channel of one element,
// so that waiting for it ends with a context.
type site struct {
	flow    *Flow
	server  string
	turn    chan struct{}
	current atomic.Pointer[live] // changed with the turn
	nonces  nonces
	loaded  atomic.Bool          // the store was looked at
	refused map[string]time.Time // with the turn: scopes that were refused, and until when that counts
}

func (s *site) take(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tryTake takes the turn if it is free.
func (s *site) tryTake() bool {
	select {
	case s.turn <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s *site) leave() { <-s.turn }

// idle reports whether no request has the turn. The store has all that an idle site knows.
func (s *site) idle() bool { return len(s.turn) == 0 }

// ready returns a grant whose token can be used, and renews it first if need be. Without a grant it
// returns nil.
func (s *site) ready(ctx context.Context, w *web) (*live, error) {
	g := s.current.Load()
	switch {
	case g == nil && s.loaded.Load(), g != nil && !g.expired(g.early):
		return g, nil
	case g != nil && !g.expired(0): // another request may be renewing; the token is good meanwhile
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
	if g == nil || !g.expired(g.early) {
		return g, nil
	}
	if s.flow.config.machine != nil || g.Refresh == "" {
		if g.expired(0) {
			return nil, nil // a challenge leads to another
		}
		return g, nil
	}
	renewed, err := s.renew(ctx, w, g)
	switch {
	case err == nil:
		return renewed, nil
	case s.current.Load() == nil:
		return nil, nil // logged out elsewhere
	case !g.expired(0):
		return g, nil // a token that is valid is not thrown away because a renewal failed
	case isEnd(err):
		return nil, nil
	}
	return nil, err
}

// fromStore returns the newest tokens for the server, or nil.
func (s *site) fromStore(ctx context.Context) (*live, error) {
	c := &s.flow.config
	keys, err := c.store.List(ctx)
	if err != nil {
		return nil, storeError(err)
	}
	var newest *live
	for _, k := range keys {
		if k.Kind != Tokens || k.Profile != c.profile || !covers(k.Resource, s.server) {
			continue
		}
		g, err := s.flow.read(ctx, k)
		if err != nil {
			return nil, err
		}
		if g != nil && g.Server == s.server && (newest == nil || g.Obtained.After(newest.Obtained)) {
			newest = g
		}
	}
	return newest, nil
}

// covers says that tokens for a resource may be for a server: it is the server, or above it.
func covers(resource, server string) bool {
	name, err := canonical(resource)
	return err == nil && hasPath(server, name)
}

// read returns the tokens of a record; nil if it is gone.
func (f *Flow) read(ctx context.Context, k Key) (*live, error) {
	var g grant
	version, err := load(ctx, f.config.store, k, &g)
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

// maxConflicts bounds how often others may be faster with the same record.
const maxConflicts = 10

// keep stores a new grant in place of what is there: the user, or the client itself, has just
// agreed to it.
func (s *site) keep(ctx context.Context, g *grant, bound crypto.Signer) (*live, error) {
	key := Key{Kind: Tokens, Issuer: g.Issuer.Issuer, Resource: g.Resource, Profile: s.flow.config.profile}
	for again := 0; ; again++ {
		version, err := load(ctx, s.flow.config.store, key, &grant{})
		if err != nil {
			return nil, err
		}
		version, err = save(ctx, s.flow.config.store, key, version, g)
		if isConflict(err) && again < maxConflicts {
			continue
		}
		if err != nil {
			return nil, err
		}
		l := g.life(key, version, bound)
		l.login = true
		s.current.Store(l)
		s.loaded.Store(true)
		return l, nil
	}
}

// replace returns another grant than old, whose token the server has refused: one that another
// process has stored, a renewed one, or one that the user agrees to.
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
	if another(g) { // another process was
		s.current.Store(g)
		s.loaded.Store(true)
		return g, nil
	}
	if s.flow.config.machine != nil {
		if d.renewed {
			return nil, &Error{Step: stepToken, Server: s.server, Err: ErrDenied, Text: "the server refuses the token that was just made for it"}
		}
		return s.login(ctx, w, d)
	}
	if old != nil && old.Refresh != "" && !d.renewed && !s.moved(ctx, w, old, d) {
		g, err := s.renew(ctx, w, old)
		if err == nil || !isEnd(err) {
			return g, err
		}
	}
	if d.silent {
		return nil, &Error{Step: stepGrant, Server: s.server, Err: ErrLogin}
	}
	return s.login(ctx, w, d)
}

// moved says that the server names another authorization server than the one of a grant.
func (s *site) moved(ctx context.Context, w *web, old *live, d demand) bool {
	if d.metadata == "" {
		return false
	}
	meta, err := w.resourceMetadata(ctx, d.metadata)
	if err != nil || meta == nil {
		return false // the authorization server of the grant is still the best guess
	}
	for _, issuer := range meta.Issuers {
		if issuer == old.Issuer.Issuer || sameButSlash(issuer, old.Issuer.Issuer) {
			return false
		}
	}
	s.flow.tell(ctx, Event{Kind: Moved, Server: s.server, Issuer: old.Issuer.Issuer, ClientID: old.ClientID})
	return true
}
