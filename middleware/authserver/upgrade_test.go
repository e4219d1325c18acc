package authserver_test

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/middleware/authserver"
	"github.com/kagami-mcp/kagami/protocol/session"
)

// marked is a store with records of one kind that appear to be from another version of the program.
type marked struct {
	session.Store

	mu      sync.Mutex // guards the fields below
	kind    string
	version string
	writes  int // number of writes to records of the kind
	expires time.Time
}

func (m *marked) mark(kind, version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kind, m.version, m.writes = kind, version, 0
}

// written returns the number of writes to records of the kind, and when the last written record
// expires.
func (m *marked) written() (int, time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.writes, m.expires
}

func (m *marked) isMarked(id string) bool {
	return m.kind != "" && strings.HasPrefix(id, "as:"+m.kind+":")
}

func (m *marked) Get(ctx context.Context, id string) (session.Record, error) {
	r, err := m.Store.Get(ctx, id)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil && m.isMarked(id) && m.version != "" {
		r.Data = append([]byte(`{"v":`+m.version+`,"new":1,`), r.Data[1:]...)
	}
	return r, err
}

func (m *marked) note(r session.Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.isMarked(r.ID) {
		m.writes, m.expires = m.writes+1, r.Expires
	}
}

func (m *marked) Update(ctx context.Context, r session.Record) error {
	m.note(r)
	return m.Store.Update(ctx, r)
}

func (m *marked) Create(ctx context.Context, r session.Record) error {
	m.note(r)
	return m.Store.Create(ctx, r)
}

// A record from a newer version of the program is not changed. Otherwise an older process, during
// an update, would drop members that it does not know.
func TestNewerRecords(t *testing.T) {
	t.Parallel()
	for kind, request := range map[string]func(s *site, id, code, refresh string, b *browser, page *answer) int{
		"grant": func(s *site, id, _, refresh string, _ *browser, _ *answer) int { return s.refresh(id, refresh).status },
		"owner": func(s *site, id, code, _ string, _ *browser, _ *answer) int { return s.redeem(id, code).status },
		"client": func(s *site, id, _, refresh string, _ *browser, _ *answer) int {
			return s.refresh(id, refresh).status
		},
		"clients": func(s *site, _, _, _ string, _ *browser, _ *answer) int {
			return s.post("/register", plainClient).status
		},
		"visit": func(_ *site, _, _, _ string, b *browser, page *answer) int {
			return b.press(page, "decision", "approve").status
		},
		"keys": func(s *site, _, _, _ string, _ *browser, _ *answer) int {
			if err := s.server.ReplaceKeys(t.Context()); err != nil {
				return http.StatusServiceUnavailable
			}
			return http.StatusOK
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			store := &marked{Store: memory.New().Sessions()}
			s := open(t, nil, authserver.Store(store), authserver.Seal(make([]byte, 32)))
			id := s.register(plainClient)
			_, refresh := s.grant(id, "ann")
			code := s.browser().code(s.ask(id), "ann")
			b := s.browser()
			page := b.login(s.ask(id), "ann")
			store.mark(kind, "2")
			status := request(s, id, code, refresh, b, page)
			if writes, _ := store.written(); status != http.StatusServiceUnavailable || writes != 0 {
				t.Errorf("version 2: %d, and %d writes", status, writes)
			}
			store.mark(kind, "1")
			if status := request(s, id, code, refresh, b, page); status >= http.StatusBadRequest {
				t.Errorf("version 1: %d", status)
			}
		})
	}
}

