package oauth_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode"

	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
)

// as is the metadata of an authorization server; %s is its issuer.
const as = `{"issuer":"%s","authorization_endpoint":"URL/authorize","token_endpoint":"URL/token","registration_endpoint":"URL/register","code_challenge_methods_supported":["S256"]}`

// asAt is the metadata of an issuer below the server.
func asAt(path string) string { return fmt.Sprintf(as, "URL"+path) }

const (
	prmPath = "/.well-known/oauth-protected-resource"
	asPath  = "/.well-known/oauth-authorization-server"
	oidPath = "/.well-known/openid-configuration"
)

type discoveryCase struct {
	documents map[string]string
	issuer    string // "" : an error; URL stands for the server
	err       error
	revision  string
	asked     []string // besides the first POST; nil: not looked at
}

// Where metadata is looked for, what of it is taken, and what ends the flow.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	prm := `{"resource":"URL/mcp","authorization_servers":["URL"]}`
	for name, tt := range map[string]discoveryCase{
		"C3 at the path": {
			map[string]string{prmPath + "/mcp": prm, asPath: asAt("")},
			"URL", nil, "2026-07-28",
			[]string{"GET " + prmPath + "/mcp", "GET " + asPath},
		},
		"C3 at the root after 404": {
			map[string]string{prmPath: prm, asPath: asAt("")},
			"URL", nil, "2026-07-28",
			[]string{"GET " + prmPath + "/mcp", "GET " + prmPath, "GET " + asPath},
		},
		"C3 announced": {
			map[string]string{"/mcp": `401|challenge Bearer resource_metadata="URL/prm"`, "/prm": prm, asPath: asAt("")},
			"URL", nil, "2026-07-28",
			[]string{"GET /prm", "GET " + asPath},
		},
		"C1 announced in another field": {
			map[string]string{"/mcp": "401|challenge Basic realm=\"x\"\nBearer resource_metadata=\"URL/prm\"", "/prm": prm, asPath: asAt("")},
			"URL", nil, "2026-07-28",
			[]string{"GET /prm", "GET " + asPath},
		},
		"C3 announced, missing": {map[string]string{"/mcp": `401|challenge Bearer resource_metadata="URL/prm"`, prmPath: prm, asPath: asAt("")}, "", oauth.ErrResource, "", nil},
		"C4 another resource":   {map[string]string{prmPath + "/mcp": `{"resource":"https://evil.example/mcp","authorization_servers":["URL"]}`}, "", oauth.ErrResource, "", nil},
		"C4 a sibling":          {map[string]string{prmPath + "/mcp": `{"resource":"URL/mcp2","authorization_servers":["URL"]}`}, "", oauth.ErrResource, "", nil},
		"C4 a prefix":           {map[string]string{prmPath + "/mcp": `{"resource":"URL/mc","authorization_servers":["URL"]}`}, "", oauth.ErrResource, "", nil},
		"C4 origin at the root": {map[string]string{prmPath: `{"resource":"URL/","authorization_servers":["URL"]}`, asPath: asAt("")}, "URL", nil, "2026-07-28", nil},
		"C4 origin, announced elsewhere": {
			map[string]string{"/mcp": `401|challenge Bearer resource_metadata="URL/prm"`, "/prm": `{"resource":"URL","authorization_servers":["URL"]}`}, "", oauth.ErrResource, "", nil,
		},
		"C4 the origin, at the path":        {map[string]string{prmPath + "/mcp": `{"resource":"URL","authorization_servers":["URL"]}`, asPath: asAt("")}, "", oauth.ErrResource, "", nil},
		"C4 a fragment":                     {map[string]string{prmPath: `{"resource":"URL/mcp#x","authorization_servers":["URL"]}`, asPath: asAt("")}, "", oauth.ErrResource, "", nil},
		"C4 announced for another endpoint": announcedAt(prmPath+"/admin", "URL/admin"),
		"C4 announced for a prefix":         announcedAt(prmPath+"/mc", "URL/mc"),
		"C4 announced with a query":         announcedAt(prmPath+"?x", "URL"),
		"C4 announced with a longer name":   announcedAt(prmPath+"-x", "URL"),
		"no authorization server":           {map[string]string{prmPath: `{"resource":"URL/mcp"}`}, "", oauth.ErrIssuer, "", nil},
		"C8 without a path": {
			map[string]string{prmPath: prm, oidPath: asAt("")},
			"URL", nil, "2026-07-28",
			[]string{"GET " + prmPath + "/mcp", "GET " + prmPath, "GET " + asPath, "GET " + oidPath},
		},
		"C8 with a path": {
			map[string]string{prmPath: `{"resource":"URL/mcp","authorization_servers":["URL/t1"]}`, "/t1" + oidPath: asAt("/t1")},
			"URL/t1", nil, "2026-07-28",
			[]string{"GET " + prmPath + "/mcp", "GET " + prmPath, "GET " + asPath + "/t1", "GET " + oidPath + "/t1", "GET /t1" + oidPath},
		},
		"C9 another issuer":   {map[string]string{prmPath: prm, asPath: fmt.Sprintf(as, "https://evil.example")}, "", oauth.ErrIssuer, "", nil},
		"C9 case":             {map[string]string{prmPath: `{"resource":"URL/mcp","authorization_servers":["URL/T"]}`, asPath + "/T": asAt("/t")}, "", oauth.ErrIssuer, "", nil},
		"C9 slash of a path":  {map[string]string{prmPath: `{"resource":"URL/mcp","authorization_servers":["URL/t/"]}`, asPath + "/t": asAt("/t")}, "", oauth.ErrIssuer, "", nil},
		"C9 slash of a host":  {map[string]string{prmPath: `{"resource":"URL/mcp","authorization_servers":["URL/"]}`, asPath: asAt("")}, "URL", nil, "2026-07-28", nil},
		"C10 metadata":        {map[string]string{asPath: asAt("")}, "URL", nil, "2025-03-26", []string{"GET " + prmPath + "/mcp", "GET " + prmPath, "GET " + asPath}},
		"C10 no metadata":     {map[string]string{}, "URL", nil, "2025-03-26", nil},
		"C8 not after a 429":  {map[string]string{prmPath: prm, asPath: "429|"}, "", oauth.ErrUnavailable, "", nil},
		"C10 not after a 429": {map[string]string{asPath: "429|"}, "", oauth.ErrUnavailable, "", nil},
		"C10 not after a 500": {map[string]string{prmPath + "/mcp": "500|"}, "", oauth.ErrUnavailable, "", nil},
		"C10 not after a bad document": {
			map[string]string{prmPath: `{"resource":1}`}, "", oauth.ErrResource, "", nil,
		},
		"C10 another issuer": {map[string]string{asPath: fmt.Sprintf(as, "https://evil.example")}, "", oauth.ErrIssuer, "", nil},
		"C37 a redirect":     {map[string]string{prmPath + "/mcp": "302|to http://169.254.169.254/"}, "", oauth.ErrUnsafeURL, "", nil},
		"C37 a redirect to what is right": {
			map[string]string{prmPath + "/mcp": "302|to /prm", "/prm": prm, asPath: asAt("")}, "", oauth.ErrUnsafeURL, "", nil,
		},
		"C37 plain http":         {map[string]string{prmPath: `{"resource":"URL/mcp","authorization_servers":["http://login.example.com"]}`}, "", oauth.ErrUnsafeURL, "", nil},
		"C37 link-local":         {map[string]string{prmPath: `{"resource":"URL/mcp","authorization_servers":["https://169.254.169.254"]}`}, "", oauth.ErrUnsafeURL, "", nil},
		"C20 only plain":         {map[string]string{prmPath: prm, asPath: strings.Replace(asAt(""), `"S256"`, `"plain"`, 1)}, "", oauth.ErrNoPKCE, "", nil},
		"C36 endpoints":          {map[string]string{prmPath: prm, asPath: strings.Replace(asAt(""), "URL/authorize", "javascript:alert(1)", 1)}, "", oauth.ErrUnsafeURL, "", nil},
		"megabytes":              {map[string]string{prmPath: strings.Repeat(" ", 2<<20) + prm}, "", oauth.ErrUnavailable, "", nil},
		"user information":       {map[string]string{prmPath: `{"resource":"URL/mcp","authorization_servers":["https://a@b.example"]}`}, "", oauth.ErrUnsafeURL, "", nil},
		"an issuer with a query": {map[string]string{prmPath: `{"resource":"URL/mcp","authorization_servers":["https://b.example?x=1"]}`}, "", oauth.ErrUnsafeURL, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := script(t, map[string]string{"/mcp": "401|challenge Bearer"})
			s.set(tt.documents)
			in, err := flow(t).Inspect(t.Context(), s.URL+"/mcp")
			if !errors.Is(err, tt.err) || tt.err == nil && in.Issuer != strings.ReplaceAll(tt.issuer, "URL", s.URL) || in.Revision != tt.revision && tt.err == nil {
				t.Errorf("issuer %q by %s, %v; want %q, %v\n%+v", in.Issuer, in.Revision, err, tt.issuer, tt.err, in.Steps)
			}
			endpoints := map[string]string{"authorization": s.URL + "/authorize", "token": s.URL + "/token", "registration": s.URL + "/register"}
			if tt.err == nil && !maps.Equal(in.Endpoints, endpoints) {
				t.Errorf("endpoints %v; want %v", in.Endpoints, endpoints)
			}
			if slices.Contains(in.Scopes, "offline_access") { // C29: no authorization server here lists it
				t.Errorf("asked for %q", in.Scopes)
			}
			if asked := s.requests()[1:]; tt.asked != nil && !slices.Equal(asked, tt.asked) {
				t.Errorf("asked %q", asked)
			}
			for _, step := range in.Steps {
				if step.Verdict == "" || step.Name == "" {
					t.Errorf("a step without words: %+v", step)
				}
			}
		})
	}
}

