package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/clientprofile"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/feed"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/framebuf"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/nodebus"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/roundstore"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/taskwatch"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/protocol/rounds"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/transport"
)

// ErrShutdown is the error of Accept after Shutdown has begun, and the cause of the context of calls
// that Shutdown cancels.
var ErrShutdown = errors.New("engine: shut down")

// Config configures an Engine. Info and Catalog are required.
type Config struct {
	Info         protocol.Implementation
	Instructions string
	Extensions   map[string]json.RawMessage // that the server declares; the engine declares the extension for tasks itself
	Catalog      Catalog

	// Secret reports whether a resource is confidential, so that only some clients may learn of it.
	// If it is nil, no resource is. It must not block.
	Secret func(uri string) bool

	// Frames is the frame-level chain. The first middleware is the outermost.
	Frames []transport.Middleware
	// RootsChanged is called when the roots of a session have changed, at once and in the order of
	// arrival. It must not block. It may be nil.
	RootsChanged func(session string)
	// ElicitationComplete is called when another node has reported that the page of an elicitation is
	// done (Engine.ElicitationComplete). It removes and returns the function that notifies the
	// client, or nil if this node did not ask. It must not block. It may be nil.
	ElicitationComplete func(id string) func(ctx context.Context, p protocol.Params) error
	// OnRootsChanged runs when a client has sent the notification that its roots changed. It may be
	// nil.
	OnRootsChanged func(ctx context.Context)
	// Failed reports errors whose text the client does not see, including panics (*PanicError). It
	// must not block. It may be nil.
	Failed func(ctx context.Context, c *Call, err error)
	// Detail makes the engine send internal error texts to clients. Use it for development.
	Detail bool

	// States encrypts the state that travels with a client that is asked in rounds. If it is nil, a
	// random secret is used. With SharedClaims, the nodes agree on that secret and keep it in Claims.
	// Otherwise it belongs to this process, and no state survives the process.
	States *rounds.Sealer
	// Claims stores the outcome of each round, so that a round that is sent again gets the outcome of
	// its first execution. If it is nil, the round is executed again.
	Claims claim.Store
	// SharedClaims is set if every process that has the key of States also has Claims. Large states
	// are then stored in Claims, and do not travel with the client.
	SharedClaims bool
	// StateTTL is how long a client may take for its answers. 0 is 1 hour.
	StateTTL time.Duration
	// MaxRounds bounds how often one call may ask. 0 is 32.
	MaxRounds int
	// ReplayCheck runs each handler that asks a second time on the same answers, and reports
	// differences to Failed (*ReplayError). Use it for development: effects outside of Once happen
	// twice.
	ReplayCheck bool
	// Performed is called after each effect of a call in rounds, before the result of the effect is
	// kept. If it returns an error, the execution ends there, as in a crash: its effects are neither
	// kept nor recorded, and the error is the answer. It is for tests, and may be nil.
	Performed func(ctx context.Context, key string) error
	// Tasks stores the calls that became tasks. If it is nil, calls do not become tasks.
	Tasks task.Store
	// TaskLimits bounds the tasks in Tasks.
	TaskLimits TaskLimits
	// Queue hands the tasks in Tasks to workers, on any node that shares them. If it is nil, a task
	// runs in the process that created it.
	Queue task.Queue
	// Changes carries messages to the other nodes that share Tasks and sessions. It is nil if there
	// are no other nodes.
	Changes change.Bus
	// Now is the clock. If it is nil, the engine uses time.Now.
	Now func() time.Time

	// MaxInFlight bounds the concurrent requests of one connection. 0 is 1024.
	MaxInFlight int
	// AskTimeout bounds the wait for an answer to a request of the server, since the last sign of
	// progress. 0 is 10 minutes, because a person answers.
	AskTimeout time.Duration
	// Limits bounds an inbound frame. The zero value is jsontext.DefaultLimits.
	Limits jsontext.Limits
}

// PanicError is a recovered panic of user code.
type PanicError struct {
	Value any
	Stack []byte
}

// Error returns the text of the value, without the stack.
func (p *PanicError) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// Engine runs the protocol for one server. It is safe for concurrent use.
//
// An Engine is open until Shutdown begins, and closing from then on. Shutdown closes running, and
// afterwards inside. From then on no goroutine or exchange is added while Shutdown waits. Only running
// exchanges, which Shutdown waits for first, still add goroutines of tasks. If handlers still run
// after the grace period, Shutdown closes abandoned.
type Engine struct {
	cfg        Config
	serverInfo map[*dialect.Dialect][]byte // the name and version of the server, as each dialect writes it in every result
	frames     transport.Next              // the frame-level chain, ending in (*exchange).handle
	callPrefix string
	calls      atomic.Uint64

	stopped   atomic.Bool   // stopJobs has begun: the contexts of tasks end
	abandoned chan struct{} // closed when Shutdown stops waiting for handlers
	givesUp   sync.Once     // closes abandoned
	inside    *wait.Counter // counts exchanges
	running   *wait.Group   // counts goroutines; closed when Shutdown begins
	jobs      jobs
	watches   taskwatch.Watches
	nodes     nodes
	node      *nodebus.Node
	changes   *nodebus.Changes // what other nodes have changed

	unreadable taskwatch.Unreadable

	feeds  *feed.Hub
	rounds *roundstore.Store

	links       sync.Map // of *transport.Connection to *conn
	noConn      *conn    // of the calls of tasks that have no connection
	sessionless sessionlessSet
	outlines    framebuf.Outlines
	buffers     framebuf.Pool

	mu       sync.Mutex       // guards sessions
	sessions map[string]*conn // by session id; only sessions that other nodes can serve

	profiles clientprofile.Profiles
	metas    *clientprofile.Metas
}

