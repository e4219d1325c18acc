package mcpfx

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"reflect"

	"go.uber.org/fx"

	"github.com/kagami-mcp/kagami/framework/internal/callsite"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

// route is a handler beside the endpoint.
type route struct {
	pattern string
	handler http.Handler
}

// Route puts a handler that comes from the graph on every server of HTTP, beside the endpoint; see
// fiberhttp.Route. The constructor takes what it needs, and returns an http.Handler, alone or with an
// error. A handler that is there already can be given to HTTP: fiberhttp.Route is one of its options.
func Route(pattern string, constructor any) fx.Option {
	found, err := resultsOf[http.Handler](constructor)
	if err != nil {
		return fx.Error(fmt.Errorf("mcpfx.Route: %w", err))
	}
	unique := rand.Text()
	return provide("mcpfx.Route at "+callsite.Caller(1), []any{
		fx.Annotated{Name: unique, Target: constructor},
		annotate(constructor, func(h http.Handler) route { return route{pattern, h} },
			fx.From(reflect.New(found[0]).Interface()), fx.ParamTags(`name:"`+unique+`"`), fx.ResultTags(`group:"kagami.routes"`)),
	})
}

// routed are the options of a server with the routes of the graph.
func (r *run) routed() (opts []fiberhttp.Option) {
	for _, each := range r.routes {
		opts = append(opts, fiberhttp.Route(each.pattern, each.handler))
	}
	return opts
}
