package serve_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// turns sends each request to another process.
type turns struct {
	hosts []string
	last  atomic.Int64
}

func (r *turns) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL.Host = r.hosts[r.last.Add(1)%int64(len(r.hosts))]
	return http.DefaultTransport.RoundTrip(req)
}

// stateless is what each of the processes serves.
func stateless(t *testing.T, opts ...framework.AppOption) *framework.Server {
	t.Helper()
	app := framework.New("alike", "1.0.0", append(opts, framework.WithLogger(zap.NewNop()))...)
	app.Add(
		framework.Tool("count", func(ctx context.Context, in struct{ To int }) (string, error) {
			for n := range in.To {
				framework.Progress(ctx, n, in.To, "counting")
			}
			framework.Notify(ctx, protocol.LevelDebug, "detail")
			framework.Notify(ctx, protocol.LevelInfo, "counted")
			return fmt.Sprint("counted to ", in.To, " for session ", framework.Caller(ctx).Session), nil
		}, framework.Describe("d")),
		framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
			answer, err := framework.Elicit[struct{ Name string }](ctx, "Who?")
			return answer.Name, err
		}, framework.Describe("d")),
		framework.Tool("film", func(context.Context, struct{}) (string, error) { return "filmed", nil },
			framework.Describe("d"), framework.Task(framework.TaskOptional)),
		framework.Resource("notes://all", func(context.Context) (string, error) { return "all", nil }),
	)
	s, err := app.Build()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// alike starts a process on each of the carriers.
func alike(t *testing.T, opts ...framework.AppOption) *turns {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	serve := func(t transport.Transport, s *framework.Server) { go func() { ended <- s.Serve(ctx, t) }() }
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	addresses := make(chan net.Addr, 2)
	listens := func(a net.Addr) { addresses <- a }
	serve(fiberhttp.New("127.0.0.1:0", fiberhttp.Stateless(), fiberhttp.OnListen(listens)), stateless(t, opts...))
	serve(nethttp.New("127.0.0.1:0", nethttp.Stateless(), nethttp.OnListen(listens)), stateless(t, opts...))
	return &turns{hosts: []string{(<-addresses).String(), (<-addresses).String()}}
}

func TestStateless(t *testing.T) {
	t.Parallel()
	processes := alike(t, framework.WithStore(memory.New()), framework.WithStateSecrets([]byte("thirty-two bytes that nobody knows")))
	for _, rev := range protocol.Revisions() {
		if rev == protocol.Rev20241105 {
			continue // it has another binding
		}
		t.Run(rev.String(), func(t *testing.T) {
			t.Parallel()
			testStateless(t, processes, rev)
		})
	}
}

// testStateless: any process takes any request, and what cannot be is refused.
func testStateless(t *testing.T, processes *turns, rev protocol.Revision) {
	var logs atomic.Int32
	c, err := client.Connect(t.Context(), client.HTTP("http://"+processes.hosts[0]+"/mcp", client.HTTPClient(&http.Client{Transport: processes})),
		client.Revisions(rev), client.LogLevel(protocol.LevelInfo), client.OnNotification(func(_ context.Context, n protocol.Notification) {
			if n.Method == "notifications/message" {
				logs.Add(1)
			}
		}), client.OnElicit(func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) {
			return &client.ElicitAnswer{Action: "accept", Content: map[string]any{"Name": "Ada"}}, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	handshake := rev != protocol.Rev20260728
	if can := c.Capabilities(); !can.Tools || can.ToolsListChanged == handshake || can.ResourcesSubscribe == handshake || can.Logging == handshake {
		t.Errorf("the server says that it can %+v", can)
	}
	for range 4 {
		var reports atomic.Int32
		said, err := client.Call[string](t.Context(), c, "count", map[string]any{"To": 3}, client.OnProgress(func(protocol.Progress) { reports.Add(1) }))
		if said != "counted to 3 for session " || err != nil || reports.Load() != 3 || handshake == (logs.Load() > 0) {
			t.Errorf("%q, %v, after %d reports and %d log messages", said, err, reports.Load(), logs.Load())
		}
	}
	switch name, err := client.Call[string](t.Context(), c, "ask", nil); {
	case handshake && (err == nil || !strings.Contains(err.Error(), "is not possible with this client")):
		t.Errorf("a question: %q, %v", name, err)
	case !handshake && (name != "Ada" || err != nil):
		t.Errorf("a question in rounds: %q, %v", name, err)
	}
	film, err := c.CallTask(t.Context(), "film", nil)
	if err != nil {
		t.Fatal(err)
	}
	if result, err := film.Wait(t.Context()); err != nil || fmt.Sprint(result.Content) != fmt.Sprint([]protocol.Block{protocol.Text{Text: "filmed"}}) {
		t.Errorf("a task: %+v, %v", result, err)
	}
	if _, err := c.Subscribe(t.Context(), "notes://all"); handshake && err == nil {
		t.Error("a subscription that nobody would hear of is accepted")
	}
}

func TestStatelessOnTheWire(t *testing.T) {
	t.Parallel()
	processes := alike(t)
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	for name, tt := range map[string]struct {
		method, version, session, body string
		status                         int
		want                           string
	}{
		"initialize":               {"POST", "", "", initialize, 200, `"protocolVersion":"2025-11-25"`},
		"initialized":              {"POST", "2025-11-25", "", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202, ""},
		"an answer to nothing":     {"POST", "2025-11-25", "", `{"jsonrpc":"2.0","id":7,"result":{}}`, 202, ""},
		"at its revision":          {"POST", "2025-11-25", "", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 200, `"taskSupport":"optional"`},
		"at an older one":          {"POST", "", "", `[` + ping + `,{"jsonrpc":"2.0","id":2,"method":"ping"}]`, 200, `[{"jsonrpc":"2.0","id":`},
		"at one that is not":       {"POST", "2025-01-01", "", ping, 400, "unknown"},
		"a level":                  {"POST", "2025-11-25", "", `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}`, 200, "method not found"},
		"a list of nobody's tasks": {"POST", "2025-11-25", "", `{"jsonrpc":"2.0","id":1,"method":"tasks/list"}`, 200, "method not found"},
		"a session of before":      {"POST", "2025-11-25", "abc", ping, 404, "no such session"},
		"the stream of a session":  {"GET", "2025-11-25", "", "", 405, ""},
		"the end of a session":     {"DELETE", "2025-11-25", "abc", "", 405, ""},
		"another method":           {"PUT", "2025-11-25", "", ping, 405, ""},
	} {
		for _, host := range processes.hosts {
			r, err := http.NewRequestWithContext(t.Context(), tt.method, "http://"+host+"/mcp", strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
			for key, value := range map[string]string{"Mcp-Protocol-Version": tt.version, "Mcp-Session-Id": tt.session} {
				if value != "" {
					r.Header.Set(key, value)
				}
			}
			got, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(got.Body)
			if err = errors.Join(err, got.Body.Close()); err != nil || got.StatusCode != tt.status || !strings.Contains(string(body), tt.want) {
				t.Errorf("%s: %s: %s, %v", name, got.Status, body, err)
			}
			if id := got.Header.Get("Mcp-Session-Id"); id != "" {
				t.Errorf("%s: there is the session %q", name, id)
			}
			if allowed := got.Header.Get("Allow"); tt.status == 405 && allowed != "POST" {
				t.Errorf("%s: allowed is %q", name, allowed)
			}
		}
	}
}
