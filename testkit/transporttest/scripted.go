package transporttest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kagami-mcp/kagami/transport"
)

// Scripted is a host for the tests of one carrier over HTTP. Its methods are: "echo",
// which sends the params back; "stream", which sends a note, waits for Let, and
// answers; "flood", which sends notes for as long as it can; and "block", which waits
// to be cancelled. Closing the response cancels all of them.
type Scripted struct {
	Let    chan struct{}        // to be closed by the test
	Began  chan context.Context // of each exchange
	Frames chan []byte          // as accepted
	Ended  chan struct{}        // of each "block" and "flood"
}

// NewScripted makes one for a few calls.
func NewScripted() *Scripted {
	const calls = 64
	return &Scripted{make(chan struct{}), make(chan context.Context, calls), make(chan []byte, calls), make(chan struct{}, calls)}
}

// Frame is a call of a method, with params in JSON.
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
