package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kagami-mcp/kagami/cmd/kagami/internal/group"
	"github.com/kagami-mcp/kagami/protocol"
)

const (
	largestBody = 64 << 20         // bytes
	drainTime   = 15 * time.Second // how long an old process may take for its calls, and then to end
	startTime   = 20 * time.Second // how long a process may take until it listens
)

// Proxy is an http.Handler in front of one process of the server. The process keeps its sessions in
// a file, so the next process knows them. Proxy accepts only requests for loopback host names.
//
// Replace locks gate while it changes the process. Requests read the address under a read lock, so
// they wait for the new process. calls counts the requests that the old process must still finish.
// It does not count streams, because they continue with the new process. Answers to questions do
// not wait for gate, because a call of the old process may need them. The lock mu is taken after
// gate, and the lock of a stream after mu.
//
// Methods are safe for concurrent use, except that Replace is called by one goroutine.
type Proxy struct {
	gone chan struct{}

	gate    sync.RWMutex // held for writing while a process is replaced, and before there is one
	address atomic.Value // address of the last process; changed under gate, but some messages must not wait for gate
	epoch   int          // number of the process; guarded by gate
	calls   atomic.Int64 // open requests without streams; requests are added under gate

	// Used only by Replace and Close.
	opened  bool // a process has served
	process *exec.Cmd
	done    chan struct{} // closed when the process has ended

	mu      sync.Mutex // guards the fields below
	broken  string     // text of Break; "" if calls are served
	ending  *exec.Cmd  // the process that Close is ending
	streams map[*stream]bool
}

// NewProxy returns a proxy without a process. Requests wait until the first Replace.
func NewProxy() *Proxy {
	d := &Proxy{gone: make(chan struct{}, 1), streams: map[*stream]bool{}}
	d.gate.Lock() // the first Replace unlocks it
	return d
}

// Gone returns a channel that receives a value when the process has ended by itself.
func (d *Proxy) Gone() <-chan struct{} { return d.gone }

// Break makes the proxy answer calls of tools with this text until the next Replace. Before the
// first, it answers all requests.
func (d *Proxy) Break(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken = text
}

// Replace ends the process and starts cmd with the additional flag --http. changed names the
// notifications for lists that have changed. If the new process does not listen, Replace returns an
// error, and no process serves.
func (d *Proxy) Replace(ctx context.Context, cmd *exec.Cmd, changed ...string) error {
	if d.opened {
		d.gate.Lock()
		defer d.gate.Unlock()
	}
	d.Close()
	address, err := FreeAddress()
	if err != nil {
		return err
	}
	cmd.Args = append(cmd.Args, "--http", address)
	group.Set(cmd)              // Ctrl-C is for dev, which then interrupts the process once
	cmd.WaitDelay = time.Second // a child of the process may keep its output open
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the server: %w", err)
	}
	d.process, d.done = cmd, make(chan struct{})
	go d.await(cmd, d.done)
	if err := ready(ctx, address, d.done); err != nil {
		d.Close()
		return err
	}
	d.epoch++
	d.address.Store(address)
	if !d.opened {
		d.opened = true
		defer d.gate.Unlock()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken = ""
	for s := range d.streams {
		s.tell(changed)
	}
	return nil
}

// await closes done when the process has ended. If the process has ended by itself, await sends to
// Gone.
func (d *Proxy) await(cmd *exec.Cmd, done chan<- struct{}) {
	_ = cmd.Wait() // the log of the process shows the cause
	close(done)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ending == cmd {
		return
	}
	select {
	case d.gone <- struct{}{}:
	default: // the last value was not received yet
	}
}

// Close waits until the process has finished its calls, and ends it. Call it after Replace has returned.
func (d *Proxy) Close() {
	if d.process == nil {
		return
	}
	for end := time.Now().Add(drainTime); d.calls.Load() > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	d.mu.Lock()
	d.ending = d.process
	select {
	case <-d.gone: // it may have ended by itself before
	default:
	}
	d.mu.Unlock()
	group.End(d.process, d.done, drainTime)
	d.process = nil
}

