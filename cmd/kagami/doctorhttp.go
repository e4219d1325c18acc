package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// longestAnswer is the maximum number of bytes that are read of a response.
const longestAnswer = 1 << 20

const (
	helloOld = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"kagami doctor","version":"1"}}}`
	pingOld  = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
)

// reach checks the HTTP endpoint. It reports whether there is a server that can be examined
// further.
func (p *diagnosis) reach(ctx context.Context) bool {
	answer, err := p.post(ctx, helloOld, nil)
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &certificate):
		p.finds("certificate", "%v", certificate)
		return false
	case err != nil:
		p.finds("unreachable", "%v", err)
		return false
	}
	if skew := clockSkew(answer.header); skew > 30*time.Second {
		p.finds("clock", "the clocks of the server and of this machine differ by %s", skew.Round(time.Second))
	}
	switch {
	case strings.HasPrefix(answer.header.Get("Content-Type"), "text/html"):
		p.finds("html", "it answers HTTP %d with a page of HTML", answer.status)
		return false
	case answer.status == http.StatusForbidden && bytes.Contains(bytes.ToLower(answer.body), []byte("host")):
		p.finds("host", "it refuses the host name of %s: %s", p.server[0], onOneLine(string(answer.body)))
		return false
	case answer.status == http.StatusUnauthorized:
		p.login(ctx, answer.header.Get("WWW-Authenticate"))
		return p.bearer != "" // with a token, the MCP client reports its error as well
	}
	p.origin(ctx)
	if session := answer.header.Get("Mcp-Session-Id"); session != "" {
		p.session(ctx, session)
		p.stream(ctx, session)
	}
	return true
}

// post sends a message with the header fields of the command line and the given fields.
func (p *diagnosis) post(ctx context.Context, message string, fields map[string]string) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := p.request(ctx, http.MethodPost, strings.NewReader(message), fields)
	if err != nil {
		return reply{}, err
	}
	return p.send(request)
}

// send returns the response to a request.
func (p *diagnosis) send(request *http.Request) (reply, error) {
	answer, err := p.http.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, longestAnswer))
	return reply{answer.StatusCode, answer.Header, body}, err
}

// reply is the response of a server.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (p *diagnosis) request(ctx context.Context, method string, body io.Reader, fields map[string]string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, p.server[0], body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	for _, field := range p.cli.headers {
		name, value, _ := strings.Cut(field, ":")
		request.Header.Set(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	if p.bearer != "" {
		request.Header.Set("Authorization", "Bearer "+p.bearer)
	}
	for name, value := range fields {
		request.Header.Set(name, value)
	}
	return request, nil
}

func clockSkew(header http.Header) time.Duration {
	there, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return 0
	}
	return time.Since(there).Abs()
}

// origin sends a request with the Origin header of a foreign web page.
func (p *diagnosis) origin(ctx context.Context) {
	answer, err := p.post(ctx, helloOld, map[string]string{"Origin": "https://evil.example"})
	switch {
	case err != nil:
	case answer.status == http.StatusForbidden:
		p.fine("requests of foreign web pages are refused")
	case answer.status < http.StatusBadRequest:
		p.finds("origin", "it answers a request of a page of https://evil.example with HTTP %d", answer.status)
	}
}

// manyRequests is the number of requests in one session. Each uses a new connection.
const manyRequests = 6

// session checks whether all processes behind the address know a session.
func (p *diagnosis) session(ctx context.Context, id string) {
	lost := 0
	for range manyRequests {
		answer, err := p.post(ctx, pingOld, map[string]string{"Mcp-Session-Id": id, "MCP-Protocol-Version": "2025-11-25", "Connection": "close"})
		if err == nil && answer.status == http.StatusNotFound {
			lost++
		}
	}
	if lost > 0 {
		p.finds("session", "%d of %d requests did not find their session", lost, manyRequests)
		return
	}
	p.fine("every request found its session")
}

// stream opens the stream of a session and watches it. The response header must arrive at once, and
// the stream must stay open.
func (p *diagnosis) stream(ctx context.Context, id string) {
	const atOnce = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, atOnce+p.idle)
	defer cancel()
	request, err := p.request(ctx, http.MethodGet, nil, map[string]string{"Mcp-Session-Id": id, "MCP-Protocol-Version": "2025-11-25", "Accept": "text/event-stream"})
	if err != nil {
		return
	}
	began := time.Now()
	answer, err := (&http.Client{}).Do(request)
	if err != nil {
		p.finds("buffered", "the header of a stream has not arrived within %s", time.Since(began).Round(time.Second))
		return
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return // the server has no streams
	}
	if took := time.Since(began); took > atOnce {
		p.finds("buffered", "the header of a stream took %s", took.Round(time.Second))
		return
	}
	_, err = io.Copy(io.Discard, answer.Body)
	if time.Since(began) < p.idle {
		p.finds("cut", "a stream ended after %s: %v", time.Since(began).Round(100*time.Millisecond), err)
		return
	}
	p.fine("a stream stays open for %s", p.idle)
}

// login does what a client without a token does (RFC 9728).
func (p *diagnosis) login(ctx context.Context, challenge string) {
	endpoint, _ := url.Parse(p.server[0]) // the URL is valid, because the server has answered
	const known = "/.well-known/oauth-protected-resource"
	places := []string{known + strings.TrimSuffix(endpoint.Path, "/"), known}
	var resource struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
	}
	missing := []string{}
	for _, place := range places {
		at := *endpoint
		at.Path, at.RawQuery = place, ""
		if err := p.fetch(ctx, at.String(), &resource); err != nil {
			missing = append(missing, fmt.Sprintf("%s (%v)", at.String(), err))
		}
	}
	switch {
	case len(missing) == len(places):
		p.finds("metadata", "it refuses requests, and it has no metadata at %s", strings.Join(missing, " or "))
		return
	case !strings.Contains(challenge, "resource_metadata"):
		p.finds("metadata", "WWW-Authenticate does not name the metadata: %q", challenge)
	default:
		p.fine("clients can find out where to log in")
	}
	if strings.TrimSuffix(resource.Resource, "/") != strings.TrimSuffix(p.server[0], "/") {
		p.finds("audience", "the metadata names %s, but clients use %s", resource.Resource, p.server[0])
	}
	for _, issuer := range resource.Servers {
		p.issuer(ctx, issuer)
	}
	if p.bearer == "" {
		p.finds("login", "it wants a token, but there is none")
		return
	}
	p.finds("login", "it does not accept this token: %s", challenge)
}

// issuer looks for the metadata of an authorization server at the URLs of RFC 8414 and OpenID.
func (p *diagnosis) issuer(ctx context.Context, issuer string) {
	at, err := url.Parse(issuer)
	if err != nil {
		p.finds("issuer", "the authorization server %q is not a URL", issuer)
		return
	}
	path := strings.TrimSuffix(at.Path, "/")
	var last error
	for _, place := range []string{"/.well-known/oauth-authorization-server" + path, "/.well-known/openid-configuration" + path, path + "/.well-known/openid-configuration"} {
		where := *at
		where.Path = place
		var metadata struct{ Issuer string }
		if last = p.fetch(ctx, where.String(), &metadata); last == nil {
			if metadata.Issuer != issuer {
				p.finds("issuer", "the metadata of %s names the issuer %s", issuer, metadata.Issuer)
			}
			return
		}
	}
	p.finds("issuer", "the authorization server %s has no metadata: %v", issuer, last)
}

// fetch reads the JSON document at an address.
func (p *diagnosis) fetch(ctx context.Context, address string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	answer, err := p.send(request)
	if err != nil {
		return err
	}
	if answer.status != http.StatusOK {
		return fmt.Errorf("HTTP %d", answer.status)
	}
	return json.NewDecoder(bytes.NewReader(answer.body)).Decode(into)
}
