package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/protocol/rounds"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/transport"
)

// ErrShutdown is the answer of Accept, and the cause of a call's cancellation,
// once the server stops.
var ErrShutdown = errors.New("engine: shut down")

// Config is what an Engine needs. Info and Catalog are required.
type Config struct {
	Info         protocol.Implementation
	Instructions string
	Extensions   map[string]json.RawMessage // that the server declares; that of tasks declares itself
	Catalog      Catalog

	// Secret says that not everybody may know of the resource; nil: everybody may of all.
	// It must not block.
	Secret func(uri string) bool

	// Frames is the frame-level chain, first = outermost.
	Frames []transport.Middleware
	// RootsChanged is told at once, in the order of arrival, that a session's roots are
	// not what they were; it must not block; may be nil.
	RootsChanged func(session string)
	// ElicitationComplete is called when another node has reported that the page of an
	// elicitation is done (Engine.ElicitationComplete). It removes and returns the function
	// that notifies the client, or nil if this node did not ask. It must not block; may be nil.
	ElicitationComplete func(id string) func(ctx context.Context, p protocol.Params) error
	// OnRootsChanged runs when a client says that its roots changed; may be nil.
	OnRootsChanged func(ctx context.Context)
	// Failed reports errors that are answered without their text, panics
	// (*PanicError) included; may be nil. It must not block.
	Failed func(ctx context.Context, c *Call, err error)
	// Detail sends internal error texts to clients. For development.
	Detail bool

	// States seals what travels with a client that is asked in rounds; nil: by a
	// secret of this process, so that no state survives it, or with SharedClaims by
	// one that is kept there.
	States *rounds.Sealer
	// Claims makes a round that is sent again get the outcome of the first
	// execution; nil: it runs again.
	Claims claim.Store
	// SharedClaims says that every process that knows States knows Claims, too: what
	// is large goes there instead of travelling with the client.
	SharedClaims bool
	// StateTTL is how long a client may take for its answers; 0 = 1 hour.
	StateTTL time.Duration
	// MaxRounds bounds how often one call may ask; 0 = 32.
	MaxRounds int
	// ReplayCheck runs each handler that asks once more on the same answers, and
	// reports to Failed (*ReplayError) what it does differently. For development:
	// what it does outside of Once happens twice.
	ReplayCheck bool
	// Performed is told of each effect of a call in rounds that has happened, before
	// its result is kept. An error ends the execution there, as a crash would: what it
	// did is neither kept nor recorded, and the error is the answer. For tests; may be nil.
	Performed func(ctx context.Context, key string) error
	// Tasks keeps the calls that became tasks; nil: none does.
	Tasks task.Store
	// TaskLimits bound them.
	TaskLimits TaskLimits
	// Queue hands the tasks of Tasks to workers, on any of the nodes that share them; nil:
	// a task runs where it was created.
	Queue task.Queue
	// Changes tells the other nodes that share Tasks and sessions; nil: there are none.
	Changes change.Bus
	// Now is the clock; nil: time.Now.
	Now func() time.Time

	// MaxInFlight bounds the requests of one connection at once; 0 = 1024.
	MaxInFlight int
	// AskTimeout bounds the wait for an answer to a request of our own since
	// the last sign of progress; 0 = 10 minutes (a person answers).
	AskTimeout time.Duration
	// Limits of an inbound frame; zero = jsontext.DefaultLimits.
	Limits jsontext.Limits
}

// PanicError is a panic of user code, recovered.
type PanicError struct {
	Value any
	Stack []byte
}

// Error is the value, without the stack.
func (p *PanicError) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// Engine runs the protocol for one server. Safe for concurrent use.
type Engine struct {
	cfg        Config
	serverInfo map[*dialect.Dialect][]byte // who the server is, as each dialect writes it in every result
	frames     transport.Next              // the frame-level chain, ending in (*exchange).handle
	agrees     bool                        // Start agrees on the secret of States with the other nodes
	callPrefix string
	calls      atomic.Uint64

	closing   atomic.Bool     // Shutdown has begun
	stopped   atomic.Bool     // stopJobs has begun: tasks are told to end
	closed    chan struct{}   // closed when closing is set
	abandoned chan struct{}   // closed when Shutdown waits no longer for handlers
	givesUp   sync.Once       // closes abandoned
	inside    inflightCounter // counts exchanges
	running   sync.WaitGroup  // counts the goroutines that begin has counted in, and those of tasks
	jobs      jobs
	watches   watches
	nodes     nodes

	unreadable unreadables

	resources topics        // watched by sessions and listen streams
	tasks     topics        // watched by listen streams
	learned   atomic.Uint64 // incremented when a session begins to watch something; see echoed

	links    sync.Map // of *transport.Connection to *conn
	loners   sessionlessSet
	outlines outlines
	buffers  buffers

	mu       sync.Mutex       // guards what follows, and the step from open to closing
	sessions map[string]*conn // by the id of their session, where other nodes may know it

	introductions clientProfiles
	metas         metas
}

