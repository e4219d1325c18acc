package authserver_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/middleware/authserver"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/testkit"
)

// between runs a function once, before the first grant is stored.
type between struct {
	session.Store

	run atomic.Pointer[func()]
}

func (b *between) Create(ctx context.Context, r session.Record) error {
	if strings.HasPrefix(r.ID, "as:grant:") {
		if fn := b.run.Swap(nil); fn != nil {
			(*fn)()
		}
	}
	return b.Store.Create(ctx, r)
}

// revokes makes the next grant meet a Revoke between the record of its user and its own.
func (b *between) revokes(t *testing.T, s *site, subject string) {
	t.Helper()
	fn := func() {
		if _, err := s.server.Revoke(t.Context(), subject, ""); err != nil {
			t.Error(err)
		}
	}
	b.run.Store(&fn)
}

// Revoke also ends a grant of the user that is just being stored.
func TestRevoke_WhileACodeIsIssued(t *testing.T) {
	t.Parallel()
	store := &between{Store: memory.New().Sessions()}
	s := open(t, nil, authserver.Store(store), authserver.Seal(make([]byte, 32)))
	id := s.register(plainClient)
	b := s.browser()
	page := b.login(s.ask(id), "ann")
	store.revokes(t, s, "ann")
	a := b.press(page, "decision", "approve")
	if a.status != http.StatusSeeOther || a.to.Query().Get("code") != "" || a.to.Query().Get("error") != "access_denied" || a.to.Query().Get("state") != "the-state" {
		t.Errorf("%d %v", a.status, a.to)
	}
	if s.happened(authserver.CodeIssued) != 0 || s.happened(authserver.Revoked) != 1 {
		t.Errorf("%v", s.events)
	}
	if access, _ := s.grant(id, "ann"); access == "" {
		t.Error("the user cannot grant access again")
	}
}

// The same holds for the grant of an assertion of an identity provider.
func TestRevoke_WhileAnAssertionIsRedeemed(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	issuer := (&scripted{documents: map[string][]byte{"/jwks": keySet(t, &key.PublicKey)}}).start(t)
	agent := secretClient("client_secret_post")
	agent.Grants = []string{"urn:ietf:params:oauth:grant-type:jwt-bearer"}
	store := &between{Store: memory.New().Sessions()}
	s := open(t, nil, authserver.Store(store), authserver.Seal(make([]byte, 32)), authserver.Clients(agent),
		authserver.Assertions(authserver.AssertionIssuer{Issuer: issuer, JWKS: issuer + "/jwks"}))
	ask := func(id string) *answer {
		now := time.Now()
		assertion := signed(t, jwt.SigningMethodES256, key, jwt.MapClaims{
			"iss": issuer, "sub": "ann", "aud": s.issuer, "client_id": agent.ID, "resource": s.resource,
			"iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "jti": id,
		}, map[string]any{"typ": "oauth-id-jag+jwt"})
		return s.token("grant_type", agent.Grants[0], "assertion", assertion, "client_id", agent.ID, "client_secret", "s3cret:& ")
	}
	if a := ask("1"); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	store.revokes(t, s, "ann")
	if a := ask("2"); a.text(t, "error") != "invalid_grant" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// In Broker, the provider's tokens of such a grant are given back.
func TestRevoke_WhileABrokeredCodeIsIssued(t *testing.T) {
	t.Parallel()
	idp := testkit.IdP(t)
	idp.Client("shop", "secret")
	store := &between{Store: memory.New().Sessions()}
	s := open(t, authserver.Broker(authserver.Provider{Issuer: idp.URL(), ClientID: "shop", ClientSecret: "secret"}),
		authserver.Store(store), authserver.Seal(make([]byte, 32)))
	b := s.browser()
	back := b.arrive(s.register(plainClient))
	store.revokes(t, s, "ann")
	if a := b.do(http.MethodGet, back.to.String(), nil); a.to == nil || a.to.Query().Get("error") != "access_denied" || idp.Requests("/revoke") != 1 {
		t.Errorf("%d %v, %d revocations at the provider", a.status, a.to, idp.Requests("/revoke"))
	}
}