// New returns an engine. It starts no goroutine.
func New(cfg Config) *Engine {
	if cfg.MaxInFlight == 0 {
		cfg.MaxInFlight = 1024
	}
	if cfg.AskTimeout == 0 {
		cfg.AskTimeout = 10 * time.Minute
	}
	if cfg.StateTTL == 0 {
		cfg.StateTTL = time.Hour
	}
	if cfg.MaxRounds == 0 {
		cfg.MaxRounds = 32
	}
	cfg.TaskLimits = cfg.TaskLimits.orDefaults()
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Limits == (jsontext.Limits{}) {
		cfg.Limits = jsontext.DefaultLimits()
	}
	e := &Engine{
		cfg:        cfg,
		serverInfo: make(map[*dialect.Dialect][]byte),
		frames:     compose(cfg.Frames),
		callPrefix: rand.Text()[:8] + "-",
		abandoned:  make(chan struct{}),
		inside:     wait.NewCounter(),
		running:    wait.NewGroup(),
		changes:    nodebus.NewChanges(),
		metas:      clientprofile.NewMetas(),
	}
	e.feeds = feed.NewHub(e.running, cfg.Secret)
	e.noConn = &conn{e: e, single: true}
	report := func(ctx context.Context, err error) { e.failed(ctx, nil, err) }
	e.node = nodebus.New(cfg.Changes, report)
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

// Changed notifies clients that lists have changed: all live sessions, and the listen streams that
// asked for it. It never blocks.
func (e *Engine) Changed(kinds ...protocol.ListKind) {
	e.eachFeed(func(f *feed.Feed) {
		for _, k := range kinds {
			f.ListChanged(k)
		}
	})
}

// Updated notifies the subscribers of the resource, and of resources above it, that it has changed.
// It never blocks.
func (e *Engine) Updated(uri string) {
	learned := e.feeds.Learned()
	e.feeds.Updated(uri)
	e.node.Broadcast(nodebus.Message{Kind: nodebus.Updated, URI: uri, Version: learned})
}

func (e *Engine) eachFeed(do func(*feed.Feed)) {
	var feeds []*feed.Feed
	for _, c := range e.connections() {
		feeds = c.appendFeeds(feeds[:0])
		for _, f := range feeds {
			do(f)
		}
	}
}

func (e *Engine) connections() []*conn {
	var all []*conn
	for _, c := range e.links.Range {
		if c, ok := c.(*conn); ok {
			all = append(all, c)
		}
	}
	return e.sessionless.appendTo(all)
}

// stopGrace is how long Shutdown waits for handlers after it has cancelled them. A handler that
// ignores its context must not keep the program from ending.
const stopGrace = 2 * time.Second

// Shutdown refuses new requests, ends listen streams with their result, and waits for calls and tasks
// in flight. When ctx ends, Shutdown cancels them and waits for their handlers for two more seconds.
// If it had to cancel calls, it returns the error of ctx.
func (e *Engine) Shutdown(ctx context.Context) error {
	e.running.Close()
	e.inside.Close()
	for _, c := range e.connections() {
		c.endListens()
	}
	defer e.stopNodes()
	defer e.stopJobs(ErrShutdown)
	idle := make(chan struct{})
	go func() { // ends with the last handler
		<-e.inside.Idle()
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
		e.givesUp.Do(func() { close(e.abandoned) })
	}
	return ctx.Err()
}

// Abandoned returns a channel that is closed when Shutdown stops waiting for cancelled handlers that
// still run.
func (e *Engine) Abandoned() <-chan struct{} { return e.abandoned }

// Closing returns a channel that is closed when Shutdown begins.
func (e *Engine) Closing() <-chan struct{} { return e.running.Closing() }

// enter counts an exchange. It returns false if the engine has been shut. A sessionless exchange is
// added to the list before it is counted, so that a Shutdown which closes the counter after that
// finds it in the list.
func (e *Engine) enter(c *conn) bool {
	if c.single {
		e.sessionless.add(c)
	}
	if e.inside.Enter() {
		return true
	}
	if c.single {
		e.sessionless.remove(c)
	}
	return false
}

// leave reverses enter.
func (e *Engine) leave(c *conn) {
	if c.single {
		e.sessionless.remove(c)
	}
	e.inside.Leave()
}

// failed reports an error whose text clients do not see. c may be nil.
func (e *Engine) failed(ctx context.Context, c *Call, err error) {
	if e.cfg.Failed != nil {
		e.cfg.Failed(ctx, c, err)
	}
}
