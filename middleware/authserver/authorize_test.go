package authserver_test

import (
	"context"
	"html"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/middleware/authserver"
)

// A browser is sent only to an address that the client has registered, to the byte.
func TestAuthorize_UnknownRedirectShowsAPage(t *testing.T) {
	t.Parallel()
	s := open(t, nil, authserver.Clients(authserver.Client{
		ID: "web", Name: "Web", RedirectURIs: []string{"https://app.example.com/cb", "http://127.0.0.1/cb", "http://localhost:3000/cb?x=1"},
	}))
	b := s.browser()
	for _, to := range []string{
		"https://app.example.com/cb/", "https://app.example.com/cb?x=1", "https://app.example.com/cb#f", "https://app.example.com/CB", "https://APP.example.com/cb",
		"https://app.example.com:443/cb", "https://app.example.com:444/cb", "https://app.example.com./cb", "http://app.example.com/cb",
		"https://user@app.example.com/cb", "https://app.example.com@evil.example/cb", "https://evil.example/cb", "https://evil.example\\@app.example.com/cb",
		"https://app.example.com\\.evil.example/cb", "https://app.example.com%2f.evil.example/cb", "https://app.example.com/cb%2f", "https://app.example.com//cb",
		"https://app.example.com/x/../cb", "https://app.example.com/cb\n", " https://app.example.com/cb", "//app.example.com/cb", "/cb", "javascript:alert(1)//https://app.example.com/cb",
		"http://localhost/cb", "http://localhost:80/cb?x=2", "http://127.0.0.1:0/cb", "http://127.0.0.1:00/cb", "http://127.0.0.1:65536/cb", "http://127.0.0.1:/cb/", "http://127.0.0.2:80/cb", "http://[::1]:80/cb", "http://[::1%25eth0]/cb",
		"http://127.0.0.1.evil.example/cb", "http://127.0.0.1:1@evil.example/cb", "https://127.0.0.1/cb", "http://2130706433/cb", "http://0177.0.0.1/cb",
	} {
		a := b.do(http.MethodGet, s.ask("web", "redirect_uri", to), nil)
		if a.status != http.StatusBadRequest || a.header.Get("Location") != "" || !strings.Contains(a.header.Get("Content-Type"), "text/html") {
			t.Errorf("%q: %d %q", to, a.status, a.header.Get("Location"))
		}
	}
	for _, to := range []string{"https://app.example.com/cb", "http://127.0.0.1/cb", "http://127.0.0.1:51234/cb", "http://localhost:4567/cb?x=1"} {
		if a := b.do(http.MethodGet, s.ask("web", "redirect_uri", to), nil); a.status != http.StatusOK {
			t.Errorf("%q: %d", to, a.status)
		}
	}
	web := s.ask("web", "redirect_uri", "https://app.example.com/cb")
	for _, ask := range []string{s.ask("nobody"), s.ask("web", "redirect_uri", "-"), s.ask("web", "client_id", "-"), web + "&client_id=web", web + "&redirect_uri=https://evil.example/"} {
		if a := b.do(http.MethodGet, ask, nil); a.status != http.StatusBadRequest || a.to != nil {
			t.Errorf("%s: %d %v", ask, a.status, a.to)
		}
	}
}

