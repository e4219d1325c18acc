package engine_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// handler is a function that answers a call.
type handler func(ctx context.Context, c *engine.Call) (protocol.Result, error)

func (h handler) Handle(ctx context.Context, c *engine.Call) (protocol.Result, error) {
	return h(ctx, c)
}

// ask asks the client one question.
func ask(ctx context.Context, c *engine.Call, p protocol.Params, progress func(protocol.Progress)) (protocol.Result, error) {
	reply := c.Questions(ctx, engine.Question{Params: p, Progress: progress})[0]
	return reply.Result, reply.Err
}

// catalog serves tools by name and the resource test://r.
type catalog map[string]handler

func (k catalog) Snapshot() engine.Snapshot { return k }

func (k catalog) Capabilities() protocol.ServerCapabilities {
	return protocol.ServerCapabilities{
		Tools: true, ToolsListChanged: true, Resources: true, ResourcesSubscribe: true, ResourcesChanged: true,
	}
}

func (k catalog) List(_ context.Context, c *engine.Call, p *protocol.ListParams) (*protocol.Page, error) {
	page := &protocol.Page{Kind: p.Kind}
	if p.Cursor != nil {
		return nil, protocol.Faultf(protocol.FaultInvalidParams, "invalid cursor")
	}
	if p.Kind == protocol.ListTools {
		entry, err := c.Dialect.AppendTool(nil, &protocol.Tool{Name: "echo", InputSchema: json.RawMessage(`{"type":"object"}`)})
		page.Entries = [][]byte{entry}
		return page, err
	}
	return page, nil
}

func (k catalog) Find(_ context.Context, _ *engine.Call, p protocol.Params) (engine.Handler, error) {
	switch p := p.(type) {
	case *protocol.CallToolParams:
		if h, ok := k[p.Name]; ok {
			return h, nil
		}
		return nil, protocol.Faultf(protocol.FaultInvalidParams, "unknown tool %q", p.Name)
	case *protocol.ReadResourceParams:
		if strings.HasPrefix(p.URI, "test://r") {
			return handler(func(context.Context, *engine.Call) (protocol.Result, error) {
				return &protocol.ReadResourceResult{Contents: []protocol.Contents{{URI: p.URI, Text: "r"}}}, nil
			}), nil
		}
		return nil, &protocol.Fault{Kind: protocol.FaultResourceNotFound, Message: "not found", URI: p.URI}
	}
	return nil, protocol.Faultf(protocol.FaultMethodNotFound, "method not found")
}

func (k catalog) Subscribe(ctx context.Context, c *engine.Call, uri string) error {
	_, err := k.Find(ctx, c, &protocol.ReadResourceParams{URI: uri})
	return err
}

func (k catalog) Mirrors(string) []dialect.Mirror { return nil }

func (k catalog) Complete(context.Context, *engine.Call, *protocol.CompleteParams) (*protocol.Completion, error) {
	return &protocol.Completion{}, nil
}

func text(s string) *protocol.CallToolResult {
	return &protocol.CallToolResult{Content: []protocol.Block{protocol.Text{Text: s}}}
}

// peer is one connection that records what it is sent.
type peer struct {
	t      testing.TB
	e      *engine.Engine
	ctx    context.Context
	close  context.CancelFunc
	frames chan string
	served sync.WaitGroup

	patience time.Duration // of next, 0: the usual one; a bubble of synctest may need more
}

func connect(t testing.TB, e *engine.Engine) *peer {
	p := &peer{t: t, e: e, frames: make(chan string, 4096)}
	ctx, cancel := context.WithCancel(t.Context())
	p.ctx, p.close = transport.Connect(ctx, transport.Peer{Carrier: "test", Out: p}), cancel
	t.Cleanup(func() { cancel(); p.served.Wait() })
	return p
}

func (p *peer) Send(_ context.Context, frame transport.Frame) error {
	if !json.Valid(frame.JSON) {
		return errors.New("not JSON: " + string(frame.JSON))
	}
	p.frames <- string(frame.JSON)
	return nil
}

// send accepts a frame in order and serves it in a goroutine.
func (p *peer) send(frame string) {
	p.t.Helper()
	x, err := p.e.Accept(p.ctx, []byte(frame))
	if err != nil {
		p.t.Fatalf("accept %s: %v", frame, err)
	}
	p.served.Go(func() {
		if err := x.Serve(p.ctx, p); err != nil {
			p.t.Errorf("serve %s: %v", frame, err)
		}
	})
}

// ask sends a frame and returns the next one that comes.
func (p *peer) ask(frame string) string {
	p.t.Helper()
	p.send(frame)
	return p.next()
}

// patience is how long a frame may take, so that a rule that is broken is named within a minute.
const patience = 45 * time.Second

func (p *peer) next() string {
	p.t.Helper()
	long := cmp.Or(p.patience, patience)
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case f := <-p.frames:
		return f
	case <-timer.C:
		p.t.Fatalf("no frame within %v", long)
		return ""
	}
}

// quiet serves a frame to its end and fails if anything was sent.
func (p *peer) quiet(frame string) {
	p.t.Helper()
	p.send(frame)
	p.served.Wait()
	select {
	case f := <-p.frames:
		p.t.Fatalf("%s was answered: %s", frame, f)
	default:
	}
}

func (p *peer) initialize(version, capabilities string) string {
	p.t.Helper()
	answer := p.ask(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"` + version +
		`","capabilities":` + capabilities + `,"clientInfo":{"name":"c","version":"1"}}}`)
	p.quiet(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return answer
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func newEngine(t testing.TB, k catalog) *engine.Engine {
	t.Helper()
	return engine.New(engine.Config{Info: protocol.Implementation{Name: "s", Version: "1"}, Catalog: k})
}

// shows fails unless the frame has all of the parts.
func shows(t testing.TB, frame string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(frame, part) {
			t.Fatalf("want %s in %s", part, frame)
		}
	}
}
