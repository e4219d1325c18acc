//go:build unix

package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// mixedIn says how a call of TestSoakMixed goes.
type mixedIn struct {
	Number  int  `json:"number"`
	Reports int  `json:"reports,omitempty" doc:"progress before the answer"`
	Rest    int  `json:"rest,omitempty" doc:"milliseconds that the call takes"`
	Panic   bool `json:"panic,omitempty"`
}

// newMixedApp has a tool that does what its caller asks for, and says who that is.
func newMixedApp() *framework.App {
	return framework.New("mixed", "1", framework.WithLogger(zap.NewNop()), framework.WithAuth(faultBearer{})).Add(
		framework.Tool("mixed", func(ctx context.Context, in mixedIn) (soakOut, error) {
			for i := range in.Reports {
				framework.Progress(ctx, i+1, in.Reports, "")
			}
			if in.Rest > 0 {
				time.Sleep(time.Duration(in.Rest) * time.Millisecond)
			}
			if in.Panic {
				panic("scripted: in a tool")
			}
			return soakOut{Who: framework.Caller(ctx).Principal.Subject, Number: in.Number}, nil
		}, framework.Describe("Do as told.")))
}

// TestSoakMixed: what a connection carries changes with each request: answers at once, late ones,
// streams, pipelined requests, panics, and clients that leave in the middle of any of them. Each
// client gets what it asked for, in order, and nothing is left behind.
func TestSoakMixed(t *testing.T) {
	onFaultCarriers(t, func(t *testing.T, c faultCarrier) {
		s := serveFaultApp(t, c, faultLimits{}, faultListener(t), newFaultHub(), newMixedApp())
		clients := make([]*mixedClient, soakWorkers)
		for i := range clients {
			revision := protocol.Rev20260728
			if i%2 == 0 {
				revision = protocol.Rev20251125
			}
			who := fmt.Sprint("user", i)
			clients[i] = &mixedClient{
				addr: s.addr, who: who, era: s.era(revision, "Authorization: Bearer "+who),
				random: rand.New(rand.NewPCG(1, uint64(i))), //nolint:gosec // a test; the index is not negative
			}
			defer clients[i].leave(false)
		}
		mixed := func(calls int) {
			var all sync.WaitGroup
			for _, client := range clients {
				all.Go(func() {
					for range calls / soakWorkers {
						if err := client.next(); err != nil {
							t.Errorf("%s: %v", client.who, err)
							return
						}
					}
				})
			}
			all.Wait()
		}
		calls := soakCalls() / 5
		mixed(2 * soakWarm) // until the sessions keep as many events as they will
		soakGrowth(t, fmt.Sprint(calls, " mixed requests"), func() { mixed(calls) })
	})
}

// mixedClient is a client of TestSoakMixed. Its calls are drawn by lot, the same ones in each run.
type mixedClient struct {
	addr, who string
	era       faultEra
	random    *rand.Rand
	number    int // of the last call
	conn      *net.TCPConn
	in        *bufio.Reader
}

// next makes one to three calls on its connection, and takes their answers or leaves.
func (c *mixedClient) next() error {
	if err := c.dial(); err != nil {
		return err
	}
	calls := make([]mixedIn, 1)
	if c.random.IntN(8) == 0 {
		calls = make([]mixedIn, 1+c.random.IntN(3))
	}
	var text strings.Builder
	for i := range calls {
		calls[i] = c.draw()
		text.WriteString(c.request(calls[i]))
	}
	leaves := c.random.IntN(16) == 0
	request := text.String()
	if leaves {
		request = request[:1+c.random.IntN(len(request))]
	}
	if _, err := io.WriteString(c.conn, request); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	if leaves {
		if c.random.IntN(2) == 0 { // some of the answer, if one comes
			_ = c.conn.SetReadDeadline(time.Now().Add(time.Duration(c.random.IntN(5)) * time.Millisecond))
			_, _ = io.CopyN(io.Discard, c.in, c.random.Int64N(600))
		}
		c.leave(c.random.IntN(2) == 0)
		return nil
	}
	for i, in := range calls {
		open, err := c.take(in)
		if err != nil {
			return fmt.Errorf("call %d of %+v: %w", i, calls, err)
		}
		if !open {
			c.leave(false)
			return nil
		}
	}
	return nil
}

func (c *mixedClient) dial() error {
	if c.conn == nil {
		conn, err := net.Dial("tcp", c.addr)
		if err != nil {
			return err
		}
		c.conn, _ = conn.(*net.TCPConn)
		c.in = bufio.NewReaderSize(conn, 1024)
	}
	return c.conn.SetDeadline(time.Now().Add(faultPatience))
}

func (c *mixedClient) leave(reset bool) {
	if c.conn == nil {
		return
	}
	if reset {
		_ = c.conn.SetLinger(0)
	}
	_ = c.conn.Close()
	c.conn = nil
}

func (c *mixedClient) draw() mixedIn {
	c.number++
	in := mixedIn{Number: c.number}
	switch c.random.IntN(32) {
	case 0:
		in.Rest = 1 + c.random.IntN(40)
	case 1:
		in.Panic = true
	}
	if c.random.IntN(4) == 0 {
		in.Reports = 1 + c.random.IntN(4)
	}
	return in
}

func (c *mixedClient) request(in mixedIn) string {
	args, _ := json.Marshal(in)
	request := c.era.call(in.Number, "mixed", string(args), true)
	return strings.Replace(request, "\r\n", "\r\nAuthorization: Bearer "+c.who+"\r\n", 1)
}

// take reads the response to one call. open says that the connection goes on.
func (c *mixedClient) take(in mixedIn) (open bool, err error) {
	response, err := http.ReadResponse(c.in, nil) //nolint:bodyclose // it holds nothing but the connection
	if err != nil {
		return false, fmt.Errorf("reading the header: %w", err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return false, fmt.Errorf("reading the body after %q: %w", body, err)
	}
	if response.StatusCode != http.StatusOK {
		return false, fmt.Errorf("%s, %q", response.Status, body)
	}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		return !response.Close, c.stream(in, string(body))
	}
	if in.Reports > 0 {
		return false, fmt.Errorf("no reports before %q", body)
	}
	return !response.Close, c.answer(in, body)
}

// stream checks that all reports came in order, and then the answer.
func (c *mixedClient) stream(in mixedIn, text string) error {
	events := faultEvents{bufio.NewReader(strings.NewReader(text))}
	for i := range in.Reports {
		e, err := events.full()
		if want := fmt.Sprintf(`"progress":%d,`, i+1); err != nil || !strings.Contains(e.data, want) {
			return fmt.Errorf("no %s in %q, %w", want, text, err)
		}
	}
	e, err := events.full()
	if err != nil {
		return fmt.Errorf("no answer in %q: %w", text, err)
	}
	if _, err := events.full(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("more after the answer: %q", text)
	}
	return c.answer(in, []byte(e.data))
}

func (c *mixedClient) answer(in mixedIn, text []byte) error {
	if !in.Panic {
		return soakCheck(text, in.Number, c.who)
	}
	if id := fmt.Sprintf(`"id":%d,`, in.Number); !strings.Contains(string(text), id) || !strings.Contains(string(text), `"isError":true`) {
		return fmt.Errorf("no error with %s in %q", id, text)
	}
	return nil
}
