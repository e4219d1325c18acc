package authserver_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/middleware/authserver"
)

// oneUser is a site with one account.
type oneUser struct{ gone, down bool }

func (o *oneUser) UserOf(_ context.Context, cookie string) (string, error) {
	if o.down {
		return "", errors.New("the database is down")
	}
	if cookie != "good" {
		return "", errNoAccount
	}
	return "7", nil
}

func (o *oneUser) LoginPage(back string) string { return "/own-login?back=" + back }

func (o *oneUser) Account(context.Context, string) (Account, error) {
	if o.gone {
		return Account{}, errNoAccount
	}
	return Account{Name: "Ann", Scopes: []string{"notes:read"}}, nil
}

// The code of docs/authserver.md does what the page says.
func TestDocumented(t *testing.T) {
	t.Parallel()
	store, key := memory.New().Sessions(), make([]byte, 32)
	if as, err := OwnTokens(Accounts{&oneUser{}}, store, key); err != nil || as.Guard("https://shop.example.com/mcp") == nil {
		t.Errorf("%v", err)
	}
	if _, err := BrokeredTokens("id", "secret", store, key); err != nil {
		t.Error(err)
	}
	visit := httptest.NewRequest(http.MethodGet, "/", nil)
	visit.AddCookie(&http.Cookie{Name: "__Host-shop", Value: "bad"})
	for down, asks := range map[bool]bool{false: true, true: false} {
		_, err := Accounts{&oneUser{down: down}}.Current(t.Context(), visit)
		if err == nil || errors.Is(err, authserver.ErrNobody) != asks {
			t.Errorf("with the database down (%t): %v", down, err)
		}
	}
	for claims, in := range map[*map[string]any]bool{
		{"sub": "1", "email": "a@example.com", "email_verified": true, "hd": "example.com"}: true,
		{"sub": "1", "email": "a@example.com", "hd": "example.com"}:                         false,
		{"sub": "1", "email_verified": true}:                                                false,
	} {
		if u, err := onlyOurs(t.Context(), *claims); (err == nil) != in || in && u.Subject != "1" {
			t.Errorf("%v: %v", *claims, err)
		}
	}
	keyFile := filepath.Join(t.TempDir(), "key.pem")
	der, err := x509.MarshalPKCS8PrivateKey(newKey(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := KeysOfFiles(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := KeysOfFiles(keyFile, os.DevNull); err == nil {
		t.Error("an empty file is a key")
	}
	account := &oneUser{}
	s := open(t, authserver.Own(Accounts{account}), keys)
	b, id := s.browser(), s.register(plainClient)
	away := b.do(http.MethodGet, s.ask(id), nil)
	if away.to == nil || !strings.HasPrefix(away.to.String(), s.issuer+"/own-login?back=/consent?visit=") {
		t.Fatalf("%d %v", away.status, away.to)
	}
	back := s.issuer + strings.TrimPrefix(away.to.RequestURI(), "/own-login?back=")
	page := b.do(http.MethodGet, back, nil, "Cookie", "__Host-shop=good; "+cookies(t, b, s.issuer))
	a := b.press(page, "decision", "approve", "Cookie", "__Host-shop=good; "+cookies(t, b, s.issuer))
	got := s.redeem(id, a.to.Query().Get("code"))
	if p, ok := s.admits(got.text(t, "access_token")); !ok || p.Subject != "7" || len(p.Scopes) != 1 {
		t.Errorf("%s", got.body)
	}
	account.gone = true
	if a := s.refresh(id, got.text(t, "refresh_token")); a.text(t, "error") != "invalid_grant" {
		t.Errorf("a deleted user: %s", a.body)
	}
	if _, ok := s.admits(got.text(t, "access_token")); ok {
		t.Error("the token of a deleted user is taken")
	}
}

// cookies returns the cookies of a browser, as a header.
func cookies(t *testing.T, b *browser, at string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, c := range b.c.Jar.Cookies(r.URL) {
		list = append(list, c.Name+"="+c.Value)
	}
	return strings.Join(list, "; ")
}
