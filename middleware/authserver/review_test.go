package authserver_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/middleware/authserver"
)

// A client's key must not make its verification slow.
func TestRegister_HugeKey(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for bits, status := range map[int]int{1024: 400, 2048: 201, 8192: 201, 16384: 400, 40_000: 400} {
		n := new(big.Int).SetBit(big.NewInt(1), bits-1, 1)
		key := fmt.Sprintf(`{"kty":"RSA","e":"AQAB","n":%q}`, base64.RawURLEncoding.EncodeToString(n.Bytes()))
		if a := s.post("/register", `{"redirect_uris":["`+callback+`"],"token_endpoint_auth_method":"private_key_jwt","jwks":{"keys":[`+key+`]}}`); a.status != status {
			t.Errorf("%d bits: %d %s", bits, a.status, a.body)
		}
	}
}

// Where the oldest clients all have grants, the next attempt finds one that has none.
func TestRegister_LooksFurther(t *testing.T) {
	t.Parallel()
	s := open(t, nil, authserver.Admission(authserver.Policy{MaxClients: 20}))
	for range 16 {
		s.grant(s.register(plainClient), "ann")
	}
	for range 4 {
		s.register(plainClient)
	}
	if a := s.post("/register", plainClient); a.status != http.StatusServiceUnavailable {
		t.Fatalf("%d: the test means the case that all looked at have a grant", a.status)
	}
	if a := s.post("/register", plainClient); a.status != http.StatusCreated {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// demoted is a user who loses a scope.
type demoted struct {
	always
	mu     sync.Mutex
	scopes []string
}

func (d *demoted) Lookup(context.Context, string) (*authserver.User, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &authserver.User{Subject: "ann", Scopes: d.scopes}, nil
}

// always is a user who is there.
type always struct{ noUsers }

func (always) Current(context.Context, *http.Request) (*authserver.User, error) {
	return &authserver.User{Subject: "ann"}, nil
}

// What a user may no longer grant, a client has no longer after a refresh, and does not get back.
func TestRefresh_LostScopes(t *testing.T) {
	t.Parallel()
	user := &demoted{scopes: []string{"notes:read"}}
	s := open(t, authserver.Own(user))
	id := s.register(plainClient)
	_, token := s.grant(id, "")
	a := s.refresh(id, token)
	if a.text(t, "scope") != "notes:read" {
		t.Errorf("%s", a.body)
	}
	user.mu.Lock()
	user.scopes = nil
	user.mu.Unlock()
	if a := s.refresh(id, a.text(t, "refresh_token")); a.text(t, "scope") != "notes:read" {
		t.Errorf("%s", a.body)
	}
}

// An address that is over its limit does not use up the attempts of a name.
func TestLogin_NameIsNotLocked(t *testing.T) {
	t.Parallel()
	mode := authserver.Own(authserver.Passwords(
		func(_ context.Context, name, password string) (*authserver.User, error) {
			if password != "right" {
				return nil, authserver.ErrUnknown
			}
			return &authserver.User{Subject: name}, nil
		},
		func(_ context.Context, subject string) (*authserver.User, error) {
			return &authserver.User{Subject: subject}, nil
		},
	))
	s := open(t, mode, authserver.Limit(10, 3, 1000, func(r *http.Request) string { return r.Header.Get("X-From") }))
	ask, login := s.ask(s.register(plainClient)), func(b *browser, page *answer, from, name, password string) int {
		f := page.fields()
		f.Set("name", name)
		f.Set("password", password)
		return b.do(http.MethodPost, s.issuer+"/login", f, "Sec-Fetch-Site", "same-origin", "X-From", from).status
	}
	evil := s.browser()
	page := evil.do(http.MethodGet, ask, nil)
	for i := range 3 {
		login(evil, page, "evil", fmt.Sprint("other", i), "x")
	}
	for range 5 {
		if status := login(evil, page, "evil", "ann", "x"); status != http.StatusTooManyRequests {
			t.Fatalf("the address is not limited: %d", status)
		}
	}
	honest := s.browser()
	if status := login(honest, honest.do(http.MethodGet, ask, nil), "home", "ann", "right"); status != http.StatusSeeOther {
		t.Errorf("%d", status)
	}
}

// Spellings of a name that many programs take for one user have one limit.
func TestLogin_NameInOtherCase(t *testing.T) {
	t.Parallel()
	tries := 0
	mode := authserver.Own(authserver.Passwords(
		func(context.Context, string, string) (*authserver.User, error) {
			tries++
			return nil, authserver.ErrUnknown
		},
		func(context.Context, string) (*authserver.User, error) { return nil, authserver.ErrUnknown },
	))
	s := open(t, mode, authserver.Limit(10, 3, 1000, func(r *http.Request) string { return r.Header.Get("X-From") }))
	b := s.browser()
	f := b.do(http.MethodGet, s.ask(s.register(plainClient)), nil).fields()
	status := []int{}
	for i, name := range []string{"ann", "Ann", " ANN ", "aNN", "ann\t", "bob"} {
		f.Set("name", name)
		f.Set("password", "x")
		status = append(status, b.do(http.MethodPost, s.issuer+"/login", f, "Sec-Fetch-Site", "same-origin", "X-From", fmt.Sprint(i)).status)
	}
	if want := "[403 403 403 429 429 403]"; fmt.Sprint(status) != want || tries != 4 {
		t.Errorf("%v after %d checks, want %s", status, tries, want)
	}
}

// A link of another site is not silent either if the user has to log in on the way.
func TestConsent_CrossSiteThroughLogin(t *testing.T) {
	t.Parallel()
	s := open(t, nil, authserver.Remember(time.Hour), authserver.Clients(authserver.Client{ID: "web", RedirectURIs: []string{"https://app.example.com/cb"}}))
	ask := s.ask("web", "redirect_uri", "https://app.example.com/cb")
	s.browser().code(ask, "ann")
	for site, silent := range map[string]bool{"cross-site": false, "none": true} {
		b := s.browser()
		in := b.press(b.do(http.MethodGet, ask, nil, "Sec-Fetch-Site", site), "name", "ann")
		a := b.do(http.MethodGet, in.to.String(), nil, "Sec-Fetch-Site", "same-origin")
		if (a.to != nil) != silent || !silent && !strings.Contains(a.body, `name="decision"`) {
			t.Errorf("%s: %d %v", site, a.status, a.to)
		}
	}
}

// The pages are bounded as the token endpoint is.
func TestPages_Limited(t *testing.T) {
	t.Parallel()
	s := open(t, nil, authserver.Limit(10, 10, 5, nil))
	b := s.browser()
	for n := range 7 {
		a := b.do(http.MethodGet, s.issuer+"/consent?visit=unknown", nil)
		if want := n >= 5; (a.status == http.StatusTooManyRequests) != want || want && a.header.Get("Retry-After") == "" {
			t.Errorf("request %d: %d", n, a.status)
		}
	}
}

// faulty is a login of the program that panics.
type faulty struct{ authserver.Users }

func (faulty) Current(context.Context, *http.Request) (*authserver.User, error) { panic("hunter2") }

// A panic in the program's code is one event. It has the stack, but not the panic value.
func TestPanic_Event(t *testing.T) {
	t.Parallel()
	s := open(t, authserver.Own(faulty{authserver.DevLogin(ann())}))
	id := s.register(plainClient)
	s.events = nil
	a := s.browser().do(http.MethodGet, s.ask(id), nil)
	if a.status != http.StatusInternalServerError || strings.Contains(a.body, "goroutine") {
		t.Errorf("%d %s", a.status, a.body)
	}
	refused := slices.DeleteFunc(s.events, func(e authserver.Event) bool { return e.Reason == "" })
	if len(refused) != 1 || !strings.Contains(refused[0].Reason, "a handler panicked") || !strings.Contains(refused[0].Reason, "review_test.go:") ||
		strings.Contains(refused[0].Reason, "hunter2") {
		t.Errorf("%+v", refused)
	}
}
