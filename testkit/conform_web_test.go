package testkit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// webConn is a connection over HTTP: Fiber without a socket.
type webConn struct {
	w       *visitor
	client  *http.Client
	session string // Mcp-Session-Id; "" if there is none
	edit    func(http.Header)
	hangUp  func() error
	answers [][]byte // that are still to be read
}

const (
	webURL        = "http://127.0.0.1/mcp"
	sessionHeader = "Mcp-Session-Id"
)

// dialWeb replaces the connection in memory by one over HTTP. A nil spoil changes nothing.
func (w *visitor) dialWeb(spoil func(http.RoundTripper) http.RoundTripper) error {
	if err := w.conn.Close(); err != nil {
		return err
	}
	memory := newPipes()
	l := &listener{Listener: memory}
	conns := &http.Transport{DialContext: memory.dial}
	way := http.RoundTripper(conns)
	if spoil != nil {
		way = spoil(conns)
	}
	w.web = &webConn{w: w, client: &http.Client{Transport: way}, hangUp: listen(w.ctx, w.server, fiberOn(l), l, conns)}
	w.conn = w.web
	return nil
}

// Write posts a frame. A response is kept for Read.
func (c *webConn) Write(_ context.Context, frame []byte) error {
	a, err := c.w.post(string(frame))
	switch {
	case err != nil:
		return err
	case a.frame != nil:
		c.answers = append(c.answers, a.response)
	case a.status >= http.StatusBadRequest:
		return errors.New("want the frame to be accepted")
	}
	return nil
}

// Read returns the next response.
func (c *webConn) Read(context.Context) ([]byte, error) {
	if len(c.answers) == 0 {
		return nil, errors.New("want a response")
	}
	next := c.answers[0]
	c.answers = c.answers[1:]
	return next, nil
}

// Close ends the server's carrier.
func (c *webConn) Close() error { return c.hangUp() }

// webAnswer is an answer to a request over HTTP.
type webAnswer struct {
	status int
	header http.Header
	body   []byte
	frame  *response // nil: there is none

	response []byte // frame as it came
}

// post sends a frame with the headers of the revision.
func (w *visitor) post(frame string) (*webAnswer, error) {
	return w.over(w.ctx, http.MethodPost, frame)
}

// over sends a request with the headers of the revision, after edit has changed them.
func (w *visitor) over(ctx context.Context, method, frame string) (*webAnswer, error) {
	w.sent, w.got = []byte(method+" "+frame), nil
	req, err := http.NewRequestWithContext(ctx, method, webURL, strings.NewReader(frame))
	if err != nil {
		return nil, err
	}
	req.Header = w.headers(frame)
	if w.web.edit != nil {
		w.web.edit(req.Header)
	}
	w.sent = fmt.Appendf(nil, "%s %s %s", method, mcpHeaders(req.Header), frame)
	res, err := w.web.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("no answer: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	a := &webAnswer{status: res.StatusCode, header: res.Header}
	a.body, err = io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("no whole answer: %w", err)
	}
	w.got = fmt.Appendf(nil, "%s %s %s", res.Status, mcpHeaders(res.Header), a.body)
	return a, w.frames(a)
}

// mcpHeaders returns the headers that rules are about, for messages.
func mcpHeaders(h http.Header) string {
	var all []string
	for _, name := range sortedKeys(h) {
		if low := strings.ToLower(name); strings.HasPrefix(low, "mcp-") || low == "content-type" || low == "origin" {
			all = append(all, name+": "+strings.Join(h[name], ", "))
		}
	}
	return "[" + strings.Join(all, "; ") + "]"
}

// headers of a request with this frame.
func (w *visitor) headers(frame string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	if w.web.session != "" {
		h.Set(sessionHeader, w.web.session)
	}
	if w.dialect.VersionHeader() {
		h.Set("Mcp-Protocol-Version", w.dialect.String())
	}
	msg, fault := decodeSent(frame)
	if fault != nil || !w.dialect.MirrorHeaders() {
		return h
	}
	h.Set("Mcp-Method", msg.Method)
	for _, member := range []string{"name", "uri", "taskId"} {
		if raw, ok := jsontext.Member(msg.Params, member); ok {
			name, _ := jsontext.String(raw)
			h.Set("Mcp-Name", name)
		}
	}
	return h
}

