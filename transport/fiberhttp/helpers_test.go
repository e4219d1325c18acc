package fiberhttp_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
)

// patience bounds waits that only end so if something hangs.
const patience = time.Minute

// whole is the field of a client that takes no stream: its answers are whole, however late a
// busy machine has them.
const whole = "Accept: application/json"

// start serves app on a socket, or on l, and returns how to reach it.
func start(t *testing.T, app *fiber.App, l net.Listener) (dial func() net.Conn) {
	t.Helper()
	if l == nil {
		l = listen(t)
	}
	served := make(chan error, 1)
	go func() { served <- app.Listener(l) }()
	t.Cleanup(func() {
		if err := app.ShutdownWithTimeout(patience); err != nil {
			t.Errorf("shutting down: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	return func() net.Conn {
		t.Helper()
		return connect(t, l)
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func connect(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	var conn net.Conn
	var err error
	if memory, ok := l.(interface{ Dial() (net.Conn, error) }); ok {
		conn, err = memory.Dial()
	} else {
		conn, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	return conn
}

// response is one whose body ends with its connection.
type response struct{ *http.Response }

// request writes a request, and reads the header of the response. It sets a new deadline for the
// connection.
func request(t *testing.T, conn net.Conn, method, path, body string, fields ...string) response {
	t.Helper()
	text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n", method, path, len(body))
	if method == "POST" {
		text += "Content-Type: application/json\r\n"
	}
	if len(fields) > 0 {
		text += strings.Join(fields, "\r\n") + "\r\n"
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, text+"\r\n"+body); err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method}) //nolint:bodyclose // see response
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return response{r}
}

// text reads a body to its end.
func text(t *testing.T, r response) string {
	t.Helper()
	all, err := io.ReadAll(r.Body)
	if err != nil {
		t.Errorf("the body ended with %v after %q", err, all)
	}
	return string(all)
}

// chunk reads what comes first.
func chunk(t *testing.T, body io.Reader) string {
	t.Helper()
	buf := make([]byte, 4096)
	n, err := body.Read(buf)
	if err != nil {
		t.Fatalf("reading the stream: %v", err)
	}
	return string(buf[:n])
}
