package fiberhttp

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/valyala/fasthttp"

	"github.com/kagami-mcp/kagami/transport/internal/front"
)

// request is what one request says, in one piece of memory and its text in another.
type request struct {
	front.Request
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
	r.Method, r.Fields, r.RemoteAddr = method(h.Method()), &r.fields, front.RemoteAddr(rc.Conn(), rc.RemoteAddr())
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
	from := c.Len()
	_, _ = c.Write(b) // never fails
	return c.String()[from:]
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
	text string   // each name and then its value, without anything between
	ends []uint32 // where each of them ends
	few  [2 * usual]uint32
	once sync.Once
	all  http.Header
}

// copy takes the fields into text, which is empty yet, as middleware left them, not as they were sent: a program may
// rely on having removed one.
func (f *fields) copy(text *copier, h *fasthttp.RequestHeader) {
	f.ends = f.few[:0]
	for name, value := range h.All() {
		if string(name) == "Host" { // as net/http has it
			continue
		}
		f.ends = append(f.ends, text.add(name), text.add(value))
	}
	f.text = text.String()
}

// field is the field that begins at an index of ends.
func (f *fields) field(i int) (name, value string) {
	from := uint32(0)
	if i > 0 {
		from = f.ends[i-1]
	}
	return f.text[from:f.ends[i]], f.text[f.ends[i]:f.ends[i+1]]
}

// Value is the first value of a field, and how often the field is there.
func (f *fields) Value(name string) (first string, times int) {
	for i := 0; i < len(f.ends); i += 2 {
		each, value := f.field(i)
		if len(each) != len(name) || !same(each, name) { // few share the length
			continue
		}
		if times++; times == 1 {
			first = value
		}
	}
	return first, times
}

// Values are those of one field.
func (f *fields) Values(name string) (values []string) {
	for i := 0; i < len(f.ends); i += 2 {
		if each, value := f.field(i); len(each) == len(name) && same(each, name) {
			values = append(values, value)
		}
	}
	return values
}

// same compares names of equal length; names of different lengths could be equal only by case folding
// outside ASCII.
func same(a, b string) bool { return a == b || strings.EqualFold(a, b) }

// Header is all of them.
func (f *fields) Header() http.Header {
	f.once.Do(func() {
		f.all = make(http.Header, len(f.ends)/2)
		for i := 0; i < len(f.ends); i += 2 {
			f.all.Add(f.field(i))
		}
	})
	return f.all
}

// readBody copies the body; large says that it is beyond limit.
func readBody(rc *fasthttp.RequestCtx, limit int) (body []byte, large bool, err error) {
	if !rc.Request.IsBodyStream() {
		raw := rc.Request.Body()
		if len(raw) > limit {
			return nil, true, nil
		}
		return append(make([]byte, 0, len(raw)), raw...), false, nil
	}
	// fasthttp does not count what it hands on as a stream.
	body, err = io.ReadAll(io.LimitReader(rc.RequestBodyStream(), int64(limit)+1))
	return body, len(body) > limit, err
}
