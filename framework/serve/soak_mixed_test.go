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
	"net/http"
	"strings"
	"sync/atomic"
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

// newMixedApp has a tool that does what its caller asks for, and says who that is. It counts the
// calls that end early because their client has left.
func newMixedApp(left *atomic.Int64) *framework.App {
	return framework.New("mixed", "1", framework.WithLogger(zap.NewNop()), framework.WithAuth(faultBearer{})).Add(
		framework.Tool("mixed", func(ctx context.Context, in mixedIn) (soakOut, error) {
			for i := range in.Reports {
				framework.Progress(ctx, i+1, in.Reports, "")
			}
			if in.Rest > 0 {
				select {
				case <-time.After(time.Duration(in.Rest) * time.Millisecond):
				case <-ctx.Done():
					left.Add(1)
				}
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
		var left atomic.Int64
		s := serveFaultApp(t, c, faultLimits{}, faultListener(t), newFaultHub(), newMixedApp(&left))
		clients := make([]*mixedClient, soakWorkers)
		for i := range clients {
			revision := protocol.Rev20260728
			if i%2 == 0 {
				revision = protocol.Rev20251125
			}
			clients[i] = &mixedClient{
				site: s, worker: i, era: s.era(revision, soakBearer(i)),
				random: rand.New(rand.NewPCG(1, uint64(i))), //nolint:gosec // a test; the index is not negative
			}
			defer clients[i].leave(false)
		}
		call := func(worker, _ int) error { return clients[worker].next() }
		soak(t, 2*soakWarm, call) // until the sessions keep as many events as they will
		calls := soakCalls() / 5
		soakGrowth(t, fmt.Sprint(calls, " mixed requests"), func() { soak(t, calls, call) })
		taken, again := 0, 0
		for _, client := range clients {
			taken, again = taken+client.taken, again+client.again
		}
		t.Logf("%d answers, %d of them on a connection that had carried another; %d running calls were left", taken, again, left.Load())
		if again < taken/2 || left.Load() == 0 {
			t.Error("connections do not go on, or nobody has left a running call")
		}
	})
}

// mixedClient is a client of TestSoakMixed. Its calls are drawn by lot, the same ones in each run.
type mixedClient struct {
	site   *faultSite
	worker int
	era    faultEra
	random *rand.Rand
	number int // of the last call
	taken  int // answers
	again  int // answers that were not the first on their connection
	used   bool
	wire   *faultWire // nil: none is open
}

// next makes one to three calls on its connection, and takes their answers or leaves.
func (c *mixedClient) next() error {
	if c.wire == nil {
		c.wire, c.used = c.site.dial(), false
	}
	_ = c.wire.conn.SetDeadline(time.Now().Add(faultPatience))
	if c.random.IntN(16) == 0 {
		return c.vanish()
	}
	calls := make([]mixedIn, 1)
	if c.random.IntN(8) == 0 {
		calls = make([]mixedIn, 2+c.random.IntN(2))
	}
	var text strings.Builder
	for i := range calls {
		calls[i] = c.draw()
		text.WriteString(c.request(calls[i]))
	}
	if _, err := io.WriteString(c.wire.conn, text.String()); err != nil {
		return fmt.Errorf("writing: %w", err)
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

// vanish leaves in the middle of a request, or of a call that goes on, of whose response it may
// have read a part.
func (c *mixedClient) vanish() error {
	in := c.draw()
	in.Rest = 60 // longer than any carrier takes to notice
	request := c.request(in)
	whole := c.random.IntN(4) > 0
	if !whole {
		request = request[:1+c.random.IntN(len(request)-1)]
	}
	if _, err := io.WriteString(c.wire.conn, request); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	if whole {
		_ = c.wire.conn.SetReadDeadline(time.Now().Add(time.Duration(c.random.IntN(10)) * time.Millisecond))
		_, _ = io.CopyN(io.Discard, c.wire.in, c.random.Int64N(600)) // what comes
	}
	c.leave(c.random.IntN(2) == 0)
	return nil
}

func (c *mixedClient) leave(reset bool) {
	if c.wire != nil {
		c.wire.leave(reset)
		c.wire = nil
	}
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
	return soakBy(c.worker, c.era.call(in.Number, "mixed", string(args), true))
}

// take reads the response to one call. open says that the connection goes on.
func (c *mixedClient) take(in mixedIn) (open bool, err error) {
	response, err := http.ReadResponse(c.wire.in, nil) //nolint:bodyclose // it holds nothing but the connection
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
	c.taken++
	if c.used {
		c.again++
	}
	c.used = true
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
		return soakCheck(text, in.Number, fmt.Sprint("user", c.worker))
	}
	if id := fmt.Sprintf(`"id":%d,`, in.Number); !strings.Contains(string(text), id) || !strings.Contains(string(text), `"isError":true`) {
		return fmt.Errorf("no error with %s in %q", id, text)
	}
	return nil
}
