//go:build unix

package serve_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// The cluster tests kill real processes of a real program, and count what their clients
// and the receiver of their effects see. A push gets a few rounds; KAGAMI_FULL=1 all.

// clusterPatience bounds every wait; nothing is asserted by it.
func clusterPatience() time.Duration { return time.Duration(rounds(90, 600)) * time.Second }

// clusterLate is when what takes a moment comes too late, on a machine that stands still for
// seconds.
const clusterLate = 45 * time.Second

// rounds is how many of something a test does.
func rounds(push, full int) int {
	if os.Getenv("KAGAMI_FULL") != "" {
		return full
	}
	return push
}

func longServer(tb testing.TB) string {
	tb.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "longserver"); built.err != nil { //nolint:usetesting // it outlives the test
			return
		}
		cmd := exec.Command("go", "build", "-o", built.dir, "github.com/kagami-mcp/kagami/testkit/internal/longserver")
		if out, err := cmd.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	if built.err != nil {
		tb.Fatal(built.err)
	}
	return filepath.Join(built.dir, "longserver")
}

// process is one of the program.
type process struct {
	t     testing.TB
	name  string
	args  []string
	env   []string
	cmd   *exec.Cmd
	addr  chan string   // 1-buffered: where it serves HTTP
	ended chan struct{} // closed when it is gone

	mu  sync.Mutex // guards log
	log []string
}

// runLong starts a process with a name, and flags; env is NAME=value. It ends with the test.
func runLong(t testing.TB, name string, args, env []string) *process {
	t.Helper()
	p := &process{t: t, name: name, args: args, env: env, addr: make(chan string, 1), ended: make(chan struct{})}
	p.cmd = exec.Command(longServer(t), args...)
	p.cmd.Env = append(append(os.Environ(), "NODE="+name, "LONG_LEASH=stdin"), env...)
	errs, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.cmd.StdinPipe(); err != nil { // it ends with this process, however that ends
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.follow(errs)
	t.Cleanup(func() {
		p.kill()
		if t.Failed() && p.said() != "" {
			t.Logf("%s said:\n%s", p.name, p.said())
		}
	})
	return p
}

func (p *process) follow(errs io.Reader) {
	defer close(p.ended)
	for lines := bufio.NewScanner(errs); lines.Scan(); {
		line := lines.Text()
		if _, addr, ok := strings.Cut(line, "serves MCP over HTTP on "); ok {
			p.addr <- addr
		}
		p.mu.Lock()
		p.log = append(p.log, line)
		if len(p.log) > 40 {
			p.log = slices.Delete(p.log, 0, 1)
		}
		p.mu.Unlock()
	}
	_ = p.cmd.Wait() // a kill is how most of them end
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.log, "\n")
}

// serves waits until it does, and returns its address.
func (p *process) serves() string {
	p.t.Helper()
	timer := time.NewTimer(clusterPatience())
	defer timer.Stop()
	select {
	case addr := <-p.addr:
		p.addr <- addr
		return addr
	case <-p.ended:
		p.t.Fatalf("%s has ended:\n%s", p.name, p.said())
	case <-timer.C:
		p.t.Fatalf("%s does not serve:\n%s", p.name, p.said())
	}
	panic("unreachable")
}

// kill is kill -9.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// stop is SIGTERM, and waits for the end that comes of it.
func (p *process) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	timer := time.NewTimer(clusterPatience())
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		p.t.Fatalf("%s does not end", p.name)
	}
}

// fixedAddrs are those that fixedAddr has given away, of processes that may be away.
var fixedAddrs sync.Map

// fixedAddr returns an address without a listener. No connection and no other test takes it while its
// process is away.
func fixedAddr(t testing.TB) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", 20000+rand.IntN(10000)))
		if err != nil {
			continue
		}
		_ = l.Close()
		if _, taken := fixedAddrs.LoadOrStore(l.Addr().String(), true); !taken {
			return l.Addr().String()
		}
	}
	t.Fatal("no free port")
	return ""
}

