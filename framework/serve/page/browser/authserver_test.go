package browser_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware/authserver"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// login is a server that issues its own tokens.
type login struct {
	t      *testing.T
	url    string // of the endpoint
	origin string
	server *authserver.Server

	mu     sync.Mutex // guards events
	events []authserver.Event
}

// newLogin starts a server. mode nil: Own, with ann and bob.
func newLogin(t *testing.T, mode authserver.Mode, opts ...authserver.Option) *login {
	t.Helper()
	if mode == nil {
		mode = authserver.Own(authserver.DevLogin(authserver.User{Subject: "ann", Name: "Ann"}, authserver.User{Subject: "bob"}))
	}
	l := &login{t: t}
	pages := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.server.Handler().ServeHTTP(w, r) })
	l.url = testkit.Serve(t, func(at string) *framework.App {
		l.origin = strings.TrimSuffix(at, "/mcp")
		var err error
		l.server, err = authserver.New(l.origin, mode, append([]authserver.Option{
			authserver.Scopes(authserver.Scope{Name: "read", Text: "Read your notes", Default: true}, authserver.Scope{Name: "write", Text: "Write notes in your name"}),
			authserver.OnEvent(l.note), authserver.Limit(1000, 1000, 1000, nil),
		}, opts...)...)
		if err != nil {
			t.Fatal(err)
		}
		return framework.New("notes", "1", framework.WithLogger(zap.NewNop()), framework.WithAuth(l.server.Guard(at))).Add(
			framework.Tool("who", func(ctx context.Context, _ struct{}) (string, error) {
				return transport.PrincipalFrom(ctx).Subject, nil
			}),
		)
	}, nethttp.Route("/", pages))
	return l
}

