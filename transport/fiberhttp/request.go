package fiberhttp

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/valyala/fasthttp"

	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
)

// request is one request in two allocations: this struct, and the text of its strings.
type request struct {
	httpserver.Request
	fields fields
}

// readRequest copies a request out of fasthttp's memory. It returns false if the target names
// another host than the Host field.
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

// method returns the name of a method. A method that is served takes no memory.
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

// copier makes strings that share one allocation.
type copier struct{ strings.Builder }

func (c *copier) copy(b []byte) string {
	from, end := c.Len(), c.add(b)
	return c.String()[from:end]
}

// add appends b, and returns the offset of its end.
func (c *copier) add(b []byte) uint32 {
	_, _ = c.Write(b)      // Write never fails
	return uint32(c.Len()) //nolint:gosec // a header is not that long
}

// oneHost reports whether a target in absolute form names the same host as the Host field. fasthttp
// would use the host of the target.
func oneHost(target []byte, host string) bool {
	if len(target) > 0 && target[0] == '/' || string(target) == "*" {
		return true
	}
	u, err := url.Parse(string(target))
	return err == nil && strings.EqualFold(u.Host, host)
}

// usual is the number of fields that fit into the request itself. With it the request fills its
// size class of the allocator.
const usual = 14

// fields are the header fields of one request, in order of arrival. Offsets into one text take less
// memory than strings.
type fields struct {
	text   string  // names and values of all fields, without separators
	places []place // of the fields, in text
	few    [usual]place
	once   sync.Once
	all    http.Header
}

// place is the position of a field in the text. It begins where the previous field ends.
type place struct {
	name uint32 // length of the name
	end  uint32 // offset of the end of the value
}

// copy fills the fields, and appends their names and values to text, which must be empty. It takes
// the fields as middleware has left them, because a program may have removed one. Host is left out,
// as in net/http. Trailer fields after the chunks of a body are also left out, although fasthttp
// has added them to the header: proxies and firewalls have checked only the header (RFC 9110
// section 6.5.1).
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
		left[string(bytes.ToLower(bytes.TrimRight(field, " \t")))]++ // a line that begins with a space continues the previous line
	}
	return left
}

// take counts one field with the name down. It returns false if none is left.
func take(left map[string]int, name []byte) bool {
	key := string(bytes.ToLower(name))
	left[key]--
	return left[key] >= 0
}

// Value implements transport.Fields.
func (f *fields) Value(name string) (first string, times int) {
	from := uint32(0)
	for _, p := range f.places {
		if int(p.name) == len(name) && same(f.text[from:from+p.name], name) { // few names have the same length
			if times++; times == 1 {
				first = f.text[from+p.name : p.end]
			}
		}
		from = p.end
	}
	return first, times
}

// Values implements transport.Fields.
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

// same compares names of equal length. Names of different lengths can be equal only by Unicode case
// folding, which field names do not have.
func same(a, b string) bool { return a == b || strings.EqualFold(a, b) }

// Header implements transport.Fields.
func (f *fields) Header() http.Header {
	f.once.Do(func() {
		f.all = make(http.Header, len(f.places))
		for name, value := range f.each {
			f.all.Add(name, value)
		}
	})
	return f.all
}
