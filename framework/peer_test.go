package framework_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// peer speaks raw frames to a server, in one revision.
type peer struct {
	t      testing.TB
	server *framework.Server
	ctx    context.Context
	rev    protocol.Revision
	caps   string            // client capabilities
	meta   map[string]string // further _meta members of requests, as JSON
	onAsk  func(method string, params json.RawMessage) (result string)

	mu       sync.Mutex // guards all below
	lastID   int
	answers  map[string]reply
	notified []wireFrame
	asked    []wireFrame
	asking   sync.WaitGroup
	watching chan<- string
}

// watch sends the methods of notifications to c from now on.
func (p *peer) watch(c chan<- string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watching = c
}

type rawJSON = json.RawMessage

type wireFrame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *wireError      `json:"error"`
}

type wireError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

type reply struct {
	t      testing.TB
	Result json.RawMessage
	Error  *wireError
}

type peerOption func(*peer)

func withCaps(caps string) peerOption { return func(p *peer) { p.caps = caps } }

func withMeta(key, value string) peerOption {
	return func(p *peer) { p.meta[key] = value }
}

func answering(fn func(method string, params json.RawMessage) string) peerOption {
	return func(p *peer) { p.onAsk = fn }
}

func as(principal *framework.Principal) peerOption {
	return func(p *peer) { p.ctx = transport.WithPrincipal(p.ctx, principal) }
}

