package framework

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework/internal/catalog"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// Server is a built app. It is safe for concurrent use. The zero Server, which ServerFrom
// returns outside a handler, does nothing.
type Server struct {
	name     string // of the app
	cfg      appConfig
	chain    []Middleware
	onStart  []hook
	onStop   []hook
	engine   *engine.Engine
	registry *catalog.Registry
	warnings []Fault  // found by Build, logged by Serve
	forms    sync.Map // reflect.Type -> *binding.Plan: the compiled forms of Elicit
	answers  sync.Map // reflect.Type -> *answerPlan: the compiled answers of GenerateAs
	ports
	roots  sessionRoots
	visits visits

	offering sync.Mutex                     // guards offered
	offered  map[Component][]*catalog.Entry // tools of WithTools that are not registered, compiled

	changing sync.Mutex // serializes changes at run time

	starting chan struct{} // a lock, as a channel with one element: its holder starts the server; guards hooked and startErr
	hooked   bool          // the OnStart functions have run
	startErr error         // the error of the OnStart functions
	started  atomic.Bool   // the server has been started: the lock is not needed any more

	startsLate sync.Once // warns, once, that requests wait for the start

	quitting sync.Once
	draining sync.Once
	quit     chan struct{} // closed by Shutdown: Serve stops its transports
	carrying sync.Mutex    // held while Serve runs transports

	stopping sync.Once
	stopErr  error // written under stopping
}

var _ transport.Server = (*Server)(nil)

// Title returns the server's name for people, which WithTitle sets; "" if it has none. Everybody
// may read it: it is on the landing page that browsers get.
func (s *Server) Title() string { return s.cfg.title }

// errNotBuilt is the error of a Server that was not made by Build.
var errNotBuilt = errors.New("framework: the server was not built")

// errStarting refuses a call in an OnStart function that would wait for that function itself.
var errStarting = errors.New("framework: the server is starting: it serves nothing before its OnStart functions have run, and one of them asks")

// errStopped refuses to start again after a stop.
var errStopped = fmt.Errorf("framework: the server has stopped: build another one: %w", engine.ErrShutdown)

// errOwnEnd refuses a call in an OnStart or OnStop function that would wait for that function
// itself.
var errOwnEnd = errors.New("framework: a function of OnStart or OnStop that calls Shutdown waits for itself; an error of OnStart ends the server")

// startOf marks the contexts of a server's OnStart functions.
type startOf struct{ server *Server }

// stopOf marks those of its OnStop functions.
type stopOf struct{ server *Server }

// Start runs the OnStart functions, once, and begins to run the tasks of a shared store.
// Serve calls it. If a program mounts the server into something of its own, the first frame
// does; call Start before that to see the error. Concurrent callers wait for its outcome,
// or until ctx ends; with the context of an OnStart function, or one derived from it, that
// is an error at once. It is also an error if the server was stopped: a server is for one
// run.
func (s *Server) Start(ctx context.Context) error {
	if s == nil || s.engine == nil {
		return errNotBuilt
	}
	if s.stopped() {
		return errStopped
	}
	return s.start(ctx, ctx)
}

// start does what Start does; the OnStart functions and the engine get the values of life, and
// ctx bounds the wait for another caller that is starting the server.
func (s *Server) start(ctx, life context.Context) error {
	switch {
	case s.engine == nil:
		return errNotBuilt
	case s.started.Load():
		return nil
	case ctx.Value(startOf{s}) != nil:
		return errStarting
	}
	if err := s.turn(ctx); err != nil {
		return err
	}
	defer func() { <-s.starting }()
	if !s.hooked {
		if s.stopped() {
			return errStopped
		}
		s.hooked, s.startErr = true, s.runHooks(context.WithValue(life, startOf{s}, true))
	}
	if s.startErr != nil || s.started.Load() {
		return s.startErr
	}
	if err := s.engine.Start(life); err != nil { // if the store cannot be reached, the next frame tries again
		return fmt.Errorf("starting: %w", err)
	}
	s.started.Store(true)
	return nil
}

// stopped says that the server is stopping or has stopped.
func (s *Server) stopped() bool {
	select {
	case <-s.engine.Closing():
		return true
	default:
		return false
	}
}

