//go:build unix

package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

// The tests of this file look for what grows: they count goroutines and bytes before and
// after many calls and sessions. Under KAGAMI_FULL there are 20 times as many.

const (
	soakWorkers = 64
	soakWarm    = 10_000
	// What may be more than after the warm-up.
	soakGoroutines = 5
	soakBytes      = 2 << 20
)

type soakIn struct {
	Number int `json:"number" validate:"min=0"`
}

type soakOut struct {
	Who    string `json:"who"`
	Number int    `json:"number"`
}

// soakApp has a tool that says who asked what, so that an answer that went astray shows.
func soakApp(opts ...framework.AppOption) *framework.App {
	return framework.New("soak", "1", append(opts, framework.WithLogger(zap.NewNop()))...).Add(
		framework.Tool("whose", func(ctx context.Context, in soakIn) (soakOut, error) {
			out := soakOut{Number: in.Number}
			if p := framework.Caller(ctx).Principal; p != nil {
				out.Who = p.Subject
			}
			return out, nil
		}, framework.Describe("Tell who asked.")))
}

func soakAnswer(id int, who string) (parts [][]byte) {
	return [][]byte{
		fmt.Appendf(nil, `"id":%d,`, id),
		fmt.Appendf(nil, `"structuredContent":{"who":%q,"number":%d}`, who, id),
	}
}

// soakCheck finds the answer that belongs to the id.
func soakCheck(answer []byte, id int, who string) error {
	for _, part := range soakAnswer(id, who) {
		if !bytes.Contains(answer, part) {
			return fmt.Errorf("call %d of %q got %q", id, who, answer)
		}
	}
	return nil
}

// soakCalls is how many there are. Under the race detector, which looks for other things, a
// fifth has to do: it needs minutes for more where there is little of a processor.
func soakCalls() int {
	if raceEnabled {
		return rounds(10_000, 200_000)
	}
	return rounds(50_000, 1_000_000)
}