// Everything else that is wrong goes back to the client, with the issuer.
func TestAuthorize_Errors(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	id := s.register(plainClient)
	b := s.browser()
	tests := map[string]struct{ ask, code string }{
		"token":            {s.ask(id, "response_type", "token"), "unsupported_response_type"},
		"no response type": {s.ask(id, "response_type", "-"), "unsupported_response_type"},
		"fragment":         {s.ask(id, "response_mode", "fragment"), "invalid_request"},
		"no challenge":     {s.ask(id, "code_challenge", "-"), "invalid_request"},
		"plain":            {s.ask(id, "code_challenge_method", "plain"), "invalid_request"},
		"no method":        {s.ask(id, "code_challenge_method", "-"), "invalid_request"},
		"short challenge":  {s.ask(id, "code_challenge", "abc"), "invalid_request"},
		"long challenge":   {s.ask(id, "code_challenge", strings.Repeat("a", 44)), "invalid_request"},
		"scope":            {s.ask(id, "scope", "admin"), "invalid_scope"},
		"resource":         {s.ask(id, "resource", "https://other.example/mcp"), "invalid_target"},
		"two resources":    {s.ask(id) + "&resource=https://other.example/mcp", "invalid_target"},
		"repeated":         {s.ask(id) + "&scope=x", "invalid_request"},
		"request object":   {s.ask(id, "request", "e30.e30."), "request_not_supported"},
		"silent":           {s.ask(id, "prompt", "none"), "consent_required"},
	}
	for name, tt := range tests {
		a := b.do(http.MethodGet, tt.ask, nil)
		if a.to == nil || !strings.HasPrefix(a.to.String(), callback+"?") {
			t.Errorf("%s: %d %v %s", name, a.status, a.to, a.body)
			continue
		}
		if q := a.to.Query(); q.Get("error") != tt.code || q.Get("iss") != s.issuer || q.Get("state") != "the-state" || q.Get("code") != "" {
			t.Errorf("%s: %v", name, q)
		}
	}
	if s.happened(authserver.VisitBegun) != 0 {
		t.Error("a visit was begun")
	}
	if a := b.do(http.MethodGet, s.ask(id, "state", strings.Repeat("s", 3000)), nil); a.to.Query().Get("error") != "invalid_request" || a.to.Query().Has("state") {
		t.Errorf("a long state: %v", a.to)
	}
	for _, ask := range []string{s.ask(id, "state", "-"), s.ask(id, "scope", "-"), s.ask(id, "resource", "-"), s.ask(id, "resource", s.resource+"/"), s.ask(id, "scope", "offline_access"), s.ask(id, "scope", "openid email profile"), s.ask(id, "scope", "notes:read openid")} {
		if a := b.do(http.MethodGet, ask, nil); a.status != http.StatusOK {
			t.Errorf("%s: %d %v", ask, a.status, a.to)
		}
	}
}

// A link with a wrong request leads a browser nowhere but to a trusted client: a client by hand, a
// site of the policy's domains, or a program on the user's machine. Others get a page (RFC 9700
// §4.11.2).
func TestAuthorize_ErrorsOfUntrustedClients(t *testing.T) {
	t.Parallel()
	const app, document = "https://app.example.com/cb", "https://client.example/meta.json"
	byHand := authserver.Clients(authserver.Client{ID: "web", RedirectURIs: []string{app}})
	fetcher := authserver.Documents(&web{pages: map[string]string{document: `{"client_id":"` + document + `","redirect_uris":["` + app + `"]}`}})
	anyone := open(t, nil, byHand, fetcher, authserver.Admission(authserver.Policy{Schemes: []string{"cursor"}}))
	within := open(t, nil, byHand, fetcher, authserver.Admission(authserver.Policy{Domains: []string{"client.example", "*.example.com"}}))
	registered := `{"redirect_uris":["` + app + `"]}`
	for name, tt := range map[string]struct {
		s        *site
		id, to   string
		redirect bool
	}{
		"by hand":               {anyone, "web", app, true},
		"registered":            {anyone, anyone.register(registered), app, false},
		"document":              {anyone, document, app, false},
		"on loopback":           {anyone, anyone.register(plainClient), callback, true},
		"private scheme":        {anyone, anyone.register(`{"redirect_uris":["cursor://cb"]}`), "cursor://cb", true},
		"domain, registered":    {within, within.register(registered), app, true},
		"domain, by a document": {within, document, app, true},
	} {
		for _, wrong := range []string{"response_type", "code_challenge", "scope"} {
			a := tt.s.browser().do(http.MethodGet, tt.s.ask(tt.id, "redirect_uri", tt.to, wrong, "wrong"), nil)
			if tt.redirect {
				if a.status != http.StatusSeeOther || a.to == nil || a.to.Query().Get("error") == "" {
					t.Errorf("%s, %s: %d %v", name, wrong, a.status, a.to)
				}
				continue
			}
			if a.status != http.StatusBadRequest || a.header.Get("Location") != "" || a.header.Get("Refresh") != "" {
				t.Errorf("%s, %s: %d %v", name, wrong, a.status, a.header)
			}
			link := regexp.MustCompile(`href="([^"]*)"`).FindStringSubmatch(a.body)
			if link == nil || !strings.Contains(a.body, "<strong>app.example.com</strong>") {
				t.Fatalf("%s, %s: %s", name, wrong, a.body)
			}
			back, err := url.Parse(html.UnescapeString(link[1]))
			if err != nil || !strings.HasPrefix(back.String(), app+"?") || back.Query().Get("error") == "" || back.Query().Get("iss") != tt.s.issuer || back.Query().Get("state") != "the-state" {
				t.Errorf("%s, %s: the link leads to %v", name, wrong, back)
			}
		}
	}
	if a := anyone.browser().do(http.MethodGet, anyone.ask("unknown"), nil); strings.Contains(a.body, "href") {
		t.Errorf("the page of an unknown client has a link: %s", a.body)
	}
}