// turn takes the lock of starting. While another caller has it, turn waits until ctx ends. A
// free lock is taken even if ctx has ended: OnStart functions notice that themselves.
func (s *Server) turn(ctx context.Context) error {
	select {
	case s.starting <- struct{}{}:
		return nil
	default:
	}
	late := time.AfterFunc(slowStart, func() { s.startsLate.Do(s.tellOfStart) })
	defer late.Stop()
	select {
	case s.starting <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("framework: waiting for the start of the server: %w", context.Cause(ctx))
	}
}

// slowStart is after which time the log says why the first calls wait.
const slowStart = 10 * time.Second

func (s *Server) tellOfStart() {
	s.cfg.logger.Warn("requests wait for the OnStart functions: one that uses this server by another context than the one it was given waits for itself",
		zap.Duration("waited", slowStart))
}

func (s *Server) runHooks(ctx context.Context) error {
	for i, fn := range s.onStart {
		if err := s.hook(ctx, fn); err != nil {
			return fmt.Errorf("starting, step %d of %d: %w", i+1, len(s.onStart), err)
		}
	}
	return nil
}

// hook calls a function of the program with the server in its context.
func (s *Server) hook(ctx context.Context, fn hook) error {
	_, err := guarded(&handling{Context: ctx, server: s}, func(ctx context.Context, _ struct{}) (struct{}, error) {
		return struct{}{}, fn(ctx, s)
	}, struct{}{})
	return err
}

// Serve blocks until ctx ends (nil) or a transport fails, or until all transports have
// ended. It first logs the warnings of Build and runs OnStart; at the end it gives calls in
// flight their grace, waits for every transport and runs OnStop. The error is that of
// OnStart or of the first transport that failed, joined with those of OnStop.
//
// A server is served once: calling Serve again, during or after the first call or after
// Shutdown, is an error, and so is calling it without a transport or with a nil one.
func (s *Server) Serve(ctx context.Context, transports ...transport.Transport) error {
	if s == nil || s.engine == nil {
		return errNotBuilt
	}
	if len(transports) == 0 {
		return errors.New("framework: Serve needs a transport")
	}
	if i := slices.Index(transports, nil); i >= 0 {
		return fmt.Errorf("framework: Serve: transport %d of %d is nil", i+1, len(transports))
	}
	if !s.carrying.TryLock() {
		return errors.New("framework: Serve is running already")
	}
	if s.stopped() {
		s.carrying.Unlock()
		return errStopped
	}
	s.warn()
	err := s.Start(ctx)
	if err == nil {
		err = s.carry(ctx, transports)
	}
	s.drain(ctx)
	s.carrying.Unlock()
	return errors.Join(err, s.stop(ctx))
}

// warn logs the warnings of Build, which are in no error.
func (s *Server) warn() {
	for _, f := range s.warnings {
		s.cfg.logger.Warn(f.Component+": "+f.sentence(), zap.String("where", f.Where), zap.String("function", f.Function))
	}
}

// drain refuses new calls, and gives running ones the grace period.
func (s *Server) drain(ctx context.Context) {
	s.draining.Do(func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.grace)
		defer cancel()
		if err := s.engine.Shutdown(grace); err != nil {
			s.cfg.logger.Warn("calls in flight were cancelled: the grace period is over", zap.Duration("grace", s.cfg.grace))
		}
		select {
		case <-s.engine.Abandoned():
			s.cfg.logger.Warn("handlers ignore that their context has ended: the server ends without them")
		default:
		}
	})
}

// carry runs the transports until ctx ends, one fails, all have ended, or Shutdown is called.
// Then it stops them. The engine comes first, so that calls end within the grace period while
// the carriers can still send their answers.
func (s *Server) carry(ctx context.Context, transports []transport.Transport) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	ended := make(chan error, len(transports))
	for _, t := range transports {
		running.Go(func() { ended <- t.Serve(inner, s) })
	}
	var failure error
	for left := len(transports); left > 0 && failure == nil; {
		select {
		case failure = <-ended:
			left--
			continue
		case <-ctx.Done():
		case <-s.quit:
		}
		break
	}
	cancel()
	s.drain(ctx)
	running.Wait()
	for range len(ended) {
		if err := <-ended; failure == nil {
			failure = err
		}
	}
	return failure
}

