package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/clientprofile"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/feed"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/nodebus"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/roundstore"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
)

// New returns an engine. It starts no goroutine.
func New(cfg Config) *Engine {
	cfg.MaxInFlight = cmp.Or(cfg.MaxInFlight, 1024)
	cfg.AskTimeout = cmp.Or(cfg.AskTimeout, 10*time.Minute)
	cfg.StateTTL = cmp.Or(cfg.StateTTL, time.Hour)
	cfg.MaxRounds = cmp.Or(cfg.MaxRounds, 32)
	cfg.TaskLimits = cfg.TaskLimits.orDefaults()
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	e := &Engine{
		cfg:        cfg,
		serverInfo: make(map[*dialect.Dialect][]byte),
		frames:     compose(cfg.Frames),
		callPrefix: rand.Text()[:8] + "-",
		abandoned:  make(chan struct{}),
		carried:    make(chan struct{}),
		inside:     wait.NewCounter(),
		running:    wait.NewGroup(),
		changes:    nodebus.NewChanges(),
		metas:      clientprofile.NewMetas(),
	}
	e.feeds = feed.NewHub(e.running, cfg.Secret)
	e.feeds.Panicked = func(ctx context.Context, v any) {
		e.failed(ctx, nil, &PanicError{Value: v, Stack: debug.Stack()})
	}
	e.noConn = &conn{e: e, single: true}
	report := func(ctx context.Context, err error) { e.failed(ctx, nil, err) }
	e.node = nodebus.New(cfg.Changes, func(ctx context.Context, err error) {
		e.attempted(ctx, &e.notices, "notifying the other nodes", err)
	})
	e.rounds = roundstore.New(roundstore.Config{
		Sealer: cfg.States, Claims: cfg.Claims, Shared: cfg.SharedClaims, TTL: cfg.StateTTL, Now: cfg.Now,
		Running: e.running, Failed: report,
	})
	// Results do not contain icons and other long members, which initialize and server/discover send.
	named := protocol.Implementation{Name: cfg.Info.Name, Title: cfg.Info.Title, Version: cfg.Info.Version}
	for _, d := range dialect.All() {
		e.serverInfo[d] = d.AppendImplementation(nil, &named)
	}
	return e
}

// compose builds the frame-level chain. The end of the chain finds the exchange in the context that
// exchange.serve passed to the first middleware.
//
// It is called once, in New. The chain is shared by all exchanges and has no state.
func compose(frames []transport.Middleware) transport.Next {
	next := func(ctx context.Context, _ []byte, out transport.Outbound) error {
		x, ok := ctx.Value(exchangeKey{}).(*exchange)
		if !ok {
			return errors.New("engine: a frame middleware replaced the context instead of deriving from it")
		}
		return x.handle(ctx, out)
	}
	for _, frame := range slices.Backward(frames) {
		next = frame(next)
	}
	return next
}

// Start starts the work that does not belong to a request: the worker of a queue of tasks, and the
// subscription to messages of other nodes. Call it once, before the first frame. Shutdown ends it. If
// the engine shares nothing, Start does nothing. ctx bounds only the start. Start returns an error if
// the nodes cannot agree on the secret of states.
func (e *Engine) Start(ctx context.Context) error {
	if err := e.rounds.Agree(ctx); err != nil {
		return err
	}
	if !e.shares() || !e.running.Begin() {
		return nil
	}
	defer e.running.Done()
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	e.nodes.mu.Lock()
	defer e.nodes.mu.Unlock()
	e.nodes.stop = stop
	e.nodes.running.Go(func() { e.looking(life) })
	if e.cfg.Changes != nil {
		e.nodes.running.Go(func() { e.node.Run(life) })
		e.nodes.running.Go(func() { _ = e.cfg.Changes.Subscribe(life, e.receive) })
	}
	if e.cfg.Queue != nil && e.cfg.TaskLimits.Workers > 0 {
		e.nodes.running.Go(func() { e.taking(life) })
	}
	return nil
}

// stopGrace is how long Shutdown waits for handlers after it has cancelled them. A handler that
// ignores its context must not keep the program from ending.
const stopGrace = 2 * time.Second

// Shutdown refuses new requests, ends listen streams with their result, and waits for calls and tasks
// in flight. When ctx ends, Shutdown cancels them and waits for their handlers for two more seconds.
// If it had to cancel calls, it returns the error of ctx.
//
// After CarriersEnded, it does not wait for calls that were cancelled.
//
// The order matters. running is closed first, so that no goroutine begins that this Shutdown would
// not wait for. inside is closed next, so that every exchange is either counted or refused. Feeds
// are stopped after that, which ends the listen requests. The context of tasks ends when their
// exchanges have ended or the time is over, and the goroutines of nodes last, because all others
// still send messages.
func (e *Engine) Shutdown(ctx context.Context) error {
	e.running.Close()
	e.inside.Close()
	for _, c := range e.connections() {
		c.endListens()
	}
	defer e.stopNodes()
	defer e.stopJobs(ErrShutdown)
	idle := make(chan struct{})
	go func() { // ends with the last handler that is waited for
		e.awaitExchanges(ctx)
		e.running.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	for _, c := range e.connections() {
		c.cancelCalls(ErrShutdown)
	}
	e.stopJobs(ErrShutdown)
	timer := time.NewTimer(stopGrace)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
		e.giveUp()
	}
	return ctx.Err()
}

