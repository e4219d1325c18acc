package oauth

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ListenerOption configures Listener. A nil option makes Open return an error. It is sealed.
type ListenerOption interface{ listenerOption(l *listener) }

type listenerOptionFunc func(*listener)

func (f listenerOptionFunc) listenerOption(l *listener) { f(l) }

// Port sets the port to listen on. The default, 0, is a free port; for a registered client it is
// the port of the registration, if that is free. If the port is in use, opening the listener fails;
// it never uses another port.
func Port(port int) ListenerOption {
	return listenerOptionFunc(func(l *listener) { l.port = port })
}

// Localhost uses "localhost" in the redirect URI instead of 127.0.0.1. RFC 8252 §8.3 advises
// against it, but some authorization servers accept nothing else. The listener then listens on
// 127.0.0.1, and on ::1 if the machine has that.
func Localhost() ListenerOption {
	return listenerOptionFunc(func(l *listener) { l.host = "localhost" })
}

// Path sets the path of the redirect URI. The default is "/callback". If it does not begin with a
// slash, opening the listener fails.
func Path(path string) ListenerOption {
	return listenerOptionFunc(func(l *listener) { l.path = path })
}

// Page sets the function that writes the last page in the browser. The default is a plain page. fn
// does not get anything that came with the request.
func Page(fn func(w io.Writer, err error)) ListenerOption {
	return listenerOptionFunc(func(l *listener) { l.page = fn })
}

// Listener returns a Receiver on a loopback port. By default it uses 127.0.0.1, a free port, and
// "/callback". The port is open only during a visit.
//
// It accepts one GET of the path with the expected state, and redirects the browser to its last page,
// which may be loaded again. It answers other requests with an error, or with nothing (/favicon.ico).
// Its page has no script, and shows the user how to continue.
func Listener(opts ...ListenerOption) Receiver {
	l := &listener{host: "127.0.0.1", path: "/callback", page: plainPage, turn: make(chan struct{}, 1)}
	for _, opt := range opts {
		if opt == nil {
			l.nilOption = true
			continue
		}
		opt.listenerOption(l)
	}
	return l
}

// lastPath returns the path of the last page. It differs from the path of the redirect URI.
func (l *listener) lastPath() string {
	if l.path == "/done" {
		return "/done/page"
	}
	return "/done"
}

// listener is the Receiver for programs on the user's machine.
type listener struct {
	port int
	host string
	path string
	page func(io.Writer, error)

	nilOption bool // Open returns an error

	turn chan struct{}             // one visit at a time
	open atomic.Pointer[reception] // nil if closed
}

// reception is one visit. ServeHTTP passes the query to Receive through came, waits for the
// verdict, and redirects the browser to a page with an address without the query. Receive sets
// state and closes awaited; Answer sets err and closes verdict.
type reception struct {
	listener *listener
	ctx      context.Context //nolint:containedctx // context of Open; Close has none
	server   *http.Server
	served   sync.WaitGroup
	redirect string

	awaited chan struct{} // closed by Receive, because a fast browser may arrive earlier
	came    chan url.Values
	verdict chan struct{} // closed by answer
	err     error         // readable once verdict is closed
	shown   chan struct{} // closed after the browser has fetched the last page

	answering, showing sync.Once // close verdict and shown

	mu    sync.Mutex // guards all below
	state string     // empty if no response is awaited
	taken bool       // a browser has arrived, and will be redirected
}

// Open starts to listen.
func (l *listener) Open(ctx context.Context) (string, error) { return l.openLike(ctx, "") }

// openLike listens on the port of an earlier redirect URI, if the port is free and no other port
// was configured.
func (l *listener) openLike(ctx context.Context, earlier string) (string, error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	r, err := l.listen(ctx, earlier)
	if err != nil {
		<-l.turn
		return "", err
	}
	l.open.Store(r)
	return r.redirect, nil
}

func (l *listener) listen(ctx context.Context, earlier string) (*reception, error) {
	if l.nilOption {
		return nil, errors.New("an option of the listener is nil")
	}
	if !strings.HasPrefix(l.path, "/") {
		return nil, fmt.Errorf("the path %q of the redirect URI does not begin with a slash", l.path)
	}
	var listeners []net.Listener
	err := errors.New("no port")
	if u, failed := url.Parse(earlier); failed == nil && l.port == 0 && u.Hostname() == l.host && u.Path == l.path {
		if port, failed := strconv.Atoi(u.Port()); failed == nil {
			listeners, err = l.on(ctx, port)
		}
	}
	for tries := 0; err != nil && (tries == 0 || l.port == 0 && tries < 3); tries++ {
		listeners, err = l.on(ctx, l.port)
	}
	if err != nil {
		return nil, fmt.Errorf("listening for the browser: %w (another program uses the port: end it, or choose another)", err)
	}
	address, _ := listeners[0].Addr().(*net.TCPAddr)
	r := &reception{
		listener: l, ctx: ctx, awaited: make(chan struct{}), came: make(chan url.Values, 1), verdict: make(chan struct{}), shown: make(chan struct{}),
		redirect: "http://" + net.JoinHostPort(l.host, strconv.Itoa(address.Port)) + l.path,
	}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10, ErrorLog: nil}
	for _, each := range listeners {
		r.served.Go(func() { _ = r.server.Serve(each) }) // ends with Close
	}
	return r, nil
}