// Shutdown ends what Serve or a mounted endpoint began: no more requests are taken, calls
// in flight may go on until ctx ends and are then cancelled, and OnStop runs, once. It
// returns when that is done and Serve has ended its transports. The error is ctx's if calls
// had to be cancelled, joined with those of OnStop; a second call returns those of OnStop.
//
// A handler that calls it is itself a call in flight, and waits for itself until ctx ends;
// have a goroutine with a context of its own call it instead. In a function of OnStart or
// OnStop it returns an error at once.
func (s *Server) Shutdown(ctx context.Context) error {
	switch {
	case s == nil || s.engine == nil:
		return nil
	case ctx.Value(startOf{s}) != nil && !s.started.Load(), ctx.Value(stopOf{s}) != nil:
		return errOwnEnd
	}
	s.quitting.Do(func() { close(s.quit) })
	err := s.engine.Shutdown(ctx)
	s.carrying.Lock() // waits until Serve's transports have ended
	defer s.carrying.Unlock()
	return errors.Join(err, s.stop(ctx))
}

// stop runs the OnStop functions once, and returns their errors each time.
func (s *Server) stop(ctx context.Context) error {
	s.stopping.Do(func() {
		stopping := context.WithValue(context.WithoutCancel(ctx), stopOf{s}, true)
		for _, fn := range slices.Backward(s.onStop) {
			if err := s.hook(stopping, fn); err != nil {
				s.stopErr = errors.Join(s.stopErr, fmt.Errorf("stopping: %w", err))
			}
		}
	})
	return s.stopErr
}

// Accept makes Server a transport.Host.
func (s *Server) Accept(ctx context.Context, frame []byte) (transport.Exchange, error) {
	if s == nil {
		return nil, errNotBuilt
	}
	if err := s.start(ctx, context.Background()); err != nil { //nolint:forbidigo // what starts here is not the first client's
		return nil, err
	}
	return s.engine.Accept(ctx, frame)
}

// Services returns what carriers over HTTP use besides Accept: the authenticator of WithAuth, and
// what the store of WithStore shares between processes. It makes Server a transport.Server.
func (s *Server) Services() transport.Services {
	if s == nil || s.engine == nil {
		return transport.Services{}
	}
	return transport.Services{
		Authenticator: s.cfg.auth, Events: s.events,
		Closing: s.engine.Closing(), Abandoned: s.engine.Abandoned(),
		Warn:     func(text string) { s.Logger().Warn(text) },
		Sessions: s.sessions, Changes: s.changes, Adopt: s.adopt,
	}
}

// adopt makes the server notify a session that another process has opened, even before a frame of
// the session comes here. It returns the error of Start.
func (s *Server) adopt(link *transport.Connection) error {
	if err := s.start(link.Context(), context.Background()); err != nil { //nolint:forbidigo // what starts here is not the first client's
		return err
	}
	s.engine.Adopt(link)
	return nil
}

// ResourceUpdated notifies subscribers of the resource, and those of its parents. If the
// resource has Scopes, the latter are told only of the parent they watch. It never blocks.
func (s *Server) ResourceUpdated(_ context.Context, uri string) {
	if s.engine != nil {
		s.engine.Updated(uri)
	}
}

// failed logs errors outside of components, such as a panic of a middleware, of which the
// engine does not send the text.
func (s *Server) failed(ctx context.Context, c *engine.Call, err error) {
	s.logFailure(ctx, c, err, "request", methodName(c))
}

func methodName(c *engine.Call) string {
	if c == nil || c.Params == nil {
		return ""
	}
	return c.Params.Method()
}

// rootsChanged calls the app's functions with the server in their context.
func (s *Server) rootsChanged(fns []func(context.Context)) func(context.Context) {
	return func(ctx context.Context) {
		for _, fn := range fns {
			err := s.hook(ctx, func(ctx context.Context, _ *Server) error { fn(ctx); return nil })
			if err != nil {
				s.failed(ctx, nil, fmt.Errorf("OnRootsChanged: %w", err))
			}
		}
	}
}
