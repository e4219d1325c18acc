package interop_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// foreign is a server of another project, with the fixtures of the official suite or of
// node/fixture.mjs.
type foreign struct {
	name    string
	command func(t *testing.T, addr string) *exec.Cmd
	path    string
	// What it can do at a revision; the story leaves out the rest.
	negotiates string // where all revisions are offered
	sessions   bool   // and, with them, questions to the client
	own        bool   // has the tools that node/fixture.mjs adds
	resumes    bool   // streams, by event ids
	loses      bool   // notifications that its answer overtakes
	completes  bool
	changes    bool     // has a tool that changes its tools
	offers     []string // revisions
}

var handshakes = versions[:4]

var foreigners = []foreign{
	{
		name: "go-sdk stateful", command: goServer("github.com/modelcontextprotocol/go-sdk/conformance/everything-server", "-stateless=false", "-http=ADDR"),
		negotiates: "2025-11-25", sessions: true, completes: true, changes: true, offers: handshakes,
	},
	{
		name: "go-sdk stateless", command: goServer("github.com/modelcontextprotocol/go-sdk/conformance/everything-server", "-stateless", "-http=ADDR"),
		negotiates: modern, completes: true, changes: true, offers: versions,
	},
	{
		name: "mcp-go", command: goServer("github.com/mark3labs/mcp-go/examples/conformance"), path: "/mcp",
		negotiates: modern, sessions: true, completes: true, loses: true, offers: versions,
	},
	{
		name: "ts v1", command: nodeServer("server-v1.mjs"), path: "/mcp",
		negotiates: "2025-11-25", sessions: true, own: true, resumes: true, offers: handshakes,
	},
	{
		name: "ts v2", command: nodeServer("server-v2.mjs"), path: "/mcp",
		negotiates: modern, own: true, offers: versions,
	},
}

// goServer is a program of a module that this one depends on. ADDR and PORT in args
// stand for where it is to listen.
func goServer(pkg string, args ...string) func(*testing.T, string) *exec.Cmd {
	return func(t *testing.T, addr string) *exec.Cmd {
		bin := filepath.Join(t.TempDir(), "server")
		if out, err := exec.Command("go", "build", "-o", bin, pkg).CombinedOutput(); err != nil {
			t.Fatalf("building %s: %v\n%s", pkg, err, out)
		}
		_, port, _ := strings.Cut(addr, ":")
		cmd := exec.Command(bin)
		cmd.Env = append(os.Environ(), "CONFORMANCE_ADDR="+addr) // of mcp-go's
		for _, arg := range args {
			cmd.Args = append(cmd.Args, strings.NewReplacer("ADDR", addr, "PORT", port).Replace(arg))
		}
		return cmd
	}
}

func nodeServer(file string) func(*testing.T, string) *exec.Cmd {
	return func(t *testing.T, addr string) *exec.Cmd {
		installNode(t, "node")
		_, port, _ := strings.Cut(addr, ":")
		cmd := exec.Command("node", file, port)
		cmd.Dir = "node"
		return cmd
	}
}

// visit is our client's stay with a foreign server.
type visit struct {
	*client.Client
	foreign
	*process
	web      *web
	url      string
	mu       sync.Mutex
	heard    []protocol.Notification
	sessions bool // at this revision
}

// TestForeignServers has our client drive servers of others.
func TestForeignServers(t *testing.T) {
	for _, f := range foreigners {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			addr := freeAddr(t)
			process := spawn(t, addr, f.command(t, addr))
			t.Run("negotiation", func(t *testing.T) {
				v := f.visit(t, process, addr)
				if got := v.Revision(); got != f.negotiates {
					t.Errorf("negotiated %s", got)
				}
				v.leave(t)
			})
			for _, version := range f.offers {
				t.Run(version, func(t *testing.T) {
					rev, _ := protocol.ParseRevision(version)
					v := f.visit(t, process, addr, client.Revisions(rev))
					if got := v.Revision(); got != version {
						t.Fatalf("negotiated %s", got)
					}
					v.tell(t)
					v.leave(t)
				})
			}
		})
	}
}