// CarriersEnded tells the engine that the Serve methods of its carriers have returned. They have waited
// for their exchanges. Their handlers that still run ignore their contexts, and Shutdown does not wait
// for them.
func (e *Engine) CarriersEnded() { e.uncarried.Do(func() { close(e.carried) }) }

// awaitExchanges waits until no exchange runs. After CarriersEnded it also returns if all requests in
// flight were cancelled. Others may come from an endpoint in a server of the program's own.
func (e *Engine) awaitExchanges(ctx context.Context) {
	select {
	case <-e.inside.Idle():
		return
	case <-ctx.Done():
	case <-e.carried:
	}
	look := time.NewTicker(stopGrace / 20)
	defer look.Stop()
	for ctx.Err() == nil && e.serving() {
		select {
		case <-e.inside.Idle():
			return
		case <-ctx.Done():
		case <-look.C:
		}
	}
	if ctx.Err() != nil { // Shutdown cancels the calls, and waits for stopGrace
		<-e.inside.Idle()
		return
	}
	select {
	case <-e.inside.Idle():
	default:
		e.giveUp()
	}
}

// serving reports whether a request is in flight whose context has not ended.
func (e *Engine) serving() bool {
	for _, c := range e.connections() {
		if slices.ContainsFunc(c.requests(), func(x *exchange) bool { return !x.life.Ended() }) {
			return true
		}
	}
	return false
}

// maxUnfinishedNames bounds the names that Unfinished returns.
const maxUnfinishedNames = 20

// Unfinished describes, for the log, the work that has not ended. This is the requests in flight,
// such as "tools/call search", and the tasks that run here. Requests with the same name are one
// entry with their number. URIs are left out, because they may contain secrets. Requests that their
// clients have cancelled are left out, and also listen streams, which end with Shutdown.
func (e *Engine) Unfinished() []string {
	running := make(map[string]int)
	for _, c := range e.connections() {
		for _, x := range c.requests() {
			if x.method != protocol.MethodListen {
				running[strings.TrimSpace(jsontext.Clip(x.method, 128)+" "+x.component())]++
			}
		}
	}
	e.jobs.mu.Lock()
	for id, j := range e.jobs.byID {
		if j.busy.Load() {
			running["task "+digest(id)+" of "+j.tool]++
		}
	}
	e.jobs.mu.Unlock()
	var all []string
	for _, name := range slices.Sorted(maps.Keys(running)) {
		if n := running[name]; n > 1 {
			name = fmt.Sprintf("%s (%d)", name, n)
		}
		all = append(all, name)
	}
	if more := len(all) - maxUnfinishedNames; more > 0 {
		all = append(all[:maxUnfinishedNames], fmt.Sprintf("and %d more", more))
	}
	return all
}

// component returns the name of the tool or the prompt that a request in flight calls, or "". A client may
// have invented it. initialize sets x.call after the request is in flight, so component does not read it there.
func (x *exchange) component() string {
	if x.method == protocol.MethodInitialize {
		return ""
	}
	switch p := x.call.Params.(type) {
	case *protocol.CallToolParams:
		return jsontext.Clip(p.Name, 128)
	case *protocol.GetPromptParams:
		return jsontext.Clip(p.Name, 128)
	}
	return ""
}

func (e *Engine) giveUp() { e.givesUp.Do(func() { close(e.abandoned) }) }

// stopNodes ends the goroutines of Start and waits for them. They do not wait for clients. The
// sender may wait for the bus, for at most nodebus.PublishTimeout for each message.
func (e *Engine) stopNodes() {
	e.nodes.mu.Lock()
	stop := e.nodes.stop
	e.nodes.mu.Unlock()
	if stop == nil {
		return
	}
	stop()
	e.nodes.running.Wait()
}

// cancelCalls ends the contexts of all requests in flight, without conn.mu. The requests are
// answered when their handlers return.
func (c *conn) cancelCalls(cause error) {
	for _, x := range c.requests() {
		x.end(cause)
	}
}

// requests returns the requests in flight. They may be answered at any time after that.
func (c *conn) requests() []*exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Collect(maps.Values(c.calls))
	if c.only != nil {
		all = append(all, c.only)
	}
	return all
}

// endListens stops the feeds of listen requests, which then end with their result.
func (c *conn) endListens() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.listens {
		f.Stop()
	}
}

// Abandoned returns a channel that is closed when Shutdown stops waiting for cancelled handlers that
// still run.
func (e *Engine) Abandoned() <-chan struct{} { return e.abandoned }

// Closing returns a channel that is closed when Shutdown begins.
func (e *Engine) Closing() <-chan struct{} { return e.running.Closing() }
