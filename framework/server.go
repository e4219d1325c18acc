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
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// Server is a built app. It is safe for concurrent use. The methods of a nil Server and of the zero
// Server, which ServerFrom returns outside a handler, do nothing or return an error.
//
// A Server is used once: after Shutdown or the end of Serve, it cannot start again.
type Server struct {
	// start runs the OnStart functions and starts the engine, under the lock starting; after that,
	// started is set. Shutdown or the end of Serve stops the engine (stopped reports this), and then
	// stop runs the OnStop functions.
	//
	// The OnStop functions wait for running OnStart functions, but not longer than the time to stop.
	// Serve holds carrying while its transports run, so Shutdown waits for them by acquiring it. The
	// components change only under changing; readers use the current snapshot of registry and do not
	// wait.

	info     protocol.Implementation // what clients get
	cfg      appConfig
	chain    []Middleware
	onStart  []hook
	onStop   []hook
	engine   *engine.Engine
	registry *catalog.Registry
	warnings []Fault  // found by Build; logged by Serve
	forms    sync.Map // reflect.Type -> *binding.Plan: compiled forms of Elicit
	answers  sync.Map // reflect.Type -> *answerPlan: compiled answers of GenerateAs
	ports
	roots        sessionRoots
	elicitations urlElicitations

	offering sync.Mutex                     // guards offered
	offered  map[Component][]*catalog.Entry // compiled tools of WithTools that are not registered

	changing sync.Mutex // serializes changes at run time

	starting chan struct{} // a lock, as a channel with one element; guards hooked and startErr
	hooked   bool          // the OnStart functions have run
	startErr error         // error of the OnStart functions
	started  atomic.Bool   // the server has started, so start does not need the lock any more

	startsLate sync.Once // for the warning that requests wait for the start
	unstarted  startLogLimit

	quitting sync.Once
	draining sync.Once
	quit     chan struct{} // closed by Shutdown; Serve then stops its transports
	carrying sync.Mutex    // held while Serve runs transports, and while Shutdown runs OnStop

	stopping sync.Once
	stopErr  error // written under stopping
}

var _ transport.Server = (*Server)(nil)

// errNotBuilt is the error of a Server that was not made by Build.
var errNotBuilt = errors.New("framework: the server was not built")

// errStarting is the error of a call in an OnStart function that would wait for that function
// itself.
var errStarting = errors.New("framework: the server is starting: it serves nothing before its OnStart functions have run, and one of them asks")

// errStopped is the error of starting a server that has been stopped.
var errStopped = fmt.Errorf("framework: the server has stopped: build another one: %w", engine.ErrShutdown)

// errOwnEnd is the error of Shutdown in an OnStart or OnStop function, because the call would wait
// for that function itself.
var errOwnEnd = errors.New("framework: a function of OnStart or OnStop that calls Shutdown waits for itself; an error of OnStart ends the server")

// errStoreFailed is the error of Serve if the store has failed permanently.
var errStoreFailed = errors.New("framework: the store takes no more writes until it is opened again: restart the server")

// startOf is the context key that marks the contexts of a server's OnStart functions.
type startOf struct{ server *Server }

// stopOf is the context key that marks the contexts of a server's OnStop functions.
type stopOf struct{ server *Server }

// Start runs the OnStart functions once, and starts to run the tasks of a shared store. Serve calls
// it. If the server is mounted without Serve, the first frame starts it. Call Start before that to
// see its error.
//
// Concurrent callers wait until the server has started, or until ctx ends. In an OnStart function
// Start would wait for that function itself, so with its context Start returns an error at once.
// Start also returns an error if the server was stopped, because a server cannot be started twice.
func (s *Server) Start(ctx context.Context) error {
	if s == nil || s.engine == nil {
		return errNotBuilt
	}
	if s.stopped() {
		return errStopped
	}
	return s.start(ctx, ctx)
}

// start does the work of Start. The OnStart functions and the engine get the values of life. If
// another caller is starting the server, start waits for it until ctx ends.
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
	if s.stopped() { // during the last function of OnStart, or while the store could not be reached
		return errStopped
	}
	if err := s.engine.Start(life); err != nil { // if the store cannot be reached, the next frame tries again
		return fmt.Errorf("starting: %w", err)
	}
	s.started.Store(true)
	return nil
}