func (f foreign) visit(t *testing.T, p *process, addr string, opts ...client.Option) *visit {
	t.Helper()
	v := &visit{foreign: f, process: p, web: newWeb(t), url: "http://" + addr + f.path}
	c, err := client.Connect(t.Context(), client.HTTP(v.url, client.HTTPClient(v.web.client())), append([]client.Option{
		client.Name("interop-kagami", "1"),
		client.LogLevel(protocol.LevelDebug),
		client.OnNotification(func(_ context.Context, n protocol.Notification) {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.heard = append(v.heard, n)
		}),
		client.OnElicit(func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) {
			return &client.ElicitAnswer{Action: "accept", Content: map[string]any{"username": "ada", "email": "ada@example.com", "random": "seven", "name": "Ada"}}, nil
		}),
		client.OnSample(func(context.Context, *client.SampleRequest) (*client.SampleAnswer, error) {
			return &client.SampleAnswer{Model: "m", Content: []protocol.Block{protocol.Text{Text: "four"}}}, nil
		}),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	v.Client, v.sessions = c, f.sessions && c.Revision() != modern
	return v
}

// leave closes the client, which ends the session where there is one.
func (v *visit) leave(t *testing.T) {
	t.Helper()
	if err := v.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	deletes := v.web.count(func(e exchange) bool { return e.method == http.MethodDelete && e.status/100 == 2 })
	if (deletes == 1) != v.sessions || deletes > 1 {
		t.Errorf("%d sessions were ended", deletes)
	}
}

// tell is the story. Its parts are in order, on one connection.
func (v *visit) tell(t *testing.T) {
	t.Run("lists", v.lists)
	t.Run("calls", v.calls)
	t.Run("progress and logs", v.notifications)
	t.Run("resources and prompts", v.resources)
	t.Run("cancel", v.cancel)
	if v.sessions {
		t.Run("questions", v.questions)
	}
	if v.changes && (v.sessions || v.Revision() == modern) {
		t.Run("list_changed", v.listChanged)
	}
	if v.own {
		t.Run("released stream", v.released)
	}
	if v.resumes && v.Revision() != "2024-11-05" { // which has no event ids
		t.Run("cut stream", v.cutStream)
	}
	if err := v.Ping(t.Context()); err != nil {
		t.Errorf("ping: %v", err)
	}
}

func (v *visit) lists(t *testing.T) {
	var tools []string
	for tool, err := range v.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, tool.Name)
	}
	for _, name := range []string{"test_simple_text", "test_error_handling", "test_tool_with_progress", "test_tool_with_logging"} {
		if !slices.Contains(tools, name) {
			t.Errorf("%s is not in %q", name, tools)
		}
	}
	listed := 0
	for resource, err := range v.Resources(t.Context()) {
		if err != nil || resource.URI == "" {
			t.Fatal(resource, err)
		}
		listed++
	}
	for prompt, err := range v.Prompts(t.Context()) {
		if err != nil || prompt.Name == "" {
			t.Fatal(prompt, err)
		}
		listed++
	}
	if listed < 2 {
		t.Errorf("%d resources and prompts", listed)
	}
}

func (v *visit) calls(t *testing.T) {
	v.says(t, "test_simple_text", nil, "This is a simple text response for testing.")
	r, err := v.CallTool(t.Context(), "test_error_handling", nil)
	if err != nil || !r.IsError {
		t.Errorf("a tool error: %+v, %v", r, err)
	}
	// The TypeScript SDK answers with an isError result, the others with an error.
	var wire *protocol.Error
	r, err = v.CallTool(t.Context(), "no_such_tool", nil)
	if !errors.As(err, &wire) && (err != nil || !r.IsError) {
		t.Errorf("an unknown tool: %+v, %v", r, err)
	}
}

// says calls a tool whose text must contain what is wanted.
func (v *visit) says(t *testing.T, name string, args any, want string, opts ...client.CallOption) {
	t.Helper()
	r, err := v.CallTool(t.Context(), name, args, opts...)
	if err != nil || r.IsError || len(r.Content) != 1 {
		t.Errorf("%s: %+v, %v", name, r, err)
		return
	}
	if text, _ := r.Content[0].(protocol.Text); !strings.Contains(text.Text, want) {
		t.Errorf("%s: %q", name, text.Text)
	}
}

func (v *visit) notifications(t *testing.T) {
	var seen []float64
	v.says(t, "test_tool_with_progress", nil, "", client.OnProgress(func(p protocol.Progress) { seen = append(seen, p.Done) }))
	if !slices.Equal(seen, []float64{0, 50, 100}) && (!v.loses || !slices.IsSorted(seen)) {
		t.Errorf("progress: %v", seen)
	}
	// The stateless servers of the handshake revisions have forgotten the level.
	stateless := !v.sessions && v.Revision() != modern
	before := v.count("notifications/message")
	v.says(t, "test_tool_with_logging", nil, "")
	if v.loses || stateless {
		return
	}
	within(t, "3 logs", func() bool { return v.count("notifications/message") == before+3 })
}

