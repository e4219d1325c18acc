package page

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport"
)

// Times of a connection.
const (
	connectPatience = 30 * time.Second
	loginPatience   = 6 * time.Minute // if a person may have to log in
	listenPatience  = 2 * time.Second // how long the lists wait until the server reports changes of them
	unused          = 5 * time.Minute // after this time without a browser, a connection ends
	firstAgain      = 500 * time.Millisecond
	lastAgain       = 5 * time.Second // longest pause between two attempts to reach a lost server
)

// States of the connection.
const (
	stateIdle       = "idle" // no browser has opened the page yet, or the connection was unused
	stateConnecting = "connecting"
	stateConnected  = "connected"
	stateLost       = "lost"    // the page tries to reach the server again
	stateEnded      = "ended"   // the program has ended; the user may start it again
	stateLogin      = "login"   // the server requires a token, or the user has not finished the login
	stateRefused    = "refused" // the server does not speak the revision that the user has chosen
)

// state is the state of the connection, for the browser.
type state struct {
	Name   string   `json:"name"`
	Reason string   `json:"reason,omitempty"` // the revision of stateRefused; else an error
	Stderr []string `json:"stderr,omitempty"` // the last lines of a program that has ended
}

// session is one connection.
type session struct {
	client *client.Client
	number int
	stderr *tail // standard error of a program; nil otherwise

	answered atomic.Bool   // the server has sent something
	denied   atomic.Bool   // the last HTTP answer to a message had the status 401 or 403
	chosen   string        // the only revision that the page offers; "" if it offers all
	listens  chan struct{} // closed when the server reports changes of lists, or never will
}

// errUnconnected is the error of a request that must not make a connection: see connected.
var errUnconnected = &apiError{http.StatusConflict, "there is no connection to the server: connect again"}

// connected returns the connection. If there is none, it makes one. After the end of a program, a failed
// login or a refused revision it makes one only if its user wants it: the page must not do that by itself.
func (p *Page) connected(ctx context.Context, wanted bool) (*session, error) {
	p.connecting.Lock()
	defer p.connecting.Unlock()
	p.mu.Lock()
	s, closed := p.session, p.closed
	waits := p.state.Name == stateEnded || p.state.Name == stateLogin || p.state.Name == stateRefused
	p.mu.Unlock()
	switch {
	case p.saved != nil:
		return nil, errSaved
	case closed:
		return nil, client.ErrClosed
	case s != nil:
		return s, nil
	case waits && !wanted:
		return nil, errUnconnected
	}
	return p.connect(ctx)
}

// replaced returns the connection that was made in place of s, for example because the user has chosen
// another revision while s was in use. It returns nil if s was not replaced.
func (p *Page) replaced(s *session) *session {
	p.connecting.Lock() // a new connection may be in the making
	defer p.connecting.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.session == s {
		return nil
	}
	return p.session
}

// errRenewed is the error of an attempt to connect that ends because a user connects again.
var errRenewed = &apiError{http.StatusConflict, "a user has connected to the server again: try again"}

// reconnect ends the connection, calls change, and makes a new connection. It does not wait for an
// attempt to connect, which may take as long as a login.
func (p *Page) reconnect(ctx context.Context, change func()) (*session, error) {
	if p.saved != nil {
		return nil, errSaved
	}
	p.mu.Lock()
	p.renewing++
	if p.giveUp != nil {
		p.giveUp(errRenewed)
	}
	p.mu.Unlock()
	p.connecting.Lock()
	defer p.connecting.Unlock()
	p.mu.Lock()
	p.renewing--
	old := p.session
	p.session = nil
	change()
	p.mu.Unlock()
	if old != nil {
		_ = old.client.Close() // the process may end in any way
	}
	return p.connect(ctx)
}