// A response has state, iss and code once. A request without state gets none back.
func TestAuthorize_Response(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	id := s.register(`{"redirect_uris":["http://127.0.0.1/cb?keep=1"]}`)
	b := s.browser()
	a := b.press(b.login(s.ask(id, "redirect_uri", "http://127.0.0.1:9999/cb?keep=1", "state", "a b&c=d"), "ann"), "decision", "approve")
	q := a.to.Query()
	if a.to.Host != "127.0.0.1:9999" || q.Get("keep") != "1" || q.Get("state") != "a b&c=d" || q.Get("iss") != s.issuer || len(q["code"])+len(q["state"])+len(q["iss"]) != 3 || len(q) != 4 {
		t.Errorf("%v", a.to)
	}
	a = b.press(b.login(s.ask(id, "redirect_uri", "http://127.0.0.1:9999/cb?keep=1", "state", "-"), "ann"), "decision", "deny")
	q = a.to.Query()
	if q.Get("error") != "access_denied" || q.Has("state") || q.Get("iss") != s.issuer || q.Has("code") {
		t.Errorf("%v", a.to)
	}
	if s.happened(authserver.CodeIssued) != 1 || s.happened(authserver.Denied) != 1 {
		t.Errorf("%+v", s.events)
	}
}

// A form that another site sends is refused, with the cookies and without.
func TestConsent_ForgedPost(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	b := s.browser()
	page := b.login(s.ask(s.register(plainClient)), "ann")
	at := s.issuer + "/consent"
	form := page.fields()
	form.Set("decision", "approve")
	without := func(name string) url.Values {
		f := page.fields()
		f.Set("decision", "approve")
		f.Del(name)
		return f
	}
	other := s.browser()
	theirs := other.login(s.ask(s.register(plainClient)), "ann").fields()
	theirs.Set("decision", "approve")
	theirs.Set("visit", form.Get("visit"))
	for name, a := range map[string]*answer{
		"cross-site":         b.do(http.MethodPost, at, form, "Sec-Fetch-Site", "cross-site"),
		"same-site":          b.do(http.MethodPost, at, form, "Sec-Fetch-Site", "same-site"),
		"foreign origin":     b.do(http.MethodPost, at, form, "Origin", "https://evil.example"),
		"null origin":        b.do(http.MethodPost, at, form, "Origin", "null"),
		"no token":           b.do(http.MethodPost, at, without("token"), "Sec-Fetch-Site", "same-origin"),
		"no user":            b.do(http.MethodPost, at, without("user"), "Sec-Fetch-Site", "same-origin"),
		"no visit":           b.do(http.MethodPost, at, without("visit"), "Sec-Fetch-Site", "same-origin"),
		"no decision":        b.do(http.MethodPost, at, without("decision"), "Sec-Fetch-Site", "same-origin"),
		"another browser":    s.browser().do(http.MethodPost, at, form, "Sec-Fetch-Site", "same-origin"),
		"token of another":   b.do(http.MethodPost, at, theirs, "Sec-Fetch-Site", "same-origin"),
		"visit of another":   other.do(http.MethodPost, at, form, "Sec-Fetch-Site", "same-origin"),
		"JSON":               send(t, b.c, http.MethodPost, at, strings.NewReader("{}"), []string{"Content-Type", "application/json", "Sec-Fetch-Site", "same-origin"}),
		"parameter repeated": send(t, b.c, http.MethodPost, at, strings.NewReader(form.Encode()+"&decision=deny"), []string{"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin"}),
	} {
		if a.status < 400 || a.to != nil {
			t.Errorf("%s: %d %v", name, a.status, a.to)
		}
	}
	guess := s.browser() // with a cookie of that name, and the form's token that belongs to it
	form.Set("token", authserver.FormToken("guess", form.Get("user")))
	if a := guess.do(http.MethodPost, at, form, "Sec-Fetch-Site", "same-origin", "Cookie", "as-visit-"+form.Get("visit")+"=guess"); a.status != http.StatusForbidden || a.to != nil {
		t.Errorf("a made-up cookie: %d %v", a.status, a.to)
	}
	if s.happened(authserver.CodeIssued) != 0 {
		t.Fatal("a code was issued")
	}
	if a := b.press(page, "decision", "approve"); a.to == nil || a.to.Query().Get("code") == "" {
		t.Errorf("the right form: %d %s", a.status, a.body)
	}
}

