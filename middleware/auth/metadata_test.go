package auth_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/middleware/auth"
)

const wellKnown = "/.well-known/oauth-protected-resource"

func TestMetadata(t *testing.T) {
	t.Parallel()
	a := auth.Bearer(auth.Static{"key": {Subject: "alice"}}, auth.Resource(resource), auth.AuthorizationServers("https://login.example.com"),
		auth.Require("mcp"), auth.Supported("mcp", "orders:read", "offline_access"))
	const document = `{"resource":"` + resource + `","authorization_servers":["https://login.example.com"],` +
		`"scopes_supported":["mcp","orders:read"],"bearer_methods_supported":["header"]}`
	overHTTP(t, a, func(t *testing.T, s *site) {
		for _, path := range []string{wellKnown, wellKnown + "/mcp", wellKnown + "/mcp/"} {
			got := s.send(t, http.MethodGet, path, "", "Origin", "https://page.example.com")
			if got.status != 200 || got.body != document || got.header.Get("Content-Type") != "application/json" ||
				got.header.Get("Access-Control-Allow-Origin") != "*" || got.header.Get("Cache-Control") != "public, max-age=3600" {
				t.Errorf("%s: %d %s %v", path, got.status, got.body, got.header)
			}
			if got := s.send(t, http.MethodHead, path, ""); got.status != 200 || got.body != "" || got.header.Get("Content-Type") != "application/json" {
				t.Errorf("HEAD %s: %d %s %v", path, got.status, got.body, got.header)
			}
			got = s.send(t, http.MethodOptions, path, "", "Origin", "https://page.example.com", "Access-Control-Request-Method", "GET")
			if got.status != 204 || got.header.Get("Access-Control-Allow-Origin") != "*" || got.header.Get("Access-Control-Allow-Methods") != "GET, HEAD" ||
				got.header.Get("Access-Control-Allow-Headers") != "Mcp-Protocol-Version" {
				t.Errorf("OPTIONS %s: %d %v", path, got.status, got.header)
			}
			if got := s.send(t, http.MethodPost, path, "{}"); got.status != 405 || got.header.Get("Allow") != "GET, HEAD, OPTIONS" {
				t.Errorf("POST %s: %d %v", path, got.status, got.header)
			}
		}
		for _, path := range []string{wellKnown + "/other", wellKnown + "x", wellKnown + "/mcp/more"} {
			if got := s.send(t, http.MethodGet, path, ""); got.status != 404 {
				t.Errorf("%s: %d %s", path, got.status, got.body)
			}
		}
	})
}

// Without a resource and an authorization server there is nothing to tell, and a
// challenge names nothing.
func TestNoMetadata(t *testing.T) {
	t.Parallel()
	overHTTP(t, auth.Bearer(auth.Static{"key": {Subject: "alice"}}, auth.Resource(resource)), func(t *testing.T, s *site) {
		if got := s.send(t, http.MethodGet, wellKnown, ""); got.status != 404 {
			t.Errorf("%d %s", got.status, got.body)
		}
		if got := s.whoami(t); got.challenge() != "Bearer" {
			t.Errorf("challenge %q", got.challenge())
		}
	})
}

// describer is what carriers look for.
type describer interface {
	ServeMetadata(method, path string) (status int, header http.Header, body []byte)
}

