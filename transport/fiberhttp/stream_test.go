package fiberhttp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/kagami-mcp/kagami/testkit/transporttest"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

// mute is a listener whose clients have left, all but what they have sent.
type mute struct{ net.Listener }

func (l mute) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return muteConn{conn}, err
}

type muteConn struct{ net.Conn }

func (muteConn) Write([]byte) (int, error) { return 0, errors.New("scripted: the client has left") }

// TestStreamWithoutConnection: fasthttp forgets a stream that is to take its connection over
// when what came before it cannot be written, or when something else answers meanwhile. The
// call ends all the same (2026-07-28 basic/transports/streamable-http "Cancellation"), and
// nothing waits for it when the server stops.
func TestStreamWithoutConnection(t *testing.T) {
	t.Parallel()
	echo, block := transporttest.Frame("echo", `"x"`), transporttest.Frame("block", `"y"`)
	for name, c := range map[string]struct {
		serve func(t *testing.T, l net.Listener, host transport.Host)
		text  string
	}{
		"pipelined": {standalone, post("1.1", echo) + post("1.1", block)},
		"pipelined, mounted": {func(t *testing.T, l net.Listener, host transport.Host) {
			t.Helper()
			start(t, mountedSoon(host), mute{l})
		}, post("1.1", echo) + post("1.1", block)},
		"answered by others": {func(t *testing.T, l net.Listener, host transport.Host) {
			t.Helper()
			app := mountedSoon(host)
			app.Server().Handler = fasthttp.TimeoutHandler(app.Server().Handler, time.Millisecond, "late")
			start(t, app, l)
		}, post("1.1", block)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host, l := transporttest.NewScripted(), listen(t)
			c.serve(t, l, host)
			if _, err := io.WriteString(connect(t, l), c.text); err != nil {
				t.Fatal(err)
			}
			select {
			case <-host.Ended:
			case <-time.After(20 * time.Second):
				t.Error("the call goes on")
			}
		})
	}
}

// standalone would wait for a stream for half a minute at the end, and for a client that does
// not read as long.
func standalone(t *testing.T, l net.Listener, host transport.Host) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	server := fiberhttp.New("", fiberhttp.Listener(mute{l}), fiberhttp.WriteTimeout(time.Minute), fiberhttp.Grace(time.Minute))
	go func() { served <- server.Serve(ctx, host) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-served:
			if err != nil {
				t.Errorf("serving: %v", err)
			}
		case <-time.After(20 * time.Second):
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
