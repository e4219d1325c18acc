package client_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// Every round is a request in full: headers, arguments in headers, token.
func TestRoundsOverHTTP(t *testing.T) {
	t.Parallel()
	const tools = `{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[{"name":"x","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}`
	ids := make(chan string, 4)
	s := open(t, "2026-07-28", func(v *visit) bool {
		switch v.Method {
		case protocol.MethodListTools:
			v.result(tools)
			return true
		case protocol.MethodCallTool:
		default:
			return false
		}
		ids <- string(v.ID)
		for name, want := range map[string]string{
			"Mcp-Method": "tools/call", "Mcp-Name": "x", "Mcp-Protocol-Version": "2026-07-28",
			"Mcp-Param-Region": "eu", "Authorization": "Bearer t",
		} {
			if got := v.header(name); got != want {
				v.t.Errorf("call %d: %s is %q, want %q", v.n, name, got, want)
			}
		}
		switch v.n {
		case 0: // as the last message of a stream
			v.stream()
			v.event("", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`+v.at("_meta", "progressToken")+`,"progress":1}}`)
			v.event("", v.answer(required(`{"a":`+askForm+`,"b":`+askRoots+`}`, `"s\u00e9"`)))
		case 1:
			sameJSON(v.t, v.at("inputResponses"), `{"a":{"action":"accept","content":{"n":"ann"}},"b":{"roots":[{"uri":"file:///a"}]}}`)
			sameJSON(v.t, v.at("requestState"), `"sé"`)
			v.result(required("", `"t"`))
		default:
			sameJSON(v.t, v.at("requestState"), `"t"`)
			if v.at("inputResponses") != "" {
				v.t.Errorf("answers of an earlier round: %s", v.text)
			}
			v.result(complete)
		}
		return true
	})
	token := client.BearerToken(func(context.Context) (string, error) { return "t", nil })
	c := visitor(t, s, []client.HTTPOption{token}, saying("ann")...)
	for _, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	progress := 0
	r, err := c.CallTool(t.Context(), "x", map[string]string{"region": "eu"}, client.OnProgress(func(protocol.Progress) { progress++ }))
	if err != nil || r.Content[0].(protocol.Text).Text != "done" || progress != 1 {
		t.Errorf("%+v, %v, progress %d", r, err, progress)
	}
	close(ids)
	seen := map[string]bool{}
	for id := range ids {
		if seen[id] {
			t.Errorf("id %s twice", id)
		}
		seen[id] = true
	}
	if n := s.count(http.MethodPost + " " + protocol.MethodCallTool); n != 3 || len(seen) != 3 {
		t.Errorf("%d rounds", n)
	}
}

// On handshake revisions the question comes on the call's own stream, and the
// answer is a POST of its own.
func TestLiveQuestionsOverHTTP(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			answers := make(chan message, 3)
			s := open(t, revision, func(v *visit) bool {
				if v.verb == http.MethodPost && v.Method == "" {
					answers <- v.message
				}
				if v.Method != protocol.MethodCallTool {
					return false
				}
				v.stream()
				v.event("", `{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":9}}`)
				v.event("", `{"jsonrpc":"2.0","id":"r","method":"roots/list"}`)
				want := map[string]string{
					`"s"`: `{"role":"assistant","model":"m","content":{"type":"text","text":"yo"},"stopReason":"endTurn"}`,
					`"r"`: `{"roots":[{"uri":"file:///a"}]}`,
				}
				if revision != "2025-03-26" {
					v.event("", `{"jsonrpc":"2.0","id":"e","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{"n":{"type":"string"}}}}}`)
					want[`"e"`] = `{"action":"accept","content":{"n":"ann"}}`
				}
				for range len(want) {
					a := <-answers
					sameJSON(v.t, string(a.Result), want[string(a.ID)])
				}
				v.event("", v.answer(`{"content":[]}`))
				return true
			})
			c := visitor(t, s, nil, append(saying("ann"), only(t, revision))...)
			if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
				t.Error(err)
			}
		})
	}
}
