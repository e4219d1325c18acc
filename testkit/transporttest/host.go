package transporttest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/transport"
)

// script is what a request tells the host to do. It is sent as the params.
type script struct {
	Count int    `json:"count,omitempty"` // number of frames before the result
	From  int    `json:"from,omitempty"`  // number of goroutines that send them; 0 means 1
	Text  string `json:"text,omitempty"`  // text to send back
	Size  int    `json:"size,omitempty"`  // length of the text in each frame; if 0, it varies

	Status        int  `json:"status,omitempty"`        // HTTP status of the answer
	CancelByClose bool `json:"cancelByClose,omitempty"` // as in transport.Plan
}

// call is one inbound frame.
type call struct {
	ID     int    `json:"id"`
	Method string `json:"method"`
	Params script `json:"params"`
}

// note is one of several frames that an exchange sends before its result.
type note struct {
	ID   int    `json:"id"` // ID of the request
	From int    `json:"from"`
	Seq  int    `json:"seq"`
	Text string `json:"text,omitempty"`
}

// ErrRefused is the error that Accept of the scripted host returns in one of the tests. A carrier
// may return it when it ends.
var ErrRefused = errors.New("transporttest: the scripted host takes no more frames")

// host acts as the requests ask it to, and records faults of the carrier. Accept adds to
// connections and order, and fault appends to faults. mu guards them. Tests read the channels.
type host struct {
	concurrent bool // Accept may be called while another Accept runs

	accepting atomic.Bool // an Accept is running
	accepted  atomic.Int64
	ended     atomic.Int64   // number of Serve calls that returned or panicked
	released  chan struct{}  // closed to release "hold"
	holding   chan struct{}  // one element for each "hold" that has begun
	cancelled chan error     // cause of each "block" that was cancelled
	later     sync.WaitGroup // goroutines that send after Serve has returned

	mu          sync.Mutex // guards the rest
	faults      []string
	connections map[int]*transport.Connection // by the ID of the frame
	order       []int                         // IDs, in the order of Accept
}

func newHost() *host {
	return &host{
		connections: map[int]*transport.Connection{},

		released:  make(chan struct{}),
		holding:   make(chan struct{}, 64),
		cancelled: make(chan error, 64),
	}
}

func (h *host) fault(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = append(h.faults, fmt.Sprintf(format, args...))
}

// problems returns the faults of the carrier so far.
func (h *host) problems() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.faults)
}

// Accept implements transport.Host.
func (h *host) Accept(ctx context.Context, frame []byte) (transport.Exchange, error) {
	if !h.accepting.CompareAndSwap(false, true) && !h.concurrent {
		h.fault("Accept was called while another Accept of the connection was running")
	}
	defer h.accepting.Store(false)
	var c call
	if err := json.Unmarshal(frame, &c); err != nil {
		h.fault("Accept got a frame that is not the one that was written: %v: %.80q", err, frame)
	}
	switch c.Method {
	case "refuse":
		return nil, ErrRefused
	case "panic/accept":
		panic("scripted: in Accept")
	}
	x := &exchange{host: h, call: c, frame: frame, copied: bytes.Clone(frame), over: make(chan struct{})}
	x.conn, x.fault = connectionOf(ctx, c.Method)
	h.accepted.Add(1)
	h.record(x)
	return x, nil
}

// connectionOf returns the connection of a frame. Over Streamable HTTP it is the connection of the
// session, which "open" opens; frames without a session are also allowed there.
func connectionOf(ctx context.Context, method string) (*transport.Connection, error) {
	r := transport.RequestFrom(ctx)
	switch {
	case r == nil || r.Sessions == nil:
		return transport.ConnectionFrom(ctx), nil
	case method == "open":
		return r.Sessions.Open()
	}
	return r.Sessions.Find()
}