// TestDiscoveryHint checks the advice for metadata of another resource. The beginning of the
// server's URL is usually not an endpoint.
func TestDiscoveryHint(t *testing.T) {
	t.Parallel()
	const exactly, operator = "use exactly this URL", "the operator has to correct the metadata"
	for resource, want := range map[string]string{
		"URL": operator, "URL/": operator, "URL/a": operator, "URL/a/": operator,
		"URL/a/mc": exactly, "URL/a/mcp/x": exactly, "URL/b": exactly, "https://evil.example": "",
	} {
		s := script(t, map[string]string{
			"/a/mcp": "401|challenge Bearer", prmPath + "/a/mcp": `{"resource":"` + resource + `","authorization_servers":["URL"]}`,
		})
		_, err := flow(t).Inspect(t.Context(), s.URL+"/a/mcp")
		if !errors.Is(err, oauth.ErrResource) {
			t.Fatalf("%s: %v", resource, err)
		}
		for _, hint := range []string{exactly, operator} {
			if strings.Contains(err.Error(), hint) != (hint == want) {
				t.Errorf("%s: %v; want %q", resource, err, want)
			}
		}
	}
}

// announcedAt is a case of TestDiscovery where the challenge names a document about another resource.
func announcedAt(place, resource string) discoveryCase {
	document, _, _ := strings.Cut(place, "?")
	return discoveryCase{map[string]string{
		"/mcp":   `401|challenge Bearer resource_metadata="URL` + place + `"`,
		document: `{"resource":"` + resource + `","authorization_servers":["URL"]}`,
		asPath:   asAt(""),
	}, "", oauth.ErrResource, "", nil}
}

