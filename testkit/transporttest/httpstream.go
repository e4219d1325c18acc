package transporttest

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// testKeepAlive: a request that is answered at once leaves the connection open. On a slow machine
// an answer may come late and close the connection; then the test tries again.
func testKeepAlive(t *testing.T, serve SiteFunc) {
	site := serve(t, newHTTPHost(t), Settings{})
	again(t, func() bool {
		c := dialRaw(t, site.URL)
		for i, a := range []ask{
			echoing(), {body: frame(2, "silent", script{})}, echoing("Host: evil.example.com"), echoing("Content-Type: text/plain"), echoing(),
		} {
			got := c.roundTrip(a)
			if got.StatusCode != []int{200, 202, 403, 415, 200}[i] {
				t.Errorf("request %d: %s", i, got.Status)
			}
			if got.Close {
				return false
			}
		}
		return true
	})
}

func again(t testing.TB, try func() bool) {
	t.Helper()
	for range 50 {
		if try() {
			return
		}
	}
	t.Error("the connection is never kept")
}

func testPipelined(t *testing.T, serve SiteFunc) {
	site := serve(t, newHTTPHost(t), Settings{})
	again(t, func() bool {
		c := dialRaw(t, site.URL)
		var all strings.Builder
		for id := range 3 {
			all.WriteString(c.text(ask{body: frame(id, "echo", script{Text: strings.Repeat("x", id*100)})}))
		}
		if _, err := io.WriteString(c.conn, all.String()); err != nil {
			t.Fatal(err)
		}
		for id := range 3 {
			a := c.answer(http.MethodPost)
			if !strings.Contains(a.body, fmt.Sprintf(`"id":%d,"result":{"text":"%s"}`, id, strings.Repeat("x", id*100))) {
				t.Errorf("answer %d: %s, %q", id, a.Status, a.body)
			}
			if a.Close {
				return false
			}
		}
		return true
	})
}

// testHTTP10: a client without support for chunks reads to the end of the connection.
func testHTTP10(t *testing.T, serve SiteFunc) {
	site := serve(t, newHTTPHost(t), Settings{})
	for method, last := range map[string]string{"echo": `"text":"x"`, "many": `"text":"done"`} {
		c := dialRaw(t, site.URL)
		c.send(ask{version: "HTTP/1.0", body: frame(1, method, script{Text: "x", Count: 3})})
		all, err := io.ReadAll(c.in)
		head, body, _ := strings.Cut(string(all), "\r\n\r\n")
		if err != nil || strings.Contains(head, "Transfer-Encoding") || strings.HasSuffix(body, "0\r\n\r\n") || !strings.Contains(body, last) {
			t.Errorf("%s: %v, %q", method, err, all)
		}
	}
}

func testExpect(t *testing.T, serve SiteFunc) {
	c := dialRaw(t, serve(t, newHTTPHost(t), Settings{}).URL)
	a := echoing()
	text := c.text(ask{fields: []string{"Expect: 100-continue", fmt.Sprintf("Content-Length: %d", len(a.body))}})
	if _, err := io.WriteString(c.conn, text); err != nil {
		t.Fatal(err)
	}
	if got := c.open(http.MethodPost); got.StatusCode != http.StatusContinue { //nolint:bodyclose // it has none
		t.Fatalf("got %s before the body", got.Status)
	}
	if _, err := io.WriteString(c.conn, a.body); err != nil {
		t.Fatal(err)
	}
	if got := c.answer(http.MethodPost); got.StatusCode != http.StatusOK {
		t.Errorf("got %s after the body", got.Status)
	}
}

