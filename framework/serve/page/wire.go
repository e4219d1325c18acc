package page

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Bounds of the kept frames.
const (
	maxFrames     = 10_000
	maxFrameBytes = 32 << 20
	headLength    = 200                    // characters of a frame in a list
	longestID     = 1026                   // bytes of a request's id
	longestMethod = 256                    // bytes of a method's name
	announceEvery = 100 * time.Millisecond // interval of events about new frames
	maxOpen       = 4096                   // requests without an answer that are kept
)

// frame is one message on the wire, or an HTTP exchange without a message.
type frame struct {
	N       int       `json:"n"`
	At      time.Time `json:"at"`
	Sent    bool      `json:"sent"`
	Kind    string    `json:"kind"` // request, notification, result, error, http or other
	Method  string    `json:"method,omitempty"`
	ID      string    `json:"id,omitempty"` // as JSON
	Of      int       `json:"of,omitempty"` // for an answer: the number of its request
	Ms      float64   `json:"ms,omitempty"` // for an answer: the time since its request
	Call    string    `json:"call,omitempty"`
	Bytes   int       `json:"bytes"`
	Head    string    `json:"head"`
	HTTP    *httpSeen `json:"http,omitempty"`
	Session int       `json:"session"` // number of the connection

	text []byte
	size int // of the text and of HTTP, for the bound
}

// httpSeen is the HTTP exchange that carried a frame. Credentials are masked.
type httpSeen struct {
	Method   string      `json:"method"`
	Path     string      `json:"path"`
	Sent     http.Header `json:"sent"`
	Status   int         `json:"status,omitempty"` // 0 if there was no response
	Received http.Header `json:"received,omitempty"`
	Failed   string      `json:"failed,omitempty"`
	Ms       float64     `json:"ms"`
}

// size returns the size of the texts of an exchange.
func (h *httpSeen) size() int {
	n := len(h.Path) + len(h.Failed)
	for _, fields := range []http.Header{h.Sent, h.Received} {
		for name, values := range fields {
			n += len(name)
			for _, value := range values {
				n += len(value)
			}
		}
	}
	return n
}

// wire keeps the newest frames. add and exchanged insert frames, and trim drops the oldest. timer
// is set when there are new frames to announce; it calls tell. mu guards all frames.
type wire struct {
	tell func(last int)

	mu     sync.Mutex // guards the fields below
	last   int
	frames []*frame
	bytes  int
	open   map[string]*frame // requests without an answer yet, by direction, session and ID
	timer  *time.Timer       // announces the newest frames; nil if there is nothing to announce
	closed bool
}

func newWire(tell func(last int)) *wire { return &wire{tell: tell, open: map[string]*frame{}} }

// add keeps a frame and returns it. It copies the text.
func (w *wire) add(ctx context.Context, session int, f client.Frame, mask func([]byte) []byte) frame {
	text := mask(bytes.Clone(f.Text))
	seen := &frame{At: time.Now(), Sent: f.Sent, Bytes: len(f.Text), Session: session, text: text}
	seen.Call, _ = ctx.Value(callKey{}).(string)
	seen.describe()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.relate(seen)
	w.keep(seen)
	return *seen
}

// renewed forgets the requests of earlier connections, because they will get no answer.
func (w *wire) renewed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.open)
}

// describe sets the fields that a list of frames shows.
func (f *frame) describe() {
	f.Kind = "other"
	f.Head = jsontext.Clip(strings.ToValidUTF8(string(f.text[:min(len(f.text), 4*headLength)]), "?"), headLength)
	if jsontext.Check(f.text, jsontext.DefaultLimits()) != nil || jsontext.KindOf(f.text) != jsontext.KindObject {
		return
	}
	id, hasID := jsontext.Member(f.text, "id")
	f.ID = string(id[:min(len(id), longestID)])
	if method, ok := jsontext.Member(f.text, "method"); ok {
		name, _ := jsontext.String(method)
		f.Method = jsontext.Clip(name, longestMethod)
		f.Kind = "notification"
		if hasID {
			f.Kind = "request"
		}
		return
	}
	if _, failed := jsontext.Member(f.text, "error"); failed {
		f.Kind = "error"
	} else if _, ok := jsontext.Member(f.text, "result"); ok {
		f.Kind = "result"
	}
}

// relate connects an answer with its request. The caller holds mu.
func (w *wire) relate(f *frame) {
	key := func(sent bool) string { return strconv.FormatBool(sent) + strconv.Itoa(f.Session) + " " + f.ID }
	switch f.Kind {
	case "request":
		if len(w.open) < maxOpen {
			w.open[key(f.Sent)] = f
		}
	case "result", "error":
		if asked := w.open[key(!f.Sent)]; asked != nil {
			delete(w.open, key(!f.Sent))
			f.Of, f.Method, f.Call = asked.N, asked.Method, asked.Call
			f.Ms = milliseconds(f.At.Sub(asked.At))
		}
	}
}

// keep appends a frame and drops the oldest. The caller holds mu.
func (w *wire) keep(f *frame) {
	w.last++
	f.N = w.last
	f.size = len(f.text)
	if f.HTTP != nil {
		f.size += f.HTTP.size()
	}
	w.frames = append(w.frames, f)
	w.bytes += f.size
	w.trim()
	if w.timer == nil && !w.closed {
		w.timer = time.AfterFunc(announceEvery, w.announce)
	}
}

