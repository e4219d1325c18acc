package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// questions by the name of what would be approved, as (method, params).
func questions() map[string][2]string {
	return map[string][2]string{
		"form":   {"elicitation/create", form},
		"url":    {"elicitation/create", `{"mode":"url","message":"go","url":"https://u@a.example:8443/x?y=1","elicitationId":"e1"}`},
		"sample": {"sampling/createMessage", `{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"systemPrompt":"be","maxTokens":9,"temperature":0.5,"stopSequences":["s"],"includeContext":"none","metadata":{"m":1},"modelPreferences":{"hints":[{"name":"h"}]},"tools":[{"name":"t","inputSchema":{"type":"object"}}],"toolChoice":{"mode":"required"}}`},
		"roots":  {"roots/list", `{}`},
	}
}

// put asks one question in the way of the era, and returns the answer: a result,
// the code of an error, or "ended" where the call was given up. The server's call
// of an era with live questions goes on in any case.
func put(f *fake, era, method, params string) (result string, code int) {
	m := f.expect(protocol.MethodCallTool)
	if era == "2026-07-28" {
		f.result(m, required(`{"k":{"method":"`+method+`","params":`+params+`}}`, ""))
		next := f.next()
		if next.Method == protocol.MethodDiscover { // the call has ended
			f.result(next, discovery)
			return "ended", 0
		}
		f.result(next, complete)
		return next.at("inputResponses", "k"), 0
	}
	f.send(`{"jsonrpc":"2.0","id":"q","method":%q,"params":%s}`, method, params)
	a := f.next()
	f.result(m, complete)
	if a.Error != nil {
		return "", a.Error.Code
	}
	return string(a.Result), 0
}

// seenBy returns what the hook got.
func seenBy(a *client.Approval) string {
	switch a.Kind {
	case "form":
		return fmt.Sprintf("form %s %v", a.Message, strings.Contains(string(a.Elicit.Schema), `"n"`))
	case "url":
		return fmt.Sprintf("url %s %s %s %s", a.Message, a.URL, a.Host, a.Elicit.ID)
	case "sample":
		s := a.Sample
		return fmt.Sprintf("sample %s %s %d %v %v %s %s %s %s %s", a.Message, s.System, s.MaxTokens, *s.Temperature,
			s.StopSequences, s.IncludeContext, s.Metadata, s.Preferences.Hints[0], s.Tools[0].Name, s.ToolChoice)
	default:
		return a.Kind
	}
}

func TestApprove(t *testing.T) {
	t.Parallel()
	own := errors.New("not today")
	seen := map[string]string{
		"form": "form name? true", "url": "url go https://u@a.example:8443/x?y=1 a.example:8443 ",
		"sample": `sample hi be 9 0.5 [s] none {"m":1} h t required`, "roots": "roots",
	}
	for _, era := range eras() {
		for kind, q := range questions() {
			for _, refuse := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s refuse=%v", era, kind, refuse), func(t *testing.T) {
					t.Parallel()
					want := seen[kind]
					if kind == "url" && era != "2026-07-28" {
						want += "e1"
					}
					told := make(chan string, 1)
					c, wait := connect(t, func(f *fake) {
						f.era(era)
						result, code := put(f, era, q[0], q[1])
						switch {
						case !refuse && (code != 0 || result == "" || result == "ended" || strings.Contains(result, "decline")):
							f.t.Errorf("approved: %q, %d", result, code)
						case refuse && (kind == "form" || kind == "url") && result != `{"action":"decline"}`:
							f.t.Errorf("refused: %q, %d", result, code)
						case refuse && (kind == "sample" || kind == "roots") && result != "ended" && code != -1:
							f.t.Errorf("refused: %q, %d", result, code)
						}
					}, append(saying("x"), client.Approve(func(_ context.Context, a *client.Approval) error {
						told <- seenBy(a)
						if refuse {
							return own
						}
						return nil
					}))...)
					_, err := c.CallTool(t.Context(), "x", nil)
					ends := refuse && era == "2026-07-28" && (kind == "sample" || kind == "roots")
					if ends && (!errors.Is(err, client.ErrRejected) || !errors.Is(err, own)) || !ends && err != nil {
						t.Errorf("error %v", err)
					}
					if ends {
						_ = c.Ping(t.Context())
					}
					if got := <-told; got != want {
						t.Errorf("the hook saw %q, want %q", got, want)
					}
					wait()
				})
			}
		}
	}
}

func TestURLMustBeAbsolute(t *testing.T) {
	t.Parallel()
	never := client.OnElicit(func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) {
		t.Error("asked")
		return nil, nil
	})
	for _, era := range eras() {
		c, wait := connect(t, func(f *fake) {
			f.era(era)
			if got, code := put(f, era, "elicitation/create", `{"mode":"url","message":"go","url":"/x","elicitationId":"1"}`); got != "ended" && code != -32602 {
				f.t.Errorf("%s: %q, %d", era, got, code)
			}
		}, never)
		if _, err := c.CallTool(t.Context(), "x", nil); era == "2026-07-28" {
			if err == nil || !strings.Contains(err.Error(), "not an absolute one") {
				t.Errorf("error %v", err)
			}
			_ = c.Ping(t.Context())
		} else if err != nil {
			t.Error(err)
		}
		wait()
	}
}

// A model that wants to use tools says so the same way in both eras.
func TestSampleAnswersWithToolUse(t *testing.T) {
	t.Parallel()
	use := func(id string) protocol.Block {
		return protocol.ToolUse{ID: id, Name: "t", Input: []byte(`{"a":1}`)}
	}
	for _, era := range eras() {
		c, wait := connect(t, func(f *fake) {
			f.era(era)
			got, code := put(f, era, "sampling/createMessage", questions()["sample"][1])
			sameJSON(f.t, got, `{"role":"assistant","model":"m","stopReason":"toolUse","content":[{"type":"text","text":"hm"},`+
				`{"type":"tool_use","id":"1","name":"t","input":{"a":1}},{"type":"tool_use","id":"2","name":"t","input":{"a":1}}]}`)
			if code != 0 {
				f.t.Errorf("%s: %d", era, code)
			}
		}, client.OnSample(func(context.Context, *client.SampleRequest) (*client.SampleAnswer, error) {
			return &client.SampleAnswer{Model: "m", Content: []protocol.Block{protocol.Text{Text: "hm"}, use("1"), use("2")}, StopReason: "toolUse"}, nil
		}))
		if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
			t.Error(err)
		}
		wait()
	}
}
