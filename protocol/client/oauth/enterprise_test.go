package oauth_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol/client/oauth"
	"github.com/kagami-mcp/kagami/testkit"
)

// organization is an identity provider, and a server whose authorization server takes its ID-JAGs.
type organization struct {
	idp    *testkit.Issuer
	server *scripted
}

func newOrganization(t *testing.T) *organization {
	t.Helper()
	o := &organization{idp: testkit.IdP(t)}
	o.idp.Client("agent", "s3cret")
	o.server = script(t, map[string]string{
		"/mcp": `401|challenge Bearer resource_metadata="URL/prm"`,
		"/prm": `{"resource":"URL/mcp","authorization_servers":["URL"]}`,
		"/.well-known/oauth-authorization-server": `{"issuer":"URL","authorization_endpoint":"URL/authorize","token_endpoint":"URL/token",` +
			`"code_challenge_methods_supported":["S256"],"grant_types_supported":["urn:ietf:params:oauth:grant-type:jwt-bearer"]}`,
		"/token": `{"access_token":"access","token_type":"Bearer","expires_in":3600}`,
	})
	return o
}

func (o *organization) options(more ...oauth.Option) []oauth.Option {
	return append([]oauth.Option{
		oauth.Registered(oauth.Credentials{ID: "agent", Secret: "s3cret"}),
		oauth.EnterpriseManaged(oauth.Enterprise{Issuer: o.idp.URL(), Credentials: oauth.Credentials{ID: "agent", Secret: "s3cret"}}),
	}, more...)
}

// The user logs in at the identity provider once. Its ID token is exchanged for each server, until it
// expires or the identity provider refuses it; then the user logs in again.
func TestEnterpriseManaged(t *testing.T) {
	t.Parallel()
	o, u, store := newOrganization(t), &user{}, oauth.Memory()
	login := func(want int) {
		t.Helper()
		f := flow(t, o.options(u.browser(t), oauth.Keep(store))...)
		if _, err := f.Login(t.Context(), o.server.URL+"/mcp"); err != nil {
			t.Fatal(err)
		}
		if n := u.seen(); n != want {
			t.Errorf("%d pages, want %d", n, want)
		}
	}
	login(1)
	login(1)
	for _, r := range o.server.requests() {
		if strings.Contains(r, "/authorize") {
			t.Error("the browser was at the server's authorization server")
		}
	}
	exchanges := 0
	for _, r := range o.idp.Log() {
		if r.Form.Get("grant_type") != "urn:ietf:params:oauth:grant-type:token-exchange" {
			continue
		}
		exchanges++
		if resource, audience := r.Form.Get("resource"), r.Form.Get("audience"); resource != o.server.URL+"/mcp" || audience != o.server.URL {
			t.Errorf("the ID-JAG is for %q at %q", resource, audience)
		}
	}
	if exchanges != 2 {
		t.Errorf("%d exchanges, want 2", exchanges)
	}
	key := oauth.Key{Kind: oauth.Tokens, Issuer: o.idp.URL()}
	kept := func() (oauth.Record, map[string]any) {
		t.Helper()
		r, err := store.Get(t.Context(), key)
		var content map[string]any
		if err == nil {
			err = json.Unmarshal(r.Data, &content)
		}
		if err != nil {
			t.Fatal(err)
		}
		return r, content
	}
	r, content := kept()
	end, err := time.Parse(time.RFC3339, content["expires"].(string))
	if err != nil || time.Until(end) > 10*time.Minute { // the access token beside it lives for an hour
		t.Errorf("kept until %v (%v), longer than the ID token is valid", end, err)
	}
	for name, id := range content {
		if text, ok := id.(string); ok && strings.Count(text, ".") == 2 && strings.HasPrefix(text, "eyJ") {
			content[name] = o.idp.Sign(map[string]any{"sub": "ann"}) // unknown to the identity provider
		}
	}
	if r.Data, err = json.Marshal(content); err == nil {
		_, err = store.Put(t.Context(), r)
	}
	if err != nil {
		t.Fatal(err)
	}
	login(2)
}