// trim drops the oldest frames until the bounds are met, but not the newest one. The caller holds mu.
func (w *wire) trim() {
	drop := 0
	for len(w.frames)-drop > maxFrames || w.bytes > maxFrameBytes && drop < len(w.frames)-1 {
		w.bytes -= w.frames[drop].size
		w.frames[drop].text, w.frames[drop].HTTP = nil, nil // while a request is open, its frame is kept
		w.frames[drop] = nil
		drop++
	}
	w.frames = w.frames[drop:]
}

func (w *wire) announce() {
	w.mu.Lock()
	last := w.last
	w.timer = nil
	w.mu.Unlock()
	w.tell(last)
}

func (w *wire) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.timer != nil {
		w.timer.Stop()
	}
}

// between returns at most maxListed frames with after < N and a text that contains find, oldest first.
// If before is not 0, it returns frames with N < before instead, and of these the newest.
func (w *wire) between(after, before int, find string) []*frame {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := []*frame{}
	for i := range w.frames {
		f := w.frames[i]
		if before > 0 {
			f = w.frames[len(w.frames)-1-i]
		}
		if f.N <= after || before > 0 && f.N >= before {
			continue
		}
		if find != "" && !bytes.Contains(bytes.ToLower(f.text), []byte(strings.ToLower(find))) {
			continue
		}
		copied := *f // HTTP may be set later
		if found = append(found, &copied); len(found) == maxListed {
			break
		}
	}
	if before > 0 {
		slices.Reverse(found)
	}
	return found
}

// at returns a frame and its text, or nil if it is not kept.
func (w *wire) at(n int) (*frame, []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.frames {
		if f.N == n {
			copied := *f
			return &copied, f.text
		}
	}
	return nil, nil
}

// exchange returns the last request of a method on a connection, its answer, and the number of frames of
// the connection. It does not return or count frames that are not kept any more.
func (w *wire) exchange(session int, method string) (out, in []byte, frames int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := ""
	for _, f := range w.frames {
		if f.Session != session || f.Kind == "http" {
			continue
		}
		frames++
		switch {
		case f.Sent && f.Kind == "request" && f.Method == method:
			out, in, id = f.text, nil, f.ID
		case !f.Sent && id != "" && f.ID == id && f.Kind != "request": // an answer, or a malformed one
			in = f.text
		}
	}
	return out, in, frames
}

// exchanged adds an HTTP exchange to the frame that it sent, or as a frame of its own.
func (w *wire) exchanged(session int, id, method string, h *httpSeen) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := len(w.frames) - 1; i >= 0 && i >= len(w.frames)-256 && method != ""; i-- {
		f := w.frames[i]
		if f.Sent && f.HTTP == nil && f.Session == session && f.ID == id && f.Method == method {
			f.HTTP = h
			f.size += h.size()
			w.bytes += h.size()
			w.trim()
			return
		}
	}
	if method == "" || h.Failed != "" {
		w.keep(&frame{At: time.Now(), Sent: true, Kind: "http", Session: session, HTTP: h, Head: h.Method + " " + h.Path})
	}
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Round(10*time.Microsecond)) / float64(time.Millisecond)
}

// recorder is an HTTP transport that records its exchanges in the wire.
type recorder struct {
	next    http.RoundTripper
	session *session
	wire    *wire
	own     http.Header // fields that the user has set; all of them may be credentials
}

// RoundTrip sends a request and records the exchange.
func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	id, method := inBody(req)
	response, err := r.next.RoundTrip(req)
	address := *req.URL
	address.RawQuery, _ = keyless(address.RawQuery)
	seen := &httpSeen{Method: req.Method, Path: address.RequestURI(), Sent: r.hide(req.Header), Ms: milliseconds(time.Since(began))}
	if req.Method == http.MethodPost || !r.session.answered.Load() { // many servers refuse the GET of a stream with 403
		r.session.denied.Store(err == nil && (response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden))
	}
	if err != nil {
		seen.Failed = err.Error()
	} else {
		seen.Status, seen.Received = response.StatusCode, r.hide(response.Header)
	}
	r.wire.exchanged(r.session.number, id, method, seen)
	return response, err
}

// isCredential reports whether a header field with this name contains a credential, such as
// Authorization, Cookie or X-Api-Key. Some names speak only of credentials, or of the tokens of a model.
func isCredential(name string) bool {
	return name == "Dpop" || hides(name) && name != "Access-Control-Allow-Credentials" && !strings.Contains(name, "Ratelimit")
}

// hide masks the header fields that contain credentials, and those that the user has set.
func (r *recorder) hide(h http.Header) http.Header {
	h = h.Clone()
	for name := range h {
		if isCredential(name) {
			h.Set(name, "•••")
		}
	}
	for name := range r.own {
		if h.Get(name) != "" {
			h.Set(name, "•••")
		}
	}
	return h
}

// inBody returns the ID and the method of the message in a request.
func inBody(req *http.Request) (id, method string) {
	if req.GetBody == nil {
		return "", ""
	}
	body, err := req.GetBody()
	if err != nil {
		return "", ""
	}
	defer func() { _ = body.Close() }()
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.NewDecoder(body).Decode(&message) != nil {
		return "", ""
	}
	return string(message.ID), message.Method
}