// FreeAddress returns an address of this machine that no program listens on.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // the listener is closed at once
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// ready waits until the process serves.
func ready(ctx context.Context, address string, done <-chan struct{}) error {
	for end := time.Now().Add(startTime); time.Now().Before(end); {
		select {
		case <-done:
			return errors.New("starting the server: it has ended; its log shows the cause")
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
		c, err := net.Dial("tcp", address) //nolint:noctx // the server is on this machine
		if err == nil {
			return c.Close()
		}
	}
	return fmt.Errorf("starting the server: it did not listen within %s; for HTTP, dev needs a program of serve.Main", startTime)
}

// ServeHTTP passes a request on.
func (d *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	if ip := net.ParseIP(strings.Trim(host, "[]")); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		http.Error(w, "the host name is not allowed: want localhost or a loopback address", http.StatusForbidden)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largestBody))
	if err != nil {
		http.Error(w, "reading the body failed", http.StatusBadRequest)
		return
	}
	s := &stream{w: w, control: http.NewResponseController(w), listens: r.Method == http.MethodGet}
	if all := framesOf(body); r.Method == http.MethodPost && len(all) == 1 {
		s.asked = &all[0]
		s.listens = s.asked.Method == protocol.MethodListen
		if text := d.refuses(s.asked); text != "" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(refusal(s.asked, text))
			return
		}
	}
	if s.listens {
		d.register(s, true)
		defer d.register(s, false)
	}
	for d.pass(r, body, s) {
	}
}

func (d *Proxy) refuses(f *frame) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f.request() && (f.Method == protocol.MethodCallTool || d.address.Load() == nil) {
		return d.broken
	}
	return ""
}

func (d *Proxy) register(s *stream, on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if on {
		d.streams[s] = true
	} else {
		delete(d.streams, s)
	}
}

// enter returns the address for a request. It adds the request to calls unless it is a stream.
// Answers and notifications do not wait for gate. The caller subtracts the request from calls.
func (d *Proxy) enter(s *stream) (address string, epoch int) {
	if s.asked != nil && !s.asked.request() {
		if last, ok := d.address.Load().(string); ok {
			d.calls.Add(1)
			return last, 0
		}
	}
	d.gate.RLock()
	defer d.gate.RUnlock()
	if !s.listens {
		d.calls.Add(1)
	}
	return d.address.Load().(string), d.epoch
}

// pass sends the request to the process. It reports whether the next process must receive it again.
func (d *Proxy) pass(r *http.Request, body []byte, s *stream) (again bool) {
	address, epoch := d.enter(s)
	if !s.listens {
		defer d.calls.Add(-1)
	}
	request, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+address+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		http.Error(s.w, "the request is invalid", http.StatusBadRequest)
		return false
	}
	request.Header = r.Header.Clone()
	request.Host = r.Host // the landing page shows it, and the check of the Origin header needs it
	request.Header.Del("Connection")
	if s.last != "" {
		request.Header.Set("Last-Event-ID", s.last)
	}
	err = s.fill(request)
	switch {
	case r.Context().Err() != nil:
		return false
	case s.listens && s.begun:
		return d.replacedSince(r.Context(), epoch)
	case err == nil:
		return false
	}
	if refused, ok := errors.AsType[*net.OpError](err); ok && refused.Op == "dial" && d.replacedSince(r.Context(), epoch) {
		return true // no process has received it
	}
	if !s.begun {
		http.Error(s.w, "the server has ended before it answered", http.StatusBadGateway)
	}
	return false
}

