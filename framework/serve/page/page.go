package page

import (
	"context"
	"crypto/rand"
	"encoding/json"
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

// Options say which server a page shows. Exactly one of Host, Command and URL is set.
type Options struct {
	Host    transport.Host                               // a server in this process
	Command func(ctx context.Context) (*exec.Cmd, error) // returns a program that was not started; called for each connection
	URL     string                                       // of a server over HTTP

	Header    http.Header       // sent with each request to URL; never shown
	Bearer    string            // token for URL; never shown. The page can replace it
	Authorize client.HTTPOption // how URL is authorized without a Bearer; nil: not at all. Not by the HTTP client of the connection, which records
	Transport http.RoundTripper // sends the requests to URL; nil stands for http.DefaultTransport

	Start  []string               // the program and its arguments, as a client's configuration starts the server; nil: the page does not know
	Where  string                 // where the server runs, for people; "" stands for the URL or the command line
	Inside func() *surface.Inside // what only the server's own process knows; nil for a server elsewhere
	Client string                 // version of the program, for the server's log
}

// Page shows one server. Safe for concurrent use. Close it in the end.
type Page struct {
	options Options
	guard   *guard
	files   *files
	events  *events
	wire    *wire
	calls   *calls
	asked   *questions

	life context.Context //nolint:containedctx // of the page: calls outlive the requests that start them
	end  context.CancelFunc
	work sync.WaitGroup // goroutines of the page

	unwatch func() // ends the news of effects

	opened atomic.Int64 // number of connections that were tried

	saved *saved // what Open shows; nil: there is a server. Not written after New

	caller *transport.Principal // of Host; nil: nobody. Written before anything is served

	mu       sync.Mutex // guards the fields below
	bearer   string
	level    protocol.Level             // of log messages
	revision string                     // the one that the user chose; "": the newest that both sides know
	session  *session                   // nil: not connected
	state    state                      // of the connection, for the browser
	tag      string                     // of the offers that were read last
	secrets  []string                   // names of secret arguments
	given    [][]byte                   // secret arguments of calls, as they stand between quotes
	known    listed                     // their names
	outputs  map[string]json.RawMessage // output schemas of the tools
	secret   *regexp.Regexp             // finds secret arguments in JSON; nil: there are none
	viewers  int                        // open streams of events
	leaving  *time.Timer                // ends an unused connection; nil while a browser is connected
	seeking  bool                       // a goroutine looks for a lost server
	closed   bool

	connecting sync.Mutex // held while a connection is made, so that two users make one
}

// New makes a page. It connects when somebody looks.
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
	p := &Page{options: o, bearer: o.Bearer, level: "info", guard: newGuard(), events: newEvents(), asked: newQuestions()}
	p.files = newFiles()
	p.wire = newWire(func(last int) { p.events.add("frames", map[string]any{"last": last}) })
	p.calls = newCalls()
	p.life, p.end = context.WithCancel(context.Background()) //nolint:forbidigo // the page's own life, until Close
	p.state = state{Name: stateIdle}
	p.unwatch = func() {}
	if o.Inside != nil {
		p.unwatch = effectlog.Watch(p.effect)
	}
	return p
}

// Handler serves the page in a program's own mux, under any prefix that ends with a slash and is
// stripped. It asks for no key: the program lets only those in who may use the page, by a login
// of its own. All of them share one connection, and see each other's calls.
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
	p.work.Wait()
	p.wire.close()
	return err
}

// spawn runs fn in a goroutine that Close waits for; after Close it does nothing.
func (p *Page) spawn(fn func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.work.Go(fn)
	}
}

// random returns a secret of 128 bits.
func random() string { return rand.Text() }
