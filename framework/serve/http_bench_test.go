package serve_test

import (
	"bytes"
	"fmt"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// BenchmarkHTTP measures requests with the client and the server in one process, on the same cores.
// The part of Kagami is xEcho: how many times longer a request takes than a request to a bare Fiber
// app. The app sends the same bytes, the same client asks, and the two take turns.
//
//	go test -run '^$' -bench HTTP ./framework/serve
func BenchmarkHTTP(b *testing.B) {
	for _, c := range faultCarriers() {
		b.Run(c.name, func(b *testing.B) {
			s := benchSite(b, c, 3)
			for _, revision := range []protocol.Revision{protocol.Rev20251125, protocol.Rev20260728} {
				for _, conns := range []int{1, 16, 64, 256} {
					e := s.era(revision)
					b.Run(fmt.Sprintf("JSON/%s/c%d", revision, conns), func(b *testing.B) {
						benchRequests(b, s.addr, e.add, conns, false)
					})
					b.Run(fmt.Sprintf("SSE/%s/c%d", revision, conns), func(b *testing.B) {
						benchRequests(b, s.addr, func(id int) string { return e.call(id, "count", `{"n":1}`, true) }, conns, true)
					})
				}
			}
		})
	}
}

// BenchmarkHTTPList: a page of 200 tools.
func BenchmarkHTTPList(b *testing.B) {
	for _, c := range faultCarriers() {
		s := benchSite(b, c, 200)
		for _, revision := range []protocol.Revision{protocol.Rev20251125, protocol.Rev20260728} {
			e := s.era(revision)
			b.Run(fmt.Sprintf("%s/%s/c16", c.name, revision), func(b *testing.B) {
				benchRequests(b, s.addr, func(id int) string { return e.request(id, "tools/list", "", "", false) }, 16, false)
			})
		}
	}
}

func benchSite(b testing.TB, c faultCarrier, tools int) *faultSite {
	b.Helper()
	hub := newFaultHub()
	app := benchTools(hub.app(framework.WithLogger(zap.NewNop()), framework.WithPageSize(1000)), tools)
	return serveFaultApp(b, c, faultLimits{streams: 4096}, faultListener(b), hub, app)
}

// benchTools makes it n tools, add among them: add itself only adds.
func benchTools(app *framework.App, n int) *framework.App {
	for i := range n - 4 {
		app.Add(framework.Tool(fmt.Sprintf("tool%d", i), hello, framework.Describe("Greet a person by name.")))
	}
	return app
}

// benchRequests sends b.N requests on conns connections, and as many to the echo, in
// four turns each.
func benchRequests(b *testing.B, addr string, request func(id int) string, conns int, redial bool) {
	b.Helper()
	ours := newBenchClients(b, addr, conns, redial, request)
	defer ours.close()
	sample, err := ours.all[0].roundTrip([]byte(request(1)))
	if err != nil || !bytes.Contains(sample, []byte(`"result"`)) {
		b.Fatalf("%q, %v", sample, err)
	}
	echo := newBenchClients(b, benchEcho(b, sample, redial), conns, redial, request)
	defer echo.close()
	const turns = 4
	var mine, its time.Duration
	b.ResetTimer()
	for turn := range turns {
		n := b.N/turns + min(b.N%turns, 1)*min(turn, 1)
		mine += ours.run(b, n)
		b.StopTimer()
		its += echo.run(b, n)
		b.StartTimer()
	}
	b.StopTimer()
	b.ReportMetric(float64(mine)/float64(its), "xEcho")
	b.ReportMetric(float64(its.Nanoseconds())/float64(b.N), "echo-ns/op")
}

// benchEcho is a bare Fiber app that answers everything with the bytes of sample.
func benchEcho(b *testing.B, sample []byte, closing bool) (addr string) {
	b.Helper()
	head, body, _ := bytes.Cut(sample, []byte("\r\n\r\n"))
	kind := "application/json"
	if bytes.Contains(head, []byte("text/event-stream")) {
		kind = "text/event-stream"
	}
	l := faultListener(b)
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Post("/mcp", func(c *fiber.Ctx) error {
		c.Context().SetContentType(kind)
		if closing {
			c.Context().SetConnectionClose()
		}
		return c.Send(body)
	})
	ended := make(chan error, 1)
	go func() { ended <- app.Listener(l) }()
	b.Cleanup(func() {
		_ = app.ShutdownWithTimeout(5 * time.Second)
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	return l.Addr().String()
}

// benchClients are keep-alive clients that cost little: they write ready bytes, and of
// the answer read no more than its length.
type benchClients struct {
	all  []*benchClient
	text [][]byte
}

type benchClient struct {
	addr   string
	redial bool // a connection for each request, which the server closes
	conn   net.Conn
	buf    []byte
}

func newBenchClients(b *testing.B, addr string, n int, redial bool, request func(id int) string) *benchClients {
	b.Helper()
	c := &benchClients{}
	for i := range n {
		c.all = append(c.all, &benchClient{addr: addr, redial: redial, buf: make([]byte, 128<<10)})
		c.text = append(c.text, []byte(request(100_000+i)))
	}
	return c
}

func (c *benchClients) close() {
	for _, each := range c.all {
		each.drop()
	}
}

// run makes n requests.
func (c *benchClients) run(b *testing.B, n int) time.Duration {
	b.Helper()
	began := time.Now()
	var all sync.WaitGroup
	for i, each := range c.all {
		share := n / len(c.all)
		if i < n%len(c.all) {
			share++
		}
		all.Go(func() {
			for range share {
				if _, err := each.roundTrip(c.text[i]); err != nil {
					b.Errorf("after %q: %v", each.buf[:0], err)
					return
				}
			}
		})
	}
	all.Wait()
	return time.Since(began)
}

func (c *benchClient) drop() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// roundTrip returns the whole response, which the next one overwrites.
func (c *benchClient) roundTrip(request []byte) ([]byte, error) {
	if c.conn == nil {
		conn, err := net.Dial("tcp", c.addr)
		if err != nil {
			return nil, err
		}
		c.conn = conn
	}
	if _, err := c.conn.Write(request); err != nil {
		return nil, err
	}
	n, want := 0, -1
	for want < 0 || n < want {
		m, err := c.conn.Read(c.buf[n:])
		n += m
		if want < 0 {
			want = benchLength(c.buf[:n])
		}
		if bytes.HasSuffix(c.buf[:n], []byte("\r\n0\r\n\r\n")) {
			want = n
		}
		if err != nil && (want < 0 || n < want) {
			return c.buf[:n], err
		}
	}
	if c.redial || bytes.Contains(c.buf[:min(n, 300)], []byte("Connection: close")) {
		c.drop()
	}
	return c.buf[:n], nil
}

// benchLength returns the length of the whole response. It returns -1 if the length is not known
// yet, or the response is chunked.
func benchLength(got []byte) int {
	end := bytes.Index(got, []byte("\r\n\r\n"))
	if end < 0 {
		return -1
	}
	if bytes.HasPrefix(got, []byte("HTTP/1.1 204")) {
		return end + 4
	}
	_, rest, ok := bytes.Cut(got[:end+2], []byte("Content-Length: "))
	if !ok {
		return -1
	}
	digits, _, _ := bytes.Cut(rest, []byte("\r"))
	n, err := strconv.Atoi(string(digits))
	if err != nil {
		return -1
	}
	return end + 4 + n
}
