package fiberhttp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/gofiber/fiber/v2"
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
	if taker, ok := out.(transport.Swapper); ok && x.length%3 == 0 { // some
		other, err := taker.Swap(transport.Final(ctx, http.StatusOK), frame)
		frame = other
		return err
	}
	return out.Send(transport.Final(ctx, http.StatusOK), frame)
}

// TestMemoryOfAnswers: bodies go into memory that is used again, and are those of their
// requests all the same; also where middleware reads them, and for whoever keeps an
// answer's length of memory. With the race detector, what is given back is overwritten.
func TestMemoryOfAnswers(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(*fiber.App){
		"plain": func(*fiber.App) {},
		"read":  func(app *fiber.App) { app.Use(etag.New()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := fiber.New(quiet(fiber.Config{}))
			use(app)
			fiberhttp.Mount(app, long{})
			dial := start(t, app, nil)
			var all sync.WaitGroup
			for i := range 8 {
				conn := dial()
				all.Go(func() {
					for j := range 24 {
						length, letter := []int{1, 300, 70_000, 69_999, 50_000, 50_001, 300_000, 2 << 20, 2<<20 + 1}[(i+j)%9], string(rune('a'+(i+j)%20))
						answer := request(t, conn, "POST", "/", `{}`, "Accept: application/json", "Letter: "+letter, fmt.Sprintf("Length: %d", length))
						body, err := io.ReadAll(answer.Body)
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
		fields := []string{"Authorization: Bearer " + letter, "X-One: 1" + letter}
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
			if got := fmt.Sprint(r.Fields.Values(name)); got != want {
				t.Errorf("request %d: %s is %s", i, name, got)
			}
		}
		if got := len(r.Fields.Header()); got != 24 {
			t.Errorf("request %d has %d fields", i, got)
		}
		_ = append(r.Fields.Values("X-One"), "another") // in nobody's way
		if got := r.Fields.Values("X-Many-0"); len(got) != 1 || got[0] != letter {
			t.Errorf("request %d: %v", i, got)
		}
	}
}