func (l *login) note(_ context.Context, e authserver.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

func (l *login) happened(kind authserver.EventKind) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// program is a client that the tests play themselves: its redirect URI is a page that shows what came.
type program struct {
	id, back string
}

// program registers a client.
func (l *login) program(name string) program {
	l.t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<html lang=en><link rel=icon href="data:,"><title>back</title><h1>Back</h1><p>%s`, strings.ReplaceAll(r.URL.RawQuery, "&", " "))
	}))
	l.t.Cleanup(web.Close)
	back := web.URL + "/cb"
	return program{l.register(name, back), back}
}

// register registers a client, and returns its ID.
func (l *login) register(name, back string) string {
	l.t.Helper()
	r, err := http.NewRequestWithContext(l.t.Context(), http.MethodPost, l.origin+"/register", strings.NewReader(fmt.Sprintf(`{"client_name":%q,"redirect_uris":[%q]}`, name, back)))
	if err != nil {
		l.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct {
		ID string `json:"client_id"`
	}
	decode(l.t, resp.Body, &answer)
	return answer.ID
}

// ask is the program's request.
func (l *login) ask(p program, state string) string {
	return l.origin + "/authorize?" + url.Values{
		"response_type": {"code"}, "client_id": {p.id}, "redirect_uri": {p.back}, "state": {state}, "scope": {"read write"},
		"code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}, "code_challenge_method": {"S256"},
	}.Encode()
}

// another opens a second tab of the same profile.
func (b *tab) another() *tab {
	b.t.Helper()
	ctx, end := chromedp.NewContext(b.ctx)
	b.t.Cleanup(end)
	other := &tab{t: b.t, ctx: ctx}
	chromedp.ListenTarget(ctx, other.listen)
	if err := chromedp.Run(ctx); err != nil {
		b.t.Fatal(err)
	}
	return other
}

// visit goes to an address, without checking the console at the end, because an error page is an error there.
func (b *tab) visit(address string) {
	b.t.Helper()
	b.run(chromedp.Navigate(address))
}

// enter logs in as a user, if the page asks.
func (b *tab) enter(address, user string) {
	b.t.Helper()
	b.visit(address)
	if b.text("h1") == "Log in" {
		b.click("button", user)
	}
	b.sees("h1", "Allow access?")
}

// agrees is a browser for our client: the user does what the pages ask.
func (b *tab) agrees(user, button string) func(ctx context.Context, address string) error {
	return func(_ context.Context, address string) error {
		b.enter(address, user)
		b.click("button", button)
		return nil
	}
}

// Our client logs in through the pages in Own and Broker; a second call shows none. A user who says no
// is believed.
func TestAuthServer(t *testing.T) {
	for _, broker := range []bool{false, true} {
		t.Run(fmt.Sprintf("broker %v", broker), func(t *testing.T) {
			mode, button := authserver.Mode(nil), "Allow"
			if broker {
				idp := testkit.IdP(t)
				idp.Client("shop", "geheim")
				mode, button = authserver.Broker(authserver.Provider{Issuer: idp.URL(), ClientID: "shop", ClientSecret: "geheim"}), "Continue"
			}
			l, b := newLogin(t, mode), newTab(t)
			store := oauth.Memory()
			connect := func(press string) (*client.Client, error) {
				return client.Connect(t.Context(), client.HTTP(l.url, oauth.Client(oauth.Keep(store), oauth.Browser(b.agrees("ann", press)))))
			}
			if _, err := connect("Deny"); err == nil || !strings.Contains(err.Error(), "access_denied") {
				t.Fatalf("denied: %v", err)
			}
			if l.happened(authserver.CodeIssued) != 0 {
				t.Error("a code was issued")
			}
			b.until(func() bool {
				return strings.HasSuffix(b.eval("location.pathname + document.readyState"), "/donecomplete")
			}, func() string { return "the browser does not end at the client" })
			b.mu.Lock()
			b.faults = nil // the page of a login that failed has status 400
			b.mu.Unlock()
			for range 2 {
				c, err := connect(button)
				if err != nil {
					t.Fatal(err)
				}
				if who, err := client.Call[string](t.Context(), c, "who", nil); err != nil || who != "ann" {
					t.Errorf("%q, %v", who, err)
				}
				_ = c.Close()
			}
			if l.happened(authserver.CodeIssued) != 1 {
				t.Errorf("%d codes", l.happened(authserver.CodeIssued))
			}
			b.sees("h1", "You are logged in")
			b.noFaults()
		})
	}
}

// Two visits in two tabs, finished in the other order, a page that is loaded twice, a double click and
// the back button.
func TestAuthServerTabs(t *testing.T) {
	l, first := newLogin(t, nil), newTab(t)
	p, q := l.program("First"), l.program("Second")
	first.enter(l.ask(p, "one"), "ann")
	second := first.another()
	second.enter(l.ask(q, "two"), "ann")
	twice := first.another()
	twice.enter(l.ask(p, "one"), "ann")
	second.click("button", "Allow")
	second.sees("p", "state=two")
	// Two clicks before the first one has led anywhere.
	first.eval(`(() => { const b = [...document.querySelectorAll('button')].at(-1); b.click(); b.click() })()`)
	first.sees("p", "state=one")
	code := first.text("p")
	first.run(chromedp.NavigateBack())
	first.sees("h1", "Allow access?")
	first.click("button", "Allow")
	first.sees("p", "state=one")
	if again := first.text("p"); again != code {
		t.Errorf("the back button leads to another code: %s, %s", again, code)
	}
	twice.click("button", "Allow")
	twice.sees("p", "state=one")
	if n := l.happened(authserver.CodeIssued); n != 3 {
		t.Errorf("%d codes for three visits", n)
	}
	for _, b := range []*tab{first, second, twice} {
		b.noFaults()
	}
}

// What other sites can do to the page: send its form, frame it, link to it.
func TestAuthServerOtherSites(t *testing.T) {
	l := newLogin(t, nil, authserver.Remember(time.Hour))
	p, b := l.program("Program"), newTab(t)
	b.enter(l.ask(p, "x"), "ann")
	fields := b.eval(`JSON.stringify(Object.fromEntries(new FormData(document.querySelector('form'))))`)
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		page := map[string]string{
			"/form":  `<form method=post action="` + l.origin + `/consent"></form><script>const f = document.forms[0]; for (const [n, v] of Object.entries({...` + fields + `, decision: 'approve'})) { const i = document.createElement('input'); i.name = n; i.value = v; f.append(i) } f.submit()</script>`,
			"/frame": `<h1>Evil</h1><iframe src="` + l.ask(p, "framed") + `"></iframe>`,
			"/link":  `<a href="` + strings.ReplaceAll(l.ask(p, "linked"), "&", "&amp;") + `">link</a>`,
			"/fetch": `<h1>Evil</h1><p></p><script>fetch("` + l.origin + `/consent", {method: 'POST', mode: 'no-cors', credentials: 'include', body: new URLSearchParams({...` + fields + `, decision: 'approve'})}).then(() => document.querySelector('p').textContent = 'sent', e => document.querySelector('p').textContent = 'sent')</script>`,
		}[r.URL.Path]
		_, _ = fmt.Fprintf(w, `<html lang=en><link rel=icon href="data:,"><title>evil</title>%s`, page)
	}))
	t.Cleanup(evil.Close)
	at := strings.Replace(evil.URL, "127.0.0.1", "localhost", 1) // another site, not only another port
	b.visit(at + "/form")
	b.sees("h1", "This did not work")
	b.visit(at + "/fetch")
	b.sees("p", "sent")
	b.visit(at + "/frame")
	b.sees("h1", "Evil")
	if shown := b.eval(`(() => { try { return document.querySelector('iframe').contentDocument ? 'readable' : 'none' } catch (e) { return 'none' } })()`); shown == "readable" {
		t.Error("the frame shows the page")
	}
	b.until(func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return strings.Contains(strings.Join(b.faults, " "), "frame")
	}, func() string { return fmt.Sprintf("nothing refused the frame: %v", b.faults) })
	b.visit(at + "/link")
	b.click("a", "link")
	b.sees("h1", "Allow access?")
	if l.happened(authserver.CodeIssued) != 0 {
		t.Error("another site got a code")
	}
}

// A link of another site is shown the page; an address that the user types is not asked again.
func TestAuthServerRemember(t *testing.T) {
	back := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(back.Close)
	const to = "https://app.example.test/cb"
	l := newLogin(t, nil, authserver.Remember(time.Hour), authserver.Clients(authserver.Client{ID: "web", Name: "Web", RedirectURIs: []string{to}}))
	b := newTab(t)
	ask := l.ask(program{"web", to}, "s")
	b.enter(ask, "ann")
	b.click("button", "Allow")
	b.until(func() bool { return l.happened(authserver.CodeIssued) == 1 }, func() string { return "no code" })
	_ = chromedp.Run(b.ctx, chromedp.Navigate(ask)) // fails: the name of the client does not exist
	b.until(func() bool { return l.happened(authserver.CodeIssued) == 2 }, func() string { return "a typed address is asked about" })
}

// An error page says in plain words what is wrong, and has no link to the client.
func TestAuthServerErrors(t *testing.T) {
	l := newLogin(t, nil, authserver.Lives(authserver.Lifetimes{Visit: 8 * time.Second}))
	p, b := l.program("Program"), newTab(t)
	b.visit(l.ask(program{"nobody", p.back}, "x"))
	b.sees("main", "does not know the program")
	b.visit(l.ask(program{p.id, "http://127.0.0.1:1/evil"}, "x"))
	b.sees("main", "has not registered")
	b.enter(l.ask(p, "x"), "ann")
	time.Sleep(8100 * time.Millisecond)
	b.click("button", "Allow")
	b.sees("main", "too old")
	if b.eval("document.querySelectorAll('a').length") != "0" {
		t.Error("the error page has links")
	}
	blocked := newTab(t)
	blocked.enter(l.ask(p, "x"), "ann")
	blocked.run(chromedp.ActionFunc(clearCookies))
	blocked.click("button", "Allow")
	blocked.sees("main", "cookie")
}

// A browser whose user did not agree does not finish what another began, and a second program is asked
// about although the provider would let it in.
func TestAuthServerBroker(t *testing.T) {
	idp := testkit.IdP(t)
	idp.Client("shop", "")
	hold := make(chan struct{})
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-hold // the provider's own page: the user is there for a while
		http.Redirect(w, r, idp.URL()+"/authorize?"+r.URL.RawQuery, http.StatusFound)
	}))
	t.Cleanup(provider.Close)
	close(hold)
	l := newLogin(t, authserver.Broker(authserver.Provider{
		ClientID: "shop", Authorize: provider.URL, Token: idp.URL() + "/token",
		Identity: func(context.Context, *authserver.UpstreamToken) (*authserver.User, error) {
			return &authserver.User{Subject: "ann"}, nil
		},
	}))
	p, b := l.program("First"), newTab(t)
	b.enter(l.ask(p, "one"), "")
	b.sees("main", strings.TrimPrefix(provider.URL, "http://"))
	b.click("button", "Continue")
	b.sees("p", "state=one")
	b.enter(l.ask(l.program("Second"), "two"), "")
	if n := l.happened(authserver.CodeIssued); n != 1 {
		t.Errorf("%d codes", n)
	}
	// The address of the callback, as the attacker's browser was sent to it.
	var callback string
	for _, r := range idp.Log() {
		if r.Path == "/authorize" {
			callback = r.Form.Get("redirect_uri") + "?" + url.Values{"code": {"stolen"}, "state": {r.Form.Get("state")}}.Encode()
		}
	}
	victim := newTab(t)
	victim.visit(callback)
	victim.sees("h1", "This did not work")
	if n := l.happened(authserver.LoggedIn); n != 1 {
		t.Errorf("%d logins", n)
	}
}

// axe finds nothing on the pages: wide and narrow, light and dark, with hostile names, without script,
// by keyboard alone.
func TestAuthServerAccessible(t *testing.T) {
	source, err := axe()
	if err != nil {
		t.Fatal(err)
	}
	l := newLogin(t, nil)
	long := newLogin(t, authserver.Own(authserver.Passwords(
		func(context.Context, string, string) (*authserver.User, error) { return nil, errors.New("unused") },
		func(context.Context, string) (*authserver.User, error) { return nil, authserver.ErrUnknown },
	)))
	p, hostile := l.program("Claude Code"), l.program(`<script>alert(1)</script>`+strings.Repeat("W", 300)+"\u202e")
	stranger := program{l.register("Stranger", "https://app.example.com/cb"), "https://app.example.com/cb"}
	screens := map[string]func(b *tab){
		"login":    func(b *tab) { b.visit(l.ask(p, "x")) },
		"password": func(b *tab) { b.visit(long.ask(long.program("Claude Code"), "x")) },
		"consent":  func(b *tab) { b.enter(l.ask(p, "x"), "ann") },
		"hostile":  func(b *tab) { b.enter(l.ask(hostile, "x"), "ann") },
		"error":    func(b *tab) { b.visit(l.ask(program{"nobody", p.back}, "x")) },
		"wrong":    func(b *tab) { b.visit(l.ask(stranger, "x") + "&scope=twice") },
	}
	for name, open := range screens {
		t.Run(name, func(t *testing.T) {
			b := newTab(t)
			open(b)
			for _, dark := range []bool{false, true} {
				for _, width := range []int64{1200, 320} {
					b.dark(dark)
					b.size(width, 900)
					b.judge(source, fmt.Sprintf("dark %v, %d px wide", dark, width))
					if *pictures != "" {
						b.picture(filepath.Join(*pictures, "authserver", fmt.Sprintf("%s-%d-dark-%v.png", name, width, dark)))
					}
					if wide := b.eval("document.documentElement.scrollWidth"); wide > fmt.Sprint(width) && len(wide) >= len(fmt.Sprint(width)) {
						t.Errorf("%s px wide in a window of %d", wide, width)
					}
				}
			}
			if from := b.eval(`JSON.stringify(performance.getEntriesByType('resource').map(e => e.name))`); from != "[]" {
				t.Errorf("the page loads %s", from)
			}
			if name != "error" && name != "wrong" {
				b.noFaults()
			}
		})
	}
	t.Run("keyboard, without script", func(t *testing.T) {
		b := newTab(t)
		b.run(emulation.SetScriptExecutionDisabled(true))
		b.visit(l.ask(p, "keys"))
		b.keys("\t\r") // the first name
		b.sees("h1", "Allow access?")
		b.keys("\t\t\r") // Deny, Allow
		b.sees("p", "state=keys")
	})
}