func testHalfSent(t *testing.T, serve SiteFunc) {
	host := newHTTPHost(t)
	site := serve(t, host, Settings{})
	for range 3 {
		c := dialRaw(t, site.URL)
		text := c.text(echoing())
		if _, err := io.WriteString(c.conn, text[:len(text)-5]); err != nil {
			t.Fatal(err)
		}
		if err := c.conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	dialRaw(t, site.URL).roundTrip(echoing())
	site.Stop()
	if n := host.accepted.Load(); n != 1 {
		t.Errorf("%d frames were accepted, want the whole one only", n)
	}
}

// testSlowSender: header and body must arrive within ReadTimeout.
func testSlowSender(t *testing.T, serve SiteFunc) {
	host := newHTTPHost(t)
	site := serve(t, host, Settings{ReadTimeout: 100 * time.Millisecond})
	for _, keep := range []int{5, 100, -3} {
		c := dialRaw(t, site.URL)
		text := c.text(echoing())
		if keep < 0 {
			keep += len(text)
		}
		if _, err := io.WriteString(c.conn, text[:keep]); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(c.in); err != nil {
			if timeout, ok := err.(net.Error); ok && timeout.Timeout() { //nolint:errorlint // as net returns it
				t.Errorf("a request of %d bytes that does not go on is waited for", keep)
			}
		}
	}
	if n := host.accepted.Load(); n != 0 {
		t.Errorf("%d halves were accepted", n)
	}
}

func testStream(t *testing.T, serve SiteFunc) {
	host := newHTTPHost(t)
	site := serve(t, host, Settings{})
	c := dialRaw(t, site.URL)
	c.send(ask{body: frame(7, "many", script{Count: 50})})
	response := c.open(http.MethodPost) //nolint:bodyclose // it ends with the connection
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"} {
		if got := response.Header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	broken := make(chan error, 1)
	next := 0
	for e := range events(ended(response.Body, broken)) {
		var r reply
		if err := json.Unmarshal(e.data, &r); err != nil {
			t.Fatal(err)
		}
		if r.Method == "note" && r.Params.Seq != next || r.Method == "" && (next != 50 || r.ID != 7) {
			t.Errorf("event %d: %s", next, e.data)
		}
		next++
	}
	if err := <-broken; next != 51 || err != io.EOF { //nolint:errorlint // of Read itself
		t.Errorf("%d events, and then %v", next, err)
	}
	// A late answer for a client that accepts no stream is a whole response.
	late := dialRaw(t, site.URL)
	late.send(ask{fields: []string{"Accept: application/json"}, body: frame(8, "hold", script{Status: 404})})
	within(t, "the exchange to begin", host.holding)
	close(host.released)
	if a := late.answer(http.MethodPost); a.StatusCode != 404 || a.ContentLength != int64(len(a.body)) || !strings.Contains(a.body, "held") {
		t.Errorf("%s, Content-Length %d: %q", a.Status, a.ContentLength, a.body)
	}
}

// ended returns a reader that sends the error at the end of reading to how.
func ended(body io.Reader, how chan<- error) io.Reader { return &endTeller{body, how} }

type endTeller struct {
	io.Reader
	how chan<- error
}

// Read implements io.Reader.
func (e *endTeller) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if err != nil {
		e.how <- err
	}
	return n, err
}

// testLeaves: an exchange that closing cancels ends soon after the client has left. Other exchanges
// continue. Both hold for every way to leave.
func testLeaves(t *testing.T, serve SiteFunc) {
	for name, leave := range map[string]func(c *net.TCPConn) error{
		"FIN":        (*net.TCPConn).Close,
		"RST":        func(c *net.TCPConn) error { return join(c.SetLinger(0), c.Close()) },
		"half-close": (*net.TCPConn).CloseWrite,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := newHTTPHost(t)
			site := serve(t, host, Settings{Grace: 50 * time.Millisecond})
			for _, cancels := range []bool{false, true} {
				c := dialRaw(t, site.URL)
				c.send(ask{body: frame(1, "block", script{CancelByClose: cancels})})
				within(t, "the exchange to begin", host.holding)
				if err := leave(c.conn.(*net.TCPConn)); err != nil {
					t.Fatal(err)
				}
			}
			_ = within(t, "the exchange to be cancelled", host.cancelled)
			if n := host.ended.Load(); n > 1 || len(host.cancelled) > 0 {
				t.Error("an exchange that closing does not cancel was cancelled")
			}
			site.Stop() // cancels the other exchange
			_ = within(t, "the end", host.cancelled)
		})
	}
}