// StrictIssuer takes no slash, and PublicOnly no address of this machine.
func TestDiscoveryStrict(t *testing.T) {
	t.Parallel()
	s := script(t, map[string]string{
		"/mcp": "401|challenge Bearer", prmPath: `{"resource":"URL/mcp","authorization_servers":["URL/"]}`, asPath: asAt(""),
	})
	if _, err := flow(t, oauth.StrictIssuer()).Inspect(t.Context(), s.URL+"/mcp"); !errors.Is(err, oauth.ErrIssuer) {
		t.Errorf("StrictIssuer: %v", err)
	}
	before := len(s.requests())
	for name, c := range map[string]*http.Client{
		"the default":      nil,
		"another dialer":   {Transport: &http.Transport{DialContext: (&net.Dialer{}).DialContext, DisableKeepAlives: true}},
		"no transport":     {},
		"its own resolver": {Transport: &http.Transport{DisableKeepAlives: true}},
		"its own carrier":  {Transport: carrier{http.DefaultTransport}},
	} {
		opts := []oauth.Option{oauth.PublicOnly()}
		if c != nil {
			opts = append(opts, oauth.HTTPClient(c))
		}
		for _, address := range []string{s.URL + "/mcp", strings.Replace(s.URL, "127.0.0.1", "localhost", 1) + "/mcp"} {
			if _, err := flow(t, opts...).Inspect(t.Context(), address); !errors.Is(err, oauth.ErrUnsafeURL) {
				t.Errorf("%s, %s: %v", name, address, err)
			}
		}
	}
	if n := len(s.requests()); n != before {
		t.Errorf("%d requests got through", n-before)
	}
}