// A double click, the back button and two tabs lead to one code for each visit.
func TestConsent_OneCode(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	b, id := s.browser(), s.register(plainClient)
	first := b.login(s.ask(id, "state", "one"), "ann")
	second := b.login(s.ask(id, "state", "two"), "ann")
	twice := b.login(s.ask(id, "state", "one"), "ann") // the same address in a third tab
	two := b.press(second, "decision", "approve").to.Query()
	one := b.press(first, "decision", "approve").to.Query()
	again := b.press(first, "decision", "approve").to.Query()
	denied := b.press(first, "decision", "deny").to.Query()
	if one.Get("state") != "one" || two.Get("state") != "two" || one.Get("code") == two.Get("code") || again.Get("code") != one.Get("code") || denied.Get("code") != one.Get("code") {
		t.Errorf("%v %v %v %v", one, two, again, denied)
	}
	if b.press(twice, "decision", "approve").to.Query().Get("code") == one.Get("code") {
		t.Error("two visits have one code")
	}
	if a := s.redeem(id, one.Get("code")); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// A user who has logged in since the page was shown is asked by their own name.
func TestConsent_AnotherUser(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	b, id := s.browser(), s.register(plainClient)
	old := b.login(s.ask(id), "ann")
	b.c.Jar.SetCookies(&url.URL{Scheme: "http", Host: strings.TrimPrefix(s.issuer, "http://"), Path: "/"}, []*http.Cookie{{Name: "as-user", Value: "", MaxAge: -1}})
	in := b.press(old, "decision", "approve") // logged out: the login page
	if in.status != http.StatusOK || !strings.Contains(in.body, "/login") {
		t.Fatalf("%d %s", in.status, in.body)
	}
	page := b.do(http.MethodGet, b.press(in, "name", "bob").to.String(), nil)
	if !strings.Contains(page.body, "bob") || strings.Contains(page.body, "Ann") {
		t.Fatalf("%s", page.body)
	}
	if a := b.press(old, "decision", "approve"); a.to != nil || !strings.Contains(a.body, "bob") {
		t.Errorf("the old page: %d %v", a.status, a.to)
	}
	a := s.redeem(id, b.press(page, "decision", "approve").to.Query().Get("code"))
	if p, ok := s.admits(a.text(t, "access_token")); !ok || p.Subject != "bob" {
		t.Errorf("%+v", p)
	}
}

// Names of clients are text, cut, and without characters that change how others look.
func TestConsent_HostileNames(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for name, want := range map[string]string{
		`<script>alert(1)</script>`:               `&lt;script&gt;alert(1)&lt;/script&gt;`,
		`Claude` + "\u202e" + `elgooG` + "\u200b": `<strong>ClaudeelgooG</strong>`,
		strings.Repeat("A", 10_000):               strings.Repeat("A", 99) + "…</strong>",
		"":                                        "A program without a name",
		"Two\x00\r\nlines":                        "<strong>Twolines</strong>",
		`" onload="alert(1)`:                      `&#34; onload=&#34;alert(1)`,
		"{{.Nonce}}":                              "<strong>{{.Nonce}}</strong>",
		"Gоogle":                                  "The program chose this name itself.", // a Cyrillic o
	} {
		quoted := strings.NewReplacer(`"`, `\"`, "\x00", `\u0000`, "\r", `\r`, "\n", `\n`).Replace(name)
		page := s.browser().login(s.ask(s.register(`{"client_name":"`+quoted+`","redirect_uris":["`+callback+`"]}`)), "ann")
		if !strings.Contains(page.body, want) {
			t.Errorf("%.30q: %s", name, page.body)
		}
	}
}

// The page says who asks, where the answer goes, and for what; and nothing may frame or script it.
func TestConsent_Page(t *testing.T) {
	t.Parallel()
	s := open(t, nil, authserver.Clients(authserver.Client{ID: "web", Name: "Web", RedirectURIs: []string{"https://app.example.com:8443/cb"}}))
	page := s.browser().login(s.ask("web", "redirect_uri", "https://app.example.com:8443/cb"), "ann")
	for _, want := range []string{"<strong>Web</strong>", "app.example.com:8443", "Ann Miller", "Read your notes", "Write notes", s.resource, `lang="en"`} {
		if !strings.Contains(page.body, want) {
			t.Errorf("%s is missing in %s", want, page.body)
		}
	}
	if strings.Contains(page.body, "your own machine") {
		t.Error("the warning of loopback is on a page of https")
	}
	csp := page.header.Get("Content-Security-Policy")
	if !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") || page.header.Get("X-Frame-Options") != "DENY" ||
		page.header.Get("Cache-Control") != "no-store" || page.header.Get("Referrer-Policy") != "same-origin" || page.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%v", page.header)
	}
	if local := s.browser().login(s.ask(s.register(plainClient)), "ann"); !strings.Contains(local.body, "your own machine") || !strings.Contains(local.body, "127.0.0.1:7777") {
		t.Errorf("loopback is not said: %s", local.body)
	}
	german := s.browser().do(http.MethodGet, s.ask("nobody"), nil, "Accept-Language", "xx, de-CH;q=0.8, en;q=0.5")
	if !strings.Contains(german.body, `lang="de"`) || !strings.Contains(german.body, "kennt das Programm nicht") {
		t.Errorf("%s", german.body)
	}
}