func join(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// testNeverReads: a client that requests much and reads nothing is dropped, and does not delay
// other clients until then.
func testNeverReads(t *testing.T, serve SiteFunc) {
	host := newHTTPHost(t)
	site := serve(t, host, Settings{WriteTimeout: 200 * time.Millisecond})
	c := dialRaw(t, site.URL)
	c.send(ask{body: frame(1, "many", script{Count: 400, Size: 64 << 10})}) // more than kernels buffer
	whole := dialRaw(t, site.URL)
	whole.send(ask{body: frame(2, "large", script{Count: 24 << 20})})
	if a := dialRaw(t, site.URL).roundTrip(echoing()); a.StatusCode != 200 {
		t.Errorf("another client: %s", a.Status)
	}
	eventually(t, "the exchanges to be given up", func() bool { return host.ended.Load() == 3 })
	// The data in the kernel's buffers is still delivered, but not all data. A client that reads
	// again does not revive the connection.
	for name, each := range map[string]*raw{"stream": c, "answer": whole} {
		_ = each.conn.SetDeadline(time.Now().Add(patience))
		size, err := io.Copy(io.Discard, each.in)
		if timeout, ok := err.(net.Error); ok && timeout.Timeout() { //nolint:errorlint // as net returns it
			t.Errorf("the connection of the %s was not dropped", name)
		}
		if name == "answer" && size >= 24<<20 {
			t.Errorf("the whole answer came after WriteTimeout")
		}
	}
}

// certified returns a TLS configuration for a server of 127.0.0.1, and one for its clients.
func certified() (server, client *tls.Config) {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return &tls.Config{Certificates: s.TLS.Certificates}, &tls.Config{RootCAs: pool} //nolint:gosec // the default version is right
}

func testTLS(t *testing.T, serve SiteFunc) {
	serverTLS, clientTLS := certified()
	host := newHTTPHost(t)
	site := serve(t, host, Settings{TLS: serverTLS, Grace: time.Second})
	conn := dialStreamable(t, httpClient(t, clientTLS), site.URL)
	for id, method := range []string{"echo", "many", "echo"} {
		if err := conn.Write(t.Context(), []byte(frame(id, method, script{Count: 3}))); err != nil {
			t.Fatal(err)
		}
		frames := map[string]int{"echo": 1, "many": 4}[method]
		for range frames {
			if _, err := conn.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	c := dialRaw(t, site.URL)
	c.send(ask{body: frame(1, "block", script{CancelByClose: true})})
	within(t, "the exchange to begin", host.holding)
	_ = c.conn.Close()
	_ = within(t, "the exchange to be cancelled", host.cancelled)
}

// testShutdown: accepted requests are answered, new ones are refused, and streams without calls end
// normally.
func testShutdown(t *testing.T, serve SiteFunc) {
	host := newHTTPHost(t)
	site := serve(t, host, Settings{WriteTimeout: time.Hour}) // the server must not wait for silent clients
	opening := dialRaw(t, site.URL)
	session := "Mcp-Session-Id: " + opening.roundTrip(ask{body: frame(1, "open", script{})}).Header.Get("Mcp-Session-Id")
	listening, slow, silent, half := dialRaw(t, site.URL), dialRaw(t, site.URL), dialRaw(t, site.URL), dialRaw(t, site.URL)
	bodiless := dialRaw(t, site.URL)
	listening.send(on("GET", session))
	stream := listening.open(http.MethodGet) //nolint:bodyclose // it ends with the connection
	slow.send(ask{fields: []string{session}, body: frame(2, "hold", script{})})
	within(t, "the exchange to begin", host.holding)
	header, _, _ := strings.Cut(bodiless.text(echoing()), "\r\n\r\n")
	for c, part := range map[*raw]string{half: "POST / HTTP/1.1\r\nHost", bodiless: header + "\r\n\r\n{"} {
		if _, err := io.WriteString(c.conn, part); err != nil {
			t.Fatal(err)
		}
	}
	stopped := make(chan struct{})
	go func() { defer close(stopped); host.shutdown(); site.Stop() }()
	if _, err := io.Copy(io.Discard, stream.Body); err != nil {
		t.Errorf("the stream of the session ended with %v", err)
	}
	refused := dialRaw(t, site.URL).roundTrip(echoing())
	refused.refused(t, 503)
	if refused.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	close(host.released)
	if a := slow.answer(http.MethodPost); !strings.Contains(a.body, "held") {
		t.Errorf("the accepted call: %s, %q", a.Status, a.body)
	}
	within(t, "the carrier to end, in spite of silent connections", stopped)
	for _, c := range []*raw{silent, half, bodiless} {
		if _, err := bufio.NewReader(c.conn).ReadByte(); err == nil {
			t.Error("a connection outlives the carrier")
		}
	}
}