// The well-known part comes between host and path (RFC 9728 §3.1), and the verifier
// says what it knows.
func TestMetadataOf(t *testing.T) {
	t.Parallel()
	jwt := func(audience string) *auth.JWT {
		return &auth.JWT{Issuer: "https://login.example.com/t1", Audience: audience}
	}
	tests := map[string]struct {
		verifier auth.Verifier
		opts     []auth.Option
		path     string
		resource string // "": there is none
		servers  string
	}{
		"origin":             {jwt(""), []auth.Option{auth.Resource("https://a.example.com")}, wellKnown, "https://a.example.com", "[https://login.example.com/t1]"},
		"origin with slash":  {jwt(""), []auth.Option{auth.Resource("https://a.example.com/")}, wellKnown, "https://a.example.com/", "[https://login.example.com/t1]"},
		"path":               {jwt(""), []auth.Option{auth.Resource("https://a.example.com/v1/mcp")}, wellKnown + "/v1/mcp", "https://a.example.com/v1/mcp", "[https://login.example.com/t1]"},
		"audience is a URL":  {jwt("https://a.example.com/mcp"), nil, wellKnown + "/mcp", "https://a.example.com/mcp", "[https://login.example.com/t1]"},
		"audience is a name": {jwt("shop"), nil, wellKnown, "", ""},
		"both said": {
			jwt("https://a.example.com/mcp"),
			[]auth.Option{auth.Resource("https://b.example.com"), auth.AuthorizationServers("https://x.example.com", "https://y.example.com")},
			wellKnown, "https://b.example.com", "[https://x.example.com https://y.example.com]",
		},
		"introspection":   {&auth.Introspection{Audience: "https://a.example.com/mcp"}, []auth.Option{auth.AuthorizationServers("https://x.example.com")}, wellKnown + "/mcp", "https://a.example.com/mcp", "[https://x.example.com]"},
		"no URL":          {jwt(""), []auth.Option{auth.Resource("a.example.com/mcp")}, wellKnown + "/mcp", "", ""},
		"with a password": {jwt(""), []auth.Option{auth.Resource("https://u:p@a.example.com/mcp")}, wellKnown + "/mcp", "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			guard := auth.Bearer(tt.verifier, tt.opts...)
			d, ok := guard.(describer)
			if !ok {
				t.Fatal("it says nothing")
			}
			status, _, body := d.ServeMetadata(http.MethodGet, tt.path)
			if tt.resource == "" {
				if status != 404 || body != nil {
					t.Errorf("%d %s", status, body)
				}
				return
			}
			var document struct {
				Resource string   `json:"resource"`
				Servers  []string `json:"authorization_servers"`
			}
			if err := json.Unmarshal(body, &document); err != nil || document.Resource != tt.resource || fmt.Sprint(document.Servers) != tt.servers {
				t.Errorf("%d %s %v", status, body, err)
			}
			_, err := guard.Authenticate(t.Context(), http.Header{})
			if got := refused(t, err).Challenge; !strings.Contains(got, `.example.com`+tt.path+`"`) {
				t.Errorf("the challenge is %s", got)
			}
		})
	}
}

// TestTokenSyntax tries each byte in a token. The characters of RFC 6750 §2.1 reach the verifier.
func TestTokenSyntax(t *testing.T) {
	t.Parallel()
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/"
	a := auth.Bearer(auth.Static{"key": {}})
	for c := range 256 {
		token := "a" + string([]byte{byte(c)}) + "b"
		_, err := a.Authenticate(t.Context(), http.Header{"Authorization": {"Bearer " + token}})
		want := http.StatusBadRequest
		if strings.IndexByte(allowed, byte(c)) >= 0 {
			want = http.StatusUnauthorized
		}
		if got := refused(t, err).Status; got != want {
			t.Errorf("%q: %d, want %d", token, got, want)
		}
	}
}

// What would end the quotes of a challenge is dropped, also where the program wrote it.
func TestChallengeIsOneField(t *testing.T) {
	t.Parallel()
	a := auth.Bearer(auth.Static{"key": {}}, auth.AuthorizationServers("https://login.example.com"),
		auth.Resource(`https://a.example.com/mcp"?x="\é`))
	_, err := a.Authenticate(t.Context(), nil)
	const want = `Bearer resource_metadata="https://a.example.com/.well-known/oauth-protected-resource/mcp%22?x="`
	if got := refused(t, err).Challenge; got != want {
		t.Errorf("%s", got)
	}
}