// soak runs calls from all workers at once; each numbers its own.
func soak(t *testing.T, calls int, call func(worker, number int) error) {
	t.Helper()
	var all sync.WaitGroup
	for worker := range soakWorkers {
		all.Go(func() {
			for i := range calls / soakWorkers {
				if err := call(worker, i*soakWorkers+worker); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// soakGrowth measures what run leaves behind.
func soakGrowth(t *testing.T, what string, run func()) {
	t.Helper()
	goroutines, _ := faultGoroutines()
	heap := faultHeap()
	run()
	faultSettle(t, goroutines+soakGoroutines)
	grown := int64(faultHeap()) - int64(heap) //nolint:gosec // it fits
	t.Logf("after %s: %+d bytes", what, grown)
	if grown > soakBytes && !raceEnabled {
		t.Errorf("after %s the heap holds %d bytes more", what, grown)
	}
}

// TestSoakHTTP: half of the clients have sessions, half need none.
func TestSoakHTTP(t *testing.T) {
	calls, sessions := soakCalls(), soakCalls()/10
	c := faultCarriers()[0]
	l := faultListener(t)
	s := &faultSite{t: t, addr: l.Addr().String(), hub: newFaultHub(), ended: make(chan struct{})}
	server, err := soakApp(framework.WithAuth(faultBearer{})).Build()
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	s.end = end
	go func() {
		defer close(s.ended)
		if err := server.Serve(ctx, c.make(l, faultLimits{})); err != nil {
			t.Errorf("Serve: %v", err)
		}
	}()
	t.Cleanup(s.stop)

	clients := make([]*benchClient, soakWorkers)
	eras := make([]faultEra, soakWorkers)
	for i := range clients {
		clients[i] = &benchClient{addr: s.addr, buf: make([]byte, 16<<10)}
		defer clients[i].drop()
		revision := protocol.Rev20260728
		if i%2 == 0 {
			revision = protocol.Rev20251125
		}
		eras[i] = s.era(revision, soakBearer(i))
	}
	call := func(worker, number int) error {
		who := fmt.Sprint("user", worker)
		request := soakBy(worker, eras[worker].call(number, "whose", fmt.Sprintf(`{"number":%d}`, number), false))
		answer, err := clients[worker].roundTrip([]byte(request))
		if err != nil {
			return err
		}
		return soakCheck(answer, number, who)
	}
	soak(t, soakWarm, call)
	soakGrowth(t, fmt.Sprint(calls, " calls"), func() { soak(t, calls, call) })
	visit := func(worker, _ int) error { return soakSession(clients[worker], soakBearer(worker)) }
	soak(t, soakWarm/10, visit)
	soakGrowth(t, fmt.Sprint(sessions, " sessions"), func() { soak(t, sessions, visit) })
}

func soakBearer(worker int) string { return fmt.Sprint("Authorization: Bearer user", worker) }

// soakBy is a request with the worker's token.
func soakBy(worker int, request string) string {
	return strings.Replace(request, "\r\n", "\r\n"+soakBearer(worker)+"\r\n", 1)
}

// soakSession is one that is opened, used and ended.
func soakSession(c *benchClient, bearer string) error {
	open := faultPost(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, bearer)
	answer, err := c.roundTrip([]byte(open))
	if err != nil {
		return err
	}
	_, rest, ok := strings.Cut(strings.ToLower(string(answer)), "mcp-session-id: ")
	if !ok {
		return fmt.Errorf("opening a session: %q", answer)
	}
	id, _, _ := strings.Cut(rest, "\r")
	field := "Mcp-Session-Id: " + strings.ToUpper(id)
	ping := faultPost(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, field, bearer)
	if answer, err = c.roundTrip([]byte(ping)); err != nil || !bytes.Contains(answer, []byte(`"result":{}`)) {
		return fmt.Errorf("in a session: %q, %w", answer, err)
	}
	remove := "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n" + field + "\r\n" + bearer + "\r\n\r\n"
	if answer, err = c.roundTrip([]byte(remove)); err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 20")) {
		return fmt.Errorf("ending a session: %q, %w", answer, err)
	}
	return nil
}

// TestSoakStdio: all workers share the one connection.
func TestSoakStdio(t *testing.T) {
	calls := soakCalls()
	server, err := soakApp().Build()
	if err != nil {
		t.Fatal(err)
	}
	c := soakPipe(t, server)
	call := func(worker, number int) error {
		answer, err := c.call(worker, number)
		if err != nil {
			return err
		}
		return soakCheck(answer, number, "")
	}
	soak(t, soakWarm, call)
	soakGrowth(t, fmt.Sprint(calls, " calls"), func() { soak(t, calls, call) })
}

// soakConn is the client's end of two pipes of the system.
type soakConn struct {
	mu      sync.Mutex // of writing
	w       io.Writer
	answers [soakWorkers]chan []byte
}

func soakPipe(t *testing.T, server *framework.Server) *soakConn {
	t.Helper()
	serverIn, toServer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromServer, serverOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	served, read := make(chan error, 1), make(chan struct{})
	go func() {
		served <- server.Serve(context.WithoutCancel(t.Context()), stdio.New(stdio.Streams(serverIn, serverOut)))
		_ = serverOut.Close()
	}()
	c := &soakConn{w: toServer}
	for i := range c.answers {
		c.answers[i] = make(chan []byte, 1)
	}
	go func() {
		defer close(read)
		c.read(t, fromServer)
	}()
	t.Cleanup(func() {
		_ = toServer.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		<-read
		_, _ = serverIn.Close(), fromServer.Close()
	})
	return c
}

// read hands each answer to the worker whose number it has.
func (c *soakConn) read(t *testing.T, r io.Reader) {
	t.Helper()
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var id int
		if _, err := fmt.Sscanf(lines.Text(), `{"jsonrpc":"2.0","id":%d,`, &id); err != nil {
			t.Errorf("%v in %q", err, lines.Text())
			continue
		}
		c.answers[id%soakWorkers] <- bytes.Clone(lines.Bytes())
	}
	for _, answers := range c.answers {
		close(answers)
	}
}

func (c *soakConn) call(worker, number int) ([]byte, error) {
	frame := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"whose","arguments":{"number":%d},"_meta":{%s}}}`+"\n", number, number, faultMeta)
	c.mu.Lock()
	_, err := c.w.Write(frame)
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	answer, ok := <-c.answers[worker]
	if !ok {
		return nil, io.ErrUnexpectedEOF
	}
	return answer, nil
}
