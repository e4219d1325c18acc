package fiberhttp_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

// acting is a host that answers a method by what it does.
type acting map[string]func(say func(frame string)) (answer string)

type act struct {
	method string
	do     func(say func(frame string)) string
}

func (h acting) Accept(_ context.Context, frame []byte) (transport.Exchange, error) {
	var m struct{ Method string }
	err := json.Unmarshal(frame, &m)
	return act{m.Method, h[m.Method]}, err
}

func (act) Interrupted() []byte { return nil }

func (x act) Plan() transport.Plan {
	return transport.Plan{Answered: true, CancelByClose: true, LongLived: x.method == "last"}
}

func (x act) Serve(ctx context.Context, out transport.Outbound) error {
	answer := x.do(func(frame string) { _ = out.Send(ctx, transport.Frame{JSON: []byte(frame)}) })
	return out.Send(ctx, transport.Frame{JSON: []byte(`"` + answer + `"`), Final: true})
}

// where says whose goroutine a handler has.
func where(func(string)) string {
	if strings.Contains(string(debug.Stack()), "fiberhttp.(*worker)") {
		return "its reader's"
	}
	return "its own"
}

func asks(method string, fields ...string) string {
	return post("1.1", fmt.Sprintf(`{"method":%q}`, method), fields...)
}

// TestWhoServes: the goroutine that reads a connection runs the handlers, unless the connection
// belongs to a server of the program. An exchange that lasts has a goroutine of its own.
func TestWhoServes(t *testing.T) {
	t.Parallel()
	ask, last := asks("where"), asks("last")
	chunked := "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" +
		"12\r\n{\"method\":\"where\"}\r\n0\r\n\r\n"
	const reader, own = `"its reader's"`, `"its own"`
	host := acting{"where": where, "last": where}
	dial, stop := alone(t, host)
	t.Cleanup(stop)
	for name, c := range map[string]struct {
		dial  func() net.Conn
		sent  []string
		wants []string
	}{
		"one after the other": {dial, []string{ask, ask, ask}, []string{reader, reader, reader}},
		"in pieces":           {dial, []string{ask[:9], ask[9:90], ask[90:]}, []string{reader}},
		"two at once":         {dial, []string{ask + ask, ask}, []string{reader, reader, reader}},
		"part of the next":    {dial, []string{ask + ask[:20], ask[20:], ask}, []string{reader, reader, reader}},
		"in chunks":           {dial, []string{ask, chunked, ask}, []string{reader, reader, reader}},
		"empty lines first":   {dial, []string{ask, "\r\n\r\n" + ask, ask}, []string{reader, reader, reader}},
		"what lasts":          {dial, []string{ask, last, ask}, []string{reader, own, reader}},
		"HTTP/1.0":            {dial, []string{post("1.0", `{"method":"where"}`)}, []string{reader}},
		"a program's app":     {mountedActing(t, host), []string{ask}, []string{own}},
		"TLS":                 {secureActing(t, host), []string{ask + ask, ask}, []string{reader, reader, reader}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := c.dial()
			from := bufio.NewReader(conn)
			for i, part := range c.sent {
				if _, err := io.WriteString(conn, part); err != nil {
					t.Fatal(err)
				}
				for len(c.wants) > 0 && len(c.wants) >= len(c.sent)-i {
					expect(t, from, c.wants[0])
					c.wants = c.wants[1:]
				}
			}
		})
	}
}

func mountedActing(t *testing.T, host transport.Host) (dial func() net.Conn) {
	t.Helper()
	app := fiber.New(quiet(fiber.Config{}))
	fiberhttp.Mount(app, host, fiberhttp.Path("/mcp"))
	return start(t, app, nil)
}