func (v *visit) count(method string) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := 0
	for _, heard := range v.heard {
		if heard.Method == method {
			n++
		}
	}
	return n
}

func (v *visit) resources(t *testing.T) {
	r, err := v.ReadResource(t.Context(), "test://static-text")
	if err != nil || len(r.Contents) != 1 {
		t.Errorf("read: %+v, %v", r, err)
	}
	if _, err := v.ReadResource(t.Context(), "test://nothing"); err == nil {
		t.Error("read what is not there")
	}
	p, err := v.GetPrompt(t.Context(), "test_prompt_with_arguments", map[string]string{"arg1": "x1", "arg2": "x2"})
	if err != nil || len(p.Messages) != 1 {
		t.Errorf("prompt: %+v, %v", p, err)
	}
	if v.completes {
		if _, err := v.Complete(t.Context(), &protocol.CompleteParams{Prompt: "test_prompt_with_arguments", Argument: "arg1", Value: "x"}); err != nil {
			t.Errorf("complete: %v", err)
		}
	}
}

// cancel gives up a call at its first progress notification. Only our own tools say
// whether the server heard of it.
func (v *visit) cancel(t *testing.T) {
	name, before := "test_tool_with_progress", 0
	if v.own {
		name, before = "slow", v.cancelled(t)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := v.CallTool(ctx, name, nil, client.OnProgress(func(protocol.Progress) { cancel() }))
	if !errors.Is(err, context.Canceled) && !v.loses { // it may be done before it says anything
		t.Fatalf("a cancelled call: %v", err)
	}
	if v.own && (v.sessions || v.Revision() == modern) { // otherwise the server does not remember the call
		within(t, "the cancellation of the handler", func() bool { return v.cancelled(t) > before })
	}
}

func (v *visit) cancelled(t *testing.T) int {
	t.Helper()
	text, err := client.Call[string](t.Context(), v.Client, "slow_cancelled", nil)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (v *visit) questions(t *testing.T) {
	v.says(t, "test_sampling", map[string]any{"prompt": "2+2?"}, "four")
	if v.Revision() >= "2025-06-18" {
		v.says(t, "test_elicitation", map[string]any{"message": "who?"}, "ada@example.com")
	}
}

// listChanged hears of a change: unasked in a session, else on a listen stream.
func (v *visit) listChanged(t *testing.T) {
	stop, err := v.Listen(t.Context(), protocol.SubscriptionFilter{Tools: true})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	before := v.count("notifications/tools/list_changed")
	v.says(t, "test_trigger_tool_change", nil, "")
	within(t, "list_changed", func() bool { return v.count("notifications/tools/list_changed") > before })
}

// released is a call whose stream the server ends before it answers.
func (v *visit) released(t *testing.T) {
	before := v.web.count(resumed)
	v.says(t, "test_reconnection", nil, "Reconnection test completed")
	if came := v.web.count(resumed) > before; came != (v.resumes && v.Revision() == "2025-11-25") {
		t.Errorf("came back: %v", came)
	}
}

// cutStream breaks a stream off in the midst.
func (v *visit) cutStream(t *testing.T) {
	before := v.web.count(resumed)
	v.web.cutNext(50)
	var seen []float64
	v.says(t, "burst", map[string]any{"n": 100}, "done", client.OnProgress(func(p protocol.Progress) { seen = append(seen, p.Done) }))
	if len(seen) != 100 || !slices.IsSorted(seen) {
		t.Errorf("%d progress notifications: %v", len(seen), seen)
	}
	if v.web.count(resumed) == before {
		t.Error("the stream was not resumed")
	}
}

// TestForeignRestart has servers with sessions crash under our client: it makes a new
// session by itself.
func TestForeignRestart(t *testing.T) {
	for _, f := range foreigners {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			addr := freeAddr(t)
			process := spawn(t, addr, f.command(t, addr))
			v := f.visit(t, process, addr)
			v.says(t, "test_simple_text", nil, "text")
			process.kill()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			if _, err := v.CallTool(ctx, "test_simple_text", nil); err == nil || ctx.Err() != nil {
				t.Errorf("a call while there is no server: %v", err)
			}
			cancel()
			spawn(t, addr, f.command(t, addr))
			v.says(t, "test_simple_text", nil, "text")
			v.leave(t)
		})
	}
}