// connect makes a connection. The caller holds connecting, and there is no connection. The connection
// may outlive ctx, because all browsers share it. If reconnect waits, the attempt is left to it.
func (p *Page) connect(ctx context.Context) (*session, error) {
	ctx, giveUp := context.WithCancelCause(p.calling(context.WithoutCancel(ctx)))
	defer giveUp(nil)
	p.mu.Lock()
	p.giveUp = giveUp
	renewed := p.renewing > 0
	p.mu.Unlock()
	if renewed {
		return nil, errRenewed
	}
	p.setState(state{Name: stateConnecting})
	p.wire.renewed()
	patience := connectPatience
	if p.options.Authorize != nil {
		patience = loginPatience
	}
	s := &session{number: int(p.opened.Add(1)), listens: make(chan struct{})}
	to, err := p.target(s) // may build the program, which has no limit
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	defer context.AfterFunc(p.life, cancel)()
	if err == nil {
		s.client, err = client.Connect(ctx, to, p.clientOptions(s)...)
	}
	if err != nil && errors.Is(context.Cause(ctx), errRenewed) {
		return nil, errRenewed
	}
	p.learn(s, err)
	if err != nil {
		p.setState(p.failure(s, err))
		p.seek()
		return nil, err
	}
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.session = s
	}
	p.mu.Unlock()
	if closed {
		_ = s.client.Close()
		return nil, client.ErrClosed
	}
	p.setState(state{Name: stateConnected})
	p.spawn(func() { p.watch(s) })
	return s, nil
}

// calling returns ctx with the caller of a server in this process.
func (p *Page) calling(ctx context.Context) context.Context {
	if p.caller == nil {
		return ctx
	}
	return transport.WithPrincipal(ctx, p.caller)
}

// target returns the target for one connection to the server.
func (p *Page) target(s *session) (client.Target, error) {
	switch {
	case p.options.Host != nil:
		return client.InMemory(p.options.Host), nil
	case p.options.Command != nil:
		cmd, err := p.options.Command(p.programs)
		if err != nil {
			return nil, err
		}
		s.stderr = &tail{also: cmp.Or[io.Writer](cmd.Stderr, io.Discard)}
		cmd.Stderr = s.stderr
		return client.Command(cmd), nil
	}
	next := p.options.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	seen := &recorder{next: next, session: s, wire: p.wire, own: p.options.Header}
	bearer := func(context.Context) (string, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.bearer, nil
	}
	options := []client.HTTPOption{client.HTTPClient(&http.Client{Transport: seen}), client.BearerToken(bearer)}
	if given, _ := bearer(p.life); given == "" && p.options.Authorize != nil {
		options = append(options, p.options.Authorize)
	}
	for name, values := range p.options.Header {
		for _, value := range values {
			options = append(options, client.Header(name, value))
		}
	}
	return client.HTTP(p.options.URL, options...), nil
}

func (p *Page) clientOptions(s *session) []client.Option {
	p.mu.Lock()
	chosen, level := p.revision, p.level
	p.mu.Unlock()
	options := append(p.handlers(),
		client.Name("kagami-page", p.options.Client),
		client.LogLevel(level),
		client.OnFrame(func(ctx context.Context, f client.Frame) {
			s.received(f)
			seen := p.wire.add(ctx, s.number, f, p.mask)
			p.asksAgain(&seen)
		}),
		client.OnNotification(p.notified),
	)
	if rev, ok := protocol.ParseRevision(chosen); ok {
		s.chosen = chosen
		options = append(options, client.Revisions(rev))
	}
	return options
}

// listening waits until the server reports changes of lists. A change after the lists were read and
// before that would be missed. A server that does not answer delays the lists only for
// listenPatience.
func (s *session) listening(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, listenPatience)
	defer cancel()
	select {
	case <-s.listens:
	case <-ctx.Done():
	}
}

// watch follows a connection: it subscribes to the changes of lists, and notices the end of the
// connection.
func (p *Page) watch(s *session) {
	has := s.client.Capabilities()
	filter := protocol.SubscriptionFilter{Tools: has.ToolsListChanged, Prompts: has.PromptsListChanged, Resources: has.ResourcesChanged}
	if filter.Tools || filter.Prompts || filter.Resources {
		if stop, err := s.client.Listen(p.life, filter); err == nil {
			defer stop()
		}
	}
	close(s.listens)
	select {
	case <-s.client.Done():
		p.failed(s, s.client.Err())
	case <-p.life.Done():
	}
}

