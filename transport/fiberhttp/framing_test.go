package fiberhttp_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"github.com/kagami-mcp/kagami/testkit/transporttest"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

// TestDoubtfulEnd: where a proxy may see another end of a request than we do, its connection
// ends, and what was sent behind it is not served (RFC 9112 section 6.1).
func TestDoubtfulEnd(t *testing.T) {
	t.Parallel()
	dial, stop := serving(t)
	t.Cleanup(stop)
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	fiberhttp.Mount(app.Group("/mcp"), transporttest.NewScripted())
	for name, dial := range map[string]func() net.Conn{"alone": dial, "mounted": start(t, app, nil)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testDoubtfulEnd(t, dial)
		})
	}
}

func testDoubtfulEnd(t *testing.T, dial func() net.Conn) {
	t.Helper()
	const frame = `{"jsonrpc":"2.0","id":1,"method":"m"}`
	full, none := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(frame), frame), "0\r\n\r\n"
	tests := map[string]struct {
		version, fields, chunks string
		ends                    bool
	}{
		"chunks":                {"1.1", "", full, false},
		"chunks and a length":   {"1.1", "content-length: 4\r\n", full, true},
		"chunks of HTTP/1.0":    {"1.0", "Connection: keep-alive\r\n", full, true},
		"no chunk":              {"1.1", "", none, false},
		"no chunk and a length": {"1.1", "Content-Length: 4\r\n", none, true},
		"no chunk and length 0": {"1.1", "Content-Length: 0\r\n", none, true},
		"no chunk of HTTP/1.0":  {"1.0", "Connection: keep-alive\r\n", none, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial()
			head := "POST /mcp HTTP/" + tt.version + "\r\nHost: localhost\r\nContent-Type: application/json\r\n" + whole + "\r\n" + tt.fields
			one := head + "Transfer-Encoding: chunked\r\n\r\n" + tt.chunks
			want := `"id":1`
			if tt.chunks == none {
				want = `"error"`
			}
			if _, err := io.WriteString(conn, one+one); err != nil {
				t.Fatal(err)
			}
			from := bufio.NewReader(conn)
			if closes := expect(t, from, want); closes != tt.ends {
				t.Fatalf("the connection is said to end: %v, want %v", closes, tt.ends)
			}
			if !tt.ends {
				expect(t, from, want)
				return
			}
			if rest, err := io.ReadAll(from); len(rest) > 0 {
				t.Errorf("%v, and behind it: %s", err, strings.TrimSpace(string(rest)))
			}
		})
	}
}

// TestRefusalIsRead checks a client that sends all of a body that is too large, and only then
// reads. It reads the refusal, instead of losing the connection.
func TestRefusalIsRead(t *testing.T) {
	t.Parallel()
	dial, stop := serving(t, fiberhttp.BodyLimit(1000))
	t.Cleanup(stop)
	for range 10 {
		conn := dial()
		if _, err := io.WriteString(conn, post("1.1", strings.Repeat(" ", 2<<20))); err != nil {
			t.Fatal(err)
		}
		if !expect(t, bufio.NewReader(conn), "the limit of 1000 bytes") {
			t.Error("the connection is not said to end")
		}
		_ = conn.Close()
	}
}
