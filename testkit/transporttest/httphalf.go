package transporttest

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// notice is longer than a carrier needs to notice what a client has done.
const notice = 200 * time.Millisecond

// testHalfClosed: a client that closes its sending side gets its answer, even if the call takes
// long. This holds unless the revision treats the end of a connection as a cancellation.
func testHalfClosed(t *testing.T, serve SiteFunc) {
	host := newHTTPHost(t)
	site := serve(t, host, Settings{})
	quick, slow, streamed := dialRaw(t, site.URL), dialRaw(t, site.URL), dialRaw(t, site.URL)
	streamed.send(ask{body: frame(3, "hold", script{Count: 1})})
	within(t, "the exchange to begin", host.holding)
	slow.send(ask{body: frame(2, "hold", script{})})
	within(t, "the exchange to begin", host.holding)
	quick.send(ask{body: frame(1, "echo", script{Text: "quick"})})
	open := map[*raw]*http.Response{slow: slow.open(http.MethodPost), streamed: streamed.open(http.MethodPost)} //nolint:bodyclose // they end with their connections
	for _, c := range []*raw{quick, slow, streamed} {
		if err := c.conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil { //nolint:forcetypeassert // TCP
			t.Fatal(err)
		}
	}
	time.Sleep(notice) // if it is too short, the test detects less
	close(host.released)
	if a := quick.answer(http.MethodPost); !strings.Contains(a.body, "quick") {
		t.Errorf("a quick call: %s, %q", a.Status, a.body)
	}
	for _, response := range open {
		if body, err := io.ReadAll(response.Body); err != nil || !strings.Contains(string(body), "held") {
			t.Errorf("a stream: %q, %v", body, err)
		}
	}
}

// testSentAhead: requests that a client sends during a long request wait, even if they are many.
func testSentAhead(t *testing.T, serve SiteFunc) {
	host := newHTTPHost(t)
	site := serve(t, host, Settings{})
	c := dialRaw(t, site.URL)
	c.send(ask{body: frame(1, "hold", script{Count: 1})})
	within(t, "the exchange to begin", host.holding)
	const ahead = 40
	sent := make(chan error, 1)
	var all strings.Builder
	for id := range ahead {
		all.WriteString(c.text(ask{body: frame(id+2, "echo", script{Text: strings.Repeat("x", 10<<10)})}))
	}
	go func() {
		_, err := io.WriteString(c.conn, all.String())
		sent <- err
	}()
	time.Sleep(notice) // if it is too short, the test detects less
	close(host.released)
	first := c.answer(http.MethodPost)
	if !strings.Contains(first.body, "held") {
		t.Errorf("%s, %q", first.Status, first.body)
	}
	if first.Close { // HTTP/1.0, or the program's own server cannot take the connection back
		return
	}
	for id := range ahead {
		if a := c.answer(http.MethodPost); a.StatusCode != http.StatusOK || len(a.body) < 10<<10 {
			t.Fatalf("answer %d: %s, %d bytes", id, a.Status, len(a.body))
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}