// The record of a user lives as long as the user's grants, even if an option has shortened the
// lifetime of new grants.
func TestRevoke_AfterLivesWereShortened(t *testing.T) {
	t.Parallel()
	store := &marked{Store: memory.New().Sessions()}
	store.mark("owner", "")
	opts := []authserver.Option{authserver.Store(store), authserver.Seal(make([]byte, 32))}
	before := open(t, nil, append(opts, authserver.Lives(authserver.Lifetimes{Grant: 365 * 24 * time.Hour}))...)
	after := open(t, nil, opts...)
	long := time.Now().Add(365 * 24 * time.Hour)
	before.grant(before.register(plainClient), "ann")
	after.grant(after.register(plainClient), "ann")
	if _, expires := store.written(); expires.Before(long) {
		t.Errorf("after another login, the record expires at %v, and a grant at %v", expires, long)
	}
	if n, err := after.server.Revoke(t.Context(), "ann", "another client"); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, expires := store.written(); expires.Before(long) {
		t.Errorf("after Revoke, the record expires at %v, and a grant at %v", expires, long)
	}
	if n, err := after.server.Revoke(t.Context(), "ann", ""); n != 2 || err != nil {
		t.Errorf("%d grants ended, %v", n, err)
	}
}

// While the key of Seal is changed in two steps, each process can open what another one seals.
func TestSeal_Change(t *testing.T) {
	t.Parallel()
	first, second := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	for name, seals := range map[string][2][][]byte{
		"the second key is added":   {{first}, {first, second}},
		"the second key goes first": {{first, second}, {second, first}},
		"the first key is removed":  {{second, first}, {second}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := memory.New().Sessions()
			old := open(t, nil, authserver.Store(store), authserver.Seal(seals[0]...))
			updated, err := authserver.New(old.issuer, authserver.Own(authserver.DevLogin(ann())), noteScopes(),
				authserver.Resource(old.resource), authserver.Store(store), authserver.Seal(seals[1]...))
			if err != nil {
				t.Fatal(err)
			}
			id := old.register(plainClient)
			_, token := old.grant(id, "ann")
			form := func(token string) string {
				return encoded([]string{"grant_type", "refresh_token", "client_id", id, "refresh_token", token})
			}
			atOld := old.post("/token", form(token)).body
			if again := served(t, updated.Handler(), "/token", form(token)); again != atOld {
				t.Errorf("the answer of the old process is %s, and then of the other one %s", atOld, again)
			}
			token = (&answer{body: atOld}).text(t, "refresh_token")
			atUpdated := served(t, updated.Handler(), "/token", form(token))
			if again := old.post("/token", form(token)).body; again != atUpdated || !strings.Contains(again, "access_token") {
				t.Errorf("the answer of the updated process is %s, and then of the other one %s", atUpdated, again)
			}
		})
	}
}

// A scope that a new version of the program no longer has is left out of new tokens, but stays in
// the grant.
func TestRefresh_ScopeIsRemoved(t *testing.T) {
	t.Parallel()
	store := memory.New().Sessions()
	opts := []authserver.Option{authserver.Store(store), authserver.Seal(make([]byte, 32))}
	s := open(t, nil, opts...)
	twin, err := authserver.New(s.issuer, authserver.Own(authserver.DevLogin(ann())), append(opts, authserver.Resource(s.resource),
		authserver.Scopes(authserver.Scope{Name: "notes:read", Default: true}))...)
	if err != nil {
		t.Fatal(err)
	}
	refresh := func(id, token string, changes ...string) *answer {
		return &answer{body: served(t, twin.Handler(), "/token", encoded(append([]string{
			"grant_type", "refresh_token", "client_id", id, "refresh_token", token,
		}, changes...)))}
	}
	id := s.register(plainClient)
	_, token := s.grant(id, "ann")
	a := refresh(id, token, "scope", "notes:read notes:write")
	if a.text(t, "scope") != "notes:read" {
		t.Errorf("%s", a.body)
	}
	if again := refresh(id, token); again.body != a.body {
		t.Errorf("within Grace: %s, and then %s", a.body, again.body)
	}
	if back := s.refresh(id, a.text(t, "refresh_token")); back.text(t, "scope") != "notes:read notes:write" {
		t.Errorf("at a process that has the scope: %s", back.body)
	}
}
