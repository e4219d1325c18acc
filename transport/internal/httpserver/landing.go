package httpserver

import (
	"cmp"
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
	"encoding/json"
	"html"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/loopback"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// Landing configures the landing page: the page that a browser gets at the endpoint of a server.
// The page says what the server is and how a client connects. Anybody can read it, so it does not
// name anything that the server offers.
type Landing struct {
	Off  bool   // a browser gets the same error as other clients
	Text string // the author's text; may be empty
}

//go:embed landing.html
var landingPage string

// landingPolicy allows only the style sheet of the page.
var landingPolicy = "default-src 'none'; style-src 'sha256-" + styleHash(landingPage) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// styleHash returns the hash of the text between the style tags, as Content-Security-Policy needs
// it. A browser turns CRLF into LF before it hashes the text. In some checkouts the file has CRLF.
func styleHash(page string) string {
	_, rest, _ := strings.Cut(strings.ReplaceAll(page, "\r\n", "\n"), "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(style))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Land returns the reply to a browser that opens the endpoint, whose path is path, or the root of
// the server. For every other request it returns nil. The Host field is checked as for every
// request.
func (f *Endpoints) Land(r *Request, c *Config, path string) *streamable.Reply {
	if c.Landing.Off || r.Method != http.MethodGet && r.Method != http.MethodHead || !browses(r.Fields) {
		return nil
	}
	if refused := f.main.RefusedHost(r.Host); refused != nil {
		return refused
	}
	return &streamable.Reply{Status: http.StatusOK, Body: []byte(f.landing(r.Host, path, c)), Header: []streamable.Field{
		{Name: "Content-Type", Value: "text/html; charset=utf-8"},
		{Name: "Content-Security-Policy", Value: landingPolicy},
		{Name: "Referrer-Policy", Value: "no-referrer"},
		{Name: "X-Content-Type-Options", Value: "nosniff"},
		{Name: "Vary", Value: "Accept"},
	}}
}

// browses reports whether the client prefers a page to data. MCP clients never accept text/html. A
// client that accepts an event stream is not a browser window.
func browses(fields transport.Fields) bool {
	page, data := 0.0, 0.0
	for _, value := range fields.Values("Accept") {
		for item := range strings.SplitSeq(value, ",") {
			name, params, _ := strings.Cut(item, ";")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "text/html", "application/xhtml+xml":
				page = max(page, quality(params))
			case "application/json":
				data = max(data, quality(params))
			case "text/event-stream":
				return false
			}
		}
	}
	return page > 0 && page >= data
}

// quality returns the weight of a media range in Accept (RFC 9110 section 12.4.2).
func quality(params string) float64 {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if strings.EqualFold(name, "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil || q < 0 || q > 1 {
				return 0
			}
			return q
		}
	}
	return 1
}

// landing returns the page for one host name and the path of the endpoint.
func (f *Endpoints) landing(host, path string, c *Config) string {
	address := urlOf(c.scheme(host), host, path)
	services := servicesOf(f.host)
	title := cmp.Or(services.Title, host)
	lead := cmp.Or(c.Landing.Text, "A server for AI assistants. Add its address to the one that you use.")
	login := ""
	if services.Authenticator != nil {
		login = "<p>It needs a login. Your client asks you for it" + html.EscapeString(f.loginAt(path)) + " when it connects.</p>"
	}
	name := shortName(host)
	entry, _ := json.Marshal(map[string]string{"name": name, "type": "http", "url": address}) // texts always marshal
	return strings.NewReplacer(
		"{title}", html.EscapeString(title), "{host}", html.EscapeString(host), "{lead}", html.EscapeString(lead), "{login}", login,
		"{address}", html.EscapeString(address), "{name}", html.EscapeString(name), "{entry}", html.EscapeString(string(entry)),
	).Replace(landingPage)
}

// loginAt returns text that names the authorization server, which the public metadata of the
// resource also names.
func (f *Endpoints) loginAt(path string) string {
	var metadata struct {
		Servers []string `json:"authorization_servers"`
	}
	reply := Describe(f.host, http.MethodGet, Metadata+path)
	if reply.Status != http.StatusOK || json.Unmarshal(reply.Body, &metadata) != nil || len(metadata.Servers) == 0 {
		return ""
	}
	u, err := url.Parse(metadata.Servers[0])
	if err != nil || u.Host == "" {
		return ""
	}
	return ", at " + u.Host + ","
}

// scheme returns the scheme of URLs that reach the server under a host name. A server with a
// public name and without TLS of its own is behind a proxy with TLS.
func (c *Config) scheme(host string) string {
	if c.TLS == nil && loopback.Is(hostOnly(host)) {
		return "http"
	}
	return "https"
}

func hostOnly(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

// shortName returns a name for the server in a client's configuration: the first label of the host
// name that is not generic, such as "www" or "mcp".
func shortName(host string) string {
	name := hostOnly(host)
	if loopback.Is(name) {
		return "local"
	}
	for label := range strings.SplitSeq(strings.ToLower(name), ".") {
		if label != "" && label != "mcp" && label != "www" && label != "api" && strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" {
			return label
		}
	}
	return "server"
}
