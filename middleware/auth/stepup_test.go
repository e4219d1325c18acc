package auth_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport"
)

// A call that needs more scopes is 403 with all of them, on each revision, also for
// clients that take streams only; what is not there is not.
func TestStepUpOfComponents(t *testing.T) {
	t.Parallel()
	type key struct {
		X string `uri:"x"`
	}
	scopes := framework.Scopes("orders:write", "orders:read")
	app := func(a ...framework.AppOption) *framework.App {
		return framework.New("auth", "1", a...).Add(
			framework.Tool("refund", func(context.Context, struct{}) (string, error) { return "ok", nil }, framework.Describe("x"), scopes),
			framework.Resource("a://b", func(context.Context) (string, error) { return "", nil }, scopes),
			framework.ResourceTemplate("t://{x}", func(context.Context, key) (string, error) { return "", nil }, scopes),
			framework.Prompt("p", func(context.Context, struct{}) (framework.Messages, error) { return nil, nil }, scopes),
			framework.Method("example.com/m", func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil }, scopes),
			framework.Tool("open", func(context.Context, struct{}) (string, error) { return "ok", nil }, framework.Describe("x")),
		)
	}
	a := auth.Bearer(auth.Static{"some": {Subject: "a", Scopes: []string{"mcp", "orders:read"}}, "all": {Subject: "a", Scopes: []string{"mcp", "orders:read", "orders:write"}}},
		auth.Resource(resource), auth.AuthorizationServers("https://login.example.com"), auth.Require("mcp"))
	const challenge = `Bearer resource_metadata="` + metadataURL + `", scope="mcp orders:write orders:read", error="insufficient_scope", error_description="more scopes are needed"`
	const body = `{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"Forbidden"}}`
	calls := [][3]string{
		{"tools/call", `"name":"refund","arguments":{}`, "refund"},
		{"resources/read", `"uri":"a://b"`, "a://b"},
		{"resources/read", `"uri":"t://1"`, "t://1"},
		{"prompts/get", `"name":"p"`, "p"},
		{"example.com/m", `"a":1`, ""},
	}
	onApp(t, app(framework.WithAuth(a)), func(t *testing.T, s *site) {
		for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
			var session []string
			if revision != "2026-07-28" {
				session = []string{"Mcp-Session-Id", s.initialize(t, revision, "Authorization", "Bearer some").header.Get("Mcp-Session-Id")}
			}
			for _, call := range calls {
				for _, accept := range []string{"application/json, text/event-stream", "text/event-stream"} {
					for _, token := range []string{"some", "all"} {
						fields := append([]string{"Content-Type", "application/json", "Accept", accept, "Authorization", "Bearer " + token}, session...)
						meta := ""
						if revision == "2026-07-28" {
							fields = append(fields, "Mcp-Protocol-Version", revision, "Mcp-Method", call[0])
							if call[2] != "" {
								fields = append(fields, "Mcp-Name", call[2])
							}
							meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
						}
						send := func() *answer {
							return s.send(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":7,"method":"`+call[0]+`","params":{`+call[1]+meta+`}}`, fields...)
						}
						got := send()
						// On a machine that stalls, the stream has begun before the answer was there.
						for late := time.Now().Add(45 * time.Second); token == "some" && got.status == http.StatusOK && time.Now().Before(late); {
							got = send()
						}
						if token == "all" && got.status == http.StatusForbidden || token == "some" && (got.status != 403 || got.challenge() != challenge || got.body != body) {
							t.Errorf("%s %s %s as %s: %d %s %s", revision, call[0], accept, token, got.status, got.challenge(), got.body)
						}
					}
				}
			}
			if revision != "2026-07-28" {
				fields := append([]string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream", "Authorization", "Bearer some"}, session...)
				got := s.send(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"absent"}}`, fields...)
				if got.status != 200 || !strings.Contains(got.body, "unknown tool") {
					t.Errorf("%s: what is not there is %d %s", revision, got.status, got.body)
				}
				got = s.send(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, fields...)
				if strings.Contains(got.body, "refund") || !strings.Contains(got.body, "open") {
					t.Errorf("%s: listed %s", revision, got.body)
				}
			}
		}
	})
}

// A batch of 2025-03-26 in which nothing may be done is refused as one call is. Where some of
// it was done it is answered, and the challenges say what would have got the rest.
func TestStepUpOfBatches(t *testing.T) {
	t.Parallel()
	tool := func(name string, opts ...framework.Option) framework.Component {
		return framework.Tool(name, func(context.Context, struct{}) (string, error) { return "ok", nil }, append(opts, framework.Describe("x"))...)
	}
	a := auth.Bearer(auth.Static{"some": {Subject: "a", Scopes: []string{"mcp"}}},
		auth.Resource(resource), auth.AuthorizationServers("https://login.example.com"), auth.Require("mcp"))
	app := framework.New("auth", "1", framework.WithAuth(a)).Add(
		tool("open"), tool("read", framework.Scopes("orders:read")), tool("write", framework.Scopes("orders:write")))
	demand := func(scope string) string {
		return `Bearer resource_metadata="` + metadataURL + `", scope="mcp ` + scope + `", error="insufficient_scope", error_description="more scopes are needed"`
	}
	read, write := demand("orders:read"), demand("orders:write")
	const initialized = `,{"jsonrpc":"2.0","method":"notifications/initialized"}`
	tests := []struct {
		tools     []string
		more      string
		status    int
		challenge string
	}{
		{[]string{"open"}, "", 200, ""},
		{[]string{"open", "open"}, initialized, 200, ""},
		{[]string{"read"}, "", 403, read},
		{[]string{"read", "read"}, initialized, 403, read},
		{[]string{"write", "read"}, "", 403, read + ", " + write},
		{[]string{"read", "open"}, "", 200, read},
		{[]string{"open", "write", "read"}, "", 200, read + ", " + write},
	}
	onApp(t, app, func(t *testing.T, s *site) {
		session := s.initialize(t, "2025-03-26", "Authorization", "Bearer some").header.Get("Mcp-Session-Id")
		for _, tt := range tests {
			var calls []string
			for i, name := range tt.tools {
				calls = append(calls, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, i, name))
			}
			got := s.send(t, http.MethodPost, "/mcp", "["+strings.Join(calls, ",")+tt.more+"]", "Content-Type", "application/json",
				"Accept", "application/json", "Authorization", "Bearer some", "Mcp-Session-Id", session)
			for i, name := range tt.tools {
				want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32600,"message":"Forbidden"}}`, i)
				if name == "open" {
					want = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"ok"}]}}`, i)
				}
				if !strings.Contains(got.body, want) {
					t.Errorf("%v: %s has no %s", tt.tools, got.body, want)
				}
			}
			if got.status != tt.status || got.challenge() != tt.challenge {
				t.Errorf("%v: %d %s\nwant %d %s", tt.tools, got.status, got.challenge(), tt.status, tt.challenge)
			}
		}
	})
}

// TestStepUpOfTasks: a task is no way around the scopes of its tool.
func TestStepUpOfTasks(t *testing.T) {
	t.Parallel()
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
	a := auth.Bearer(auth.Static{"some": {Subject: "a"}, "all": {Subject: "a", Scopes: []string{"orders"}}}, auth.Resource(resource))
	app := framework.New("auth", "1", framework.WithAuth(a)).Add(
		framework.Tool("refund", func(context.Context, struct{}) (string, error) { return "ok", nil },
			framework.Describe("x"), framework.Scopes("orders"), framework.Task(framework.TaskOptional)))
	onApp(t, app, func(t *testing.T, s *site) {
		send := func(token, method, name, params string) *answer {
			return s.send(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":{`+params+`,`+meta+`}}`,
				"Content-Type", "application/json", "Accept", "application/json", "Authorization", "Bearer "+token,
				"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name)
		}
		_, rest, _ := strings.Cut(send("all", "tools/call", "refund", `"name":"refund","arguments":{}`).body, `"taskId":"`)
		id, _, made := strings.Cut(rest, `"`)
		if !made {
			t.Fatalf("no task: %s", rest)
		}
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			params := `"taskId":"` + id + `","inputResponses":{}`
			if got := send("some", method, id, params); got.status != http.StatusForbidden || !strings.Contains(got.challenge(), `scope="orders"`) {
				t.Errorf("%s without the scope: %d %s %s", method, got.status, got.challenge(), got.body)
			}
			if got := send("all", method, id, params); got.status != http.StatusOK || strings.Contains(got.body, `"error"`) {
				t.Errorf("%s with the scope: %d %s", method, got.status, got.body)
			}
		}
	})
}