// replacedSince reports whether another process takes over within a second.
func (d *Proxy) replacedSince(ctx context.Context, epoch int) bool {
	for range 50 {
		d.gate.RLock() // waits while the process is replaced
		now := d.epoch
		d.gate.RUnlock()
		if now != epoch {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
	return false
}

// stream is one HTTP response to a client.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	asked   *frame // the only message of a POST request, or nil
	listens bool   // the stream continues with the next process

	mu     sync.Mutex // guards events, and w after the response has begun
	begun  bool
	events bool   // the response consists of events
	last   string // id of the last event
}

// fill sends the request to the process, and passes the response on. If the stream has already begun,
// fill does not send the header again. It also drops the event that acknowledges a subscription again.
func (s *stream) fill(request *http.Request) error {
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	events := strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream")
	s.listens = s.listens && events
	skip := s.begun && s.asked != nil
	s.mu.Lock()
	s.events = events
	if !s.begun {
		maps.Copy(s.w.Header(), answer.Header)
		s.w.WriteHeader(answer.StatusCode)
		_ = s.control.Flush()
		s.begun = true
	}
	s.mu.Unlock()
	switch {
	case events:
		s.pour(answer.Body, skip)
	case !skip && s.last == "": // otherwise the next process does not continue the stream
		_, err = io.Copy(s.w, answer.Body)
	}
	return err
}

// pour passes on whole events. If skip is set, it drops the first event with data. It does not return an
// error, because the next process continues the stream.
func (s *stream) pour(body io.Reader, skip bool) {
	var event []byte
	rest := make([]byte, 0, 4096)
	buffer := make([]byte, 32<<10)
	for {
		n, err := body.Read(buffer)
		from := max(0, len(rest)-len("\r\n\r")) // there is no end of an event before
		rest = append(rest, buffer[:n]...)
		for {
			var whole bool
			if event, rest, whole = cutEvent(rest, from); !whole {
				break
			}
			from = 0
			if skip && bytes.Contains(event, []byte("data:")) {
				skip = false
				continue
			}
			s.write(event)
		}
		if err != nil || len(rest) > largestBody {
			return
		}
	}
}

// cutEvent separates the first event, with the empty line after it. It looks for the end of the event
// at from and after.
func cutEvent(text []byte, from int) (event, rest []byte, whole bool) {
	for _, end := range []string{"\n\n", "\r\n\r\n"} {
		if i := bytes.Index(text[from:], []byte(end)); i >= 0 {
			i += from
			return text[:i+len(end)], text[i+len(end):], true
		}
	}
	return nil, text, false
}

// write sends an event. It does not send the end of a subscription, because only the process has
// ended.
func (s *stream) write(event []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range bytes.Lines(event) {
		if id, is := bytes.CutPrefix(line, []byte("id:")); is {
			s.last = string(bytes.TrimSpace(id))
		}
	}
	if s.asked != nil && s.listens && s.farewell(event) {
		return
	}
	_, _ = s.w.Write(event)
	_ = s.control.Flush()
}

// farewell reports whether an event ends a subscription.
func (s *stream) farewell(event []byte) bool {
	for line := range bytes.Lines(event) {
		data, is := bytes.CutPrefix(line, []byte("data:"))
		if !is {
			continue
		}
		all := framesOf(data)
		if len(all) != 1 {
			return false
		}
		f := all[0]
		ends := f.response() && key(f.ID) == key(s.asked.ID)
		cancels := f.Method == protocol.NotificationCancelled && key(f.param("requestId")) == key(s.asked.ID)
		return ends || cancels
	}
	return false
}

// tell sends the notifications for lists that have changed, if the client has asked for them.
func (s *stream) tell(changed []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.events {
		return
	}
	for _, method := range changed {
		line := news(method, nil)
		if s.asked != nil {
			if string(s.asked.param("notifications", filterOf[method])) != "true" {
				continue
			}
			line = news(method, s.asked.ID)
		}
		_, _ = fmt.Fprintf(s.w, "data: %s\n\n", line)
	}
	_ = s.control.Flush()
}
