package auth_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware/auth"
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
						for range 5 {
							if token == "some" && got.status == http.StatusOK {
								got = send()
							}
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
