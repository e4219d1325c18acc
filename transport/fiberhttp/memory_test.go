package fiberhttp_test

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/compress"
	"github.com/gofiber/fiber/v2/middleware/etag"

	"github.com/kagami-mcp/kagami/testkit/transporttest"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

// long is a host whose answers are as long as the field Length says, of the letter that
// the field Letter says. It writes over them afterwards, or over what it got for them.
type long struct{}

func (long) Accept(ctx context.Context, _ []byte) (transport.Exchange, error) {
	f := transport.RequestFrom(ctx).Fields
	n, err := strconv.Atoi(f.Values("Length")[0])
	return longAnswer{n, f.Values("Letter")[0]}, err
}

type longAnswer struct {
	length int
	letter string
}

func (x longAnswer) Serve(ctx context.Context, out transport.Outbound) error {
	frame := []byte(strings.Repeat(x.letter, x.length))
	defer func() { clear(frame[:cap(frame)]) }()
	return out.Send(ctx, transport.Frame{JSON: frame, Final: true})
}

func unzipped(answer response) ([]byte, error) {
	if answer.Header.Get("Content-Encoding") == "" {
		return io.ReadAll(answer.Body)
	}
	r, err := gzip.NewReader(answer.Body)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// lengths are some on either side of what matters: of what a connection keeps, of what
// fasthttp writes at once, of what is written within one timeout, of what is used again.
var lengths = []int{1, 300, 3900, 7 << 10, 7<<10 + 1, 8100, 8191, 8192, 9000, 69_999, 256 << 10, 300_000, 2 << 20, 2<<20 + 1}

func mountedLong(use fiber.Handler) func(t *testing.T) (dial func() net.Conn) {
	return func(t *testing.T) func() net.Conn {
		t.Helper()
		app := fiber.New(quiet(fiber.Config{}))
		app.Use(use)
		fiberhttp.Mount(app, long{})
		return start(t, app, nil)
	}
}

func aloneLong(secure bool) func(t *testing.T) (dial func() net.Conn) {
	return func(t *testing.T) func() net.Conn {
		t.Helper()
		opts, certified := []fiberhttp.Option{fiberhttp.Path("/")}, httptest.NewUnstartedServer(nil)
		if secure {
			certified.StartTLS()
			defer certified.Close()
			opts = append(opts, fiberhttp.TLS(certified.TLS))
		}
		dial, stop := alone(t, long{}, opts...)
		t.Cleanup(stop)
		if !secure {
			return dial
		}
		return func() net.Conn { return tls.Client(dial(), &tls.Config{InsecureSkipVerify: true}) } //nolint:gosec // it is our own
	}
}

// TestMemoryOfAnswers checks that each request gets its own body, although bodies go into memory
// that is used again. That is also so behind middleware that reads or compresses them. With the
// race detector, returned memory is overwritten.
func TestMemoryOfAnswers(t *testing.T) {
	t.Parallel()
	none := func(f *fiber.Ctx) error { return f.Next() }
	for name, serve := range map[string]func(*testing.T) (dial func() net.Conn){
		"mounted": mountedLong(none),
		"read":    mountedLong(etag.New()),
		"zipped":  mountedLong(compress.New()),
		"alone":   aloneLong(false),
		"secure":  aloneLong(true),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dial := serve(t)
			var all sync.WaitGroup
			for i := range 3 {
				conn := dial()
				all.Go(func() {
					for j := range lengths {
						length, letter := lengths[(i+j)%len(lengths)], string(rune('a'+(i+j)%20))
						answer := request(t, conn, "POST", "/", `{}`, "Accept: application/json", "Accept-Encoding: gzip", "Letter: "+letter, fmt.Sprintf("Length: %d", length))
						body, err := unzipped(answer)
						if err != nil || string(body) != strings.Repeat(letter, length) {
							t.Errorf("%d times %s: %d, %v, %.60q", length, letter, len(body), err, body)
							return
						}
						if answer.Close { // it was not there at once: a stream
							conn = dial()
						}
					}
				})
			}
			all.Wait()
		})
	}
}

// TestAnswerIsOneSystemCall: the header leaves with the body, however long that is within
// reason: a client is woken once.
func TestAnswerIsOneSystemCall(t *testing.T) { //nolint:paralleltest // it counts the system calls of the process
	const calls = 50
	dial := aloneLong(false)(t)
	conn := dial()
	for _, length := range []int{1, 3000, 7000, 7900, 8191, 200_000} {
		before := systemCalls(t)
		for range calls {
			answer := request(t, conn, "POST", "/", `{}`, "Accept: application/json", "Letter: x", fmt.Sprintf("Length: %d", length))
			if got := text(t, answer); len(got) != length {
				t.Fatalf("%d bytes, want %d", len(got), length)
			}
		}
		if n := systemCalls(t) - before; n > 2*calls+calls/2 { // system calls of the client, too, and a few that wake goroutines
			t.Errorf("%d answers of %d bytes took %d system calls", calls, length, n-calls)
		}
	}
}

// systemCalls is how many this process has made to write.
func systemCalls(t *testing.T) (n int) {
	t.Helper()
	counts, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skip("this system does not count: ", err)
	}
	_, after, _ := strings.Cut(string(counts), "syscw:")
	if _, err := fmt.Sscan(after, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// What is kept of a request does not change, whatever comes on its connection.
func TestAllOfARequestIsCopied(t *testing.T) {
	t.Parallel()
	host := transporttest.NewScripted()
	app := fiber.New(quiet(fiber.Config{}))
	fiberhttp.Mount(app, host)
	conn := start(t, app, nil)()
	var kept []*transport.Request
	for i := range 3 {
		letter := string(rune('a' + i))
		fields := []string{whole, "Authorization: Bearer " + letter, "X-One: 1" + letter}
		for n := range 20 { // more than a request has room for
			fields = append(fields, fmt.Sprintf("X-Many-%d: %s", n, letter))
		}
		text(t, request(t, conn, "POST", "/", transporttest.Frame("echo", `"`+letter+`"`), fields...))
		kept = append(kept, transport.RequestFrom(<-host.Began))
		<-host.Frames
	}
	for i, r := range kept {
		letter := string(rune('a' + i))
		if r.RemoteAddr != conn.LocalAddr().String() {
			t.Errorf("request %d came from %s", i, r.RemoteAddr)
		}
		for name, want := range map[string]string{"authorization": "[Bearer " + letter + "]", "X-One": "[1" + letter + "]", "x-many-19": "[" + letter + "]", "Host": "[]", "None": "[]"} {
			values := r.Fields.Values(name)
			if got := fmt.Sprint(values); got != want {
				t.Errorf("request %d: %s is %s", i, name, got)
			}
			if first, times := r.Fields.Value(name); times != len(values) || times > 0 && first != values[0] {
				t.Errorf("request %d: %s is there %d times, first %q", i, name, times, first)
			}
		}
		if got := len(r.Fields.Header()); got != 25 {
			t.Errorf("request %d has %d fields", i, got)
		}
		if got := r.Fields.Values("X-Many-0"); len(got) != 1 || got[0] != letter {
			t.Errorf("request %d: %v", i, got)
		}
	}
}
