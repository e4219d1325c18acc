package serve_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// faultPatience bounds every wait of the fault tests; nothing is asserted by it.
const faultPatience = 30 * time.Second

// faultLimits are the options that both carriers have; zero is the default.
type faultLimits struct {
	read, write, retry, grace, heartbeat time.Duration

	streams int
	auth    bool
}

// faultCarrier is one of the carriers that the fault tests run on.
type faultCarrier struct {
	name string
	make func(l net.Listener, f faultLimits) transport.Transport
}

func faultCarriers() []faultCarrier {
	return []faultCarrier{
		{"fiberhttp", func(l net.Listener, f faultLimits) transport.Transport {
			return fiberhttp.New("", fiberhttp.Listener(l), fiberhttp.ReadTimeout(f.read), fiberhttp.WriteTimeout(f.write),
				fiberhttp.Retry(f.retry), fiberhttp.Grace(f.grace), fiberhttp.Heartbeat(f.heartbeat), fiberhttp.MaxStreams(f.streams))
		}},
		{"nethttp", func(l net.Listener, f faultLimits) transport.Transport {
			return nethttp.New("", nethttp.Listener(l), nethttp.ReadTimeout(f.read), nethttp.WriteTimeout(f.write),
				nethttp.Retry(f.retry), nethttp.Grace(f.grace), nethttp.Heartbeat(f.heartbeat), nethttp.MaxStreams(f.streams))
		}},
	}
}

// onFaultCarriers runs test for each carrier, one after the other: many of these
// tests count what runs in the process.
func onFaultCarriers(t *testing.T, test func(t *testing.T, c faultCarrier)) {
	t.Helper()
	for _, c := range faultCarriers() {
		t.Run(c.name, func(t *testing.T) { test(t, c) })
	}
}

// faultSite is a real app behind a real socket.
type faultSite struct {
	t      testing.TB
	addr   string
	server *framework.Server
	hub    *faultHub
	end    context.CancelFunc // of the context of Serve
	ended  chan struct{}      // closed when Serve has returned
	last   atomic.Int64
}

// next is the id of a request: none before had it, and all are of the same length.
func (s *faultSite) next() int { return int(10_000 + s.last.Add(1)) }

func serveFaults(t testing.TB, c faultCarrier, f faultLimits) *faultSite {
	t.Helper()
	return serveFaultsOn(t, c, f, faultListener(t))
}

func faultListener(t testing.TB) net.Listener {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func serveFaultsOn(t testing.TB, c faultCarrier, f faultLimits, l net.Listener) *faultSite {
	t.Helper()
	opts := []framework.AppOption{framework.WithLogger(zap.NewNop())}
	if f.auth {
		opts = append(opts, framework.WithAuth(faultBearer{}))
	}
	hub := newFaultHub()
	return serveFaultApp(t, c, f, l, hub, hub.app(opts...))
}

// serveFaultApp serves an app, which need not have what hub does.
func serveFaultApp(t testing.TB, c faultCarrier, f faultLimits, l net.Listener, hub *faultHub, app *framework.App) *faultSite {
	t.Helper()
	s := &faultSite{t: t, addr: l.Addr().String(), hub: hub, ended: make(chan struct{})}
	server, err := app.Build()
	if err != nil {
		t.Fatal(err)
	}
	s.server = server
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	s.end = end
	go func() {
		defer close(s.ended)
		if err := server.Serve(ctx, c.make(l, f)); err != nil {
			t.Errorf("Serve: %v", err)
		}
	}()
	t.Cleanup(s.stop)
	return s
}

// stop ends the server; what is held is let go.
func (s *faultSite) stop() {
	s.hub.releaseAll()
	s.end()
	faultWait(s.t, "Serve to return", s.ended)
}

// faultBearer takes every bearer token as a name.
type faultBearer struct{}

func (faultBearer) Authenticate(_ context.Context, h http.Header) (*transport.Principal, error) {
	name, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	if !ok {
		return nil, errors.New("no token")
	}
	return &transport.Principal{Issuer: "test", Subject: name}, nil
}

// faultHub is what the tools of the app tell the test, and the other way round.
type faultHub struct {
	added atomic.Int64 // calls of add

	mu   sync.Mutex // guards the fields below
	held map[string]*faultHeld
	ran  map[int]bool // first argument of each call of add, and key of each count
	over map[int]bool // key of each count that has returned
}

// faultHeld is one call that lasts until the test lets it go.
type faultHeld struct {
	began, release chan struct{}
	ended          chan error // why the context ended; nil: it did not
	once           sync.Once
}

func (h *faultHeld) let() { h.once.Do(func() { close(h.release) }) }

func newFaultHub() *faultHub {
	return &faultHub{held: make(map[string]*faultHeld), ran: make(map[int]bool), over: make(map[int]bool)}
}

func (h *faultHub) expect(key string) *faultHeld {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := &faultHeld{began: make(chan struct{}), release: make(chan struct{}), ended: make(chan error, 1)}
	h.held[key] = held
	return held
}

func (h *faultHub) find(key string) *faultHeld {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := h.held[key]
	delete(h.held, key)
	return held
}

func (h *faultHub) releaseAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, held := range h.held {
		held.let()
	}
}

