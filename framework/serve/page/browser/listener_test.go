package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
)

// evilSite is a page of another site that sends guessed answers to the listener at back, in each way
// that a page can.
func evilSite(t *testing.T, back string) string {
	t.Helper()
	guess := back + "?code=evil&state=guessed&iss=" + url.QueryEscape("https://evil.example")
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<html lang=en><link rel=icon href="data:,"><title>evil</title><h1>Evil</h1><p></p>
<img src=%[1]q alt=""><iframe src=%[1]q></iframe><iframe name=sink></iframe><form method=post action=%[1]q target=sink></form>
<script>document.forms[0].submit()
Promise.allSettled([...Array(30).keys()].map(n => fetch(%[1]q + n, {mode: 'no-cors'}))
	.concat(fetch(%[2]q, {mode: 'no-cors'}), fetch(%[2]q + '?error=access_denied', {mode: 'no-cors'}), fetch(%[2]q, {method: 'POST', mode: 'no-cors'})))
	.then(all => document.querySelector('p').textContent = 'sent ' + all.filter(each => each.status == 'fulfilled').length)</script>`, guess, back)
	}))
	t.Cleanup(site.Close)
	return strings.Replace(site.URL, "127.0.0.1", "localhost", 1) // another site, not only another port
}

// A hostile page in another tab cannot end a login, or answer it in the user's place.
func TestListenerAndAHostilePage(t *testing.T) {
	l, b := newLogin(t, nil), newTab(t)
	evil := b.another()
	agrees := b.agrees("ann", "Allow")
	var met atomic.Bool
	c, err := client.Connect(t.Context(), client.HTTP(l.url, oauth.Client(oauth.Keep(oauth.Memory()), oauth.Browser(func(ctx context.Context, address string) error {
		at, err := url.Parse(address)
		if err != nil {
			return err
		}
		back := at.Query().Get("redirect_uri")
		evil.visit(evilSite(t, back))
		evil.sees("p", "sent 33")
		evil.visit(back + "?code=evil&state=guessed") // the whole tab goes there
		evil.sees("body", "No login waits")
		met.Store(true)
		return agrees(ctx, address)
	}))))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if who, err := client.Call[string](t.Context(), c, "who", nil); err != nil || who != "ann" || !met.Load() {
		t.Errorf("%q, %v", who, err)
	}
	b.sees("h1", "You are logged in")
	b.noFaults()
}
