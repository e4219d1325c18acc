package engine

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/clientprofile"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/feed"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/framebuf"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/nodebus"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/roundstore"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/taskwatch"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/transport"
)

// Engine runs the protocol for one server. It is safe for concurrent use.
//
// An Engine is open until Shutdown begins, and closing from then on. Shutdown closes running, and
// afterwards inside. From then on no goroutine or exchange is added while Shutdown waits. Only running
// exchanges, which Shutdown waits for first, still add goroutines of tasks. If handlers still run
// after the grace period, or were cancelled and no carrier is left, Shutdown closes abandoned and
// does not wait for them. What they add after that ends at once, because stopped is set.
//
// The maps and sets have locks of their own: mu guards sessions alone, and is the last lock that is
// taken together with conn.mu. links needs no lock: connected adds a connection with its first
// frame, and drop removes it when the connection has ended. buffers and outlines are pools. A
// function gives back what it takes from them, or Call.Lend describes who does.
type Engine struct {
	cfg        Config
	serverInfo map[*dialect.Dialect][]byte // the name and version of the server, as each dialect writes it in every result
	frames     transport.Next              // the frame-level chain, ending in (*exchange).handle
	callPrefix string
	calls      atomic.Uint64

	stopped   atomic.Bool   // stopJobs has begun: the contexts of tasks end
	abandoned chan struct{} // closed when Shutdown stops waiting for handlers
	givesUp   sync.Once     // closes abandoned
	carried   chan struct{} // closed by CarriersEnded
	uncarried sync.Once     // closes carried
	inside    *wait.Counter // counts exchanges
	running   *wait.Group   // counts goroutines; closed when Shutdown begins
	jobs      jobs
	watches   taskwatch.Watches
	nodes     nodes
	node      *nodebus.Node
	changes   *nodebus.Changes // what other nodes have changed

	unreadable taskwatch.Unreadable
	foreign    taskwatch.Foreign

	// Work that is repeated while the store or the bus is unavailable.
	takes, returns, reads, secrets, notices outage

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

// nodes has the goroutines that exchange messages with the other nodes. They run from Start to the end
// of Shutdown.
//
// Start holds mu while it starts the goroutines, and stopNodes takes it to read stop. A concurrent
// Shutdown therefore waits for all goroutines of Start or for none. running is not Engine.running,
// because these goroutines must outlive the last exchange and the last task, which still send
// messages.
type nodes struct {
	running   sync.WaitGroup
	listening atomic.Bool // the bus has called receive with nil for the first time

	mu   sync.Mutex         // guards stop
	stop context.CancelFunc // nil before Start
}

// shares reports whether other nodes may change tasks or sessions that this node serves.
func (e *Engine) shares() bool { return e.cfg.Queue != nil || e.cfg.Changes != nil }

// failed reports an error whose text clients do not see. c may be nil.
//
// It calls user code (Config.Failed), and therefore must not be called with a lock that
// Config.Failed could need: conn.mu, round.mu, exchange.sending. The lock exchange.reporting may be
// held, because Config.Failed reports no progress.
func (e *Engine) failed(ctx context.Context, c *Call, err error) {
	if e.cfg.Failed != nil {
		e.cfg.Failed(ctx, c, err)
	}
}
