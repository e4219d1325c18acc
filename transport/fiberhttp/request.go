package fiberhttp

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/valyala/fasthttp"

	"github.com/kagami-mcp/kagami/transport/internal/front"
	"github.com/kagami-mcp/kagami/transport/streamable"
)

// readRequest copies what a request says out of fasthttp's memory. It is false for
// one that names two hosts.
func readRequest(rc *fasthttp.RequestCtx) (*front.Request, bool) {
	h := &rc.Request.Header
	r := &front.Request{
		Request: streamable.Request{
			Method:     string(h.Method()),
			Host:       string(h.Host()),
			Fields:     copyFields(h),
			RemoteAddr: rc.RemoteAddr().String(),
		},
		Path:  string(rc.URI().PathOriginal()),
		Query: string(rc.URI().QueryString()),
	}
	return r, oneHost(string(h.RequestURI()), r.Host)
}

// oneHost: a target in absolute form must not name another host than the Host field,
// since fasthttp would let the target count.
func oneHost(target, host string) bool {
	if strings.HasPrefix(target, "/") || target == "*" {
		return true
	}
	u, err := url.Parse(target)
	return err == nil && strings.EqualFold(u.Host, host)
}

// fields are the header fields of one request: strings in one piece of memory.
type fields struct {
	list []field
	once sync.Once
	all  http.Header
}

type field struct{ name, value string }

// copyFields takes the fields as middleware left them, not as they were sent: a
// program may rely on having removed one.
func copyFields(h *fasthttp.RequestHeader) *fields {
	size, count := 0, 0
	for name, value := range h.All() {
		size += len(name) + len(value)
		count++
	}
	buf := make([]byte, 0, size)
	ends := make([]int, 0, 2*count)
	for name, value := range h.All() {
		buf = append(buf, name...)
		ends = append(ends, len(buf))
		buf = append(buf, value...)
		ends = append(ends, len(buf))
	}
	text, at := string(buf), 0
	f := &fields{list: make([]field, 0, count)}
	for i := 0; i < len(ends); i += 2 {
		name, value := text[at:ends[i]], text[ends[i]:ends[i+1]]
		at = ends[i+1]
		if name != "Host" { // as net/http has it
			f.list = append(f.list, field{name, value})
		}
	}
	return f
}

// Values are those of one field.
func (f *fields) Values(name string) []string {
	var values []string
	for _, each := range f.list {
		if strings.EqualFold(each.name, name) {
			values = append(values, each.value)
		}
	}
	return values
}

// Header is all of them.
func (f *fields) Header() http.Header {
	f.once.Do(func() {
		f.all = make(http.Header, len(f.list))
		for _, each := range f.list {
			f.all.Add(each.name, each.value)
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
