package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// visit is one HTTP request as the scripted server sees it.
type visit struct {
	t    testing.TB
	w    http.ResponseWriter
	r    *http.Request
	verb string
	message
	n int // how many with the same verb and method came before
}

func (v *visit) header(name string) string { return v.r.Header.Get(name) }

// say answers with a status and a body.
func (v *visit) say(status int, contentType, body string) {
	if contentType != "" {
		v.w.Header().Set("Content-Type", contentType)
	}
	v.w.WriteHeader(status)
	_, _ = io.WriteString(v.w, body)
}

func (v *visit) result(result string) {
	v.say(200, "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, v.ID, result))
}

func (v *visit) refuse(status, code int, text, data string) {
	if data != "" {
		data = `,"data":` + data
	}
	v.say(status, "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q%s}}`, v.ID, code, text, data))
}

// stream begins an event stream.
func (v *visit) stream() {
	v.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	v.w.WriteHeader(200)
	v.write("")
}

func (v *visit) write(text string) {
	_, _ = io.WriteString(v.w, text)
	if f, ok := v.w.(http.Flusher); ok {
		f.Flush()
	}
}

func (v *visit) event(id, data string) { v.write(event(id, data)) }

func event(id, data string) string {
	if id != "" {
		id = "id: " + id + "\n"
	}
	return id + "data: " + data + "\n\n"
}

func (v *visit) answer(result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, v.ID, result)
}

// hold keeps the response open until the client closes it.
func (v *visit) hold() { <-v.r.Context().Done() }

// site is a scripted server over HTTP.
type site struct {
	*httptest.Server
	t    testing.TB
	mu   sync.Mutex
	seen []string // verb and method, in order of arrival
}

// open starts a server. What script returns false for is handled as by a plain
// server of the revision.
func open(t testing.TB, revision string, script func(*visit) bool) *site {
	t.Helper()
	s := &site{t: t}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := s.visit(w, r)
		if script == nil || !script(v) {
			plain(v, revision)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) visit(w http.ResponseWriter, r *http.Request) *visit {
	v := &visit{t: s.t, w: w, r: r, verb: r.Method}
	body, err := io.ReadAll(r.Body)
	if err == nil && len(body) > 0 {
		err = json.Unmarshal(body, &v.message)
	}
	if err != nil {
		s.t.Errorf("%s %s: %v", r.Method, body, err)
	}
	v.text = string(body)
	s.mu.Lock()
	defer s.mu.Unlock()
	step := v.verb + " " + v.Method
	for _, before := range s.seen {
		if before == step {
			v.n++
		}
	}
	s.seen = append(s.seen, step)
	return v
}

// count says how often a step was seen.
func (s *site) count(step string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, seen := range s.seen {
		if seen == step {
			n++
		}
	}
	return n
}

func (s *site) steps() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// plain answers what every server must.
func plain(v *visit, revision string) {
	switch {
	case v.verb != http.MethodPost:
		v.say(405, "", "")
	case len(v.ID) == 0 || v.Method == "":
		v.say(202, "", "")
	case v.Method == protocol.MethodDiscover && revision == "2026-07-28":
		v.result(discovery)
	case v.Method == protocol.MethodInitialize && revision != "2026-07-28":
		v.result(initialization(revision))
	case v.Method == protocol.MethodCallTool:
		v.result(`{"resultType":"complete","content":[{"type":"text","text":"ok"}]}`)
	case v.Method == protocol.MethodPing, v.Method == protocol.MethodSetLevel, v.Method == protocol.MethodSubscribe:
		v.result(`{}`)
	case revision == "2026-07-28":
		v.refuse(404, -32601, "Method not found", "")
	default:
		v.refuse(200, -32601, "Method not found", "")
	}
}

func initialization(revision string) string {
	return `{"protocolVersion":"` + revision + `","capabilities":` + capabilities + `,"serverInfo":` + serverInfo + `,"instructions":"be kind"}`
}

// visitor connects to a site; the client is closed before the site.
func visitor(t testing.TB, s *site, httpOpts []client.HTTPOption, opts ...client.Option) *client.Client {
	t.Helper()
	c, err := client.Connect(t.Context(), client.HTTP(s.URL+"/mcp", httpOpts...), opts...)
	if err != nil {
		t.Fatalf("Connect: %v; seen %v", err, s.steps())
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

// only offers one revision.
func only(t testing.TB, revision string) client.Option {
	t.Helper()
	for _, r := range []protocol.Revision{
		protocol.Rev20241105, protocol.Rev20250326, protocol.Rev20250618, protocol.Rev20251125, protocol.Rev20260728,
	} {
		if r.String() == revision {
			return client.Revisions(r)
		}
	}
	t.Fatalf("no revision %s", revision)
	return nil
}

// local carries requests to a handler without a network, so that time can be faked.
type local struct{ serve http.HandlerFunc }

func (l local) RoundTrip(r *http.Request) (*http.Response, error) {
	body, w := io.Pipe()
	answer := &localAnswer{header: http.Header{}, w: w, begun: make(chan struct{})}
	served, over := context.WithCancel(r.Context())
	context.AfterFunc(served, func() { _ = w.CloseWithError(io.ErrUnexpectedEOF) })
	go func() {
		defer over()
		defer func() { // net/http's server does the same
			if p := recover(); p == nil {
				answer.WriteHeader(http.StatusOK)
				_ = w.Close()
			} else if p != http.ErrAbortHandler { //nolint:errorlint // it is this very value
				panic(p)
			}
		}()
		l.serve(answer, r.WithContext(served))
	}()
	select {
	case <-answer.begun:
		return &http.Response{StatusCode: answer.status, Header: answer.header, Body: body, ContentLength: -1, Request: r}, nil
	case <-served.Done():
		return nil, io.ErrUnexpectedEOF
	}
}

// localAnswer is a response on its way through a pipe.
type localAnswer struct {
	header http.Header
	w      *io.PipeWriter
	once   sync.Once
	status int
	begun  chan struct{} // closed when the status is there
}

func (a *localAnswer) Header() http.Header { return a.header }

func (a *localAnswer) WriteHeader(status int) {
	a.once.Do(func() {
		a.status, a.header = status, a.header.Clone()
		close(a.begun)
	})
}

func (a *localAnswer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.w.Write(p)
}