// New makes an engine. It starts nothing.
func New(cfg Config) *Engine {
	if cfg.MaxInFlight == 0 {
		cfg.MaxInFlight = 1024
	}
	if cfg.AskTimeout == 0 {
		cfg.AskTimeout = 10 * time.Minute
	}
	own := cfg.States == nil
	if own {
		cfg.States = states()
	}
	if cfg.StateTTL == 0 {
		cfg.StateTTL = defaultStateTTL
	}
	if cfg.MaxRounds == 0 {
		cfg.MaxRounds = defaultMaxRounds
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
		closed:     make(chan struct{}),
		abandoned:  make(chan struct{}),
		inside:     inflightCounter{idle: make(chan struct{})},
		nodes:      newNodes(),
		metas:      metas{seed: maphash.MakeSeed()},
	}
	e.agrees = own && e.sharesClaims()
	// Without icons and the like, which initialize and server/discover tell: they may be large.
	named := protocol.Implementation{Name: cfg.Info.Name, Title: cfg.Info.Title, Version: cfg.Info.Version}
	for _, d := range dialect.All() {
		e.serverInfo[d] = d.AppendImplementation(nil, &named)
	}
	return e
}

// compose builds the frame-level chain once. Its end finds the exchange in the
// context that exchange.serve gave to the first step.
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

// Changed tells every client that lists changed: live sessions unasked, listen
// streams that asked for it. It never blocks.
func (e *Engine) Changed(kinds ...protocol.ListKind) {
	e.eachFeed(func(f *feed) {
		for _, k := range kinds {
			f.listChanged(k)
		}
	})
}

// Updated tells the subscribers of the resource, or of one above it, that it
// changed. It never blocks.
func (e *Engine) Updated(uri string) {
	learned := e.learned.Load()
	e.updated(uri)
	e.broadcast(nodeMessage{Kind: nodeUpdated, URI: uri, Version: learned})
}

func (e *Engine) updated(uri string) {
	for _, h := range e.recipients(uri) {
		h.feed.updated(h.watched, h.uri)
	}
}

// recipients returns the feeds to be told of an update of uri, and of which resource each is told. If
// not everybody may know of uri (Config.Secret), a feed that watches a resource above it is told
// of that resource instead.
func (e *Engine) recipients(uri string) []recipient {
	hits, normal := e.resources.covering(uri), protocol.NormalURI(uri)
	secret := len(hits) > 0 && e.cfg.Secret != nil && e.cfg.Secret(uri)
	for i, h := range hits {
		hits[i].uri = uri
		if h.watched != uri && protocol.NormalURI(h.watched) == normal {
			hits[i].uri = h.watched // as the client spells it
		}
		if secret && !e.resources.has(h.feed, uri) {
			hits[i].uri = h.watched
		}
	}
	return hits
}

func (e *Engine) eachFeed(do func(*feed)) {
	var feeds []*feed
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
	return e.loners.appendTo(all)
}

// stopGrace is how long Shutdown waits for handlers after cancelling them. One
// that ignores its context must not keep the program from ending.
const stopGrace = 2 * time.Second

// Shutdown takes no more requests, ends listen streams with their result, and
// waits for calls and tasks in flight; when ctx ends it cancels them and gives their
// handlers two more seconds. The error is ctx's if calls had to be cancelled.
func (e *Engine) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	if !e.closing.Swap(true) {
		close(e.closed)
	}
	e.mu.Unlock()
	e.inside.shut()
	for _, c := range e.connections() {
		c.endListens()
	}
	defer e.stopNodes()
	defer e.stopJobs(ErrShutdown)
	idle := make(chan struct{})
	go func() { // ends with the last handler
		<-e.inside.idle
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

// Abandoned is closed when a Shutdown has returned while handlers ran on, though they
// were cancelled.
func (e *Engine) Abandoned() <-chan struct{} { return e.abandoned }

// Closing is closed when Shutdown begins.
func (e *Engine) Closing() <-chan struct{} { return e.closed }

// begin counts a goroutine into running, unless the engine is closing. It takes e.mu, as Shutdown
// does to set closing, so that no Add happens after Shutdown has begun to wait.
func (e *Engine) begin() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closing.Load() {
		return false
	}
	e.running.Add(1)
	return true
}

// enter counts an exchange in. It returns false if the engine is shut. A lone exchange is listed
// before it passes the gate, so that a Shutdown which then shuts the gate finds it in the list.
func (e *Engine) enter(c *conn) bool {
	if c.single {
		e.loners.add(c)
	}
	if e.inside.enter() {
		return true
	}
	if c.single {
		e.loners.remove(c)
	}
	return false
}

// leave undoes enter.
func (e *Engine) leave(c *conn) {
	if c.single {
		e.loners.remove(c)
	}
	e.inside.leave()
}

// failed reports an error that no client is told in full; c may be nil.
func (e *Engine) failed(ctx context.Context, c *Call, err error) {
	if e.cfg.Failed != nil {
		e.cfg.Failed(ctx, c, err)
	}
}
