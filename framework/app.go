package framework

import (
	"context"
	"slices"

	"github.com/kagami-mcp/kagami/framework/internal/callsite"
	"github.com/kagami-mcp/kagami/framework/internal/catalog"
	"github.com/kagami-mcp/kagami/framework/testhook"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// An App collects components, middleware and options. It is not safe for concurrent use. Build may
// be called many times; each call returns a server of its own.
type App struct {
	name, version string
	cfg           appConfig
	added         []registration
	chain         []Middleware
	frames        []frameStep
	onStart       []hook
	onStop        []hook
	onRoots       []hook
	faults        []Fault // of methods that do not return an error
}

type hook = func(ctx context.Context, s *Server) error

// registration is one component, and the call site that added it.
type registration struct {
	component Component
	at        string
}

// New returns an app without components. Build reports faults in the arguments.
func New(name, version string, opts ...AppOption) *App {
	return NewAt(callsite.Caller(1), name, version, opts...)
}

// NewAt is like New, for code that builds an app on behalf of other code. Reports show where
// as the call site.
func NewAt(where, name, version string, opts ...AppOption) *App {
	a := &App{name: name, version: version, cfg: defaultConfig()}
	if name == "" {
		a.fault(where, "the server has no name", "Give New a name")
	}
	if version == "" {
		a.fault(where, "the server has no version", "Give New a version")
	}
	for _, o := range opts {
		opt, ok := o.(appOption)
		if !ok {
			a.fault(where, "an AppOption is nil", "Remove it")
			continue
		}
		if problem := opt.apply(&a.cfg); problem != "" {
			a.fault(where, opt.name+": "+problem, "")
		}
	}
	return a
}

func (a *App) fault(where, problem, fix string) {
	a.faults = append(a.faults, Fault{Component: "app", Where: where, Problem: problem, Fix: fix})
}

// Add adds components and returns the app. Build reports their faults.
func (a *App) Add(components ...Component) *App {
	return a.addAt(callsite.Caller(1), components)
}

// AddAt adds the components of a provider on behalf of other code. Reports and inspections
// show where as the call site, for example "shop.NewOrders (shop/orders.go:31)".
func (a *App) AddAt(where string, p Provider) *App {
	if p == nil || isNilPointer(p) {
		a.fault(where, "the provider is nil", "Return one, or an error")
		return a
	}
	components, err := guarded(func() ([]Component, error) { return p.Components(), nil })
	if err != nil {
		a.fault(where, "the provider's Components: "+err.Error(), "")
	}
	return a.addAt(where, components)
}

func (a *App) addAt(where string, components []Component) *App {
	for _, c := range components {
		a.added = append(a.added, registration{c, where})
	}
	return a
}

// Use adds middleware that wraps every component. Middleware is ordered by phase. Within a phase,
// the app's middleware is outermost, in the order it was added. The middleware of the
// component's groups comes next, then the component's own.
func (a *App) Use(mw ...Middleware) *App { return a.UseAt(callsite.Caller(1), mw...) }

// UseAt is like Use, on behalf of other code. Reports show where as the call site.
func (a *App) UseAt(where string, mw ...Middleware) *App {
	for _, m := range mw {
		if problem := m.problem(); problem != "" {
			a.fault(where, problem, "")
			continue
		}
		m.at = where
		a.chain = append(a.chain, m)
	}
	return a
}

// UseFrames adds middleware that wraps every frame. The first one is outermost. A middleware must
// pass on a context that is derived from its own. It is called concurrently.
//
// If a middleware returns an error instead of calling next, a request is answered with a JSON-RPC
// error. A *protocol.Error or *protocol.Fault is sent as it is. Errors of UserErrorf, NotFoundf and
// InvalidArgumentf are sent with their text. Others become internal errors, also ErrUnsupported and the
// error of URLRequired. [WithErrorMapper] does not apply.
func (a *App) UseFrames(mw ...transport.Middleware) *App {
	at := callsite.Caller(1)
	for _, m := range mw {
		if m == nil {
			a.fault(at, "a frame middleware is nil", "Remove it")
			continue
		}
		a.frames = append(a.frames, frameStep{m, at})
	}
	return a
}

// frameStep is a middleware of UseFrames, with the call site that added it.
type frameStep struct {
	wrap transport.Middleware
	at   string
}

// framed builds the chain of frame middleware in front of the engine. It returns a fault for each
// middleware that cannot be built.
func framed(steps []frameStep, spoken func(context.Context, error) error) (chain []transport.Middleware, faults []Fault) {
	if len(steps) == 0 {
		return nil, nil
	}
	var end transport.Next
	next := func(ctx context.Context, frame []byte, out transport.Outbound) error { return end(ctx, frame, out) }
	for _, step := range slices.Backward(steps) {
		outer, problem := wrap(step.wrap, next)
		if problem != "" {
			faults = append(faults, Fault{Component: "app", Where: step.at, Problem: "a frame middleware " + problem})
			continue
		}
		next = outer
	}
	slices.Reverse(faults)
	return []transport.Middleware{func(last transport.Next) transport.Next {
		end = last
		return func(ctx context.Context, frame []byte, out transport.Outbound) error {
			return spoken(ctx, next(ctx, frame, out))
		}
	}}, faults
}

// OnStart adds a function that runs before the first frame. Functions run in the order
// they were added. An error stops the start.
//
// The server accepts frames after all functions have returned. Until then it refuses a connection
// that a function makes to it with the function's context, or one derived from it. With any other
// context, the function would wait for itself.
func (a *App) OnStart(fn func(ctx context.Context, s *Server) error) *App {
	if fn == nil {
		a.fault(callsite.Caller(1), "OnStart: the function is nil", "Remove it")
	}
	a.onStart = append(a.onStart, fn)
	return a
}

// OnStop adds a function that runs after the last frame, even if the start has failed. Functions
// run in reverse order. All of them run. Serve and Shutdown return their errors, and panics as
// errors. The context of the functions does not end.
func (a *App) OnStop(fn func(ctx context.Context, s *Server) error) *App {
	if fn == nil {
		a.fault(callsite.Caller(1), "OnStop: the function is nil", "Remove it")
	}
	a.onStop = append(a.onStop, fn)
	return a
}

// OnRootsChanged adds a function that runs when a client notifies the server that its roots
// changed. Several functions run in order. They run concurrently for different clients. A panic is
// logged. In the function, [Roots] returns ErrUnsupported, because it cannot ask the client. The
// next call of Roots in a handler of the session asks again.
func (a *App) OnRootsChanged(fn func(ctx context.Context)) *App {
	if fn == nil {
		a.fault(callsite.Caller(1), "OnRootsChanged: the function is nil", "Remove it")
	}
	a.onRoots = append(a.onRoots, func(ctx context.Context, _ *Server) error { fn(ctx); return nil })
	return a
}

// Build inspects the types of all components, checks the registrations, and returns a server. The
// error is a *BuildError with all faults of all components. Warnings alone are not an error; Serve
// logs them. The server shares no state with the app: a later change of the app affects only the
// next Build.
func (a *App) Build() (*Server, error) { return a.build(&testhook.Hooks{}) }

func (a *App) build(hooks *testhook.Hooks) (*Server, error) {
	s := &Server{
		info:     a.info(),
		cfg:      a.cfg,
		chain:    slices.Clone(a.chain),
		onStart:  slices.Clone(a.onStart),
		onStop:   slices.Clone(a.onStop),
		quit:     make(chan struct{}),
		starting: make(chan struct{}, 1),
	}
	s.ports = portsOf(a.cfg.store, s.storeFailed)
	if err := s.applyHooks(hooks); err != nil {
		return nil, err
	}
	frames, faults := framed(a.frames, s.spoken)
	faults = append(slices.Clone(a.faults), faults...)
	s.registry = catalog.New(catalog.Config{
		PageSize:  a.cfg.pageSize,
		Secret:    []byte("kagami cursor " + a.name + " " + a.version),
		Filter:    s.listFilter(func(m Middleware, problem string) { faults = append(faults, m.appFault(problem)) }),
		Discreet:  slices.ContainsFunc(s.chain, func(m Middleware) bool { return m.only == kindList }),
		Forbidden: s.denied,
	})
	b := newBuilder(s, nil, faults)
	if a.cfg.pageSize == 0 { // New sets it, and no option sets 0
		b.faults = append(b.faults, Fault{Component: "app", Problem: "it was not made by New", Fix: "Call New"})
	}
	if err := a.cfg.unready(); err != nil {
		b.faults = append(b.faults, Fault{Component: "app", Problem: "WithAuth: " + err.Error(), Fix: "Configure the authenticator; until then every HTTP request is refused", Warning: true})
	}
	for _, doubt := range a.cfg.doubts() {
		b.faults = append(b.faults, Fault{Component: "app", Problem: "WithAuth: " + doubt, Fix: "Complete the authenticator", Warning: true})
	}
	if s.lacksClaims() {
		b.faults = append(b.faults, Fault{Component: "app", Problem: "WithStore: the store has no Claims, so the servers that share it do not share states of rounds, effects and counters", Fix: "Add the method Claims() claim.Store, also to a type that wraps a store, or set WithStateSecrets", Warning: true})
	}
	if len(a.added) == 0 && len(a.onStart) == 0 && len(b.faults) == 0 { // a function of OnStart may add components
		b.faults = append(b.faults, Fault{Component: "app", Problem: "it has no tool, resource or prompt", Fix: "Add one, or in a function of OnStart", Warning: true})
	}
	for _, add := range a.added {
		b.add(add.component, add.at)
	}
	if _, err := b.commit("Nothing was started."); err != nil {
		return nil, err
	}
	s.warnings = b.faults
	s.engine = engine.New(a.engineConfig(s, hooks, frames))
	return s, nil
}

func (a *App) engineConfig(s *Server, hooks *testhook.Hooks, frames []transport.Middleware) engine.Config {
	return engine.Config{
		Info:                s.info,
		Instructions:        a.cfg.instructions,
		Extensions:          a.cfg.extensions,
		Catalog:             s.registry,
		Secret:              s.registry.Secret,
		Frames:              frames,
		RootsChanged:        s.roots.forget,
		ElicitationComplete: s.elicitations.take,
		OnRootsChanged:      s.rootsChanged(slices.Clone(a.onRoots)),
		Failed:              s.reporter(hooks),
		Detail:              a.cfg.detail,
		States:              s.cfg.states,
		StateTTL:            a.cfg.stateTTL,
		AskTimeout:          a.cfg.askTimeout,
		ReplayCheck:         a.cfg.replayCheck || hooks.Differs != nil,
		Claims:              s.claims,
		SharedClaims:        s.shared,
		Performed:           hooks.Performed,
		Tasks:               s.tasks,
		TaskLimits:          a.cfg.tasks,
		Queue:               s.queue,
		Changes:             s.changes,
		Now:                 hooks.Now,
	}
}

// info returns the description of the server that clients get.
func (a *App) info() protocol.Implementation {
	return protocol.Implementation{
		Name: a.name, Title: a.cfg.title, Version: a.version,
		Description: a.cfg.description, WebsiteURL: a.cfg.website, Icons: a.cfg.icons,
	}
}