// stopped reports whether the server is stopping or has stopped.
func (s *Server) stopped() bool {
	select {
	case <-s.engine.Closing():
		return true
	default:
		return false
	}
}

// turn acquires the lock starting. If another caller holds it, turn waits until ctx ends. turn
// acquires a free lock even if ctx has ended, because OnStart functions check ctx themselves.
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

// awaitStart waits until no OnStart function runs. It returns an error if ctx ends before.
func (s *Server) awaitStart(ctx context.Context) error {
	if s.started.Load() { // the lock may be held, but not by OnStart functions
		return nil
	}
	err := s.turn(ctx)
	if err == nil {
		<-s.starting
	}
	return err
}

// slowStart is how long the first calls wait for the start before a warning is logged.
const slowStart = 10 * time.Second

func (s *Server) tellOfStart() {
	s.cfg.logger.Warn("Serve, Shutdown and requests wait until the OnStart functions return: one that calls this server with another context than its own waits for itself",
		zap.Duration("waited", slowStart))
}

func (s *Server) runHooks(ctx context.Context) error {
	for i, fn := range s.onStart {
		if s.stopped() {
			return errStopped
		}
		if err := s.hook(ctx, fn); err != nil {
			s.logStack(ctx, err, "function", "OnStart")
			return fmt.Errorf("starting, step %d of %d: %w", i+1, len(s.onStart), err)
		}
	}
	return nil
}

// hook calls a function of the program, with the server in its context. It turns a panic into an
// error.
func (s *Server) hook(ctx context.Context, fn hook) error {
	_, err := guarded(func() (struct{}, error) { return struct{}{}, fn(&callCtx{Context: ctx, server: s}, s) })
	return err
}

// logStack logs err with its stack if it is a panic. The text of an error that Serve or Shutdown
// returns has no stack.
func (s *Server) logStack(ctx context.Context, err error, noun, name string) {
	if panicked, ok := errors.AsType[*engine.PanicError](err); ok {
		s.logFailure(ctx, nil, panicked, noun, name)
	}
}

// startLogLimit limits the log entries about a server that does not start to one a minute. Otherwise
// each refused request would be logged.
type startLogLimit struct {
	mu   sync.Mutex // guards last
	last time.Time  // time of the last entry; zero: none yet
}

// startFailed logs that a request is refused because the server does not start. The client does not
// receive the cause. startFailed logs nothing if the server is stopping, or if only the request has
// ended.
func (s *Server) startFailed(ctx context.Context, err error) {
	if s.engine == nil || s.stopped() || ctx.Err() != nil || errors.Is(err, errStarting) {
		return
	}
	if s.unstarted.due() {
		s.cfg.logger.Error("the server has not started: requests are refused", zap.Error(err))
	}
}

// due reports whether an entry may be written now, and counts it. The caller writes it without the lock,
// because the logger may call the server.
func (l *startLogLimit) due() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if !l.last.IsZero() && now.Sub(l.last) < time.Minute {
		return false
	}
	l.last = now
	return true
}

// Serve starts the server and runs the transports. It blocks until ctx ends, Shutdown is called, a
// transport fails, all transports have ended, or the store has failed for good ([Store]). It first logs
// the warnings of Build and runs OnStart. At the end it gives running calls the grace period, waits for
// all transports and runs OnStop.
//
// Serve returns the error of OnStart, of the store, or of the first transport that failed, joined with
// any errors from OnStop. If ctx ends, also during OnStart, that is not an error.
//
// A server is served once. Serve returns an error if it is called again, during or after the first
// call or after Shutdown. It also returns an error without a transport, or if a transport is nil.
func (s *Server) Serve(ctx context.Context, transports ...transport.Transport) error {
	if s == nil || s.engine == nil {
		return errNotBuilt
	}
	if len(transports) == 0 {
		return errors.New("framework: Serve needs a transport")
	}
	if i := slices.IndexFunc(transports, func(t transport.Transport) bool { return t == nil || isNilPointer(t) }); i >= 0 {
		return fmt.Errorf("framework: Serve: transport %d of %d is nil", i+1, len(transports))
	}
	if !s.carrying.TryLock() {
		return errors.New("framework: Serve is running already")
	}
	if s.stopped() {
		s.carrying.Unlock()
		return errStopped
	}
	s.warn(s.warnings)
	err := s.Start(ctx)
	switch {
	case err == nil:
		err = s.carry(ctx, transports)
	case errors.Is(err, errStopped) && s.stopped():
		err = nil
	case ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))):
		s.cfg.logger.Warn("the server was stopped while it started", zap.Error(err))
		err = nil
	}
	s.drain(ctx, context.WithoutCancel(ctx))
	s.carrying.Unlock()
	err = errors.Join(err, s.stop(ctx))
	if why := s.toldToStop(ctx); why != "" {
		s.cfg.logger.Info("the server has stopped", zap.String("why", why))
	}
	return err
}

