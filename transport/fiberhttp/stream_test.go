package fiberhttp_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/kagami-mcp/kagami/testkit/transporttest"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

// vanishing is a listener whose clients have left, all but what they have sent, once left
// is true.
type vanishing struct {
	net.Listener
	left atomic.Bool
}

func (l *vanishing) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return vanishingConn{conn, &l.left}, nil
}

type vanishingConn struct {
	net.Conn
	left *atomic.Bool
}

func (c vanishingConn) Write(p []byte) (int, error) {
	if c.left.Load() {
		return 0, errors.New("scripted: the client has left")
	}
	return c.Conn.Write(p)
}

// TestStreamWithoutConnection: a stream cannot be written, or fasthttp forgets it, because what came
// before it cannot be written. The call ends all the same (2026-07-28
// basic/transports/streamable-http "Cancellation"), and nothing waits for it when the server
// stops.
func TestStreamWithoutConnection(t *testing.T) {
	t.Parallel()
	certified := httptest.NewTLSServer(nil)
	t.Cleanup(certified.Close)
	for name, c := range map[string]struct {
		serve  func(t *testing.T, l net.Listener, host transport.Host)
		secure bool
	}{
		"server": {serve: func(t *testing.T, l net.Listener, host transport.Host) {
			t.Helper()
			standalone(t, l, host)
		}},
		"TLS": {func(t *testing.T, l net.Listener, host transport.Host) {
			t.Helper()
			standalone(t, l, host, fiberhttp.TLS(certified.TLS))
		}, true},
		"mounted": {serve: func(t *testing.T, l net.Listener, host transport.Host) {
			t.Helper()
			start(t, mountedSoon(host), l)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host, l := transporttest.NewScripted(), &vanishing{Listener: listen(t)}
			c.serve(t, l, host)
			dial := func() net.Conn {
				conn := connect(t, l)
				if c.secure {
					conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // it is our own
				}
				return conn
			}
			for tries := 1; !leaveBefore(t, dial(), l, host, name == "mounted"); tries++ {
				if tries == 20 {
					t.Fatal("each answer came too late")
				}
			}
			ends(t, host)
		})
	}
}

// leaveBefore leaves, and asks for a stream; before that for an answer that fasthttp has not written
// yet, if it pipelines. False: on a busy machine the answer came late, and took the connection with it
// before the stream was asked for.
func leaveBefore(t *testing.T, conn net.Conn, l *vanishing, host *transporttest.Scripted, pipelines bool) (streamed bool) {
	t.Helper()
	echo, block := post("1.1", transporttest.Frame("echo", `"x"`), whole), post("1.1", transporttest.Frame("block", `"y"`))
	l.left.Store(false)
	_, _ = io.WriteString(conn, echo)
	expect(t, bufio.NewReader(conn), `"x"`)
	l.left.Store(true)
	if pipelines {
		block = echo + block
	}
	_, _ = io.WriteString(conn, block)
	_, _ = io.Copy(io.Discard, conn) // until the server closes it
	for len(host.Frames) > 0 {
		streamed = streamed || bytes.Contains(<-host.Frames, []byte(`"block"`))
	}
	return streamed
}

// TestStreamAnsweredByOthers: fasthttp forgets the stream, too, when something else gives an
// answer meanwhile.
func TestStreamAnsweredByOthers(t *testing.T) {
	t.Parallel()
	host := transporttest.NewScripted()
	app := mountedSoon(host)
	app.Server().Handler = fasthttp.TimeoutHandler(app.Server().Handler, time.Millisecond, "late")
	dial := start(t, app, nil)
	for tries, late := 1, false; !late; tries++ { // on a busy machine the stream may have begun before
		if tries > 100 {
			t.Fatal("nothing else ever gives an answer")
		}
		conn := dial()
		_, _ = io.WriteString(conn, post("1.1", transporttest.Frame("block", `"y"`)))
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if late = answer.StatusCode == http.StatusRequestTimeout; !late {
			_ = conn.Close()
		}
		_ = answer.Body.Close()
		ends(t, host)
	}
}

// ends waits for the end of a call of "block".
func ends(t *testing.T, host *transporttest.Scripted) {
	t.Helper()
	select {
	case <-host.Ended:
	case <-time.After(patience):
		t.Error("the call goes on")
	}
}

// standalone serves with timeouts that are longer than what the test waits for.
func standalone(t *testing.T, l net.Listener, host transport.Host, opts ...fiberhttp.Option) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	opts = append(opts, fiberhttp.Listener(l), fiberhttp.WriteTimeout(time.Minute), fiberhttp.Grace(time.Minute))
	go func() { served <- fiberhttp.New("", opts...).Serve(ctx, host) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-served:
			if err != nil {
				t.Errorf("serving: %v", err)
			}
		case <-time.After(patience):
			t.Error("the server waits for a stream that has no connection")
		}
	})
}

// mountedSoon gives up soon what does not come.
func mountedSoon(host transport.Host) *fiber.App {
	app := fiber.New(quiet(fiber.Config{}))
	fiberhttp.Mount(app.Group("/mcp"), host, fiberhttp.WriteTimeout(50*time.Millisecond))
	return app
}