// frames reads the frames of an answer: notifications, and the response.
func (w *visitor) frames(a *webAnswer) error {
	kind, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	texts := [][]byte{a.body}
	if kind == "text/event-stream" {
		texts = nil
		for line := range bytes.Lines(a.body) {
			if data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:")); ok && len(bytes.TrimSpace(data)) > 0 {
				texts = append(texts, data)
			}
		}
	}
	got := w.got
	defer func() { w.got = got }()
	for _, text := range texts {
		if len(text) == 0 || kind != "application/json" && kind != "text/event-stream" {
			continue
		}
		r, err := w.parse(text)
		switch {
		case err != nil:
			return err
		case r.Method != "":
			w.heard = append(w.heard, r)
		case a.frame != nil:
			return errors.New("want one response")
		default:
			a.frame, a.response = r, text
		}
	}
	if id := a.header.Get(sessionHeader); id != "" && w.dialect.Handshake() {
		w.web.session = id
	}
	return nil
}

// is checks the status of an answer and, if codes are given, its JSON-RPC error.
func (a *webAnswer) is(status int, codes ...int) error {
	if a.status != status {
		return fmt.Errorf("want status %d", status)
	}
	if len(codes) == 0 {
		return nil
	}
	if a.frame == nil {
		return errors.New("want a JSON-RPC error")
	}
	return oneOf(a.frame, codes...)
}

// edited sends a frame with other headers.
func (w *visitor) edited(frame string, edit func(http.Header)) (*webAnswer, error) {
	w.web.edit = edit
	defer func() { w.web.edit = nil }()
	return w.post(frame)
}

// mismatches checks that the frame is refused with each of these values in the header; "" leaves
// the header out.
func (w *visitor) mismatches(frame, header string, values ...string) error {
	for _, value := range values {
		a, err := w.edited(frame, func(h http.Header) {
			h.Del(header)
			if value != "" {
				h.Set(header, value)
			}
		})
		if err == nil {
			err = a.is(http.StatusBadRequest, codeHeaderMismatch)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// statusOf sends a request, whose answer must have a status and a code.
func (w *visitor) statusOf(frame string, status int, codes ...int) error {
	a, err := w.post(frame)
	if err == nil {
		err = a.is(status, codes...)
	}
	return err
}

// sessions returns errNoSubject if the server has no sessions.
func (w *visitor) sessions() error {
	if w.web.session == "" {
		return errNoSubject
	}
	return nil
}

// deadSession ends the session.
func deadSession(w *visitor) error {
	if err := w.sessions(); err != nil {
		return err
	}
	a, err := w.over(w.ctx, http.MethodDelete, "")
	switch {
	case err != nil:
		return err
	case a.status == http.StatusMethodNotAllowed:
		return errNoSubject
	case a.status >= http.StatusBadRequest:
		return errors.New("want the session to end")
	}
	return w.statusOf(w.request("ping", "{}"), http.StatusNotFound)
}

// sessionID checks the session id of initialize.
func sessionID(w *visitor) error {
	if err := w.sessions(); err != nil {
		return err
	}
	if strings.ContainsFunc(w.web.session, func(c rune) bool { return c < '!' || c > '~' }) {
		return fmt.Errorf("want a session id of visible ASCII, got %q", w.web.session)
	}
	first := w.web.session
	w.web.session = ""
	if _, err := w.initialize(w.dialect.String()); err != nil {
		return err
	}
	if w.web.session == first {
		return errors.New("want another id for another session")
	}
	return nil
}

// streamed checks that an answer has a content type that clients accept.
func streamed(w *visitor) error {
	a, err := w.post(w.request(w.alive(), "{}"))
	if err != nil {
		return err
	}
	kind, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	if kind != "application/json" && kind != "text/event-stream" || a.frame == nil {
		return errors.New("want a response as application/json or text/event-stream")
	}
	return a.is(http.StatusOK)
}

// statuses checks errors that have an HTTP status of their own.
func statuses(w *visitor) error {
	frame := `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":` + w.meta("1999-01-01") + `}}`
	a, err := w.edited(frame, func(h http.Header) { h.Set("Mcp-Protocol-Version", "1999-01-01") })
	if err == nil {
		err = a.is(http.StatusBadRequest, codeUnsupportedVersion)
	}
	if err != nil {
		return err
	}
	if err := w.statusOf(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}`, http.StatusBadRequest, jsonrpc.CodeInvalidParams, codeHeaderMismatch); err != nil {
		return err
	}
	return w.statusOf(w.request("testkit/none", "{}"), http.StatusNotFound, jsonrpc.CodeMethodNotFound)
}
