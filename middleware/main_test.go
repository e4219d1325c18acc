package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quiet is an app that logs nothing.
func quiet(opts ...framework.AppOption) *framework.App {
	return framework.New("test", "1.0.0", append([]framework.AppOption{framework.WithLogger(zap.NewNop())}, opts...)...)
}

// watched is an app whose log can be looked at.
func watched() (*framework.App, *observer.ObservedLogs) {
	core, logs := observer.New(zapcore.DebugLevel)
	return framework.New("test", "1.0.0", framework.WithLogger(zap.New(core))), logs
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

type stateless struct{}

func (stateless) Find() (*transport.Connection, error) { return nil, nil } //nolint:nilnil // the request names none
func (stateless) Open() (*transport.Connection, error) { return nil, transport.ErrNoSession }

// from is a request over HTTP.
func from(ctx context.Context, addr string, header map[string]string) context.Context {
	h := http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"t"}}
	for k, v := range header {
		h.Set(k, v)
	}
	return transport.WithRequest(ctx, &transport.Request{Fields: transport.HeaderFields(h), RemoteAddr: addr, Sessions: stateless{}})
}

func as(ctx context.Context, subject string) context.Context {
	return transport.WithPrincipal(ctx, &framework.Principal{Issuer: "https://id.example", Subject: subject})
}

// answer is a JSON-RPC response.
type answer struct {
	Result struct {
		Type    string `json:"resultType"`
		IsError bool   `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		State    string                     `json:"requestState"`
		TaskID   string                     `json:"taskId"`
		Status   string                     `json:"status"`
		Requests map[string]json.RawMessage `json:"inputRequests"`
	} `json:"result"`
	Error *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
	raw string
}

func (a answer) text() string {
	var all []string
	for _, c := range a.Result.Content {
		all = append(all, c.Text)
	}
	return strings.Join(all, "\n")
}

func (a answer) code() int {
	if a.Error == nil {
		return 0
	}
	return a.Error.Code
}

var lastID atomic.Int64

// request sends one request of 2026-07-28 in a frame of its own. meta and params are
// members, with a comma behind.
func request(ctx context.Context, t testing.TB, s *framework.Server, method, meta, params string) answer {
	t.Helper()
	frame := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s"_meta":{%s"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`,
		lastID.Add(1), method, params, meta)
	return send(ctx, t, s, frame)
}

// tasking is like request, from a client that declares tasks.
func tasking(ctx context.Context, t testing.TB, s *framework.Server, method, params string) answer {
	t.Helper()
	return send(ctx, t, s, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`,
		lastID.Add(1), method, params))
}

// send sends one frame and returns the answer.
func send(ctx context.Context, t testing.TB, s *framework.Server, frame string) answer {
	t.Helper()
	x, err := s.Accept(ctx, []byte(frame))
	if err != nil {
		t.Fatalf("Accept(%s): %v", frame, err)
	}
	var a answer
	var mu sync.Mutex
	err = x.Serve(ctx, transport.OutboundFunc(func(_ context.Context, frame transport.Frame) error {
		mu.Lock()
		defer mu.Unlock()
		a = answer{raw: string(frame.JSON)}
		return json.Unmarshal(frame.JSON, &a)
	}))
	if err != nil {
		t.Errorf("Serve(%s): %v", frame, err)
	}
	return a
}

// call calls the tool t.
func call(ctx context.Context, t testing.TB, s *framework.Server, arguments string) answer {
	t.Helper()
	return request(ctx, t, s, "tools/call", "", `"name":"t","arguments":`+arguments+`,`)
}

// doing is a tool t that does fn.
func doing(fn func(context.Context) error, opts ...framework.Option) framework.Component {
	return framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) { return "done", fn(ctx) }, opts...)
}

func nothing(context.Context) error { return nil }

type confirm struct {
	Sure bool `json:"sure"`
}

// asking is a tool t that asks n times, one question after the other.
func asking(n int, opts ...framework.Option) framework.Component {
	return doing(func(ctx context.Context) error {
		for i := range n {
			if _, err := framework.Elicit[confirm](ctx, fmt.Sprintf("Sure, %d?", i)); err != nil {
				return err
			}
		}
		return nil
	}, opts...)
}

// again is the next round of a call that was asked; yes answers every question.
func again(ctx context.Context, t testing.TB, s *framework.Server, a answer, yes bool) answer {
	t.Helper()
	if len(a.Result.Requests) == 0 {
		t.Fatalf("nothing was asked: %s", a.raw)
	}
	var answers []string
	for key := range a.Result.Requests {
		answers = append(answers, fmt.Sprintf(`%q:{"action":"accept","content":{"sure":%v}}`, key, yes))
	}
	return request(ctx, t, s, "tools/call", "",
		fmt.Sprintf(`"name":"t","arguments":{},"requestState":%q,"inputResponses":{%s},`, a.Result.State, strings.Join(answers, ",")))
}

// alone runs a step by itself, in front of next.
func alone(mw framework.Middleware, next framework.Handler) func(context.Context) (*framework.Result, error) {
	run := mw.Wrap(next)
	return func(ctx context.Context) (*framework.Result, error) {
		return run(ctx, &framework.Call{
			Method: "tools/call", Name: "t", ID: "c1", Arguments: json.RawMessage(`{}`),
			Component: framework.ComponentInfo{Kind: "tool", Name: "t"},
		})
	}
}

func answering(text string) framework.Handler {
	return func(context.Context, *framework.Call) (*framework.Result, error) {
		return &framework.Result{Body: &protocol.CallToolResult{Content: []protocol.Block{protocol.Text{Text: text}}}}, nil
	}
}
