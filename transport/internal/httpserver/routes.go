package httpserver

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// MaxRouteBody bounds the body of a request to a handler of the program.
const MaxRouteBody = 64 << 10

// Route is a handler of the program on a stand-alone server.
type Route struct {
	Pattern string // pattern of http.ServeMux
	Handler http.Handler
}

// misrouted returns an error for a route without a handler, with a pattern that http.ServeMux does
// not accept, or for a path that the server itself serves.
func (c *Config) misrouted() (err error) {
	pattern := ""
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("the route %q: %v", pattern, value)
		}
	}()
	mux := http.NewServeMux()
	for _, route := range c.Routes {
		if pattern = route.Pattern; route.Handler == nil {
			return fmt.Errorf("the route %q has no handler", pattern)
		}
		if mux.Handle(pattern, route.Handler); c.taken(pattern) {
			return fmt.Errorf("the route %q is never served, because the server has something else there: take another path,"+
				" or leave the landing page (NoLanding) or the pair of HTTP+SSE (WithoutHTTPSSE) out", pattern)
		}
	}
	return nil
}

// taken reports whether the server itself serves the path that a pattern matches.
func (c *Config) taken(pattern string) bool {
	at, one := strings.CutSuffix(pattern[strings.IndexByte(pattern, '/'):], "{$}") // without the method and the host
	switch {
	case strings.HasPrefix(at, Metadata+"/"):
		return true
	case !one && strings.HasSuffix(at, "/"): // all paths below
		return false
	case at == "/":
		return c.Path == "/" || !c.Landing.Off
	}
	plain := strings.TrimSuffix(at, "/")
	return plain == strings.TrimSuffix(c.Path, "/") || slices.Contains(c.others(), at) ||
		!c.NoSSE && (plain == c.Beside(SSE) || plain == c.Beside(Messages))
}

// Routes serves the handlers of the program, and answers 404 for paths without a handler.
type Routes struct {
	front *Endpoints
	mux   *http.ServeMux
	none  bool // the program has no handlers
}

// Routes returns the handlers of the program.
func (f *Endpoints) Routes(c *Config) *Routes {
	r := &Routes{f, http.NewServeMux(), len(c.Routes) == 0}
	all := false
	for _, route := range c.Routes {
		r.mux.Handle(route.Pattern, route.Handler)
		all = all || route.Pattern == "/"
	}
	if !all {
		r.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { reply(w, nothing()) })
	}
	return r
}

// nothing returns the reply for a path without a handler.
func nothing() *streamable.Reply {
	return streamable.Refusal(http.StatusNotFound, "there is nothing here")
}

// Refused checks the header of a request and returns the refusal, or nil. It checks the Host field,
// whether there are handlers at all, and the length of the body; length is negative if it is not
// announced.
func (r *Routes) Refused(host string, length int64) *streamable.Reply {
	if refused := r.front.main.RefusedHost(host); refused != nil {
		return refused
	}
	switch {
	case r.none:
		return nothing()
	case length > MaxRouteBody:
		return streamable.TooLarge(MaxRouteBody)
	}
	return nil
}

// ServeHTTP answers a request for a path that the server itself does not serve.
func (r *Routes) ServeHTTP(w http.ResponseWriter, asked *http.Request) {
	defer func() {
		switch value := recover(); value {
		case nil:
		case http.ErrAbortHandler:
			panic(value)
		default:
			reply(w, Broken(r.front.Log(), value))
		}
	}()
	if refused := r.Refused(asked.Host, asked.ContentLength); refused != nil {
		reply(w, refused)
		return
	}
	bounded := *asked // net/http reads the rest of a replaced body, also if the client waits for 100 Continue
	bounded.Body = http.MaxBytesReader(w, asked.Body, MaxRouteBody)
	r.mux.ServeHTTP(w, &bounded)
}

// reply writes a reply that is not a stream.
func reply(w http.ResponseWriter, r *streamable.Reply) {
	for _, f := range r.Header {
		w.Header().Set(f.Name, f.Value)
	}
	w.WriteHeader(r.Status)
	_, _ = w.Write(r.Body) // the client may have disconnected, which does not matter here
}
