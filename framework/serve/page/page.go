package page

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os/exec"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/effectlog"
	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport"
)

// Options selects the server that a page shows. Exactly one of Host, Command and URL must be set.
type Options struct {
	Host    transport.Host                               // a server in this process
	Command func(ctx context.Context) (*exec.Cmd, error) // returns a program that was not started; called for each connection. Its context ends with the page; a program that is connected ends before that
	URL     string                                       // address of a server over HTTP

	Header    http.Header       // sent with each request to URL; never shown
	Bearer    string            // token for URL; never shown. The page can replace it
	Authorize client.HTTPOption // authorizes requests to URL if there is no Bearer; nil for no authorization. It must not use the HTTP client of the connection, which records
	Transport http.RoundTripper // sends the requests to URL; nil means http.DefaultTransport

	Revision protocol.Revision // offered alone until the user chooses another one; zero for the newest that both sides support

	Start  []string               // the program and its arguments, for a client's configuration; nil if unknown
	Where  string                 // where the server runs, for people; by default the URL or the command line
	Inside func() *surface.Inside // what only the server's own process knows; nil for a server in another process
	Client string                 // version of the program, for the server's log; by default "devel"
}

// Page shows one server. A Page is safe for concurrent use. The caller must call Close at the end.
//
// A page has at most one connection to the server (session). connect makes it and holds connecting;
// failed, rest, reconnect and Close end it. mu guards the session, its state and all fields below
// mu. The calls, events, frames and questions have their own locks.
type Page struct {
	options Options
	guard   *guard
	events  *events
	wire    *wire
	calls   *calls
	asked   *questions

	life context.Context //nolint:containedctx // ends with the page; calls outlive the requests that start them
	end  context.CancelFunc
	work sync.WaitGroup // goroutines of the page

	programs     context.Context //nolint:containedctx // for Command; ends after the program was asked to end
	stopPrograms context.CancelFunc

	unwatch func() // stops watching the log of effects

	opened atomic.Int64 // number of connections that were tried

	keys []string // secrets in the query of the server's URL. Not written after New

	saved *saved // the session that Open shows; nil if there is a server. Not written after New

	caller *transport.Principal // caller of Host; nil for none. Written before anything is served

	mu       sync.Mutex // guards the fields below
	bearer   string
	level    protocol.Level          // of log messages
	revision string                  // the revision that the user chose; "" for the newest that both sides support
	speaks   map[string]bool         // by revision: whether the server has spoken or refused it; see learn
	session  *session                // nil if not connected
	state    state                   // state of the connection, for the browser
	offered  *offers                 // read last; nil before
	tag      string                  // tag of the offers that were read last
	secrets  []string                // names of secret arguments
	fields   []string                // names of secret fields of questions
	given    [][]byte                // secret arguments and answers, as they stand between quotes
	known    listed                  // names of the offers that were read last
	secret   []*regexp.Regexp        // find secret arguments and fields in JSON
	viewers  int                     // number of open streams of events
	leaving  *time.Timer             // ends an unused connection; nil while a browser is connected
	seeking  bool                    // a goroutine is looking for a lost server
	renewing int                     // number of calls of reconnect that wait for connecting
	giveUp   context.CancelCauseFunc // ends the newest attempt to connect; nil before the first
	closed   bool

	connecting sync.Mutex // held while a connection is made, so that two users make one connection
}

// New returns a page. The page connects to the server when a browser opens it.
func New(o Options) (*Page, error) {
	set := 0
	for _, given := range []bool{o.Host != nil, o.Command != nil, o.URL != ""} {
		if given {
			set++
		}
	}
	if set != 1 {
		return nil, errors.New("page: want exactly one of Host, Command and URL")
	}
	return newPage(o), nil
}

func newPage(o Options) *Page {
	o.Client = cmp.Or(o.Client, "devel") // the protocol requires a version
	p := &Page{options: o, bearer: o.Bearer, revision: o.Revision.String(), level: "info", speaks: allSpoken(&o), guard: newGuard(), events: newEvents(), asked: newQuestions()}
	p.wire = newWire(func(last int) { p.events.add("frames", map[string]any{"last": last}) })
	p.calls = newCalls()
	p.life, p.end = context.WithCancel(context.Background()) //nolint:forbidigo // the page's own life, until Close
	p.programs, p.stopPrograms = context.WithCancel(context.WithoutCancel(p.life))
	p.state = state{Name: stateIdle}
	p.keys = keysIn(o.URL)
	p.unwatch = func() {}
	if o.Inside != nil {
		p.unwatch = effectlog.Watch(p.effect)
	}
	return p
}

// Handler returns a handler that serves the page in a program's own mux. It works under any prefix
// that ends with a slash and is stripped.
//
// The handler does not ask for a key: the program must authenticate users with its own login. All
// users share one connection, and see each other's calls.
func (p *Page) Handler() http.Handler { return p.routes(false) }

// Close ends the connection to the server and all calls, and waits for them. The page cannot be
// used afterwards.
func (p *Page) Close() error {
	p.mu.Lock()
	p.closed = true
	session := p.session
	p.session = nil
	if p.leaving != nil {
		p.leaving.Stop()
	}
	p.mu.Unlock()
	p.end()
	p.unwatch()
	p.events.close()
	var err error
	if session != nil {
		err = session.client.Close()
	}
	p.stopPrograms() // ends a build in progress, too
	p.work.Wait()
	p.wire.close()
	return err
}

// spawn runs fn in a goroutine that Close waits for. After Close it does nothing.
func (p *Page) spawn(fn func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.work.Go(fn)
	}
}