// Scopes also imply others for a caller on stdio and for a user of a test. Without Bearer they imply
// nothing.
func TestImpliesWithoutARequest(t *testing.T) {
	t.Setenv("KAGAMI_TEST_TOKEN", "key")
	tool := framework.Tool("read", func(context.Context, struct{}) (string, error) { return "read", nil }, framework.Describe("x"), framework.Scopes("read"))
	app := func(a ...framework.AppOption) *framework.App {
		return framework.New("auth", "1", append(a, framework.WithLogger(zap.NewNop()))...).Add(tool)
	}
	guard := auth.Bearer(auth.Static{"key": {Subject: "alice", Scopes: []string{"admin"}}}, auth.Implies("admin", "write"), auth.Implies("write", "read"))
	guarded := app(framework.WithAuth(guard))
	for name, tt := range map[string]struct {
		app  *framework.App
		want bool
	}{"with Bearer": {guarded, true}, "without": {app(), false}} {
		server, err := tt.app.Build()
		if err != nil {
			t.Fatal(err)
		}
		for carrier, wrap := range map[string]func(transport.Transport) transport.Transport{
			"Local": auth.Local("admin"),
			"FromEnv": func(c transport.Transport) transport.Transport {
				return auth.FromEnv("KAGAMI_TEST_TOKEN", auth.Static{"key": {Subject: "alice", Scopes: []string{"admin"}}}, c)
			},
		} {
			s := &stage{}
			if err := wrap(s).Serve(t.Context(), server); err != nil {
				t.Fatal(err)
			}
			if s.who.Has("read") != tt.want || !s.who.Has("admin") {
				t.Errorf("%s, %s: %+v", name, carrier, s.who)
			}
		}
	}
	testkit.Matrix(t, guarded, func(t *testing.T, s *testkit.Session) {
		if got, err := testkit.Call(s, tool, struct{}{}); err != nil || got != "read" {
			t.Errorf("%q, %v", got, err)
		}
	}, testkit.User("ann", "admin"))
	path := filepath.Join(t.TempDir(), "read.jsonl")
	t.Run("record", func(t *testing.T) {
		s := testkit.New(t, guarded, testkit.User("ann", "admin"))
		s.Record(path)
		s.CallRaw("read", `{}`).OK()
	})
	testkit.Replay(t, guarded, path)
}
