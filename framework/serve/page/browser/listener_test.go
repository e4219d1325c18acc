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

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/kagami-mcp/kagami/framework"
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

// hostilePage is a page that tries what it can with the page at own: read it, call a tool, and show it in a frame.
const hostilePage = `<html lang=en><link rel=icon href="data:,"><title>evil</title><h1>Evil</h1><p></p>
<iframe src="%[1]s/"></iframe><iframe name=sink></iframe><img src="%[1]s/api/server" alt=""><script src="%[1]s/assets/x/index.js"></script>
<form method=post enctype=text/plain action="%[1]s/api/calls" target=sink><input name='{"method":"tools/call","name":"wipe","a":"' value='"}'></form>
<script>document.forms[0].submit();
const ask = (path, more) => fetch('%[1]s/' + path, { credentials: 'include', ...more }).then(r => r.text());
const order = { method: 'POST', body: '{"method":"tools/call","name":"wipe"}' };
Promise.allSettled([ask(''), ask('api/server'), ask('api/server', { mode: 'no-cors' }), ask('api/events?once'), ask('api/calls', { ...order, mode: 'no-cors' }),
	ask('api/calls', { ...order, headers: { 'Kagami-Page': 'guess', 'Content-Type': 'application/json' } })])
	.then(all => document.querySelector('p').textContent = 'read: ' + all.map(each => each.value ?? '').join(''))</script>`

// TestPageAndAHostilePage is the first half of story 20: another site, another port, which receives the cookie
// of the page, and a rebound name neither read anything nor call a tool.
func TestPageAndAHostilePage(t *testing.T) {
	var calls, cookies atomic.Int64
	b := newTab(t)
	b.open(serve(t, offering(t, "safe", framework.Tool("wipe", func(context.Context, none) (string, error) {
		calls.Add(1)
		return "wiped", nil
	}, framework.Describe("Wipes."), framework.ReadOnly()))))
	b.sees(".cat", "wipe")
	own := b.eval("location.origin")
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Cookie"), "kagami_page") {
			cookies.Add(1)
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, hostilePage, own)
	}))
	t.Cleanup(site.Close)
	evil := b.another()
	var refused atomic.Int64
	chromedp.ListenTarget(evil.ctx, func(event any) {
		if e, ok := event.(*network.EventResponseReceived); ok && strings.HasPrefix(e.Response.URL, own) {
			refused.Add(1)
			if e.Response.Status < http.StatusBadRequest {
				t.Errorf("%s: %d", e.Response.URL, e.Response.Status)
			}
		}
	})
	evil.run(network.Enable())
	for _, address := range []string{site.URL, strings.Replace(site.URL, "127.0.0.1", "localhost", 1)} {
		evil.visit(address)
		evil.sees("p", "read:")
		if read := evil.text("p"); read != "read:" {
			t.Errorf("%s has %s", address, read)
		}
	}
	evil.visit(strings.Replace(own, "127.0.0.1", "rebound.localhost", 1))
	evil.sees("body", http.StatusText(http.StatusMisdirectedRequest))
	if calls.Load() != 0 || cookies.Load() == 0 || refused.Load() < 5 {
		t.Errorf("%d calls; %d times with the cookie; %d requests refused", calls.Load(), cookies.Load(), refused.Load())
	}
	b.click(".rail a", "wipe")
	b.click("[data-call]", "Call")
	b.sees("[aria-label='What the server says']", "wiped")
}