func (h *host) record(x *exchange) {
	if x.conn == nil && !h.concurrent {
		h.fault("the context of Accept has no Connection")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if x.conn != nil {
		h.connections[x.call.ID] = x.conn
	}
	h.order = append(h.order, x.call.ID)
}

// exchange keeps the frame, and a copy to detect changes. A host may keep the frame.
type exchange struct {
	host   *host
	call   call
	frame  []byte
	copied []byte
	served atomic.Int64
	conn   *transport.Connection
	fault  error         // error of finding the connection
	over   chan struct{} // closed when Serve returns
}

// Plan implements transport.Planned.
func (x *exchange) Plan() transport.Plan {
	return transport.Plan{Answered: x.call.Method != "silent", CancelByClose: x.call.Params.CancelByClose}
}

// Interrupted implements transport.Planned.
func (x *exchange) Interrupted() []byte { return nil }

// Serve implements transport.Exchange.
func (x *exchange) Serve(ctx context.Context, out transport.Outbound) error {
	defer x.host.ended.Add(1)
	if n := x.served.Add(1); n != 1 {
		x.host.fault("Serve was called %d times for request %d", n, x.call.ID)
	} else {
		defer close(x.over)
	}
	err := x.do(ctx, out)
	if !bytes.Equal(x.frame, x.copied) {
		x.host.fault("the bytes given to Accept changed while the host had them, request %d", x.call.ID)
	}
	for i := range x.frame {
		x.frame[i] = '#' // the host owns the bytes, so this must have no effect elsewhere
	}
	return err
}

func (x *exchange) do(ctx context.Context, out transport.Outbound) error {
	if x.fault != nil {
		x.call.Params.Status = http.StatusNotFound
		return x.result(ctx, out, "no such session")
	}
	switch x.call.Method {
	case "open", "echo":
		return x.result(ctx, out, x.call.Params.Text)
	case "large":
		return x.result(ctx, out, strings.Repeat("x", x.call.Params.Count))
	case "many":
		return x.many(ctx, out)
	case "hold": // sends Count notes first
		if err := x.notes(ctx, out, 0); err != nil {
			return err
		}
		x.host.holding <- struct{}{}
		select {
		case <-x.host.released:
		case <-ctx.Done():
		}
		return x.result(ctx, out, "held")
	case "stuck": // ignores the end of its context
		x.host.holding <- struct{}{}
		<-x.host.released
		return nil
	case "block":
		x.host.holding <- struct{}{}
		<-ctx.Done()
		x.host.cancelled <- context.Cause(ctx)
		return ctx.Err()
	case "unsolicited":
		return x.unsolicited(ctx, out)
	case "late":
		return x.late(ctx, out)
	case "silent":
		return nil
	case "panic/serve":
		panic("scripted: in Serve")
	}
	x.host.fault("unknown method %.80q", x.call.Method)
	return nil
}

// many sends Count notes from each of From goroutines, and then the result.
func (x *exchange) many(ctx context.Context, out transport.Outbound) error {
	var senders sync.WaitGroup
	errs := make([]error, max(x.call.Params.From, 1))
	for from := range errs {
		senders.Go(func() { errs[from] = x.notes(ctx, out, from) })
	}
	senders.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return x.result(ctx, out, "done")
}

func (x *exchange) notes(ctx context.Context, out transport.Outbound, from int) error {
	same := strings.Repeat("x", x.call.Params.Size)
	for seq := range x.call.Params.Count {
		n := note{ID: x.call.ID, From: from, Seq: seq, Text: cmp.Or(same, pattern(from, seq))}
		if err := x.notify(ctx, out, n); err != nil {
			return err
		}
	}
	return nil
}

func (x *exchange) notify(ctx context.Context, out transport.Outbound, n note) error {
	params, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return x.send(ctx, out, transport.Frame{JSON: fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"note","params":%s}`, params)})
}

func (x *exchange) result(ctx context.Context, out transport.Outbound, text string) error {
	quoted, err := json.Marshal(text)
	if err != nil {
		return err
	}
	return x.send(ctx, out, transport.Frame{
		JSON:  fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"text":%s}}`, x.call.ID, quoted),
		Final: true, Status: x.call.Params.Status,
	})
}

// send sends a frame, and overwrites the buffer as soon as Send returns.
func (x *exchange) send(ctx context.Context, out transport.Outbound, frame transport.Frame) error {
	err := out.Send(ctx, frame)
	for i := range frame.JSON {
		frame.JSON[i] = '!'
	}
	return err
}

// late sends the result with a context that has ended. If Count is not 0, it sends a note with that
// context instead, and then a result with the error of the note. If the first result was not sent, a
// second one has its error.
func (x *exchange) late(ctx context.Context, out transport.Outbound) error {
	over, cancel := context.WithCancel(ctx)
	cancel()
	if x.call.Params.Count > 0 {
		err := x.notify(over, out, note{ID: x.call.ID})
		return x.result(ctx, out, fmt.Sprintf("a note: %v", err))
	}
	err := x.result(over, out, "late")
	if err != nil {
		err = x.result(ctx, out, fmt.Sprintf("a final frame: %v", err))
	}
	return err
}

// unsolicited sends the result, and when Serve has returned, a note through the connection.
func (x *exchange) unsolicited(ctx context.Context, out transport.Outbound) error {
	conn := x.conn
	if conn == nil {
		x.host.fault("an exchange has no Connection")
		return nil
	}
	later := out
	if conn.Out != nil {
		later = conn.Out
	}
	x.host.later.Go(func() { // begins before the result: the client may wait for it then
		<-x.over
		if err := x.notify(conn.Context(), later, note{ID: x.call.ID, Text: "unsolicited"}); err != nil && conn.Context().Err() == nil {
			x.host.fault("a Send outside of an exchange: %v", err)
		}
	})
	return x.result(ctx, out, x.call.Params.Text)
}

// pattern returns a text that differs in length and content from one frame to the next.
func pattern(from, seq int) string {
	return strings.Repeat(string(rune('a'+from%26)), 1+(from*31+seq*17)%700)
}