// TestC37_LessPublicThanTheServer checks that a public server cannot send the client to this machine.
func TestC37_LessPublicThanTheServer(t *testing.T) {
	t.Parallel()
	const public = "http://8.8.8.8"
	home := script(t, map[string]string{"/prm": `{"resource":"` + public + `/mcp","authorization_servers":["` + public + `"]}`, asPath: asAt("")})
	s := script(t, nil)
	place := s.URL
	s.URL = public
	direct := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if address != "8.8.8.8:80" {
			return new(net.Dialer).DialContext(ctx, network, address)
		}
		conn, err := new(net.Dialer).DialContext(ctx, network, s.Listener.Addr().String())
		return publicConn{conn}, err
	}}
	proxied := &http.Transport{DisableKeepAlives: true, Proxy: func(*http.Request) (*url.URL, error) { return url.Parse(place) }}
	for _, transport := range []http.RoundTripper{direct, proxied, carrier{direct}} {
		f := flow(t, oauth.HTTPClient(&http.Client{Transport: transport}), oauth.Plain("8.8.8.8"))
		for what, documents := range map[string]map[string]string{
			"announced metadata":   {"/mcp": `401|challenge Bearer resource_metadata="HOME/prm"`},
			"authorization server": {"/mcp": "401|challenge Bearer", prmPath: `{"resource":"URL/mcp","authorization_servers":["HOME"]}`},
			"itself":               {"/mcp": "401|challenge Bearer", prmPath: `{"resource":"URL/mcp","authorization_servers":["URL"]}`, asPath: asAt("")},
		} {
			for _, address := range []string{home.URL, strings.Replace(home.URL, "127.0.0.1", "localhost", 1)} {
				for path, text := range documents {
					s.set(map[string]string{path: strings.ReplaceAll(text, "HOME", address)})
				}
				want := oauth.ErrUnsafeURL
				if what == "itself" {
					want = nil
				}
				if _, err := f.Inspect(t.Context(), public+"/mcp"); !errors.Is(err, want) {
					t.Errorf("%T, %s at %s: %v", transport, what, address, err)
				}
			}
		}
	}
	if asked := home.requests(); len(asked) > 0 {
		t.Errorf("this machine was asked %q", asked)
	}
}

// TestC37_NameOfThisMachine checks that the name of a server on another machine cannot open this one,
// although the name first resolves to this machine.
func TestC37_NameOfThisMachine(t *testing.T) { //nolint:paralleltest // it replaces the resolver of the process
	resolveToThisMachine(t)
	const name = "http://evil.example"
	home := script(t, map[string]string{"/prm": `{"resource":"` + name + `/mcp","authorization_servers":["` + name + `"]}`, asPath: asAt("")})
	s := script(t, nil)
	s.URL = name
	direct := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if address != "evil.example:80" {
			return new(net.Dialer).DialContext(ctx, network, address)
		}
		conn, err := new(net.Dialer).DialContext(ctx, network, s.Listener.Addr().String())
		return publicConn{conn}, err
	}}
	for _, transport := range []http.RoundTripper{direct, carrier{direct}} {
		web := &http.Client{Transport: transport}
		f := flow(t, oauth.HTTPClient(web), oauth.Plain("evil.example"))
		for path, text := range map[string]string{
			"/mcp":  `401|challenge Bearer resource_metadata="` + home.URL + `/prm"`,
			prmPath: `{"resource":"URL/mcp","authorization_servers":["` + home.URL + `"]}`,
		} {
			s.set(map[string]string{"/mcp": "401|challenge Bearer", path: text})
			if _, err := f.Inspect(t.Context(), name+"/mcp"); !errors.Is(err, oauth.ErrUnsafeURL) {
				t.Errorf("%T, Inspect: %v", transport, err)
			}
			if _, err := client.Connect(t.Context(), client.HTTP(name+"/mcp", client.HTTPClient(web), f.HTTP())); !errors.Is(err, oauth.ErrUnsafeURL) {
				t.Errorf("%T, Connect: %v", transport, err)
			}
		}
	}
	if asked := home.requests(); len(asked) > 0 {
		t.Errorf("this machine was asked %q", asked)
	}
}

