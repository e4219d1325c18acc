package oauth_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol/client/oauth"
	"github.com/kagami-mcp/kagami/testkit"
)

// fetch returns the status and body of an answer of the listener, and follows redirects. It also
// checks the header. The address of the page had a code, so the answer must not be cached or
// framed, and browsers must not send its address to other sites.
func fetch(t testing.TB, method, address, host string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s %s: %s is %q", method, address, name, got)
		}
	}
	return resp.StatusCode, resp.Request.URL.RequestURI() + " " + string(body)
}

// A hostile page can reach the port: what has not the state of this visit changes nothing.
func TestVisit_ForeignStateDoesNotEndTheWait(t *testing.T) {
	t.Parallel()
	l := oauth.Listener()
	callback, err := l.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(callback)
	if err != nil || u.Hostname() != "127.0.0.1" || u.Path != "/callback" {
		t.Fatalf("the callback is %s", callback)
	}
	got := make(chan url.Values, 1)
	go func() {
		query, err := l.Receive(t.Context(), "right")
		if err != nil {
			t.Error(err)
		}
		got <- query
		l.Answer(nil)
	}()
	for _, tt := range []struct {
		method, path, host string
		status             int
	}{
		{http.MethodGet, "/callback?state=wrong&code=x", "", 400},
		{http.MethodGet, "/callback?code=x", "", 400},
		{http.MethodGet, "/callback?state=%zz", "", 400},
		{http.MethodPost, "/callback?state=right&code=x", "", 405},
		{http.MethodGet, "/callback?state=right&code=x", "evil.example:1", 403},
		{http.MethodGet, "/callback?state=right&code=x", "evil.example", 403},
		{http.MethodGet, "/callback?state=right&code=x", "127.0.0.1:1:2", 403},
		{http.MethodGet, "/callback?state=wrong&code=x", "127.0.0.1", 400}, // on port 80
		{http.MethodGet, "/callback?state=wrong&code=x", "localhost", 400},
		{http.MethodGet, "/callback?state=wrong&code=x", "[::1]", 400},
		{http.MethodGet, "/callback/?state=right&code=x", "", 404},
		{http.MethodGet, "/done", "", 404},
		{http.MethodGet, "/favicon.ico", "", 204},
	} {
		if status, _ := fetch(t, tt.method, "http://"+u.Host+tt.path, tt.host); status != tt.status {
			t.Errorf("%s %s of %q: %d; want %d", tt.method, tt.path, tt.host, status, tt.status)
		}
	}
	status, page := fetch(t, http.MethodGet, callback+"?state=right&code=x&code=y", "")
	if query := <-got; status != 200 || !strings.HasPrefix(page, "/done ") || !strings.Contains(page, "You are logged in") || len(query["code"]) != 2 {
		t.Errorf("%d %s; query %v", status, page, query)
	}
	if status, _ := fetch(t, http.MethodGet, callback+"?state=right&code=z", ""); status != 400 {
		t.Errorf("a second answer: %d", status)
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	open := func() bool {
		conn, err := net.Dial("tcp", u.Host)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}
	for range 100 { // another test may have the port now
		if !open() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Error("the port is still open")
}

// A port that is taken is an error, never another one.
func TestListenerPort(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	address, _ := taken.Addr().(*net.TCPAddr)
	if where, err := oauth.Listener(oauth.Port(address.Port)).Open(t.Context()); err == nil || !strings.Contains(err.Error(), "another program uses the port") {
		t.Errorf("%s, %v", where, err)
	}
	if six, err := net.Listen("tcp", "[::1]:0"); err == nil { // a browser finds localhost there first
		defer func() { _ = six.Close() }()
		address, _ = six.Addr().(*net.TCPAddr)
		if where, err := oauth.Listener(oauth.Port(address.Port), oauth.Localhost()).Open(t.Context()); err == nil || !strings.Contains(err.Error(), "another program uses the port") {
			t.Errorf("on ::1: %s, %v", where, err)
		}
	}
	if where, err := oauth.Listener(nil).Open(t.Context()); err == nil || !strings.Contains(err.Error(), "is nil") {
		t.Errorf("%s, %v", where, err)
	}
	l := oauth.Listener(oauth.Localhost(), oauth.Path("/oauth/done"))
	where, err := l.Open(t.Context())
	if err != nil || !regexp.MustCompile(`^http://localhost:\d+/oauth/done$`).MatchString(where) {
		t.Errorf("%s, %v", where, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// The redirect URI and the last page may have the same path.
func TestListenerPathOfTheLastPage(t *testing.T) {
	t.Parallel()
	l := oauth.Listener(oauth.Path("/done"))
	callback, err := l.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := l.Receive(t.Context(), "right")
		l.Answer(err)
	}()
	status, page := fetch(t, http.MethodGet, callback+"?state=right&code=x", "")
	if status != 200 || strings.Contains(page, "code=x") || !strings.Contains(page, "You are logged in") {
		t.Errorf("%d %s", status, page)
	}
	l.Answer(nil) // ends Receive, if it still waits
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// A visit that waits for its turn ends with its context.
func TestListenerHasOneVisit(t *testing.T) {
	t.Parallel()
	l := oauth.Listener()
	if _, err := l.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := l.Open(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second visit: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := l.Open(t.Context()); err != nil {
		t.Error(err)
	}
	_ = l.Close()
}

// Without a browser here, the address is pasted: the browser of another machine has ended at a port
// that is not there.
func TestPaste(t *testing.T) {
	t.Parallel()
	s := open(t)
	in, typed := io.Pipe()
	var mu sync.Mutex
	var screen bytes.Buffer
	out := writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		screen.Write(p)
		if page := regexp.MustCompile(`  (http\S+)\n`).FindSubmatch(p); page != nil {
			go elsewhere(t, string(page[1]), typed)
		}
		return len(p), nil
	})
	f := flow(t, oauth.Prompt(oauth.Terminal(in, out)))
	call(t, mustConnect(t, f, s.url), "hours", "ann")
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"wants you to log in at", "agree to: orders:read", "paste the address", "not where this login ends", "Logged in at"} {
		if !strings.Contains(screen.String(), want) {
			t.Errorf("the terminal does not show %q:\n%s", want, &screen)
		}
	}
}

// elsewhere is the browser of another machine: its user types nonsense first.
func elsewhere(t testing.TB, page string, typed io.Writer) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page, nil)
	if err != nil {
		t.Error(err)
		return
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		t.Error(err)
		return
	}
	_ = resp.Body.Close()
	_, _ = fmt.Fprintf(typed, "what?\n%s\n", resp.Header.Get("Location"))
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A user who does not come, and a program without a window.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	s := open(t)
	nothing := oauth.Browser(func(context.Context, string) error { return nil })
	if _, err := connect(t, flow(t, nothing, oauth.Patience(50*time.Millisecond)), s.url); !errors.Is(err, oauth.ErrLogin) || !strings.Contains(err.Error(), "no answer within 50ms") {
		t.Errorf("%v", err)
	}
	start := time.Now()
	if _, err := connect(t, flow(t), s.url); !errors.Is(err, oauth.ErrLogin) || time.Since(start) > 5*time.Second {
		t.Errorf("without a browser: %v", err)
	}
	s.issuer.Fault(testkit.ForeignState)
	if _, err := connect(t, flow(t, (&user{}).browser(t), oauth.Patience(50*time.Millisecond)), s.url); !errors.Is(err, oauth.ErrLogin) {
		t.Errorf("a foreign state: %v", err)
	}
}

// No secret is in events, errors or what types print.
func TestNoSecretIsWritten(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.issuer.Client("me", "canary-secret")
	var mu sync.Mutex
	var said strings.Builder
	say := func(values ...any) {
		mu.Lock()
		defer mu.Unlock()
		for _, v := range values {
			fmt.Fprintf(&said, "%v %+v %#v\n", v, v, v)
		}
	}
	creds := oauth.Credentials{ID: "me", Secret: "canary-secret"}
	f := flow(t, (&user{}).browser(t), oauth.Registered(creds), oauth.OnEvent(func(_ context.Context, e oauth.Event) { say(e) }))
	c := mustConnect(t, f, s.url)
	call(t, c, "hours", "ann")
	token, err := f.Token(t.Context(), s.url)
	if err != nil {
		t.Fatal(err)
	}
	secrets := []string{"canary-secret", token.Value, s.revoke()}
	say(token, creds)
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("got", "token", token) // the handler would write all fields of a value without LogValue
	say(logged.String())
	call(t, c, "hours", "ann")
	s.issuer.Fault(testkit.RefreshRevoked, testkit.Denies)
	s.revoke()
	_, err = c.CallTool(t.Context(), "hours", nil)
	say(err)
	in, err := f.Inspect(t.Context(), s.url)
	say(in, err, in.Steps, *in.Grant)
	for _, r := range s.issuer.Log() {
		for _, name := range []string{"code", "code_verifier", "refresh_token", "state", "client_secret"} {
			secrets = append(secrets, r.Form.Get(name))
		}
	}
	for _, secret := range secrets {
		if secret != "" && strings.Contains(said.String(), secret) {
			t.Errorf("%q is in what was said:\n%s", secret, &said)
		}
	}
	if len(secrets) < 10 || said.Len() < 500 {
		t.Errorf("%d secrets, %d bytes", len(secrets), said.Len())
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	one := oauth.Credentials{ID: "a"}
	for name, opts := range map[string][]oauth.Option{
		"nil":                     {nil},
		"two grants":              {oauth.ClientCredentials(), oauth.Assertion(oauth.AssertionFile("x")), oauth.Registered(one)},
		"a grant without client":  {oauth.ClientCredentials()},
		"no client id":            {oauth.Registered(oauth.Credentials{Secret: "x"})},
		"twice the same issuer":   {oauth.Registered(one, one)},
		"a document without path": {oauth.Document("https://a.example", nil)},
		"a document without TLS":  {oauth.Document("http://a.example/x", nil)},
		"no store":                {oauth.Keep(nil)},
		"no patience":             {oauth.Patience(0)},
	} {
		if _, err := oauth.New(opts...); err == nil {
			t.Errorf("%s is accepted", name)
		}
		if _, err := oauth.New(opts...); err != nil && !strings.HasPrefix(err.Error(), "oauth: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// edited is a Receiver of a program, which changes the answer.
type edited struct {
	oauth.Receiver
	edit func(url.Values)
}

func (e edited) Receive(ctx context.Context, state string) (url.Values, error) {
	query, err := e.Receiver.Receive(ctx, state)
	if err == nil {
		e.edit(query)
	}
	return query, err
}

// TestC22_ReceiverOfTheProgram checks that the answer is judged whatever the Receiver lets through.
func TestC22_ReceiverOfTheProgram(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(url.Values){
		"another state":     func(q url.Values) { q.Set("state", "another") },
		"no state":          func(q url.Values) { q.Del("state") },
		"two states":        func(q url.Values) { q.Add("state", "another") },
		"an empty iss":      func(q url.Values) { q.Set("iss", "") },
		"two of iss":        func(q url.Values) { q.Add("iss", q.Get("iss")) },
		"two codes":         func(q url.Values) { q.Add("code", "another") },
		"no code, no error": func(q url.Values) { q.Del("code") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			f := flow(t, (&user{}).browser(t), oauth.Receive(edited{oauth.Listener(), edit}))
			if _, err := f.Login(t.Context(), s.url); !errors.Is(err, oauth.ErrMixUp) {
				t.Errorf("%v", err)
			}
			if n := s.issuer.Requests("/token"); n != 0 {
				t.Errorf("%d codes were sent to the token endpoint", n)
			}
		})
	}
}