func secureActing(t *testing.T, host transport.Host, opts ...fiberhttp.Option) (dial func() net.Conn) {
	t.Helper()
	issuer := httptest.NewUnstartedServer(nil)
	issuer.StartTLS()
	t.Cleanup(issuer.Close)
	plain, stop := alone(t, host, append(opts, fiberhttp.TLS(issuer.TLS))...)
	t.Cleanup(stop)
	return func() net.Conn {
		return tls.Client(plain(), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the peer is this test
	}
}

// soon has streams begin before there is anything to say.
var soon = fiberhttp.Heartbeat(10 * time.Millisecond)

// TestTakenConnection checks that a client receives the messages that a handler sends while it
// runs, and a late answer. Then the connection goes on, in the goroutine of a reader again.
func TestTakenConnection(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}, 1), make(chan struct{})
	dial, stop := alone(t, acting{
		"where": where,
		"says":  func(say func(string)) string { say(`"hello"`); <-release; return "after" },
		"waits": func(func(string)) string { begun <- struct{}{}; <-release; return "after" },
	}, soon)
	t.Cleanup(stop)
	conn := dial()
	from := bufio.NewReader(conn)
	for range 3 {
		for _, method := range []string{"says", "waits"} {
			_, _ = io.WriteString(conn, asks(method))
			r, err := http.ReadResponse(from, nil)
			if err != nil {
				t.Fatal(err)
			}
			if method == "says" {
				if first := chunk(t, r.Body); !strings.Contains(first, "hello") {
					t.Errorf("%q", first)
				}
			} else {
				<-begun
			}
			release <- struct{}{}
			if rest, err := io.ReadAll(r.Body); err != nil || !strings.Contains(string(rest), `"after"`) || r.Close {
				t.Errorf("%s: %q, %v", method, rest, err)
			}
			_ = r.Body.Close()
			_, _ = io.WriteString(conn, asks("waits", whole)) // which takes no stream
			<-begun
			release <- struct{}{}
			expect(t, from, `"after"`)
			_, _ = io.WriteString(conn, asks("where"))
			expect(t, from, `"its reader's"`)
		}
	}
}

// TestTakenConnectionOfClientsThatLeave checks that the context of the handler ends, and that
// nothing is left of the connection.
func TestTakenConnectionOfClientsThatLeave(t *testing.T) {
	t.Parallel()
	left := make(chan struct{})
	dial, stop := alone(t, leaving{left}, soon)
	t.Cleanup(stop)
	for range 10 {
		conn := dial()
		_, _ = io.WriteString(conn, asks("waits"))
		if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil { //nolint:bodyclose // the connection is
			t.Fatal(err)
		}
		_ = conn.Close()
		<-left
	}
}

// leaving is a host whose handlers wait until their client has left.
type leaving struct{ left chan struct{} }

func (h leaving) Accept(context.Context, []byte) (transport.Exchange, error) {
	return leavingExchange{h}, nil
}

type leavingExchange struct{ leaving }

func (leavingExchange) Interrupted() []byte { return nil }

func (leavingExchange) Plan() transport.Plan {
	return transport.Plan{Answered: true, CancelByClose: true}
}

func (x leavingExchange) Serve(ctx context.Context, _ transport.Outbound) error {
	<-ctx.Done()
	x.left <- struct{}{}
	return ctx.Err()
}

// TestGoexit: a handler that ends the goroutine of its connection has its answer sent, and costs
// nothing else: the connection goes on.
func TestGoexit(t *testing.T) {
	t.Parallel()
	goes := func(func(string)) string { runtime.Goexit(); return "" }
	dial, stop := alone(t, acting{
		"where": where,
		"goes":  goes,
		"says":  func(say func(string)) string { say(`"hello"`); return goes(say) },
	})
	t.Cleanup(stop)
	conns := make([]net.Conn, 8)
	from := make([]*bufio.Reader, len(conns))
	for i := range conns {
		conns[i] = dial()
		from[i] = bufio.NewReader(conns[i])
		_, _ = io.WriteString(conns[i], asks("where"))
		expect(t, from[i], `"its reader's"`)
	}
	for i, method := range []string{"says", "goes"} {
		_, _ = io.WriteString(conns[i], asks(method))
		r, err := http.ReadResponse(from[i], nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil || r.Close {
			t.Errorf("%s: %v", method, err)
		}
		_ = r.Body.Close()
	}
	for i, conn := range conns {
		_, _ = io.WriteString(conn, asks("where"))
		expect(t, from[i], `"its reader's"`)
	}
}