// resolveToThisMachine makes all names resolve to 127.0.0.1.
func resolveToThisMachine(t *testing.T) {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		for query := make([]byte, 512); ; {
			n, from, err := server.ReadFrom(query)
			if err != nil {
				return
			}
			end := 12 + bytes.IndexByte(query[12:n], 0) + 5 // of the question: a name, its type and its class
			answer := slices.Concat(query[:2], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[12:end])
			if query[end-3] == 1 { // the type A
				answer[7] = 1
				answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1)
			}
			_, _ = server.WriteTo(answer, from)
		}
	})
	former := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = former
		_ = server.Close()
		served.Wait()
	})
}

// carrier is a RoundTripper that is not known.
type carrier struct{ http.RoundTripper }

// What Inspect shows of a server where a login would work.
func TestInspect(t *testing.T) {
	t.Parallel()
	s, u := open(t), &user{}
	f := flow(t, u.browser(t))
	in, err := f.Inspect(t.Context(), s.url)
	if err != nil || in.Known != oauth.ByRegistration || in.Grant != nil || in.Resource != s.url || !slices.Equal(in.Scopes, []string{"orders:read", "offline_access"}) ||
		in.Endpoints["token"] != s.issuer.URL()+"/token" {
		t.Errorf("%+v, %v", in, err)
	}
	var names []string
	for _, step := range in.Steps {
		names = append(names, step.Name)
	}
	if want := []string{"challenge", "resource metadata", "issuer metadata", "scopes", "pkce", "registration"}; !slices.Equal(names, want) {
		t.Errorf("steps %q", names)
	}
	if n := len(s.issuer.Log()); n != 0 || u.seen() != 0 {
		t.Errorf("it has changed something: %d requests, %d pages", n, u.seen())
	}
	if _, err := f.Login(t.Context(), s.url); err != nil {
		t.Fatal(err)
	}
	if in, err := f.Inspect(t.Context(), s.url); err != nil || in.Grant == nil {
		t.Errorf("after a login: %+v, %v", in, err)
	}
}

// Browsers and proxies understand addresses in spellings that package net does not know. These are
// not names, so the client uses none of them.
func TestC37_SpellingsOfAddresses(t *testing.T) {
	t.Parallel()
	for host, used := range map[string]bool{
		"2130706433": false, "0x7f000001": false, "0X7F.1": false, "127.1": false, "0177.0.0.1": false, "127.0.0.1.": false, "169.254.43518": false, "a.0x": false, "example.1": false,
		"１２７.0.0.1": false, "127。0。0。1": false, "０Ｘ７ｆ．１": false, "①.0.0.①": false, "127.0.0.1｡": false,
		"127.0.0\u200b.1": false, "127.0.0.1\u00ad": false, "127\u2060.0.0.1": false, "127.0.0.\ufe001": false, "local\u00adhost": false, "ｌocalhost": false, "a.LOCAL\u034fHOST.": false,
		"a.localhost": true, "मराठी.example": true, "鏡１.example": true, "１.鏡": true, "münchen.example": true,
		"127.0.0.1": true, "[::1]": true, "[::ffff:127.0.0.1]": true, "1.example": true, "0x7f.example": true, "a1": true, "0xyz": true,
	} {
		s := script(t, map[string]string{
			"/mcp": "401|challenge Bearer", prmPath: `{"resource":"URL/mcp","authorization_servers":["URL"]}`,
			asPath: strings.Replace(asAt(""), "URL/token", "https://"+host+"/token", 1),
		})
		if _, err := flow(t).Inspect(t.Context(), s.URL+"/mcp"); errors.Is(err, oauth.ErrUnsafeURL) == used {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// Without the check of spellings, a proxy would be asked for an address of its own machine, because
// net/http drops characters that cannot be seen.
func TestC37_SpellingsAtAProxy(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0\u200b.1", "127.0.0.1\u00ad", "local\u2060host"} {
		var asked []string
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.Method+" "+r.Host)
			w.WriteHeader(http.StatusBadGateway)
		}))
		s := script(t, map[string]string{"/mcp": "401|challenge Bearer", prmPath: `{"resource":"URL/mcp","authorization_servers":["https://` + host + `"]}`})
		web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, Proxy: func(r *http.Request) (*url.URL, error) {
			if r.URL.Scheme == "http" {
				return nil, nil
			}
			return url.Parse(proxy.URL)
		}}}
		_, err := flow(t, oauth.HTTPClient(web)).Inspect(t.Context(), s.URL+"/mcp")
		proxy.Close()
		if !errors.Is(err, oauth.ErrUnsafeURL) || len(asked) > 0 {
			t.Errorf("%q: %v; the proxy was asked %q", host, err, asked)
		}
	}
}

