package auth_test

import (
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/testkit"
)

// judge is an issuer whose answer to all introspections is the same.
func judge(body string) (*issuer, *auth.Introspection) {
	i := &issuer{}
	i.serve = func(*http.Request) (int, string) { return 200, body }
	return i, &auth.Introspection{
		Endpoint: "https://login.example.com/introspect", ClientID: "resource", Audience: resource, Client: &http.Client{Transport: i},
	}
}

func TestIntrospection(t *testing.T) {
	t.Parallel()
	const active = `{"active":true,"sub":"alice","iss":"i","aud":"` + resource + `","scope":"a b"`
	tests := map[string]struct {
		body string
		want string // "" is a refusal
		away bool
	}{
		"active":           {active + `}`, "alice", false},
		"a client":         {`{"active":true,"client_id":"robot","aud":["x","` + resource + `"]}`, "robot", false},
		"inactive":         {`{"active":false}`, "", false},
		"nothing":          {`{}`, "", false},
		"active as text":   {strings.Replace(active, "true", `"true"`, 1) + `}`, "", false},
		"expired":          {active + `,"exp":1}`, "", false},
		"just expired":     {active + `,"exp":` + unix(time.Now().Add(-time.Second)) + `}`, "", false},
		"not yet":          {active + `,"nbf":99999999999}`, "", false},
		"no audience":      {`{"active":true,"sub":"alice"}`, "", false},
		"of others":        {`{"active":true,"sub":"alice","aud":"https://x.example.com"}`, "", false},
		"nobody":           {`{"active":true,"aud":"` + resource + `"}`, "", false},
		"a numbered user":  {`{"active":true,"sub":7,"client_id":"robot","aud":"` + resource + `"}`, "", false},
		"a user, no sub":   {`{"active":true,"username":"ann","client_id":"robot","aud":"` + resource + `"}`, "", false},
		"no JSON":          {`<html>`, "", true},
		"an array":         {`[]`, "", true},
		"huge":             {active + `,"x":"` + strings.Repeat("x", 1<<20) + `"}`, "", true},
		"null":             {`null`, "", false},
		"to refresh":       {active + `,"token_use":"refresh_token"}`, "", false}, // as Ory Hydra answers
		"Keycloak's":       {active + `,"typ":"Refresh"}`, "", false},
		"of that type":     {active + `,"token_type":"refresh_token"}`, "", false},
		"to refresh later": {active + `,"typ":"Offline"}`, "", false}, // as Keycloak answers
		"to access":        {active + `,"token_use":"access_token","token_type":"Bearer","typ":"Bearer"}`, "alice", false},
		"exp is not sane":  {active + `,"exp":1e300}`, "alice", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, v := judge(tt.body)
			if tt.want == "" {
				bad(t, v, "token", tt.away)
				return
			}
			if p := good(t, v, "token"); p.Subject != tt.want {
				t.Errorf("it is %s", p.Subject)
			}
		})
	}
}

// The token and the secret travel as RFC 7662 §2.1 and RFC 6749 §2.3.1 say.
func TestIntrospectionRequest(t *testing.T) {
	t.Parallel()
	i, v := judge("")
	v.ClientID, v.ClientSecret = "a b:c", "ü&="
	i.serve = func(r *http.Request) (int, string) {
		body, _ := io.ReadAll(r.Body)
		id, secret, _ := r.BasicAuth()
		form, err := url.ParseQuery(string(body))
		if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" || r.URL.RawQuery != "" ||
			err != nil || form.Get("token") != "to+k/e~n=" || id != "a+b%3Ac" || secret != "%C3%BC%26%3D" {
			t.Errorf("%s %s %v: %s, %s %s", r.Method, r.URL, r.Header, body, id, secret)
		}
		return 200, `{"active":true,"sub":"alice","aud":"` + resource + `"}`
	}
	good(t, v, "to+k/e~n=")
}

func TestIntrospectionIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		active := `{"active":true,"sub":"alice","aud":"` + resource + `"}`
		i, v := judge(active)
		asked := func(want int, when string) {
			t.Helper()
			if n := i.fetched(); n != want {
				t.Errorf("%s: asked %d times, not %d", when, n, want)
			}
		}
		good(t, v, "one")
		good(t, v, "one")
		asked(1, "the same token")
		good(t, v, "two")
		asked(2, "another")
		// A token that was revoked is taken for half a minute at most.
		i.change(func() { i.serve = func(*http.Request) (int, string) { return 200, `{"active":false}` } })
		time.Sleep(29 * time.Second)
		good(t, v, "one")
		time.Sleep(time.Second)
		bad(t, v, "one", false)
		bad(t, v, "one", false)
		asked(3, "a refused token")
		i.change(func() { i.serve = func(*http.Request) (int, string) { return 200, active } })
		time.Sleep(5 * time.Second)
		good(t, v, "one")
		asked(4, "a token that is active again")
		// Nor is it taken for longer if its own end is far away.
		ends := strings.TrimSuffix(active, "}") + `,"exp":` + unix(time.Now().Add(time.Hour)) + `}`
		i.change(func() { i.serve = func(*http.Request) (int, string) { return 200, ends } })
		good(t, v, "long")
		i.change(func() { i.serve = func(*http.Request) (int, string) { return 200, `{"active":false}` } })
		time.Sleep(30 * time.Second)
		bad(t, v, "long", false)
		i.change(func() { i.serve = func(*http.Request) (int, string) { return 200, active } })
		good(t, v, "one")
		// A flood of made-up tokens does not drive good ones out.
		i.change(func() { i.serve = func(*http.Request) (int, string) { return 200, `{"active":false}` } })
		for n := range 5000 {
			bad(t, v, "made-up-"+time.Duration(n).String(), false)
		}
		before := i.fetched()
		good(t, v, "one")
		asked(before, "after a flood")
		for n := range 5000 {
			bad(t, v, "made-up-"+time.Duration(n).String(), false)
		}
		if n := i.fetched() - before; n < 3000 {
			t.Errorf("%d of 5000 refused tokens are kept, want at most 2000", 5000-n)
		}
		// Its own end comes first.
		i.change(func() {
			i.serve = func(*http.Request) (int, string) {
				return 200, strings.TrimSuffix(active, "}") + `,"exp":` + unix(time.Now().Add(2*time.Second)) + `}`
			}
		})
		good(t, v, "short")
		before = i.fetched()
		i.change(func() { i.serve = func(*http.Request) (int, string) { return 0, "" } })
		time.Sleep(2 * time.Second)
		bad(t, v, "short", true)
		asked(before+1, "an expired token")
		bad(t, v, "short", true)
		asked(before+2, "what was not answered is not kept")
	})
}

func unix(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

// TestIntrospectionForTwoResources: an answer that is kept for one resource does not let the token in
// at another one.
func TestIntrospectionForTwoResources(t *testing.T) {
	t.Parallel()
	i, v := judge(`{"active":true,"sub":"alice","aud":"` + resource + `"}`)
	v.Audience = ""
	for range 2 {
		if _, err := auth.Bearer(v, auth.Resource(resource)).Authenticate(at(t, "/mcp"), bearer("one")); err != nil {
			t.Error(err)
		}
		_, err := auth.Bearer(v, auth.Resource("https://other.example.com/mcp")).Authenticate(at(t, "/mcp"), bearer("one"))
		if told := refused(t, err); told.Status != http.StatusUnauthorized {
			t.Errorf("another resource: %d", told.Status)
		}
	}
	if n := i.fetched(); n != 2 {
		t.Errorf("asked %d times, want once for each resource", n)
	}
}

func TestIntrospectionOfEachCall(t *testing.T) {
	t.Parallel()
	i, v := judge(`{"active":true,"sub":"alice","aud":"` + resource + `"}`)
	v.TTL = -1
	good(t, v, "one")
	good(t, v, "one")
	if n := i.fetched(); n != 2 {
		t.Errorf("asked %d times", n)
	}
}

func TestSlowIntrospection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i, v := judge("")
		i.delay = time.Hour
		began := time.Now()
		bad(t, v, "one", true)
		if waited := time.Since(began); waited != 5*time.Second {
			t.Errorf("it waited %s", waited)
		}
	})
}

// Against a server, over HTTP: revoked, away, back again.
func TestIntrospectionOverHTTP(t *testing.T) {
	t.Parallel()
	for name, on := range carriers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			idp := testkit.IdP(t)
			v := &auth.Introspection{TTL: -1}
			v.Endpoint, v.ClientID, v.ClientSecret = idp.Introspection()
			s := newSite(t, newApp(auth.Bearer(v, auth.Resource(resource), auth.AuthorizationServers(idp.URL()))), on)
			token := idp.Token("alice", resource, time.Hour, "mcp")
			try := func() *answer { return s.whoami(t, "Authorization", "Bearer "+token) }
			if got := try(); got.status != 200 || !strings.Contains(got.body, "alice of "+idp.URL()+": mcp") {
				t.Errorf("%d %s %s", got.status, got.challenge(), got.body)
			}
			idp.Down(true)
			if got := try(); got.status != 503 || got.challenge() != "" || got.body != away {
				t.Errorf("the issuer is down: %d %s %s", got.status, got.challenge(), got.body)
			}
			idp.Down(false)
			idp.Revoke(token)
			want := `Bearer resource_metadata="` + metadataURL + `", error="invalid_token", error_description="the token is not valid here"`
			if got := try(); got.status != 401 || got.challenge() != want || got.body != unauthorized {
				t.Errorf("revoked: %d %s %s", got.status, got.challenge(), got.body)
			}
		})
	}
}