// Each cookie of an https issuer, also one that is removed, is only for this host, for https, and
// neither for scripts nor for forms of other sites.
func TestCookies(t *testing.T) {
	t.Parallel()
	const issuer = "https://127.0.0.1:8443"
	for name, tt := range map[string]struct {
		mode authserver.Mode
		want []string
	}{
		"Own": {authserver.Own(authserver.DevLogin(ann())), []string{"__Host-as-login", "__Host-as-user", "__Host-as-visit-"}},
		"Broker": {
			authserver.Broker(authserver.Provider{
				ClientID: "shop", Authorize: "https://idp.example/authorize", Token: "https://idp.example/token",
				Identity: func(context.Context, *authserver.UpstreamToken) (*authserver.User, error) {
					return nil, authserver.ErrUnknown
				},
			}),
			[]string{"__Host-as-visit-"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			as, err := authserver.New(issuer, tt.mode, authserver.Resource(issuer+"/mcp"), noteScopes(), authserver.Limit(1000, 1000, 1000, nil),
				authserver.Clients(authserver.Client{ID: "web", RedirectURIs: []string{callback}}))
			if err != nil {
				t.Fatal(err)
			}
			var got []*http.Cookie
			web := &site{t: t, issuer: issuer, resource: issuer + "/mcp"}
			b := &browser{t, &http.Client{Transport: handled(func(r *http.Request) *http.Response {
				w := httptest.NewRecorder()
				as.Handler().ServeHTTP(w, r)
				resp := w.Result()
				resp.Request = r
				got = append(got, resp.Cookies()...)
				return resp
			}), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, web}
			if b.c.Jar, err = cookiejar.New(nil); err != nil {
				t.Fatal(err)
			}
			for range 12 { // more than a browser may keep
				b.login(web.ask("web"), "ann")
			}
			removed, names := 0, map[string]bool{}
			for _, c := range got {
				names[c.Name[:min(len(c.Name), len("__Host-as-visit-"))]] = true
				if c.MaxAge < 0 {
					removed++
				}
				if !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
					t.Errorf("%s", c)
				}
			}
			if found := slices.Sorted(maps.Keys(names)); !slices.Equal(found, tt.want) || removed == 0 {
				t.Errorf("cookies %v, %d removed", found, removed)
			}
		})
	}
}

