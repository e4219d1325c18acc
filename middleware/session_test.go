package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/transport"
)

// session is a client of 2025-11-25, with a connection of its own.
type session struct {
	s    *framework.Server
	ctx  context.Context
	last answer
}

func shake(t testing.TB, s *framework.Server) *session {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	p := &session{s: s, ctx: transport.Connect(ctx, transport.Peer{Carrier: "test"})}
	p.frame(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"peer","version":"1"}}}`)
	p.frame(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return p
}

func (p *session) frame(t testing.TB, text string) {
	t.Helper()
	x, err := p.s.Accept(p.ctx, []byte(text))
	if err != nil {
		t.Fatalf("Accept(%s): %v", text, err)
	}
	err = x.Serve(p.ctx, transport.OutboundFunc(func(_ context.Context, frame transport.Frame) error {
		var asked struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if err := json.Unmarshal(frame.JSON, &asked); err != nil {
			return err
		}
		switch {
		case asked.Method == "elicitation/create":
			go p.frame(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"sure":true}}}`, asked.ID))
			return nil
		case asked.Method != "":
			return nil
		}
		p.last = answer{raw: string(frame.JSON)}
		return json.Unmarshal(frame.JSON, &p.last)
	}))
	if err != nil {
		t.Errorf("Serve(%s): %v", text, err)
	}
}

func (p *session) call(t testing.TB, arguments string) answer {
	t.Helper()
	p.frame(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":%s}}`, lastID.Add(1), arguments))
	return p.last
}

// task calls t as a task and waits for its result.
func (p *session) task(t testing.TB) answer {
	t.Helper()
	p.frame(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":{},"task":{"ttl":3600000}}}`, lastID.Add(1)))
	var created struct {
		Result struct {
			Task struct {
				ID string `json:"taskId"`
			} `json:"task"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(p.last.raw), &created); err != nil || created.Result.Task.ID == "" {
		t.Fatalf("%v: no task: %s", err, p.last.raw)
	}
	p.frame(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tasks/result","params":{"taskId":%q}}`, lastID.Add(1), created.Result.Task.ID))
	return p.last
}