func build(t testing.TB, app *framework.App) *framework.Server {
	t.Helper()
	s, err := app.Build()
	if err != nil {
		t.Fatalf("Build: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
	return s
}

// quiet is an app that logs nothing.
func quiet(opts ...framework.AppOption) *framework.App {
	return framework.New("test", "1.0.0", append([]framework.AppOption{framework.WithLogger(zap.NewNop())}, opts...)...)
}

func dial(t testing.TB, s *framework.Server, rev protocol.Revision, opts ...peerOption) *peer {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	p := &peer{t: t, server: s, rev: rev, caps: "{}", answers: map[string]reply{}, meta: map[string]string{}, ctx: ctx}
	for _, o := range opts {
		o(p)
	}
	p.ctx = transport.Connect(p.ctx, transport.Peer{Carrier: "test", Out: transport.OutboundFunc(p.receive)})
	if p.handshake() {
		r := p.call("initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"peer","version":"1"}}`, rev, p.caps))
		r.ok()
		p.frame(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return p
}

func (p *peer) handshake() bool { return p.rev != protocol.Rev20260728 }

// frame sends one frame and waits until the server has served it.
func (p *peer) frame(text string) {
	p.t.Helper()
	x, err := p.server.Accept(p.ctx, []byte(text))
	if err != nil {
		p.t.Fatalf("Accept(%s): %v", text, err)
	}
	if err := x.Serve(p.ctx, transport.OutboundFunc(p.receive)); err != nil {
		p.t.Errorf("Serve(%s): %v", text, err)
	}
}

func (p *peer) receive(_ context.Context, frame transport.Frame) error {
	var f wireFrame
	if err := json.Unmarshal(frame.JSON, &f); err != nil {
		return fmt.Errorf("reading %s: %w", frame.JSON, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case f.Method == "":
		p.answers[string(f.ID)] = reply{t: p.t, Result: f.Result, Error: f.Error}
	case f.ID == nil:
		p.notified = append(p.notified, f)
		if p.watching != nil {
			p.watching <- f.Method
		}
	default:
		p.asked = append(p.asked, f)
		if p.onAsk != nil {
			p.asking.Go(func() {
				result := p.onAsk(f.Method, f.Params)
				p.frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, f.ID, result))
			})
		}
	}
	return nil
}

func (p *peer) call(method, params string) reply {
	p.t.Helper()
	p.mu.Lock()
	p.lastID++
	id := fmt.Sprint(p.lastID)
	p.mu.Unlock()
	p.frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, p.params(method, params)))
	p.asking.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	r, ok := p.answers[id]
	if !ok {
		p.t.Fatalf("%s %s was not answered", method, params)
	}
	return r
}

// params adds the _meta that the revision wants and the test asks for.
func (p *peer) params(method, params string) string {
	if params == "" {
		params = "{}"
	}
	var members []string
	if !p.handshake() {
		members = append(members,
			fmt.Sprintf(`"io.modelcontextprotocol/protocolVersion":%q`, p.rev),
			`"io.modelcontextprotocol/clientCapabilities":`+p.caps,
			`"io.modelcontextprotocol/clientInfo":{"name":"peer","version":"1"}`)
	}
	for k, v := range p.meta {
		members = append(members, fmt.Sprintf("%q:%s", k, v))
	}
	if len(members) == 0 || method == "initialize" {
		return params
	}
	head := `{"_meta":{` + strings.Join(members, ",") + `}`
	if rest := strings.TrimPrefix(params, "{"); rest != "}" {
		return head + "," + rest
	}
	return head + "}"
}

func (p *peer) tool(name, arguments string) reply {
	p.t.Helper()
	return p.call("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments))
}

func (p *peer) read(uri string) reply {
	p.t.Helper()
	return p.call("resources/read", fmt.Sprintf(`{"uri":%q}`, uri))
}

// notifications of one method, parameters only.
func (p *peer) notifications(method string) []json.RawMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []json.RawMessage
	for _, f := range p.notified {
		if f.Method == method {
			out = append(out, f.Params)
		}
	}
	return out
}

func (r reply) ok() reply {
	r.t.Helper()
	if r.Error != nil {
		r.t.Fatalf("JSON-RPC error %d: %s %s", r.Error.Code, r.Error.Message, r.Error.Data)
	}
	return r
}

func (r reply) code(code int) reply {
	r.t.Helper()
	if r.Error == nil {
		r.t.Fatalf("want error %d, got the result %s", code, r.Result)
	}
	if r.Error.Code != code {
		r.t.Fatalf("want error %d, got %d: %s", code, r.Error.Code, r.Error.Message)
	}
	return r
}

type toolResult struct {
	Content           []map[string]any `json:"content"`
	StructuredContent json.RawMessage  `json:"structuredContent"`
	IsError           bool             `json:"isError"`
	Meta              map[string]any   `json:"_meta"`
}

func (r reply) tool() toolResult {
	r.t.Helper()
	r.ok()
	var out toolResult
	if err := json.Unmarshal(r.Result, &out); err != nil {
		r.t.Fatalf("reading %s: %v", r.Result, err)
	}
	return out
}

// text of all text blocks, and of errors.
func (r reply) text() string {
	r.t.Helper()
	if r.Error != nil {
		return r.Error.Message
	}
	var parts []string
	for _, b := range r.tool().Content {
		if s, ok := b["text"].(string); ok {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n")
}

func (r reply) isError() reply {
	r.t.Helper()
	if !r.tool().IsError {
		r.t.Fatalf("want an isError result, got %s", r.Result)
	}
	return r
}

func (r reply) mentions(words ...string) reply {
	r.t.Helper()
	for _, w := range words {
		if !strings.Contains(r.text(), w) {
			r.t.Errorf("the text does not mention %q:\n%s", w, r.text())
		}
	}
	return r
}

func (r reply) omits(words ...string) reply {
	r.t.Helper()
	for _, w := range words {
		if strings.Contains(string(r.Result), w) || r.Error != nil && strings.Contains(r.Error.Message+string(r.Error.Data), w) {
			r.t.Errorf("the answer mentions %q", w)
		}
	}
	return r
}

// field digs into the result by a dotted path; numbers are indexes.
func (r reply) field(path string) any {
	r.t.Helper()
	r.ok()
	var v any
	if err := json.Unmarshal(r.Result, &v); err != nil {
		r.t.Fatal(err)
	}
	for part := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[part]
		case []any:
			var i int
			if _, err := fmt.Sscan(part, &i); err != nil || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

// names lists one member of each entry of a list.
func (r reply) names(list, member string) []string {
	r.t.Helper()
	items, _ := r.field(list).([]any)
	out := []string{}
	for _, item := range items {
		name, _ := item.(map[string]any)[member].(string)
		out = append(out, name)
	}
	return out
}

// bothEras runs body once on the newest handshake revision and once on the
// revision that has none.
func bothEras(t *testing.T, body func(t *testing.T, rev protocol.Revision)) {
	t.Helper()
	for _, rev := range []protocol.Revision{protocol.Rev20251125, protocol.Rev20260728} {
		t.Run(rev.String(), func(t *testing.T) {
			t.Parallel()
			body(t, rev)
		})
	}
}

// allRevisions runs body on every revision.
func allRevisions(t *testing.T, body func(t *testing.T, rev protocol.Revision)) {
	t.Helper()
	for _, rev := range protocol.Revisions() {
		t.Run(rev.String(), func(t *testing.T) {
			t.Parallel()
			body(t, rev)
		})
	}
}
