package transporttest

import (
	"net/http"
	"strings"
	"testing"
)

// pair is an open connection of HTTP+SSE.
type pair struct {
	*raw
	site   Site
	reader func() (event, bool)
	post   string // the path and query to post to
}

func openPair(t testing.TB, site Site, fields ...string) *pair {
	t.Helper()
	p := &pair{raw: dialRaw(t, site.SSE), site: site}
	p.send(on(http.MethodGet, fields...))
	response := p.open(http.MethodGet) //nolint:bodyclose // it ends with the connection
	stream := make(chan event)
	go func() {
		defer close(stream)
		for e := range events(response.Body) {
			select {
			case stream <- e:
			case <-t.Context().Done():
				return
			}
		}
	}()
	p.reader = func() (event, bool) { e, ok := <-stream; return e, ok }
	e, ok := p.reader()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, site.SSE, nil)
	if err != nil {
		t.Fatal(err)
	}
	target, err := request.URL.Parse(string(e.data))
	if !ok || e.name != "endpoint" || err != nil || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("the first event is %+v, %v", e, err)
	}
	p.post = target.RequestURI()
	return p
}

func (p *pair) send1(t testing.TB, body string, fields ...string) answer {
	t.Helper()
	return dialRaw(t, p.site.SSE).roundTrip(ask{path: p.post, body: body, fields: fields})
}

func testSSEPair(t *testing.T, serve SiteFunc) {
	host := newHTTPHost(t)
	host.demands = true
	site := serve(t, host, Settings{})
	const alice, bob = "Authorization: Bearer alice", "Authorization: Bearer bob"
	p := openPair(t, site, alice)
	path, query, _ := strings.Cut(p.post, "?")
	id := strings.TrimPrefix(query, "sessionId=")
	for _, c := range []struct {
		name string
		ask  ask
		want int
	}{
		{"of the opener", ask{path: p.post, body: frame(1, "silent", script{}), fields: []string{alice}}, 202},
		{"of another", ask{path: p.post, body: frame(1, "silent", script{}), fields: []string{bob}}, 404},
		{"of nobody", ask{path: p.post, body: frame(1, "silent", script{})}, 401},
		{"unknown", ask{path: path + "?sessionId=x", body: "{}", fields: []string{alice}}, 404},
		{"no session", ask{path: path, body: "{}", fields: []string{alice}}, 404},
		{"in a header", ask{path: path, body: "{}", fields: []string{alice, "Mcp-Session-Id: " + id}}, 404},
		{"twice", ask{path: p.post + "&" + query, body: "{}", fields: []string{alice}}, 404},
		{"no JSON", ask{path: p.post, body: "{}", fields: []string{alice, "Content-Type: text/plain"}}, 415},
		{"foreign page", ask{path: p.post, body: "{}", fields: []string{alice, "Origin: https://evil.example.com"}}, 403},
		{"foreign host", ask{path: p.post, body: "{}", fields: []string{alice, "Host: evil.example.com"}}, 403},
		{"stream by POST", ask{body: "{}", fields: []string{alice}}, 405},
		{"stream by half a method", ask{method: "GE", fields: []string{alice}}, 405},
		{"messages by GET", ask{method: "GET", path: p.post, fields: []string{alice}}, 405},
		{"stream as JSON", ask{method: "GET", fields: []string{alice, "Accept: application/json"}}, 406},
	} {
		got := dialRaw(t, site.SSE).roundTrip(c.ask)
		if c.want >= 400 {
			got.refused(t, c.want)
		} else if got.StatusCode != c.want || got.body != "" {
			t.Errorf("%s: %s, %q", c.name, got.Status, got.body)
		}
		if t.Failed() {
			t.Fatal(c.name)
		}
	}
	p.send1(t, frame(5, "echo", script{Text: "x"}), alice)
	if e, _ := p.reader(); e.name != "message" || !strings.Contains(string(e.data), `"id":5,"result":{"text":"x"}`) {
		t.Errorf("the answer is %+v", e)
	}
	p.send1(t, frame(6, "block", script{}), alice)
	within(t, "the exchange to begin", host.holding)
	_ = p.conn.Close()
	_ = within(t, "the exchange to be cancelled", host.cancelled)
	eventually(t, "the connection to be forgotten", func() bool {
		return p.send1(t, frame(7, "silent", script{}), alice).StatusCode == http.StatusNotFound
	})
}

func testSSEShutdown(t *testing.T, serve SiteFunc) {
	host := newHTTPHost(t)
	site := serve(t, host, Settings{})
	idle, busy := openPair(t, site), openPair(t, site)
	if a := busy.send1(t, frame(1, "hold", script{})); a.StatusCode != 202 {
		t.Fatalf("%s: %s", a.Status, a.body)
	}
	within(t, "the exchange to begin", host.holding)
	stopped := make(chan struct{})
	go func() { defer close(stopped); host.shutdown(); site.Stop() }()
	if e, ok := idle.reader(); ok {
		t.Errorf("a stream without exchanges got %+v, want its end", e)
	}
	busy.send1(t, frame(2, "echo", script{})).refused(t, 503)
	close(host.released)
	if e, _ := busy.reader(); !strings.Contains(string(e.data), "held") {
		t.Errorf("the accepted call: %+v", e)
	}
	if e, ok := busy.reader(); ok {
		t.Errorf("after the last answer: %+v", e)
	}
	within(t, "the carrier to end", stopped)
}
