// Package transporttest tests carriers. [Suite] runs a scripted host behind a carrier and tests the
// promises of package transport.
//
//	func TestSuite(t *testing.T) {
//		transporttest.Suite(t, func(t testing.TB, host transport.Host) transport.Conn {
//			return inmem.Dial(t.Context(), host)
//		})
//	}
//
// Suite tests that
//
//   - frames are accepted in order and not concurrently
//   - each accepted frame is served exactly once
//   - exchanges run concurrently
//   - frames arrive whole and in the order of the calls of Send
//   - neither side sees the buffers of the other
//   - frames that belong to no exchange arrive
//   - if the context of Send has ended, only a final frame is sent
//   - Close cancels running exchanges and ends waiting calls
//   - the end of one side ends the other side
//
// The scripted host uses its own JSON-RPC frames, not MCP. A carrier that needs a session or
// headers needs an adapter in open. [Connections] tests a carrier that serves several clients. [Stop]
// tests what a carrier does when its context ends. For carriers over HTTP, [HTTP] runs [Suite], tests
// the shutdown, and tests the requirements of the specification.
package transporttest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kagami-mcp/kagami/transport"
)

// Open starts a carrier for host and returns the client's end of a new connection. It registers a
// cleanup with t.Cleanup that ends the carrier and waits for it. The suite closes the connection
// before that. A grace period of the carrier should be short, because Close must cancel exchanges
// that would never end. Open may be called more than once in a test.
type Open = func(t testing.TB, host transport.Host) transport.Conn

// Trait is a property of a carrier. The suite leaves out what a carrier with the trait does not
// promise.
type Trait int

const (
	// Requests means that each frame is sent as a request of its own. Frames of one connection may
	// therefore be accepted concurrently and in any order. AcceptOrder is skipped.
	Requests Trait = iota + 1

	// Streams means two things. A frame that is sent outside of its exchange uses a separate stream
	// and may overtake an answer. A frame that the host refuses is answered and does not end the
	// connection.
	Streams
)

// setup holds the arguments of one test.
type setup struct {
	open              Open
	requests, streams bool
}

// Suite runs all tests, in parallel. Without traits, it leaves nothing out. Each test uses one
// connection of a carrier. [Connections] tests several connections of one carrier.
func Suite(t *testing.T, open func(t testing.TB, host transport.Host) transport.Conn, traits ...Trait) {
	t.Helper()
	with := setup{open: open, requests: slices.Contains(traits, Requests), streams: slices.Contains(traits, Streams)}
	tests := []struct {
		name, rule string
		run        func(t *testing.T, s setup)
	}{
		{"Echo", "A frame arrives as it was sent, whatever is in it.", testEcho},
		{"AcceptOrder", "The frames of a connection are accepted in the order of their writes.", testAcceptOrder},
		{"NotesBeforeResult", "What an exchange sends arrives complete, in its order, and before its result.", testNotesBeforeResult},
		{"SlowDoesNotBlockFast", "Exchanges run concurrently: a slow one does not hold up others.", testSlow},
		{"LargeFrames", "Frames of any size up to the limit arrive whole.", testLarge},
		{"ConcurrentSendersDoNotMix", "What several goroutines of an exchange send arrives whole, and in the order of each.", testSenders},
		{"ConcurrentWritersDoNotMix", "What several goroutines of a client write arrives whole, and each is answered.", testWriters},
		{"Unsolicited", "What the host sends outside of an exchange arrives, also after the exchange that opened the session.", testUnsolicited},
		{"FinalAfterTheEnd", "A final frame is sent even if the context of Send has ended.", testFinalAfterTheEnd},
		{"NoteAfterTheEnd", "A frame that is not final is not sent if the context of Send has ended: Send returns an error.", testNoteAfterTheEnd},
		{"OneConnection", "All frames of a connection have the same Connection, no others have it, and OnClose is called when it ends, not before.", testConnection},
		{"SilentExchange", "An exchange may end without an answer, without effect on others.", testSilent},
		{"ReadLosesNoFrame", "A Read that ends with its context takes no frame with it.", testReadContext},
		{"CloseCancelsExchanges", "Close cancels the exchanges that run, with a cause.", testCloseCancels},
		{"CloseReleasesReader", "Close ends a Read that waits.", testCloseReleasesReader},
		{"CloseReleasesSenders", "Close ends the exchanges of a client that reads nothing: it must not hold the server.", testCloseReleasesSenders},
		{"AfterClose", "After Close, Read is at the end and Write is an error; Close may be called again.", testAfterClose},
		{"HostRefuses", "What the host has accepted is served to its end when it refuses a later frame; then the connection ends, unless it is one of streams.", testRefuse},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			told(t, test.rule)
			test.run(t, with)
		})
	}
}