// handled answers requests without a network.
type handled func(r *http.Request) *http.Response

func (h handled) RoundTrip(r *http.Request) (*http.Response, error) { return h(r), nil }

// A second request of the same client shows what is new.
func TestConsent_StepUp(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	b, id := s.browser(), s.register(plainClient)
	b.code(s.ask(id, "scope", "notes:read"), "ann")
	page := b.login(s.ask(id), "ann")
	_, read, _ := strings.Cut(page.body, "Read your notes")
	read, write, _ := strings.Cut(read, "Write notes")
	if strings.Contains(read, `class="tag"`) || !strings.Contains(write, `class="tag"`) {
		t.Errorf("%s", page.body)
	}
}

// Only who was not sent here by another site is spared the page, and never for clients that anybody
// could be.
func TestConsent_CrossSiteIsNeverSilent(t *testing.T) {
	t.Parallel()
	const other = "https://other.example.com/mcp"
	s := open(t, nil, authserver.Remember(time.Hour), authserver.Resource(other), authserver.Clients(
		authserver.Client{ID: "web", Name: "Web", RedirectURIs: []string{"https://app.example.com/cb", "https://app.example.com/cb2"}},
		authserver.Client{ID: "local", Name: "Local", RedirectURIs: []string{callback}},
	))
	b := s.browser()
	web := []string{"redirect_uri", "https://app.example.com/cb"}
	b.code(s.ask("web", web...), "ann")
	b.code(s.ask("local"), "ann")
	registered := s.register(`{"redirect_uris":["https://app.example.com/cb"]}`)
	b.code(s.ask(registered, web...), "ann")
	tests := map[string]struct {
		ask, site string
		silent    bool
	}{
		"typed":          {s.ask("web", web...), "none", true},
		"own page":       {s.ask("web", web...), "same-origin", true},
		"fewer scopes":   {s.ask("web", append(web, "scope", "notes:read")...), "none", true},
		"cross-site":     {s.ask("web", web...), "cross-site", false},
		"same-site":      {s.ask("web", web...), "same-site", false},
		"old browser":    {s.ask("web", web...), "", false},
		"other redirect": {s.ask("web", "redirect_uri", "https://app.example.com/cb2"), "none", false},
		"other resource": {s.ask("web", append(web, "resource", other)...), "none", false},
		"loopback":       {s.ask("local"), "none", false},
		"registered":     {s.ask(registered, web...), "none", false},
	}
	for name, tt := range tests {
		headers := []string{"Sec-Fetch-Site", tt.site}
		if tt.site == "" {
			headers = nil
		}
		a := b.do(http.MethodGet, tt.ask, nil, headers...)
		if silent := a.to != nil && a.to.Query().Get("code") != ""; silent != tt.silent {
			t.Errorf("%s: silent %v (%d)", name, silent, a.status)
		}
	}
}