// toldToStop returns, for the log, why Serve was asked to end. It returns "" if the transports have
// ended by themselves, for example because a client closed stdin, or if one has failed.
func (s *Server) toldToStop(ctx context.Context) string {
	if ctx.Err() != nil {
		return context.Cause(ctx).Error() // the cause names the signal, if any
	}
	select {
	case <-s.quit:
		return "Shutdown was called"
	default:
		return ""
	}
}

// warn logs the warnings of Build, which Build does not return as an error.
func (s *Server) warn(faults []Fault) {
	for _, f := range faults {
		s.cfg.logger.Warn(f.Component+": "+f.sentence(), zap.String("where", f.Where), zap.String("function", f.Function))
	}
}

// drain refuses new calls, gives running calls and OnStart functions the grace period, and cancels
// the calls after it, or when hurry ends. Only the first call has an effect.
func (s *Server) drain(ctx, hurry context.Context) {
	s.draining.Do(func() {
		if why := s.toldToStop(ctx); why != "" {
			s.cfg.logger.Info("the server stops", zap.String("why", why), zap.Duration("grace", s.cfg.grace))
		}
		grace, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		var late []string
		over := sync.OnceFunc(func() {
			late = s.engine.Unfinished() // before Shutdown cancels them
			cancel()
		})
		defer time.AfterFunc(s.cfg.grace, over).Stop()
		defer context.AfterFunc(hurry, over)()
		if err := s.engine.Shutdown(grace); err != nil && hurry.Err() == nil {
			s.cfg.logger.Warn("calls in flight were cancelled: the grace period is over",
				zap.Duration("grace", s.cfg.grace), zap.Strings("calls", late))
		}
		select {
		case <-s.engine.Abandoned():
			s.cfg.logger.Warn("handlers have not returned after their context ended: the server stops without waiting for them",
				zap.Strings("calls", s.engine.Unfinished()))
		default:
		}
		_ = s.awaitStart(grace) // another caller may run the OnStart functions
	})
}

// carry runs the transports until ctx ends, one fails, all have ended, the store has failed, or Shutdown
// is called. Then it cancels their context, drains the engine and waits for them. It returns the first
// error of a transport, or errStoreFailed. A transport waits for its calls, so drain ends them within
// the grace period.
func (s *Server) carry(ctx context.Context, transports []transport.Transport) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	ended := make(chan error, len(transports))
	for _, t := range transports {
		running.Go(func() {
			err := s.serveOn(inner, t)
			if errors.Is(err, engine.ErrShutdown) && s.stopped() { // a frame came when Shutdown had begun
				err = nil
			}
			ended <- err
		})
	}
	var failure error
	left := len(transports)
	for left > 0 && failure == nil {
		select {
		case failure = <-ended:
			left--
			continue
		case <-s.storeLost():
			failure = errStoreFailed
		case <-ctx.Done():
		case <-s.quit:
		}
		break
	}
	cancel()
	go func() { running.Wait(); s.engine.CarriersEnded() }()
	hurry := ctx // a client that has closed stdin and then ends ctx must not wait for its tasks
	if left > 0 {
		hurry = context.WithoutCancel(ctx)
	}
	s.drain(ctx, hurry)
	running.Wait()
	for range len(ended) {
		if err := <-ended; failure == nil {
			failure = err
		}
	}
	return failure
}

// serveOn runs a transport. A panic becomes an error, so that it ends Serve and not the process.
func (s *Server) serveOn(ctx context.Context, t transport.Transport) error {
	_, err := guarded(func() (struct{}, error) { return struct{}{}, t.Serve(ctx, s) })
	s.logStack(ctx, err, "transport", fmt.Sprintf("%T", t))
	return err
}

