package transporttest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kagami-mcp/kagami/transport"
)

// Scripted is a host for the tests of one carrier over HTTP. It has four methods. "echo" sends the
// params back. "stream" sends a note, waits until Let is closed, and answers. "flood" sends notes
// until it is cancelled. "block" waits until it is cancelled. Closing the response cancels each of
// them.
type Scripted struct {
	Let    chan struct{}        // the test closes it
	Began  chan context.Context // context of each exchange
	Frames chan []byte          // frames, as accepted
	Ended  chan struct{}        // one element for the end of each "block" and "flood"
}

// NewScripted returns a Scripted with space for 64 calls.
func NewScripted() *Scripted {
	const calls = 64
	return &Scripted{make(chan struct{}), make(chan context.Context, calls), make(chan []byte, calls), make(chan struct{}, calls)}
}

// Frame returns a request with the method, and with params as JSON.
func Frame(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
}

// Accept implements transport.Host.
func (s *Scripted) Accept(_ context.Context, frame []byte) (transport.Exchange, error) {
	c := &scriptedCall{host: s}
	s.Frames <- frame
	return c, json.Unmarshal(frame, c)
}

type scriptedCall struct {
	host   *Scripted
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// Interrupted implements transport.Planned.
func (c *scriptedCall) Interrupted() []byte { return nil }

// Plan implements transport.Planned.
func (c *scriptedCall) Plan() transport.Plan {
	return transport.Plan{Answered: true, CancelByClose: true}
}

// Serve implements transport.Exchange.
func (c *scriptedCall) Serve(ctx context.Context, out transport.Outbound) error {
	c.host.Began <- ctx
	var err error
	switch c.Method {
	case "block":
		<-ctx.Done()
		c.host.Ended <- struct{}{}
		return context.Cause(ctx)
	case "flood":
		for err == nil {
			err = out.Send(ctx, transport.Frame{JSON: []byte(`{"jsonrpc":"2.0","method":"` + strings.Repeat("x", 1<<16) + `"}`)})
		}
		c.host.Ended <- struct{}{}
	case "stream":
		if err = out.Send(ctx, transport.Frame{JSON: []byte(`{"jsonrpc":"2.0","method":"note"}`)}); err == nil {
			<-c.host.Let
		}
	}
	if err != nil {
		return err
	}
	return out.Send(ctx, transport.Frame{JSON: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"result":%s}`, c.Params), Final: true})
}