// WithoutResource leaves the resource out at the issuers that it names, and nowhere else.
func TestEnterpriseManagedWithoutResource(t *testing.T) {
	t.Parallel()
	o := newOrganization(t)
	for issuer, want := range map[string]string{o.server.URL: o.server.URL + "/mcp", o.idp.URL(): ""} {
		before := len(o.idp.Log())
		f := flow(t, o.options((&user{}).browser(t), oauth.WithoutResource(issuer))...)
		if _, err := f.Login(t.Context(), o.server.URL+"/mcp"); err != nil {
			t.Fatal(err)
		}
		log := o.idp.Log()[before:]
		if form := log[len(log)-1].Form; form.Get("audience") != o.server.URL || form.Get("resource") != want {
			t.Errorf("WithoutResource(%q): the exchange has the resource %q, want %q", issuer, form.Get("resource"), want)
		}
	}
}

// Token never shows a page, also where the user would log in at the identity provider. After a login it
// exchanges the kept ID token, until the identity provider refuses it.
func TestEnterpriseManagedTokenIsSilent(t *testing.T) {
	t.Parallel()
	o, u := newOrganization(t), &user{}
	store, server := oauth.Memory(), o.server.URL+"/mcp"
	token := func() error {
		_, err := flow(t, o.options(u.browser(t), oauth.Keep(store))...).Token(t.Context(), server)
		return err
	}
	if err := token(); !errors.Is(err, oauth.ErrLogin) || u.seen() != 0 {
		t.Errorf("before a login: %v, %d pages", err, u.seen())
	}
	if _, err := flow(t, o.options(u.browser(t), oauth.Keep(store))...).Login(t.Context(), server); err != nil {
		t.Fatal(err)
	}
	forget := func() {
		t.Helper()
		key := oauth.Key{Kind: oauth.Tokens, Issuer: o.server.URL, Resource: server}
		r, err := store.Get(t.Context(), key)
		if err == nil {
			err = store.Delete(t.Context(), key, r.Version)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	forget()
	if err := token(); err != nil || u.seen() != 1 {
		t.Errorf("after the login: %v, %d pages", err, u.seen())
	}
	forget()
	r, err := store.Get(t.Context(), oauth.Key{Kind: oauth.Tokens, Issuer: o.idp.URL()})
	var content map[string]any
	if err == nil {
		err = json.Unmarshal(r.Data, &content)
	}
	content["id_token"] = o.idp.Sign(map[string]any{"sub": "ann"}) // unknown to the identity provider
	if err == nil {
		r.Data, err = json.Marshal(content)
	}
	if err == nil {
		_, err = store.Put(t.Context(), r)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := token(); !errors.Is(err, oauth.ErrLogin) || u.seen() != 1 {
		t.Errorf("after the end of the login: %v, %d pages", err, u.seen())
	}
}

// The user says no at the identity provider, or it is away: the error names it.
func TestEnterpriseManagedRefused(t *testing.T) {
	t.Parallel()
	for fault, want := range map[testkit.Fault]string{testkit.Denies: "access_denied", testkit.TokenDown: "503", testkit.NoPKCE: "S256"} {
		o := newOrganization(t)
		o.idp.Fault(fault)
		f := flow(t, o.options((&user{}).browser(t))...)
		_, err := f.Login(t.Context(), o.server.URL+"/mcp")
		if err == nil || !strings.Contains(err.Error(), o.idp.URL()) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", fault, err, want)
		}
	}
}

// The identity provider of an organization may be in its own network although the server is public: the
// program has named it, and not the server.
func TestEnterpriseManagedInside(t *testing.T) {
	t.Parallel()
	o := newOrganization(t)
	place := o.server.Listener.Addr().String()
	o.server.URL = "http://shop.example"
	o.server.set(map[string]string{
		"/mcp": `401|challenge Bearer resource_metadata="URL/prm"`,
		"/prm": `{"resource":"URL/mcp","authorization_servers":["URL"]}`,
		"/.well-known/oauth-authorization-server": `{"issuer":"URL","authorization_endpoint":"URL/authorize","token_endpoint":"URL/token","code_challenge_methods_supported":["S256"]}`,
	})
	dial := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if address != "shop.example:80" {
			return new(net.Dialer).DialContext(ctx, network, address)
		}
		conn, err := new(net.Dialer).DialContext(ctx, network, place)
		return publicConn{conn}, err
	}}
	f := flow(t, o.options((&user{}).browser(t), oauth.HTTPClient(&http.Client{Transport: dial}), oauth.Plain("shop.example"))...)
	if _, err := f.Login(t.Context(), "http://shop.example/mcp"); err != nil {
		t.Error(err)
	}
}

// publicConn is a connection to a public address.
type publicConn struct{ net.Conn }

func (publicConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(8, 8, 8, 8), Port: 80} }
