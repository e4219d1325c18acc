package testkit

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
)

// Faults makes the carrier of a session as unreliable as the specification allows. Neither side
// should notice it except by the time it takes:
//   - frames of the client are delayed by up to a few milliseconds, so that frames sent at the
//     same time arrive in any order;
//   - if the carrier is a stream of bytes (stdio and HTTP), data arrives in small pieces;
//   - if the carrier is a stream of frames (inmem and stdio), some answers arrive twice;
//   - if a response can be resumed (HTTP from 2025-03-26 to 2025-11-25), some streams break.
//
// Sessions with the same seed have the same faults, if they do the same in the same order. In a
// testing/synctest bubble (see [Virtual]) faults cost no time.
func Faults(seed uint64) Option {
	return optionFunc(func(c *config) { c.faults = &faults{seed: seed} })
}

// faults are the faults of all connections of one session. roll counts the connections and cut the
// broken streams; mu guards both.
type faults struct {
	seed uint64

	mu     sync.Mutex // guards the fields below
	opened uint64
	cuts   int
	dice   *rand.Rand // for cuts
}

const (
	latest  = 3 * time.Millisecond // longest delay
	piece   = 24                   // bytes of most pieces, at most
	maxCuts = 3                    // broken streams of one session, because a client waits before it resumes
)

// fresh returns the same faults for another session.
func (f *faults) fresh() *faults {
	if f == nil {
		return nil
	}
	return &faults{seed: f.seed}
}

// roll returns the dice of one more connection, or nil without faults.
func (f *faults) roll() *dice {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened++
	return &dice{r: rand.New(rand.NewPCG(f.seed, f.opened))} //nolint:gosec // it shall be reproducible
}

// cut reports whether a stream that can be resumed breaks now.
func (f *faults) cut() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dice == nil {
		f.dice = rand.New(rand.NewPCG(f.seed, 0)) //nolint:gosec // likewise
	}
	if f.cuts >= maxCuts || f.dice.IntN(2) == 0 {
		return false
	}
	f.cuts++
	return true
}

// dice is the random source of one connection.
type dice struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (d *dice) upTo(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(n + 1)
}

// late waits up to latest, or not at all.
func (d *dice) late() {
	if wait := d.upTo(2 * int(latest)); wait < int(latest) {
		time.Sleep(time.Duration(wait))
	}
}

// yield yields to other goroutines. Reads are not delayed by a timer. The sender may hold a lock
// that another goroutine waits for, and then no time passes in a bubble.
func (d *dice) yield() {
	for range d.upTo(4) {
		runtime.Gosched()
	}
}

// faultyConn delays frames that are written, and delivers some answers twice.
type faultyConn struct {
	transport.Conn
	dice  *dice
	again []byte // for the next Read; used by the reader only
}

// Write delays the frame, so that concurrent writes overtake each other.
func (c *faultyConn) Write(ctx context.Context, frame []byte) error {
	c.dice.late()
	return c.Conn.Write(ctx, frame)
}

// Read returns some answers twice.
func (c *faultyConn) Read(ctx context.Context) ([]byte, error) {
	if again := c.again; again != nil {
		c.again = nil
		return again, nil
	}
	frame, err := c.Conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	c.dice.yield()
	if answersClient(frame) && c.dice.upTo(3) == 0 {
		c.again = append([]byte(nil), frame...)
	}
	return frame, nil
}

// firstOwn is the first id that the client gives to a request of its own. Smaller ids are free for
// [Session.Raw], and a test may use them again.
const firstOwn = 1001

// answersClient reports whether the frame answers an id of the client's own, which is never
// used again.
func answersClient(frame []byte) bool {
	if jsontext.Check(frame, jsontext.Limits{}) != nil || jsonrpc.IsBatch(frame) {
		return false
	}
	msg, fault := jsonrpc.Decode(frame)
	if fault != nil || msg.Kind != jsonrpc.Result && msg.Kind != jsonrpc.Failure {
		return false
	}
	id, ok := jsontext.Int64(msg.ID.Append(nil))
	return ok && id >= firstOwn
}

// reader returns r in small pieces.
func (f *faults) reader(r io.Reader) io.Reader {
	if f == nil {
		return r
	}
	return &pieces{r, f.roll()}
}

type pieces struct {
	io.Reader
	dice *dice
}

// Read reads one piece.
func (p *pieces) Read(b []byte) (int, error) { return p.Reader.Read(p.dice.piece(b)) }

// piece returns the beginning of b, or sometimes all of it. Sometimes it yields to other goroutines
// first.
func (d *dice) piece(b []byte) []byte {
	switch n := d.upTo(63); {
	case n < 8:
		d.yield()
	case n < 16:
		return b
	}
	return b[:min(len(b), 1+d.upTo(piece))]
}

// dial makes connections of bytes that come in small pieces, both ways.
func (f *faults) dial(dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	if f == nil {
		return dial
	}
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &faultyNet{c, f.roll()}, nil
	}
}

type faultyNet struct {
	net.Conn
	dice *dice
}

// Read reads one piece.
func (c *faultyNet) Read(b []byte) (int, error) { return c.Conn.Read(c.dice.piece(b)) }

// Write writes in pieces.
func (c *faultyNet) Write(b []byte) (int, error) {
	written := 0
	for written < len(b) {
		n, err := c.Conn.Write(c.dice.piece(b[written:]))
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}