// Metadata of a server cannot look like further lines of an error or a step.
func TestDiscoveryOnOneLine(t *testing.T) {
	t.Parallel()
	s := script(t, map[string]string{
		"/mcp":  "401|challenge Bearer",
		prmPath: `{"resource":"URL/mcp","authorization_servers":["https://127.0.0.1:1/\n\nok    pkce: \u001b[1mfalse\u009b31m"]}`,
	})
	in, err := flow(t).Inspect(t.Context(), s.URL+"/mcp")
	if !errors.Is(err, oauth.ErrUnsafeURL) {
		t.Fatal(err)
	}
	texts := []string{err.Error()}
	for _, step := range in.Steps {
		texts = append(texts, step.Verdict)
	}
	for _, text := range texts {
		if strings.ContainsFunc(text, unicode.IsControl) {
			t.Errorf("%q", text)
		}
	}
}

// The error of metadata that cannot be read does not blame another authorization server.
func TestDiscoveryOfWrongTypes(t *testing.T) {
	t.Parallel()
	for document, foreign := range map[string]bool{
		`{"issuer":"URL","scopes_supported":"all"}`: false, `{"issuer":7}`: false, `{`: false, `{"issuer":"https://evil.example"}`: true,
	} {
		s := script(t, map[string]string{"/mcp": "401|challenge Bearer", prmPath: `{"resource":"URL/mcp","authorization_servers":["URL"]}`, asPath: document})
		_, err := flow(t).Inspect(t.Context(), s.URL+"/mcp")
		if !errors.Is(err, oauth.ErrIssuer) || strings.Contains(err.Error(), "belongs to another authorization server") != foreign {
			t.Errorf("%s: %v", document, err)
		}
	}
}

// The error of an authorization server without metadata does not speak of metadata that was found.
func TestDiscoveryWithoutIssuerMetadata(t *testing.T) {
	t.Parallel()
	s := script(t, map[string]string{"/mcp": "401|challenge Bearer", prmPath: `{"resource":"URL/mcp","authorization_servers":["URL"]}`})
	_, err := flow(t).Inspect(t.Context(), s.URL+"/mcp")
	if !errors.Is(err, oauth.ErrIssuer) || !strings.Contains(err.Error(), "there is no metadata at") || strings.Contains(err.Error(), "was found") {
		t.Errorf("%v", err)
	}
}

// TestNoCookies checks that cookies of the program's HTTP client are not sent to authorization
// servers, and that it gets no cookies from them.
func TestNoCookies(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	s := script(t, map[string]string{"/mcp": "401|challenge Bearer", prmPath: `{"resource":"URL/mcp","authorization_servers":["URL"]}`, asPath: asAt("")})
	place, err := url.Parse(s.URL + prmPath)
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	jar.SetCookies(place, []*http.Cookie{{Name: "session", Value: "of the user", Path: "/"}})
	looking := transportFunc(func(r *http.Request) (*http.Response, error) {
		if strings.HasPrefix(r.URL.Path, "/.well-known/") && r.Header.Get("Cookie") != "" {
			sent.Add(1)
		}
		return http.DefaultTransport.RoundTrip(r)
	})
	if _, err := flow(t, oauth.HTTPClient(&http.Client{Transport: looking, Jar: jar})).Inspect(t.Context(), s.URL+"/mcp"); err != nil || sent.Load() != 0 {
		t.Errorf("%d of %q had the cookie, %v", sent.Load(), s.requests(), err)
	}
}

type transportFunc func(r *http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestOwnTLSDialIsNotUsed checks that DialTLSContext of the program is not called, because it would
// bypass the check of addresses.
func TestOwnTLSDialIsNotUsed(t *testing.T) {
	t.Parallel()
	var used atomic.Bool
	s := script(t, map[string]string{"/mcp": "401|challenge Bearer", prmPath: `{"resource":"URL/mcp","authorization_servers":["https://127.0.0.1:1"]}`})
	own := &http.Transport{DisableKeepAlives: true, DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
		used.Store(true)
		return nil, errors.New("not here")
	}}
	if _, err := flow(t, oauth.HTTPClient(&http.Client{Transport: own})).Inspect(t.Context(), s.URL+"/mcp"); err == nil || used.Load() {
		t.Errorf("used: %v, %v", used.Load(), err)
	}
}
