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

// route is a handler that is served next to the endpoint.
type route struct {
	pattern string
	handler http.Handler
}

// Route adds a handler from the graph to every HTTP server, next to the endpoint; see
// fiberhttp.Route. The constructor has its dependencies as parameters. It returns an http.Handler,
// alone or with an error. If the handler already exists, pass it to HTTP with the option
// fiberhttp.Route.
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

// routed returns the options of an HTTP server for the routes of the graph.
func (r *run) routed() (opts []fiberhttp.Option) {
	for _, each := range r.routes {
		opts = append(opts, fiberhttp.Route(each.pattern, each.handler))
	}
	return opts
}
