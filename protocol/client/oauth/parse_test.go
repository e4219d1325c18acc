package oauth_test

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/client/oauth"
)

func TestFetch_AddressClasses(t *testing.T) {
	t.Parallel()
	for class, addresses := range [][]string{
		{"0.0.0.0", "::", "169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "224.0.0.1", "ff02::1", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "::a9fe:a9fe", "64:ff9b::"},
		{"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "::7f00:1"},
		{"10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fd00::1", "64:ff9b::a00:1", "64:ff9b::808:808", "2002:808:808::1", "192.0.2.1", "0.1.2.3", "::ffff:10.0.0.1", "198.18.0.1", "fec0::1", "::808:808", "2001::1"},
		{"8.8.8.8", "1.1.1.1", "2606:4700::1", "172.32.0.1", "100.128.0.1", "2001:4860:4860::8888"},
	} {
		for _, a := range addresses {
			if got := oauth.Reach(netip.MustParseAddr(a)); got != class {
				t.Errorf("%s: %d; want %d", a, got, class)
			}
		}
	}
}

// Plain http is for this machine alone. An IPv4 address in IPv6 may lead to another one.
func TestIsLoopback(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true,
		"64:ff9b::7f00:1": false, "2002:7f00:1::": false, "::7f00:1": false, "10.0.0.1": false, "a.example": false,
	} {
		if oauth.IsLoopback(host) != want {
			t.Errorf("%s: %t", host, !want)
		}
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://Shop.Example.com/MCP":        "https://shop.example.com/MCP",
		"https://shop.example.com:443/mcp#x":  "https://shop.example.com/mcp",
		"https://shop.example.com:8443/mcp?q": "https://shop.example.com:8443/mcp",
		"http://a:80/":                        "http://a",
		"https://a":                           "https://a",
		"https://u:p@a/b/":                    "https://a/b/",
		"https://a/b%2fc":                     "https://a/b%2fc",
		"ftp://a/b":                           "",
		"/mcp":                                "",
		"https:///mcp":                        "",
	} {
		got, err := oauth.Canonical(address)
		if got != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, oauth.ErrUnsafeURL) {
			t.Errorf("%s: %q, %v; want %q", address, got, err, want)
		}
	}
}

// CVE-2025-6514: what an authorization server names is opened without a shell, and only if it is a
// page.
func TestOpen_HostileURLs(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "vbscript:x", "ms-settings:", "http://evil.example/",
		"https:", "https:///x", "-a", "--help", "a:$(calc.exe)?response_type=code", "\\\\host\\share", "",
	} {
		if err := oauth.Openable(address); !errors.Is(err, oauth.ErrUnsafeURL) {
			t.Errorf("%q: %v", address, err)
		}
	}
	for _, address := range []string{"https://login.example.com/a?b=$(c)&d=%22", "http://127.0.0.1:8080/authorize", "http://localhost/a"} {
		if err := oauth.Openable(address); err != nil {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestBrowserProgram(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		system, env, want string
	}{
		"linux":             {"linux", "DISPLAY=:0", "xdg-open"},
		"wayland":           {"linux", "WAYLAND_DISPLAY=w", "xdg-open"},
		"linux, no display": {"linux", "", ""},
		"macOS":             {"darwin", "", "open"},
		"macOS over ssh":    {"darwin", "SSH_CONNECTION=x", ""},
		"windows":           {"windows", "", "rundll32"},
		"in CI":             {"windows", "CI=true", ""},
		"not wanted":        {"darwin", "BROWSER=none", ""},
	} {
		key, value, _ := strings.Cut(tt.env, "=")
		got, _ := oauth.BrowserProgram(tt.system, func(name string) string {
			if name == key {
				return value
			}
			return ""
		})
		if got != tt.want {
			t.Errorf("%s: %q; want %q", name, got, tt.want)
		}
	}
}

func TestTextOfStrangersIsOneLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\x1b[31mb\r\nc\u202ed\x00": "a [31mb  c d",
		strings.Repeat("x", 1000):    strings.Repeat("x", 300) + "…",
		"\xff\u200b ok":              "ok",
	} {
		if got := oauth.Cleaned(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestTokenAnswers checks that a token is used although other members of the answer have unusual types.
func TestTokenAnswers(t *testing.T) {
	t.Parallel()
	asked := []string{"asked"}
	for more, want := range map[string]struct {
		scopes []string
		life   bool
		err    string
	}{
		``:                                     {scopes: asked},
		`"scope":"a b","expires_in":60`:        {scopes: []string{"a", "b"}, life: true},
		`"scope":"","expires_in":"60"`:         {scopes: nil, life: true},
		`"scope":"a,b"`:                        {scopes: []string{"a", "b"}},
		`"scope":["a","b"],"expires_in":""`:    {scopes: []string{"a", "b"}},
		`"scope":[],"expires_in":60.5`:         {scopes: nil, life: true},
		`"scope":["a b","a"],"expires_in":-1`:  {scopes: []string{"a"}},
		`"scope":null,"expires_in":null`:       {scopes: asked},
		`"scope":[1],"expires_in":"soon"`:      {scopes: asked},
		`"scope":{"a":1},"expires_in":1e999`:   {scopes: asked},
		`"expires_in":"NaN"`:                   {scopes: asked},
		`"refresh_token":["canary"]`:           {err: "the token endpoint's answer cannot be read"},
		`"token_type":1`:                       {err: "the token endpoint's answer cannot be read"},
		`"access_token":""`:                    {err: "the token endpoint's answer has no access_token"},
		`"access_token":"","error":{"code":1}`: {err: "the token endpoint's answer cannot be read"},
		`"access_token":"canary\r\nX-More: 1"`: {err: "the token endpoint's answer has an access_token with characters that a header cannot have"},
		`"access_token":"\u001b[31mcanary"`:    {err: "the token endpoint's answer has an access_token with characters that a header cannot have"},
		`"access_token":"canäry"`:              {err: "the token endpoint's answer has an access_token with characters that a header cannot have"},
	} {
		t.Run(more, func(t *testing.T) {
			t.Parallel()
			answer := `{"access_token":"canary","token_type":"Bearer"`
			if more != "" {
				answer += "," + more
			}
			s := script(t, map[string]string{
				"/mcp": "401|challenge Bearer", prmPath: `{"resource":"URL/mcp","authorization_servers":["URL"]}`, asPath: asAt(""),
				"/token": answer + "}",
			})
			f := flow(t, oauth.ClientCredentials(), oauth.Registered(oauth.Credentials{ID: "robot", Secret: "s3cret"}), oauth.Scopes(asked...))
			g, err := f.Login(t.Context(), s.URL+"/mcp")
			if want.err != "" {
				if !errors.Is(err, oauth.ErrDenied) || !strings.Contains(err.Error(), want.err) || strings.Contains(err.Error(), "canary") {
					t.Errorf("%v; want %s", err, want.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(g.Scopes, want.scopes) || g.Expires.IsZero() == want.life {
				t.Errorf("scopes %q until %s; want %q, %v", g.Scopes, g.Expires, want.scopes, want.life)
			}
		})
	}
}
