package transporttest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// statusCase is one request and the expected status.
type statusCase struct {
	name string
	ask  ask
	want int
}

func echoing(fields ...string) ask {
	return ask{fields: fields, body: frame(1, "echo", script{Text: "x"})}
}

func on(method string, fields ...string) ask { return ask{method: method, fields: fields} }

func hostCases() []statusCase {
	return []statusCase{
		{"own", echoing(), 200},
		{"localhost", echoing("Host: localhost"), 200},
		{"IPv6", echoing("Host: [::1]:8080"), 200},
		{"allowed", echoing("Host: mcp.example.com"), 200},
		{"allowed, other port", echoing("Host: MCP.example.com:9"), 200},
		{"foreign", echoing("Host: evil.example.com"), 403},
		{"foreign, claimed by a proxy", echoing("Host: evil.example.com", "X-Forwarded-Host: localhost"), 403},
		{"foreign GET", on("GET", "Host: evil.example.com"), 403},
		{"foreign DELETE", on("DELETE", "Host: evil.example.com"), 403},
		{"prefix", echoing("Host: localhost.evil.example.com"), 403},

		{"Origin own", echoing("Host: mcp.example.com", "Origin: https://mcp.example.com"), 200},
		{"Origin loopback", echoing("Origin: http://localhost:3000"), 200},
		{"Origin foreign", echoing("Origin: https://evil.example.com"), 403},
		{"Origin null", echoing("Origin: null"), 403},
		{"Origin twice", echoing("Origin: http://localhost", "Origin: https://evil.example.com"), 403},
		{"Origin foreign GET", on("GET", "Origin: https://evil.example.com"), 403},
		{"Origin foreign DELETE", on("DELETE", "Origin: https://evil.example.com"), 403},
		{"Origin foreign preflight", on("OPTIONS", "Origin: https://evil.example.com"), 403},
	}
}

func contentCases() []statusCase {
	return []statusCase{
		{"status of the host", ask{body: frame(1, "echo", script{Status: 404})}, 404},
		{"Content-Type with charset", echoing("Content-Type: application/json; charset=UTF-8"), 200},
		{"Content-Type missing", echoing("Content-Type:"), 415},
		{"Content-Type text", echoing("Content-Type: text/plain"), 415},
		{"Content-Type form", echoing("Content-Type: application/x-www-form-urlencoded"), 415},
		{"Content-Type multipart", echoing("Content-Type: multipart/form-data; boundary=x"), 415},
		{"charset other", echoing("Content-Type: application/json; charset=latin1"), 415},
		{"Content-Encoding", echoing("Content-Encoding: gzip"), 415},
		{"Accept missing", echoing("Accept:"), 200},
		{"Accept JSON", echoing("Accept: application/json"), 200},
		{"Accept any", echoing("Accept: */*"), 200},
		{"Accept HTML", echoing("Accept: text/html"), 406},
		{"Accept nothing", echoing("Accept: */*;q=0"), 406},
		{"Accept anything but both", echoing("Accept: application/json;q=0, text/event-stream;q=0, */*"), 406},

		{"PUT", on("PUT"), 405},
		{"PATCH", on("PATCH"), 405},
		{"HEAD", on("HEAD"), 405},
		{"OPTIONS", on("OPTIONS"), 405},
		{"GET without session", on("GET"), 400},
		{"GET of JSON", on("GET", "Accept: application/json"), 406},
		{"GET of no session", on("GET", "Mcp-Session-Id: x"), 404},
		{"DELETE without session", on("DELETE"), 400},
		{"DELETE of no session", on("DELETE", "Mcp-Session-Id: x"), 404},
		{"POST to no session", echoing("Mcp-Session-Id: x"), 404},
		{"panic in Accept", ask{body: frame(1, "panic/accept", script{})}, 500},
		{"the host takes no more", ask{body: frame(1, "refuse", script{})}, 503},
	}
}

func testStatuses(t *testing.T, serve SiteFunc) {
	site := serve(t, newHTTPHost(t), Settings{AllowedHosts: []string{"mcp.example.com"}})
	for _, c := range append(hostCases(), contentCases()...) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(t, dialRaw(t, site.URL).roundTrip(c.ask))
		})
	}
	t.Run("absolute form", func(t *testing.T) {
		t.Parallel()
		c := dialRaw(t, site.URL)
		a := echoing()
		a.path = "http://evil.example.com" + c.path
		if got := c.roundTrip(a).StatusCode; got != 400 && got != 403 {
			t.Errorf("status %d for a foreign host in the target", got)
		}
	})
	t.Run("silent", func(t *testing.T) {
		t.Parallel()
		a := dialRaw(t, site.URL).roundTrip(ask{body: frame(1, "silent", script{})})
		if a.StatusCode != 202 || a.body != "" {
			t.Errorf("%s with body %q", a.Status, a.body)
		}
	})
	t.Run("session twice", func(t *testing.T) {
		t.Parallel()
		c := dialRaw(t, site.URL)
		id := "Mcp-Session-Id: " + c.roundTrip(ask{body: frame(1, "open", script{})}).Header.Get("Mcp-Session-Id")
		for fields, want := range map[string]int{id: 200, id + "\n" + id: 404} {
			a := dialRaw(t, site.URL).roundTrip(echoing(strings.Split(fields, "\n")...))
			if a.StatusCode != want {
				t.Errorf("%s with %q, want %d", a.Status, fields, want)
			}
		}
	})
}