// told logs the rule if the test fails, for readers who do not know the test.
func told(t testing.TB, rule string) {
	t.Helper()
	t.Cleanup(func() {
		t.Helper()
		if t.Failed() {
			t.Logf("transporttest: the rule: %s", rule)
		}
	})
}

func testEcho(t *testing.T, s setup) {
	c := dial(t, s)
	for id, text := range []string{"", "x", "zwei\nLinien\r\n", "鏡", `"\u2028`, strings.Repeat("é", 5000)} {
		c.echo(id+1, text)
	}
}

func testAcceptOrder(t *testing.T, s setup) {
	if s.requests {
		t.Skip("frames travel separately")
	}
	c := dial(t, s)
	const n = 200
	for id := 1; id <= n; id++ {
		c.send(id, "echo", script{})
	}
	for range n {
		c.next()
	}
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	if !slices.IsSorted(c.host.order) || len(c.host.order) != n {
		t.Errorf("accepted in the order %v", c.host.order)
	}
}

// testNotesBeforeResult runs 10 exchanges of 100 notes at once.
func testNotesBeforeResult(t *testing.T, s setup) {
	c := dial(t, s)
	const exchanges, notes = 10, 100
	for id := 1; id <= exchanges; id++ {
		c.send(id, "many", script{Count: notes})
	}
	seen := map[int]int{}
	for done := 0; done < exchanges; {
		r := c.next()
		if r.Method == "" {
			done++
			if seen[r.ID] != notes {
				t.Errorf("the result of %d came after %d of %d notes", r.ID, seen[r.ID], notes)
			}
			continue
		}
		if r.Params.Seq != seen[r.Params.ID] {
			t.Fatalf("note %d of %d came in place %d", r.Params.Seq, r.Params.ID, seen[r.Params.ID])
		}
		seen[r.Params.ID]++
	}
}

func testSlow(t *testing.T, s setup) {
	c := dial(t, s)
	for id := 1; id <= 8; id++ {
		c.send(id, "hold", script{})
	}
	c.send(100, "echo", script{Text: "fast"})
	if r := c.next(); r.ID != 100 {
		t.Fatalf("the first answer is for %d, which should be held", r.ID)
	}
	close(c.host.released)
	for range 8 {
		if r := c.next(); r.Result.Text != "held" {
			t.Fatalf("got %+v", r)
		}
	}
}

func testLarge(t *testing.T, s setup) {
	c := dial(t, s)
	for id, size := range []int{4095, 4096, 32 << 10, 64<<10 + 1, 1 << 20} {
		c.echo(id+1, strings.Repeat("0123456789abcdef", size/16+1)[:size])
	}
}

func testSenders(t *testing.T, s setup) {
	c := dial(t, s)
	const senders, notes = 8, 100
	c.send(1, "many", script{Count: notes, From: senders})
	var seen [senders]int
	r := c.next()
	for ; r.Method != ""; r = c.next() {
		n := r.Params
		if n.Seq != seen[n.From] || n.Text != pattern(n.From, n.Seq) {
			t.Fatalf("sender %d: note %d, in place %d, holds %.80q", n.From, n.Seq, seen[n.From], n.Text)
		}
		seen[n.From]++
	}
	for from, n := range seen {
		if n != notes {
			t.Errorf("sender %d: %d notes before the result, want %d", from, n, notes)
		}
	}
}

func testWriters(t *testing.T, s setup) {
	c := dial(t, s)
	const writers, requests = 8, 50
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range requests {
				if err := c.write(1+w*requests+i, "echo", script{Text: pattern(w, i)}); err != nil {
					t.Errorf("Write: %v", err)
				}
			}
		})
	}
	for range writers * requests {
		r := c.next()
		if want := pattern((r.ID-1)/requests, (r.ID-1)%requests); r.Result.Text != want {
			t.Fatalf("request %d: got %.80q, want %.80q", r.ID, r.Result.Text, want)
		}
	}
	wg.Wait()
}

func testUnsolicited(t *testing.T, s setup) {
	c := dial(t, s)
	c.send(1, "unsolicited", script{Text: "first"})
	first, second := c.next(), c.next()
	if s.streams && first.Method != "" {
		first, second = second, first
	}
	if first.Result.Text != "first" {
		t.Fatalf("got %+v, want the result first", first)
	}
	if second.Params.Text != "unsolicited" {
		t.Fatalf("got %+v, want the frame that belongs to no exchange", second)
	}
}

// testFinalAfterTheEnd: the context of an answer may have ended. Examples are a cancelled call, and a
// call that ends because it asks its client.
func testFinalAfterTheEnd(t *testing.T, s setup) {
	c := dial(t, s)
	for id := 1; id <= 5; id++ { // a select with several ready cases chooses one at random
		c.send(id, "late", script{})
		if r := c.next(); r.Result.Text != "late" {
			t.Fatalf("got %+v, want the answer %q", r, "late")
		}
	}
}

