package mcpfx

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/internal/callsite"
	"github.com/kagami-mcp/kagami/framework/internal/sigpipe"
	"github.com/kagami-mcp/kagami/framework/mcpfx/internal/events"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

// Option configures Module. Other packages cannot implement it.
type Option interface{ option(m *module) }

// module holds the options of Module.
type module struct {
	name, version string
	from          string // call site of Module
	options       []framework.AppOption
	carriers      []carrier
}

// carrier is an option that makes a transport for a run.
type carrier func(r *run) (transport.Transport, error)

func (c carrier) option(m *module) { m.carriers = append(m.carriers, c) }

// HTTP serves on addr. ":8080" is port 8080 of this machine only. HTTP may be given several times,
// and together with Stdio. The server logs the address.
func HTTP(addr string, opts ...fiberhttp.Option) Option {
	opts = slices.Clone(opts)
	return carrier(func(r *run) (transport.Transport, error) {
		open := make(chan struct{})
		r.opening = append(r.opening, open)
		return fiberhttp.New(addr, append(slices.Concat(opts, r.routed()), fiberhttp.OnListen(func(bound net.Addr) {
			r.server.Logger().Info("serving MCP over HTTP", zap.Stringer("address", bound),
				zap.Bool("authenticated", r.server.Services().Authenticator != nil))
			close(open)
		}))...), nil
	})
}

// Stdio serves on the standard streams. The end of the input stops the app if there is no other
// transport. If the reader of the log has gone, writing to it does not kill the program by SIGPIPE.
// A wrap can add credentials from the environment: auth.Env.
func Stdio(wraps ...func(transport.Transport) transport.Transport) Option {
	t := stdio.New()
	for _, wrap := range wraps {
		if wrap == nil {
			return carrier(func(*run) (transport.Transport, error) {
				return nil, errors.New("mcpfx.Stdio: a function that wraps the carrier is nil")
			})
		}
		if t = wrap(t); t == nil {
			return carrier(func(*run) (transport.Transport, error) {
				return nil, errors.New("mcpfx.Stdio: a function that wraps the carrier returned nil")
			})
		}
	}
	return carrier(func(r *run) (transport.Transport, error) {
		if r.stdio {
			return nil, errors.New("mcpfx.Stdio: a process has the standard streams once, and the option is given twice")
		}
		r.stdio = true
		sigpipe.Catch()
		return t, nil
	})
}

// Carrier serves on a transport that the program has made.
func Carrier(t transport.Transport) Option {
	return carrier(func(*run) (transport.Transport, error) {
		if isNil(t) {
			return nil, errors.New("mcpfx.Carrier: the transport is nil")
		}
		return t, nil
	})
}

// Mounted does not listen. The program mounts *framework.Server under its own app in an fx.Invoke,
// for instance with fiberhttp.Mount. The module runs the start hooks, and shuts the server down
// when the program stops.
//
// fx stops in reverse order. If Module comes after the fx.Invoke that mounts, the server stops
// first, and calls in flight are answered while the app still listens.
func Mounted() Option { return Carrier(mounted{}) }

// mounted is a transport that only waits, because the program carries the frames.
type mounted struct{}

// Serve waits until ctx ends.
func (mounted) Serve(ctx context.Context, _ transport.Host) error {
	<-ctx.Done()
	return nil
}

// Worker runs tasks of the store. Use it alone to serve no client, or with Stdio to continue after
// stdin has ended. The store comes from the graph or from Options(framework.WithStore(...)).
func Worker() Option {
	return carrier(func(r *run) (transport.Transport, error) { return r.server.Worker() })
}

// Options passes options to framework.New, after the options from the graph.
func Options(opts ...framework.AppOption) Option { return appOptions(slices.Clone(opts)) }

type appOptions []framework.AppOption

func (o appOptions) option(m *module) { m.options = append(m.options, o...) }

// Module provides *framework.Server and serves it. A program has one Module. fx.New reports an
// error if Module has no transport, or if an option or a transport is nil.
func Module(name, version string, opts ...Option) fx.Option {
	m := &module{name: name, version: version, from: "mcpfx.Module at " + callsite.Caller(1)}
	for _, o := range opts {
		if o == nil {
			return fx.Error(fmt.Errorf("%s: an option is nil", m.from))
		}
		o.option(m)
	}
	return fx.Options(
		fx.WithLogger(events.New),
		fx.Provide(
			m.newApp,
			func() *sequence { return &sequence{} },
			// The module calls Build itself, to get an error that fx has not wrapped.
			func(app *framework.App) assembly { return sync.OnceValues(app.Build) },
			func(build assembly) (*framework.Server, error) { return build() },
		),
		fx.Invoke(m.serve),
	)
}

// assembly builds the server, once.
type assembly func() (*framework.Server, error)

// parts holds the values from the graph that the app is made of.
type parts struct {
	fx.In

	Logger    *zap.Logger             `optional:"true"`
	Store     framework.Store         `optional:"true"`
	Auth      transport.Authenticator `optional:"true"`
	Providers []provided              `group:"kagami.providers"`
	Steps     []step                  `group:"kagami.middleware"`
}

// newApp makes the app. It sorts the middleware and the providers, which fx passes in random order.
func (m *module) newApp(p parts) *framework.App {
	var opts []framework.AppOption
	if p.Logger != nil {
		opts = append(opts, framework.WithLogger(p.Logger))
	}
	if p.Store != nil {
		opts = append(opts, framework.WithStore(p.Store))
	}
	if p.Auth != nil {
		opts = append(opts, framework.WithAuth(p.Auth))
	}
	app := framework.NewAt(m.from, m.name, m.version, append(opts, m.options...)...)
	slices.SortFunc(p.Steps, func(a, b step) int { return a.place - b.place })
	for _, s := range p.Steps {
		app.UseAt(s.from, s.mw)
	}
	slices.SortFunc(p.Providers, func(a, b provided) int { return strings.Compare(a.name, b.name) })
	for _, given := range p.Providers {
		app.AddAt(given.from, given.Provider)
	}
	return app
}