// Shutdown stops a server that Serve or a mounted endpoint uses. It refuses new requests, lets
// running calls continue until ctx ends, and then cancels them. While Serve runs, it cancels them
// earlier if the time of WithShutdownGrace is over. It also waits for running OnStart functions until
// ctx ends. It returns when Serve has ended its transports and the OnStop functions
// have run. They run only once.
//
// If calls had to be cancelled, or OnStart functions still run, Shutdown returns ctx's error, joined
// with any errors from OnStop. If Serve waits for these OnStart functions, Serve runs OnStop after
// them. Later calls wait again for handlers that were left behind. If these still run two seconds
// after ctx has ended, they return ctx's error, too, joined with the errors from OnStop.
//
// A handler that calls Shutdown waits for its own call until ctx ends. Call Shutdown in a new
// goroutine with its own context instead. In an OnStart or OnStop function, Shutdown returns an
// error at once.
func (s *Server) Shutdown(ctx context.Context) error {
	switch {
	case s == nil || s.engine == nil:
		return nil
	case ctx.Value(startOf{s}) != nil && !s.started.Load(), ctx.Value(stopOf{s}) != nil:
		return errOwnEnd
	}
	s.quitting.Do(func() { close(s.quit) })
	err := s.engine.Shutdown(ctx)
	late := s.awaitStart(ctx)
	if late == nil {
		s.carrying.Lock() // waits until Serve's transports have ended
	} else if !s.carrying.TryLock() {
		return errors.Join(err, late)
	}
	defer s.carrying.Unlock()
	return errors.Join(err, late, s.stop(ctx))
}

// stop runs the OnStop functions once, and returns their errors each time.
func (s *Server) stop(ctx context.Context) error {
	s.stopping.Do(func() {
		stopping := context.WithValue(context.WithoutCancel(ctx), stopOf{s}, true)
		for _, fn := range slices.Backward(s.onStop) {
			if err := s.hook(stopping, fn); err != nil {
				s.logStack(stopping, err, "function", "OnStop")
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
		s.startFailed(ctx, err)
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
		Closing: s.engine.Closing(), Abandoned: s.engine.Abandoned(), Grace: s.cfg.grace,
		Warn:     func(text string) { s.Logger().Warn(text) },
		Title:    s.cfg.title,
		Servable: s.servable,
		Sessions: s.sessions, Changes: s.changes, Adopt: s.adopt,
	}
}

// adopt makes the server notify a session that another process has opened, even before a frame of
// the session comes here. It returns the error of Start.
func (s *Server) adopt(link *transport.Connection, missed bool) error {
	if err := s.start(link.Context(), context.Background()); err != nil { //nolint:forbidigo // what starts here is not the first client's
		s.startFailed(link.Context(), err)
		return err
	}
	s.engine.Adopt(link, missed)
	return nil
}

// ResourceUpdated notifies subscribers of the resource, and subscribers of its parents. If the
// resource has Scopes, subscribers of a parent receive only the parent's URI. The scopes must be
// known, so call ResourceUpdated before you remove such a resource. ResourceUpdated never blocks.
//
// To build the URI of a template, use [TemplateOf.URI], because the URI must have the same escapes
// as clients use.
func (s *Server) ResourceUpdated(_ context.Context, uri string) {
	if s != nil && s.engine != nil {
		s.engine.Updated(uri)
	}
}

// failed logs errors outside of components. The engine does not send their texts.
func (s *Server) failed(ctx context.Context, c *engine.Call, err error) {
	if _, known := errors.AsType[loggedError](err); known {
		return
	}
	if over, ok := errors.AsType[*engine.RecoveredError](err); ok {
		s.cfg.logger.Warn("background work succeeds again", zap.String("work", over.Work), zap.Duration("failedFor", over.Lasted))
		return
	}
	s.logFailure(ctx, c, err, "request", methodName(c))
}

func methodName(c *engine.Call) string {
	if c == nil || c.Params == nil {
		return ""
	}
	return protocol.MethodOf(c.Params)
}

// rootsChanged calls the app's functions with the server in their context.
func (s *Server) rootsChanged(fns []hook) func(context.Context) {
	return func(ctx context.Context) {
		for _, fn := range fns {
			if err := s.hook(ctx, fn); err != nil {
				s.failed(ctx, nil, fmt.Errorf("OnRootsChanged: %w", err))
			}
		}
	}
}