// effect is one that arrived.
type effect struct {
	at                     time.Time
	key, label, what, node string
}

// receiver takes effects, as one that honors idempotency keys.
type receiver struct {
	url string

	mu   sync.Mutex // guards all
	all  []effect
	hook func(effect)
}

func newReceiver(t testing.TB) *receiver {
	t.Helper()
	r := &receiver{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		e := effect{time.Now(), q.FormValue("key"), q.FormValue("label"), q.FormValue("what"), q.FormValue("node")}
		r.mu.Lock()
		r.all = append(r.all, e)
		hook := r.hook
		r.mu.Unlock()
		if hook != nil {
			hook(e)
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

func (r *receiver) effects() []effect {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// once checks that each effect has one key. It returns the number of effects, and how
// many of them were sent again.
func (r *receiver) once(t testing.TB) (effects, again int) {
	t.Helper()
	keys := map[string]string{}
	for _, e := range r.effects() {
		if e.what == "begins" {
			continue // no effect: it says who runs it now
		}
		name := e.label + ": " + e.what
		switch before, known := keys[name]; {
		case e.key == "":
			t.Errorf("%s came without a key", name)
		case !known:
			keys[name] = e.key
		case before == e.key:
			again++
		default:
			t.Errorf("%s happened twice", name)
		}
	}
	return len(keys), again
}

// wire is the HTTP of a client; it knows the ids of the client's sessions.
type wire struct {
	http.RoundTripper
	mu       sync.Mutex // guards sessions
	sessions []string
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := w.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !slices.Contains(w.sessions, id) {
			w.sessions = append(w.sessions, id)
		}
	}
	return resp, nil
}

func (w *wire) seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sessions)
}

// join connects a client, which answers each question with who asked it.
func join(t testing.TB, url string, revision protocol.Revision, opts ...client.Option) (*client.Client, *wire) {
	t.Helper()
	carrier := &http.Transport{MaxIdleConnsPerHost: 64}
	w := &wire{RoundTripper: carrier}
	ctx, cancel := context.WithTimeout(t.Context(), clusterPatience())
	defer cancel()
	opts = append([]client.Option{
		client.Revisions(revision), client.Name("cluster", "1"), client.NoTasks(),
		client.OnElicit(func(_ context.Context, q *client.ElicitRequest) (*client.ElicitAnswer, error) {
			return &client.ElicitAnswer{Action: "accept", Content: map[string]any{"value": "from-" + asker(q.Message)}}, nil
		}),
		client.OnSample(func(_ context.Context, q *client.SampleRequest) (*client.SampleAnswer, error) {
			text, _ := q.Messages[0].Content.(protocol.Text)
			return &client.SampleAnswer{Model: "m", Content: []protocol.Block{protocol.Text{Text: "from-" + asker(text.Text)}}, StopReason: "endTurn"}, nil
		}),
	}, opts...)
	c, err := client.Connect(ctx, client.HTTP(url, client.HTTPClient(&http.Client{Transport: w})), opts...)
	if err != nil {
		t.Fatalf("connecting at %s: %v", revision, err)
	}
	t.Cleanup(func() {
		_ = c.Close() // the server may be gone
		carrier.CloseIdleConnections()
	})
	return c, w
}

// asker reads who asks from a question of the program.
func asker(question string) string {
	if words := strings.Fields(question); len(words) > 1 {
		return words[1]
	}
	return "?"
}

// text returns the text of a result.
func text(r *protocol.CallToolResult) string {
	if r == nil || len(r.Content) == 0 {
		return ""
	}
	t, _ := r.Content[0].(protocol.Text)
	return t.Text
}

func bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clusterPatience())
	t.Cleanup(cancel)
	return ctx
}

// fewAtOnce calls fn for 0 to n-1, at most so many at once.
func fewAtOnce(n, atOnce int, fn func(i int)) {
	var all sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for i := range n {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			fn(i)
		})
	}
	all.Wait()
}
