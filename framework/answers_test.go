package framework_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// maxAnswer bounds the answer to a wrong request, beside the schema's own words.
const maxAnswer = 8 << 10

type wideIn struct {
	Alpha, Bravo, Charlie, Delta, Echo, Foxtrot, Golf, Hotel, India, Juliett, Kilo, Lima int
	Words                                                                                []string       `json:"words,omitempty" validate:"max=3,dive,max=4"`
	Kind                                                                                 string         `json:"kind,omitempty" validate:"omitempty,oneof=a b"`
	Inner                                                                                map[string]int `json:"inner,omitempty"`
	When                                                                                 time.Time      `json:"when,omitzero"`
	For                                                                                  time.Duration  `json:"for,omitempty"`
}

func wideApp() *framework.App {
	app := framework.New("wide", "1.0")
	app.Add(
		framework.Tool("wide", func(context.Context, wideIn) (string, error) { return "done", nil }),
		framework.ResourceTemplate("notes://{id}", func(context.Context, struct {
			ID int `json:"id"`
		},
		) (string, error) {
			return "note", nil
		}),
		framework.Prompt("ask", func(context.Context, struct {
			N int `json:"n"`
		},
		) (framework.Messages, error) {
			return nil, nil
		}),
	)
	return app
}

// TestAnswersToWrongRequestsAreShort puts two megabytes of the caller's into each place of a
// request that an answer might repeat.
func TestAnswersToWrongRequestsAreShort(t *testing.T) {
	t.Parallel()
	server, err := wideApp().Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, rev := range protocol.Revisions() {
		c, err := client.Connect(t.Context(), client.InMemory(server), client.Revisions(rev))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		meta := ""
		if c.Revision() == "2026-07-28" {
			meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},`
		}
		for i, request := range wrongRequests(strings.Repeat("LONG", 500_000)) {
			id := strconv.Itoa(i + 1)
			params := strings.Replace(request.params, "{", "{"+meta, 1)
			answer, err := c.Exchange(t.Context(), []byte(`{"jsonrpc":"2.0","id":`+id+`,"method":"`+request.method+`","params":`+strings.Replace(params, ",}", "}", 1)+`}`))
			if err != nil {
				t.Fatalf("%s %s: %v", rev, request.method, err)
			}
			if len(answer) > maxAnswer {
				t.Errorf("%s: %.60s %.120s: %d bytes: %.300s", rev, request.method, request.params, len(answer), answer)
			}
		}
	}
}

type wrongRequest struct{ method, params string }

func wrongRequests(long string) []wrongRequest {
	many := func(format string, n int) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(parts, ",")
	}
	arguments := func(text string) wrongRequest {
		return wrongRequest{"tools/call", `{"name":"wide","arguments":` + text + `}`}
	}
	return []wrongRequest{
		{"tools/call", `{"name":"` + long + `"}`},
		{long, `{}`},
		{"tools/" + long, `{}`},
		{"resources/read", `{"uri":"` + long + `"}`},
		{"resources/read", `{"uri":"notes://` + long + `"}`},
		{"resources/subscribe", `{"uri":"x://` + long + `"}`},
		{"prompts/get", `{"name":"` + long + `"}`},
		{"prompts/get", `{"name":"ask","arguments":{"n":"` + long + `"}}`},
		{"prompts/get", `{"name":"ask","arguments":{"` + long + `":"1"}}`},
		{"tools/list", `{"cursor":"` + long + `"}`},
		{"logging/setLevel", `{"level":"` + long + `"}`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"` + long + `"},"argument":{"name":"n","value":""}}`},
		{"completion/complete", `{"ref":{"type":"` + long + `"},"argument":{"name":"n","value":""}}`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"ask"},"argument":{"name":"` + long + `","value":""}}`},
		{"tasks/get", `{"taskId":"` + long + `"}`},
		{"tools/call", `{"name":"wide","task":{"ttl":"` + long + `"}}`},
		{"tools/call", `{"name":"wide","` + long + `":1,"` + long + `":2}`},
		{"tools/call", `{"name":"wide","arguments":{},"inputResponses":{"` + long + `":{"action":"` + long + `"}}}`},
		{"tools/call", `{"name":"wide","arguments":{},"requestState":"` + long + `"}`},
		arguments(`{"` + long + `":1}`),
		arguments(`{"kind":"` + long + `"}`),
		arguments(`{"when":"` + long + `"}`),
		arguments(`{"for":"` + long + `"}`),
		arguments(`{"Alpha":"` + long + `"}`),
		arguments(`{"Alpha":` + "[" + many("%d", 50_000) + "]" + `}`),
		arguments(`{"words":["` + long + `","` + long + `"]}`),
		arguments(`{"words":[` + many(`"word%d"`, 50_000) + `]}`),
		arguments(`{"inner":{"` + long + `":"x"}}`),
		arguments(`{"inner":{` + many(`"k%d":"x"`, 50_000) + `}}`),
		arguments(`{` + many(`"unknown%d":1`, 50_000) + `}`),
		arguments(`"` + long + `"`),
		arguments(`[` + many("%d", 50_000) + `]`),
	}
}

// TestWrongArgumentsAreCheap counts what a call costs whose arguments are all unknown.
func TestWrongArgumentsAreCheap(t *testing.T) {
	tool := framework.Tool("wide", func(context.Context, wideIn) (string, error) { return "", nil })
	var names []string
	for i := range 60 {
		names = append(names, fmt.Sprintf(`"unknown_name_%d":1`, i))
	}
	wrong := []byte("{" + strings.Join(names, ",") + "}")
	if tool.Check(wrong) == nil {
		t.Fatal("accepted")
	}
	if allocs := testing.AllocsPerRun(20, func() { _ = tool.Check(wrong) }); allocs > 1500 {
		t.Errorf("%v allocations for %d bytes", allocs, len(wrong))
	}
}