// on listens on a port of 127.0.0.1, and for localhost also of ::1. Browsers try ::1 first, so a program
// that has the port there would receive the response.
func (l *listener) on(ctx context.Context, port int) ([]net.Listener, error) {
	var config net.ListenConfig
	first, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil || l.host != "localhost" || !hasIPv6() {
		return []net.Listener{first}, err
	}
	address, _ := first.Addr().(*net.TCPAddr)
	second, err := config.Listen(ctx, "tcp", net.JoinHostPort("::1", strconv.Itoa(address.Port)))
	if err != nil {
		return nil, errors.Join(err, first.Close())
	}
	return []net.Listener{first, second}, nil
}

// hasIPv6 reports whether the machine has the address ::1.
func hasIPv6() bool {
	all, _ := net.InterfaceAddrs() // if they are unknown, the answer is false
	return slices.ContainsFunc(all, func(a net.Addr) bool {
		network, ok := a.(*net.IPNet)
		return ok && network.IP.Equal(net.IPv6loopback)
	})
}

// Receive waits for the browser's response.
func (l *listener) Receive(ctx context.Context, state string) (url.Values, error) {
	r := l.open.Load()
	if r == nil {
		return nil, errors.New("the listener is closed")
	}
	r.mu.Lock()
	r.state = state
	r.mu.Unlock()
	close(r.awaited)
	select {
	case query := <-r.came:
		return query, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Answer makes the browser show the outcome.
func (l *listener) Answer(err error) {
	if r := l.open.Load(); r != nil {
		r.answer(err)
	}
}

// answer sets the verdict, unless there is one.
func (r *reception) answer(err error) {
	r.answering.Do(func() {
		r.err = err
		close(r.verdict)
	})
}

// farewell is how long Close waits for the browser to fetch its page.
const farewell = 2 * time.Second

// Close frees the port after the browser has shown its page.
func (l *listener) Close() error {
	r := l.open.Swap(nil)
	if r == nil {
		return nil
	}
	defer func() { <-l.turn }()
	r.answer(ErrLogin)
	r.mu.Lock()
	taken := r.taken
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), farewell)
	defer cancel()
	if taken {
		select {
		case <-r.shown:
		case <-ctx.Done():
		}
	}
	err := r.server.Shutdown(ctx)
	if err != nil {
		err = r.server.Close()
	}
	r.served.Wait()
	return err
}

// ServeHTTP accepts the response of the authorization server. Any web page can send requests here,
// so a request without the awaited state has no effect.
func (r *reception) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	h.Set("Connection", "close")
	host := (&url.URL{Host: req.Host}).Hostname() // browsers leave out port 80
	switch {
	case !isLoopback(host):
		http.Error(w, "This address is for 127.0.0.1 only.", http.StatusForbidden)
	case req.URL.Path == r.listener.lastPath() && req.Method == http.MethodGet:
		r.done(w)
	case req.URL.Path == "/favicon.ico":
		w.WriteHeader(http.StatusNoContent) // browsers request it without being asked
	case req.URL.Path != r.listener.path:
		http.Error(w, "There is nothing here.", http.StatusNotFound)
	case req.Method != http.MethodGet:
		h.Set("Allow", http.MethodGet)
		http.Error(w, "Only GET is answered here.", http.StatusMethodNotAllowed)
	default:
		r.take(w, req)
	}
}

// take passes the query on once, and redirects the browser after the verdict.
func (r *reception) take(w http.ResponseWriter, req *http.Request) {
	select {
	case <-r.awaited:
	case <-r.verdict:
	case <-req.Context().Done():
	}
	query, err := url.ParseQuery(req.URL.RawQuery)
	r.mu.Lock()
	fits := err == nil && r.state != "" && sameText(query.Get("state"), r.state)
	if fits {
		r.state, r.taken = "", true // once
	}
	r.mu.Unlock()
	if !fits {
		http.Error(w, "No login waits for this answer.", http.StatusBadRequest)
		return
	}
	r.came <- query
	select {
	case <-r.verdict:
	case <-req.Context().Done():
		return
	}
	http.Redirect(w, req, r.listener.lastPath(), http.StatusSeeOther)
}

// done shows the page. Its address contains nothing of the response.
func (r *reception) done(w http.ResponseWriter) {
	select {
	case <-r.verdict:
	default:
		http.Error(w, "No login has ended yet.", http.StatusNotFound)
		return
	}
	defer r.showing.Do(func() { close(r.shown) })
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if r.err != nil {
		w.WriteHeader(http.StatusBadRequest)
	}
	r.listener.page(w, r.err)
}

// plainPage tells the user how to continue. The program shows the reason of a failure, where the
// user can read it at leisure.
func plainPage(w io.Writer, err error) {
	title, text := "You are logged in", "You can close this page and go back to the program."
	if err != nil {
		title, text = "The login has failed", "Nothing was kept. The program that sent you here says why; you can close this page."
	}
	_, _ = fmt.Fprintf(w, `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>%[1]s</title>
<style>:root{color-scheme:light dark}body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto 0;padding:0 1.5rem}h1{font-size:1.5rem}</style>
</head><body><main><h1>%[1]s</h1><p>%[2]s</p></main></body></html>
`, html.EscapeString(title), html.EscapeString(text))
}
