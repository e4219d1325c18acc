package transporttest

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/transport"
)

// httpHost is the scripted host with the services for carriers over HTTP. If demands is set, its
// authenticator accepts every bearer token, as the user's name.
type httpHost struct {
	*host
	demands   bool
	closing   chan struct{}
	abandoned chan struct{} // see transport.Services
	once      sync.Once
}

func newHTTPHost(t testing.TB) *httpHost {
	t.Helper()
	h := &httpHost{host: newHost(), closing: make(chan struct{}), abandoned: make(chan struct{})}
	h.concurrent = true
	t.Cleanup(func() { h.check(t) }) // runs after the cleanup that a SiteFunc registers
	return h
}

// Services implements transport.Server.
func (h *httpHost) Services() transport.Services {
	s := transport.Services{Closing: h.closing, Abandoned: h.abandoned}
	if h.demands {
		s.Authenticator = bearer{}
	}
	return s
}

func (h *httpHost) shutdown() { h.once.Do(func() { close(h.closing) }) }

type bearer struct{}

// Authenticate implements transport.Authenticator.
func (bearer) Authenticate(_ context.Context, header http.Header) (*transport.Principal, error) {
	name, ok := strings.CutPrefix(header.Get("Authorization"), "Bearer ")
	switch {
	case !ok:
		return nil, &transport.AuthError{Status: http.StatusUnauthorized, Challenge: `Bearer realm="test"`, Err: errors.New("no token")}
	case name == "panic":
		panic("scripted: in Authenticate")
	}
	return &transport.Principal{Issuer: "test", Subject: name}, nil
}

// raw is a connection for requests that a proper client would not send.
type raw struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
	host string
	path string
}

func dialRaw(t testing.TB, site string) *raw {
	t.Helper()
	u, err := url.Parse(site)
	if err != nil {
		t.Fatal(err)
	}
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	if u.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // it is our own
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	return &raw{t: t, conn: conn, in: bufio.NewReader(conn), host: u.Host, path: u.RequestURI()}
}

// ask is a request. fields replace the request's default header fields; an empty value removes a
// field.
type ask struct {
	method, path, version string // by default POST, the site's path, HTTP/1.1
	fields                []string
	body                  string
}

func (r *raw) send(a ask) {
	r.t.Helper()
	if _, err := io.WriteString(r.conn, r.text(a)); err != nil {
		r.t.Fatalf("writing the request: %v", err)
	}
}

func (r *raw) text(a ask) string {
	method, path, version := a.method, a.path, a.version
	if method == "" {
		method = http.MethodPost
	}
	if path == "" {
		path = r.path
	}
	if version == "" {
		version = "HTTP/1.1"
	}
	all := []string{"Host: " + r.host, "Accept: application/json, text/event-stream"}
	if method == http.MethodPost {
		all = append(all, "Content-Type: application/json", fmt.Sprintf("Content-Length: %d", len(a.body)))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s\r\n", method, path, version)
	for _, field := range all {
		if !replaced(field, a.fields) {
			b.WriteString(field + "\r\n")
		}
	}
	for _, field := range a.fields {
		if !strings.HasSuffix(field, ":") {
			b.WriteString(field + "\r\n")
		}
	}
	return b.String() + "\r\n" + a.body
}

func replaced(field string, by []string) bool {
	name, _, _ := strings.Cut(field, ":")
	for _, other := range by {
		if strings.HasPrefix(other, name+":") {
			return true
		}
	}
	return false
}

// answer is a whole response.
type answer struct {
	*http.Response
	body string
}

func (r *raw) answer(method string) answer {
	r.t.Helper()
	response := r.open(method)
	body, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatalf("reading the body after %q: %v", body, err)
	}
	_ = response.Body.Close()
	return answer{response, string(body)}
}

// open reads the header of a response.
func (r *raw) open(method string) *http.Response {
	r.t.Helper()
	response, err := http.ReadResponse(r.in, &http.Request{Method: method})
	if err != nil {
		r.t.Fatalf("reading the response: %v", err)
	}
	return response
}

func (r *raw) roundTrip(a ask) answer {
	r.t.Helper()
	r.send(a)
	method := a.method
	if method == "" {
		method = http.MethodPost
	}
	return r.answer(method)
}

// refused checks that the status is an error, and that the body is a JSON-RPC error.
func (a answer) refused(t testing.TB, status int) {
	t.Helper()
	var body struct {
		Version string          `json:"jsonrpc"`
		Error   json.RawMessage `json:"error"`
	}
	err := json.Unmarshal([]byte(a.body), &body)
	if a.StatusCode != status || err != nil || body.Version != "2.0" || body.Error == nil || a.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %s: %.200q, want %d and a JSON-RPC error", a.Status, a.Header.Get("Content-Type"), a.body, status)
	}
}

// frame returns a request to the scripted host.
func frame(id int, method string, s script) string {
	params, _ := json.Marshal(s) //nolint:errchkjson // strings and numbers
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
}

// eventually waits until ok returns true. It polls, because there is no signal.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