func (c statusCase) check(t testing.TB, a answer) {
	t.Helper()
	switch {
	case c.ask.method == http.MethodHead:
		if a.StatusCode != c.want || a.body != "" {
			t.Errorf("%s with %q", a.Status, a.body)
		}
	case c.want >= 400 && !strings.Contains(a.body, `"result"`):
		a.refused(t, c.want)
	case a.StatusCode != c.want || a.Header.Get("Content-Type") != "application/json":
		t.Errorf("%s %s: %.100q, want %d", a.Status, a.Header.Get("Content-Type"), a.body, c.want)
	}
	if c.want == 405 && a.Header.Get("Allow") != "GET, POST, DELETE" {
		t.Errorf("Allow: %q", a.Header.Get("Allow"))
	}
}

func testCORS(t *testing.T, serve SiteFunc) {
	const page = "https://app.example.com"
	site := serve(t, newHTTPHost(t), Settings{AllowedOrigins: []string{"https://other.example.com", "https://App.example.com/"}})
	preflight := dialRaw(t, site.URL).roundTrip(on("OPTIONS", "Origin: "+page,
		"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: content-type, mcp-param-user"))
	if preflight.StatusCode != 204 || preflight.body != "" {
		t.Errorf("preflight: %s, %q", preflight.Status, preflight.body)
	}
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin": page, "Access-Control-Allow-Methods": "GET, POST, DELETE",
		"Vary": "Origin",
	} {
		if got := preflight.Header.Get(name); !strings.Contains(got, want) {
			t.Errorf("preflight: %s: %q, want %q", name, got, want)
		}
	}
	allowed := preflight.Header.Get("Access-Control-Allow-Headers")
	for _, name := range []string{
		"Authorization", "DPoP", "Traceparent", "Content-Type", "Last-Event-ID", "Mcp-Session-Id", "Mcp-Protocol-Version", "mcp-param-user",
		"Tracestate", "Accept", "Mcp-Method", "Mcp-Name",
	} {
		if !slices.ContainsFunc(strings.Split(allowed, ", "), func(is string) bool { return strings.EqualFold(is, name) }) {
			t.Errorf("preflight: a page may not send %s: %q", name, allowed)
		}
	}
	for _, a := range []ask{
		echoing("Origin: " + page),
		{fields: []string{"Origin: " + page}, body: frame(1, "many", script{Count: 2})},
		on("PUT", "Origin: "+page),
	} {
		got := dialRaw(t, site.URL).roundTrip(a)
		if got.Header.Get("Access-Control-Allow-Origin") != page || !strings.Contains(strings.Join(got.Header.Values("Vary"), ", "), "Origin") {
			t.Errorf("%s: %v", got.Status, got.Header)
		}
		for _, name := range []string{"Mcp-Session-Id", "Mcp-Protocol-Version", "WWW-Authenticate", "DPoP-Nonce", "Retry-After"} {
			if !strings.Contains(got.Header.Get("Access-Control-Expose-Headers"), name) {
				t.Errorf("%s: a page may not read %s: %v", got.Status, name, got.Header)
			}
		}
	}
}

func testAuthentication(t *testing.T, serve SiteFunc) {
	host := newHTTPHost(t)
	host.demands = true
	site := serve(t, host, Settings{})
	nobody := dialRaw(t, site.URL).roundTrip(echoing())
	nobody.refused(t, 401)
	if got := nobody.Header.Get("WWW-Authenticate"); got != `Bearer realm="test"` {
		t.Errorf("WWW-Authenticate: %q", got)
	}
	dialRaw(t, site.URL).roundTrip(echoing("Authorization: Bearer panic")).refused(t, 500)
	opened := dialRaw(t, site.URL).roundTrip(ask{fields: []string{"Authorization: Bearer alice"}, body: frame(1, "open", script{})})
	session := "Mcp-Session-Id: " + opened.Header.Get("Mcp-Session-Id")
	for name, want := range map[string]int{"alice": 200, "bob": 404} {
		if a := dialRaw(t, site.URL).roundTrip(echoing(session, "Authorization: Bearer "+name)); a.StatusCode != want {
			t.Errorf("%s in the session of alice: %s", name, a.Status)
		}
	}
}

func testTrailers(t *testing.T, serve SiteFunc) {
	site := serve(t, newHTTPHost(t), Settings{})
	whole := frame(1, "echo", script{})
	for _, field := range []string{"Mcp-Session-Id: nobody's", "Origin: http://evil.example"} {
		chunked := []string{"Content-Length:", "Transfer-Encoding: chunked"}
		for want, a := range map[int]ask{
			200: {body: fmt.Sprintf("%x\r\n%s\r\n0\r\n%s\r\n\r\n", len(whole), whole, field), fields: chunked},
			0:   {body: fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(whole), whole), fields: append(chunked, field)},
		} {
			if got := dialRaw(t, site.URL).roundTrip(a).StatusCode; (got == 200) != (want == 200) {
				t.Errorf("%s, as a field of the header %v: %d", field, want == 0, got)
			}
		}
	}
}

func testSizes(t *testing.T, serve SiteFunc) {
	const limit = 1000
	site := serve(t, newHTTPHost(t), Settings{BodyLimit: limit})
	whole := frame(1, "echo", script{})
	for _, c := range []struct{ size, want int }{{limit, 200}, {limit + 1, 413}, {10 * limit, 413}} {
		body := whole + strings.Repeat(" ", c.size-len(whole))
		chunk := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
		for name, a := range map[string]ask{
			"by length": {body: body},
			"chunked":   {body: chunk, fields: []string{"Content-Length:", "Transfer-Encoding: chunked"}},
		} {
			got := dialRaw(t, site.URL).roundTrip(a)
			if c.want == 413 {
				got.refused(t, 413)
			} else if got.StatusCode != c.want {
				t.Errorf("%d bytes %s: %s", c.size, name, got.Status)
			}
		}
	}
}