// Revoke also forgets what the user agreed to, so the next authorization shows the page.
func TestConsent_AfterRevoke(t *testing.T) {
	t.Parallel()
	const back = "https://app.example.com/cb"
	s := open(t, nil, authserver.Remember(time.Hour), authserver.Clients(
		authserver.Client{ID: "web", Name: "Web", RedirectURIs: []string{back}},
		authserver.Client{ID: "shop", Name: "Shop", RedirectURIs: []string{back}},
	))
	b := s.browser()
	ask := func(client string) string { return s.ask(client, "redirect_uri", back) }
	b.code(ask("web"), "ann")
	b.code(ask("shop"), "ann")
	for i, tt := range []struct {
		revoked string
		silent  map[string]bool
	}{
		{"web", map[string]bool{"web": false, "shop": true}},
		{"", map[string]bool{"web": false, "shop": false}},
	} {
		if _, err := s.server.Revoke(t.Context(), "ann", tt.revoked); err != nil {
			t.Fatal(err)
		}
		for client, want := range tt.silent {
			a := b.do(http.MethodGet, ask(client), nil, "Sec-Fetch-Site", "none")
			if silent := a.to != nil; silent != want {
				t.Errorf("%d: %s: silent %v (%d)", i, client, silent, a.status)
			}
		}
	}
}

func TestLogin_ForgedPost(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	b := s.browser()
	page := b.do(http.MethodGet, s.ask(s.register(plainClient)), nil)
	at := s.issuer + "/login"
	form := page.fields()
	form.Set("name", "ann")
	elsewhere := page.fields()
	elsewhere.Set("name", "ann")
	elsewhere.Set("back", "https://evil.example/")
	for name, a := range map[string]*answer{
		"cross-site":      b.do(http.MethodPost, at, form, "Sec-Fetch-Site", "cross-site"),
		"another browser": s.browser().do(http.MethodPost, at, form, "Sec-Fetch-Site", "same-origin"),
		"no token":        b.do(http.MethodPost, at, url.Values{"name": {"ann"}, "back": form["back"]}, "Sec-Fetch-Site", "same-origin"),
		"unknown user":    b.press(page, "name", "eve"),
		"back elsewhere":  b.do(http.MethodPost, at, elsewhere, "Sec-Fetch-Site", "same-origin"),
		"page for others": b.do(http.MethodGet, at+"?back=//evil.example/consent?visit=1", nil),
	} {
		if a.status < 400 || a.to != nil {
			t.Errorf("%s: %d %v", name, a.status, a.to)
		}
	}
	if s.happened(authserver.LoggedIn) != 0 {
		t.Error("a user was logged in")
	}
}

func TestLogin_Limited(t *testing.T) {
	t.Parallel()
	tries := 0
	mode := authserver.Own(authserver.Passwords(
		func(_ context.Context, name, password string) (*authserver.User, error) {
			if tries++; name == "ann" && password == "right" {
				return &authserver.User{Subject: "ann"}, nil
			}
			return nil, authserver.ErrUnknown
		},
		func(_ context.Context, subject string) (*authserver.User, error) {
			return &authserver.User{Subject: subject}, nil
		},
	))
	s := open(t, mode, authserver.Limit(10, 3, 1000, nil))
	b := s.browser()
	page := b.do(http.MethodGet, s.ask(s.register(plainClient)), nil)
	form := page.fields()
	form.Set("name", "ann")
	status := []int{}
	for _, password := range []string{"wrong", "wrong", "right", "right"} {
		form.Set("password", password)
		status = append(status, b.do(http.MethodPost, s.issuer+"/login", form, "Sec-Fetch-Site", "same-origin").status)
	}
	if status[0] != 403 || status[1] != 403 || status[2] != 303 || status[3] != 429 || tries != 3 {
		t.Errorf("%v after %d checks", status, tries)
	}
}

// A page that was left open for too long sends nothing to the client.
func TestConsent_Expired(t *testing.T) {
	t.Parallel()
	s := open(t, nil, authserver.Lives(authserver.Lifetimes{Visit: time.Second}))
	b := s.browser()
	page := b.login(s.ask(s.register(plainClient)), "ann")
	time.Sleep(1100 * time.Millisecond)
	if a := b.press(page, "decision", "approve"); a.status != http.StatusBadRequest || a.to != nil || !strings.Contains(a.body, "too old") {
		t.Errorf("%d %v", a.status, a.to)
	}
}