func (h *faultHub) mark(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ran[n] = true
}

func (h *faultHub) markOver(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over[n] = true
}

func (h *faultHub) all() map[int]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ran
}

type faultAddIn struct {
	A int `json:"a"`
	B int `json:"b"`
}

type faultAddOut struct {
	Sum int `json:"sum"`
}

type faultHoldIn struct {
	Key string `json:"key"`
	Say bool   `json:"say,omitempty" doc:"report progress first"`
}

type faultCountIn struct {
	N     int `json:"n"`
	Size  int `json:"size,omitempty" doc:"of each message"`
	Pause int `json:"pause,omitempty" doc:"reports after which to rest for a millisecond"`
	Mark  int `json:"mark,omitempty"`
}

type faultBigIn struct {
	Name string `uri:"name"`
}

func (h *faultHub) app(opts ...framework.AppOption) *framework.App {
	return framework.New("faults", "1", opts...).Add(
		framework.Tool("add", h.add, framework.Describe("Add.")),
		framework.Tool("hold", h.hold, framework.Describe("Last.")),
		framework.Tool("count", h.count, framework.Describe("Report.")),
		framework.Tool("explode", func(ctx context.Context, _ struct{}) (string, error) {
			framework.Progress(ctx, 1, 2, "lit")
			panic("scripted: in a tool")
		}, framework.Describe("Panic.")),
		framework.ResourceTemplate("big://{name}", func(_ context.Context, in faultBigIn) (string, error) { return in.Name, nil },
			framework.Name("big"), framework.Describe("A long name.")))
}

func (h *faultHub) add(_ context.Context, in faultAddIn) (faultAddOut, error) {
	h.added.Add(1)
	h.mark(in.A)
	return faultAddOut{in.A + in.B}, nil
}

func (h *faultHub) hold(ctx context.Context, in faultHoldIn) (string, error) {
	held := h.find(in.Key)
	if held == nil {
		return "", framework.UserErrorf("nobody expects %s", in.Key)
	}
	if in.Say {
		framework.Progress(ctx, 1, 2, "begun")
	}
	close(held.began)
	select {
	case <-held.release:
	case <-ctx.Done():
	}
	held.ended <- context.Cause(ctx)
	return "held " + in.Key, nil
}

func (h *faultHub) count(ctx context.Context, in faultCountIn) (string, error) {
	if in.Mark != 0 {
		h.mark(in.Mark)
		defer h.markOver(in.Mark)
	}
	message := strings.Repeat("x", in.Size)
	for i := range in.N {
		if ctx.Err() != nil {
			return "stopped", nil
		}
		framework.Progress(ctx, i+1, in.N, message)
		if in.Pause > 0 && i%in.Pause == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	return "counted", nil
}

func faultWait[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	timer := time.NewTimer(faultPatience)
	defer timer.Stop()
	select {
	case v := <-c:
		return v
	case <-timer.C:
		buf := make([]byte, 1<<20)
		t.Fatalf("waited in vain for %s\n%s", what, faultBusy(string(buf[:runtime.Stack(buf, true)])))
		panic("unreachable")
	}
}

// faultGoroutines counts those that do something. fasthttp keeps its workers for ten
// seconds, and Streamable HTTP those that wait for exchanges for half a second.
func faultGoroutines() (int, string) {
	buf := make([]byte, 16<<20)
	busy := faultBusy(string(buf[:runtime.Stack(buf, true)]))
	return len(busy), strings.Join(busy, "\n\n")
}

// faultSteady is how many do something while nothing is asked: the fewest of some looks,
// as what ends takes a moment.
func faultSteady() int {
	fewest, _ := faultGoroutines()
	for range 20 {
		time.Sleep(5 * time.Millisecond)
		n, _ := faultGoroutines()
		fewest = min(fewest, n)
	}
	return fewest
}

func faultBusy(stacks string) []string {
	var busy []string
	for each := range strings.SplitSeq(stacks, "\n\n") {
		_, frames, _ := strings.Cut(each, "\n")
		if !slices.ContainsFunc(faultWaiting, func(top string) bool { return strings.HasPrefix(frames, top) }) {
			busy = append(busy, each)
		}
	}
	return busy
}

// faultWaiting are the innermost calls of goroutines that wait for work.
var faultWaiting = []string{
	"github.com/valyala/fasthttp.(*workerPool).workerFunc",
	"github.com/kagami-mcp/kagami/transport/internal/workerpool.(*Pool[...]).work",
	"github.com/kagami-mcp/kagami/transport/internal/workerpool.(*Pool[...]).watch",
}

// faultSettle waits until no more than base goroutines are left.
func faultSettle(t testing.TB, base int) {
	t.Helper()
	for deadline := time.Now().Add(faultPatience); ; time.Sleep(5 * time.Millisecond) {
		n, stacks := faultGoroutines()
		if n <= base {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, before it were %d:\n%.20000s", n, base, stacks)
		}
	}
}

func faultHeap() uint64 {
	runtime.GC()
	runtime.GC() // finalizers and pools take two
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