func testNoteAfterTheEnd(t *testing.T, s setup) {
	c := dial(t, s)
	for id := 1; id <= 5; id++ {
		c.send(id, "late", script{Count: 1})
		switch r := c.next(); {
		case r.Method != "":
			t.Fatalf("got %+v, want the answer alone", r)
		case r.Result.Text == "a note: <nil>":
			t.Fatal("Send returned no error for a note that it did not send")
		}
	}
}

func testConnection(t *testing.T, s setup) {
	first, second := dial(t, s), dial(t, s)
	for id := 1; id <= 3; id++ {
		first.echo(id, "a")
		second.echo(id, "b")
	}
	a, b := first.host.connection(t, 1, 2, 3), second.host.connection(t, 1, 2, 3)
	if a == b {
		t.Error("two connections have the same Connection")
	}
	gone := make(chan struct{})
	a.OnClose(func() { close(gone) })
	select {
	case <-gone:
		t.Error("OnClose was called while the connection lasts")
	default:
	}
	first.hangUp()
	within(t, "Connection.OnClose after Close", gone)
	second.echo(4, "still there")
}

// connection returns the Connection that the frames with these IDs have. If they do not all have
// the same one, it ends the test.
func (h *host) connection(t testing.TB, ids ...int) *transport.Connection {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []*transport.Connection
	for _, id := range ids {
		all = append(all, h.connections[id])
	}
	if all = slices.Compact(all); len(all) != 1 || all[0] == nil {
		t.Fatalf("the frames of one connection came with %d Connections", len(all))
	}
	return all[0]
}

// testSilent: an exchange may send no answer, like the exchange of a notification.
func testSilent(t *testing.T, s setup) {
	c := dial(t, s)
	for id := 1; id <= 20; id++ {
		c.send(id, "silent", script{})
	}
	c.send(21, "echo", script{Text: "after"})
	if r := c.next(); r.ID != 21 {
		t.Errorf("got %+v for an exchange that sends nothing", r)
	}
}

func testReadContext(t *testing.T, s setup) {
	c := dial(t, s)
	over, cancel := context.WithCancel(c.ctx)
	c.send(1, "hold", script{})
	within(t, "the exchange to begin", c.host.holding)
	read := make(chan error, 1)
	go func() {
		_, err := c.conn.Read(over)
		read <- err
	}()
	cancel()
	if err := within(t, "Read to end with its context", read); !errors.Is(err, context.Canceled) {
		t.Fatalf("Read with a context that ended: %v", err)
	}
	close(c.host.released)
	if r := c.next(); r.Result.Text != "held" {
		t.Errorf("got %+v", r)
	}
}

func testCloseCancels(t *testing.T, s setup) {
	c := dial(t, s)
	const n = 4
	for id := 1; id <= n; id++ {
		c.send(id, "block", script{})
	}
	for range n {
		within(t, "the exchanges to begin", c.host.holding)
	}
	c.hangUp()
	for range n {
		wantCause(t, within(t, "the exchanges to be cancelled", c.host.cancelled))
	}
}

// wantCause fails the test if a context was cancelled without a cause.
func wantCause(t *testing.T, cause error) {
	t.Helper()
	if cause == context.Canceled { //nolint:errorlint // context.Cause returns this error itself if there is no cause
		t.Error("an exchange was cancelled without a cause")
	}
}

func testCloseReleasesReader(t *testing.T, s setup) {
	c := dial(t, s)
	c.echo(1, "open")
	read := make(chan error, 1)
	go func() {
		_, err := c.conn.Read(c.ctx)
		read <- err
	}()
	c.hangUp()
	if err := within(t, "Read to end with Close", read); err == nil {
		t.Error("Read returned a frame that was not sent")
	}
}

// testCloseReleasesSenders: a client that reads nothing must not block the server.
func testCloseReleasesSenders(t *testing.T, s setup) {
	c := dial(t, s)
	c.send(1, "many", script{Count: 5000, From: 8})
	c.hangUp()
	// The cleanup of the test checks that the exchange has ended.
}

func testAfterClose(t *testing.T, s setup) {
	c := dial(t, s)
	c.echo(1, "open")
	for range 2 {
		c.hangUp()
	}
	c.wantEOF()
	if err := c.write(2, "echo", script{}); err == nil {
		t.Error("Write after Close succeeded")
	}
}

// testRefuse: exchanges that the host accepted before it refused a frame are served to their end.
func testRefuse(t *testing.T, s setup) {
	c := dial(t, s)
	c.send(1, "hold", script{})
	within(t, "the exchange to begin", c.host.holding)
	_ = c.write(2, "refuse", script{}) // whether Write returns an error depends on the carrier
	close(c.host.released)
	if r := c.result(1); r.Result.Text != "held" {
		t.Errorf("got %+v, want the answer of the exchange that was accepted", r)
	}
	if !s.streams {
		c.wantEOF()
	}
}