func (p *Page) setState(next state) {
	next.Reason = p.unkeyed(next.Reason)
	p.mu.Lock()
	p.state = next
	p.mu.Unlock()
	p.events.add("state", map[string]any{"state": next})
}

// notified adds an event for notifications that belong to no call.
func (p *Page) notified(_ context.Context, n protocol.Notification) {
	switch n.Method {
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed":
		p.events.add("changed", map[string]any{"method": n.Method})
	case protocol.NotificationMessage:
		p.events.add("log", map[string]any{"params": n.Params, "at": time.Now()})
	}
}

// looks counts a browser that follows the events; leave removes it from the count.
func (p *Page) looks() (leave func()) {
	p.mu.Lock()
	p.viewers++
	if p.leaving != nil {
		p.leaving.Stop()
		p.leaving = nil
	}
	p.mu.Unlock()
	p.seek() // the search stops while no browser is connected
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.viewers--; p.viewers == 0 && !p.closed {
			p.leaving = time.AfterFunc(unused, p.rest)
		}
	}
}

// rest ends a connection that no browser has used for a while, unless a call is running.
func (p *Page) rest() {
	busy := p.calls.busy()
	p.mu.Lock()
	s := p.session
	switch {
	case p.viewers > 0 || p.closed:
		s = nil
	case busy: // such as a task; its result waits for the next browser
		s = nil
		p.leaving = time.AfterFunc(unused, p.rest)
	default:
		p.session = nil
	}
	p.mu.Unlock()
	if s != nil {
		p.setState(state{Name: stateIdle}) // before Close, because a new connection may be made during it
		_ = s.client.Close()
	}
}

// tailLines is how many of the last lines of a program's standard error the page shows.
const tailLines = 20

// tail keeps the end of a program's standard error.
type tail struct {
	also io.Writer // also receives all output

	mu   sync.Mutex // guards kept
	kept []byte
}

// Write implements io.Writer.
func (t *tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	t.kept = append(t.kept, text...)
	if const64K := 64 << 10; len(t.kept) > const64K {
		t.kept = append([]byte(nil), t.kept[len(t.kept)-const64K/2:]...)
	}
	t.mu.Unlock()
	return t.also.Write(text)
}

func (t *tail) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimRight(strings.ToValidUTF8(string(t.kept), "?"), "\n"), "\n")
	return lines[max(0, len(lines)-tailLines):]
}

// where returns where the server runs, for people.
func (p *Page) where() string {
	switch {
	case p.options.Where != "":
		return p.options.Where
	case p.options.URL != "":
		return redacted(p.options.URL)
	case p.options.Host != nil:
		return "in this process"
	}
	return "a program on stdio"
}

func redacted(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.RawQuery, _ = keyless(u.RawQuery)
	return u.Redacted()
}

// keyless masks the values in a URL's query whose names suggest a secret. It also returns these
// values, as they stand in the query and without its escapes.
func keyless(query string) (masked string, secrets []string) {
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		plainName, err := url.QueryUnescape(name)
		if err != nil {
			plainName = name
		}
		if value == "" || !hides(plainName) {
			continue
		}
		pairs[i] = name + "=xxxxx"
		secrets = append(secrets, value)
		if plain, err := url.QueryUnescape(value); err == nil && plain != value {
			secrets = append(secrets, plain)
		}
	}
	return strings.Join(pairs, "&"), secrets
}

// keysIn returns the secrets in the query of a URL.
func keysIn(address string) []string {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	_, secrets := keyless(u.RawQuery)
	return secrets
}

// unkeyed masks the secrets of the server's URL in an error text, because the errors of net/http
// contain the URL. A short key is masked only after an equals sign, because it may be a common word.
func (p *Page) unkeyed(text string) string {
	for _, key := range p.keys {
		text = strings.ReplaceAll(text, "="+key, "=xxxxx")
		if len(key) >= shortestMask {
			text = strings.ReplaceAll(text, key, "xxxxx")
		}
	}
	return text
}

// carrier returns the name of the carrier to the server.
func (p *Page) carrier() string {
	switch {
	case p.options.URL != "":
		return "HTTP"
	case p.options.Host != nil:
		return "memory"
	}
	return "stdio"
}
