package fiberhttp

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/valyala/fasthttp"

	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
)

// request is what one request says, in one piece of memory and its text in another.
type request struct {
	httpserver.Request
	fields fields
	lender lender
}

// readRequest copies a request out of fasthttp's memory. It returns false if the request names two
// hosts.
func readRequest(rc *fasthttp.RequestCtx) (*request, bool) {
	h := &rc.Request.Header
	host, path, query := h.Host(), rc.URI().PathOriginal(), rc.URI().QueryString()
	var text copier
	text.Grow(len(h.RawHeaders()) + len(host) + len(path) + len(query))
	r := &request{}
	r.fields.copy(&text, h)
	r.Method, r.Fields, r.RemoteAddr = method(h.Method()), &r.fields, httpserver.RemoteAddr(rc.Conn(), rc.RemoteAddr())
	r.Host, r.Path, r.Query = text.copy(host), text.copy(path), text.copy(query)
	return r, oneHost(h.RequestURI(), r.Host)
}

// method is the name without memory of its own, where it is one that is served.
func method(name []byte) string {
	switch string(name) {
	case http.MethodPost:
		return http.MethodPost
	case http.MethodGet:
		return http.MethodGet
	case http.MethodDelete:
		return http.MethodDelete
	case http.MethodOptions:
		return http.MethodOptions
	}
	return string(name)
}

// copier makes strings in one piece of memory.
type copier struct{ strings.Builder }

func (c *copier) copy(b []byte) string {
	from, end := c.Len(), c.add(b)
	return c.String()[from:end]
}

// add appends b, and returns where it ends.
func (c *copier) add(b []byte) uint32 {
	_, _ = c.Write(b)      // never fails
	return uint32(c.Len()) //nolint:gosec // a header is not that long
}

// oneHost reports whether a target in absolute form names the same host as the Host field: fasthttp
// would use that of the target.
func oneHost(target []byte, host string) bool {
	if len(target) > 0 && target[0] == '/' || string(target) == "*" {
		return true
	}
	u, err := url.Parse(string(target))
	return err == nil && strings.EqualFold(u.Host, host)
}

// usual is how many fields need no memory besides the request's, which is of a size that is allocated
// without waste.
const usual = 14

// fields are the header fields of one request, in order of arrival. Where they are in the text takes
// less memory than strings would.
type fields struct {
	text   string  // each name and then its value, without anything between
	places []place // of each of them, in text
	few    [usual]place
	once   sync.Once
	all    http.Header
}

// place is where a field is in the text: after the one before.
type place struct {
	name uint32 // how long the name is
	end  uint32 // of the value
}

// copy takes the fields into text, which is empty yet: as middleware left them, not as they were
// sent, since a program may rely on having removed one. Host is not among them, as net/http has it, nor are fields
// that came behind the chunks of a body, where fasthttp has put them: proxies and firewalls go by what comes before
// it (RFC 9110 section 6.5.1).
func (f *fields) copy(text *copier, h *fasthttp.RequestHeader) {
	f.places = f.few[:0]
	var left map[string]int
	if h.ContentLength() <= 0 && sent(h, "Transfer-Encoding") {
		left = count(h)
	}
	for name, value := range h.All() {
		if string(name) == "Host" || left != nil && !take(left, name) {
			continue
		}
		text.add(name)
		f.places = append(f.places, place{name: uint32(len(name)), end: text.add(value)}) //nolint:gosec // see add
	}
	f.text = text.String()
}

// count counts the fields of the header by their names in lower case.
func count(h *fasthttp.RequestHeader) map[string]int {
	left := make(map[string]int)
	for field := range lines(h) {
		left[string(bytes.ToLower(bytes.TrimRight(field, " \t")))]++ // one that begins with a space goes on with the line before
	}
	return left
}

// take takes one field of that name; false: none is left.
func take(left map[string]int, name []byte) bool {
	key := string(bytes.ToLower(name))
	left[key]--
	return left[key] >= 0
}

// Value is the first value of a field, and how often the field is there.
func (f *fields) Value(name string) (first string, times int) {
	from := uint32(0)
	for _, p := range f.places {
		if int(p.name) == len(name) && same(f.text[from:from+p.name], name) { // few share the length
			if times++; times == 1 {
				first = f.text[from+p.name : p.end]
			}
		}
		from = p.end
	}
	return first, times
}

// Values are those of one field.
func (f *fields) Values(name string) (values []string) {
	for each, value := range f.each {
		if len(each) == len(name) && same(each, name) {
			values = append(values, value)
		}
	}
	return values
}

// each yields all fields.
func (f *fields) each(yield func(name, value string) bool) {
	from := uint32(0)
	for _, p := range f.places {
		if !yield(f.text[from:from+p.name], f.text[from+p.name:p.end]) {
			return
		}
		from = p.end
	}
}

// same compares names of equal length; names of different lengths could be equal only by case folding
// outside ASCII.
func same(a, b string) bool { return a == b || strings.EqualFold(a, b) }

// Header is all of them.
func (f *fields) Header() http.Header {
	f.once.Do(func() {
		f.all = make(http.Header, len(f.places))
		for name, value := range f.each {
			f.all.Add(name, value)
		}
	})
	return f.all
}

// prefetched is how much of a body that is handed on as a stream fasthttp reads before it calls the
// handler.
const prefetched = 8 << 10

// firstRoom is what is made ready for a body before any of it has arrived: the rest grows with what
// comes, so that a client cannot reserve memory by announcing a long one.
const firstRoom = 64 << 10

// readBody copies the body; large says that it is beyond limit, which an announced length says before
// anything is read.
func readBody(rc *fasthttp.RequestCtx, limit int) (body []byte, large bool, err error) {
	length := rc.Request.Header.ContentLength()
	if length > limit {
		return nil, true, nil
	}
	if !rc.Request.IsBodyStream() {
		raw := rc.Request.Body()
		if len(raw) > limit {
			return nil, true, nil
		}
		return append(make([]byte, 0, len(raw)), raw...), false, nil
	}
	body, err = readStream(rc.RequestBodyStream(), length, limit)
	if err == nil && length < 0 && broken(rc) {
		err = io.ErrUnexpectedEOF
	}
	if err == nil && len(body) <= limit {
		err = rc.Request.CloseBodyStream() // it is read: see unread
	}
	return body, len(body) > limit, err
}

// readStream reads at most limit+1 bytes, of which length are announced; length is negative if the body
// comes in chunks.
func readStream(from io.Reader, length, limit int) ([]byte, error) {
	room := length
	if room < 0 {
		room = 512
	}
	body := make([]byte, 0, min(room, firstRoom))
	for len(body) <= limit && (length < 0 || len(body) < length) {
		if len(body) == cap(body) { // four times as much as has arrived, or all that is still to come
			more := 3 * len(body)
			if length >= 0 {
				more = min(more, length-len(body))
			}
			body = slices.Grow(body, max(more, 1))
		}
		end := min(cap(body), limit+1)
		n, err := from.Read(body[len(body):end])
		body = body[:len(body)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return body, err
		}
	}
	if length > len(body) {
		return body, io.ErrUnexpectedEOF
	}
	return body, nil
}

// unread ends the connection with this request if the body is not read to its end: what follows on it
// would be taken for the next request. The client may go on sending for a moment, so that it sees the
// answer.
func unread(rc *fasthttp.RequestCtx) {
	if !rc.Request.IsBodyStream() {
		return
	}
	if length := rc.Request.Header.ContentLength(); length >= 0 && length <= prefetched {
		return
	}
	rc.SetConnectionClose()
	httpserver.Unread(rc.Conn())
}
