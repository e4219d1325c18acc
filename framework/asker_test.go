package framework_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// all is a client that can be asked everything.
const all = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{"listChanged":true}}`

// asker is a client that answers questions, whatever the revision: live, or in rounds.
type asker struct {
	*peer
	mu     sync.Mutex
	asked  []string          // what was asked, in a word each, in rounds with the keys
	params []json.RawMessage // likewise, in full
	rounds int
	// answer is the result for a question, as JSON; "" where the user refuses to
	// answer a model's question.
	answer  func(method string, params question) string
	between func() // two rounds; may be nil
	twice   bool   // each round is sent again
}

// question is what the tests look at.
type question struct {
	Message  string `json:"message"`
	URL      string `json:"url"`
	ID       string `json:"elicitationId"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name string `json:"name"`
	} `json:"tools"`
	ToolChoice struct {
		Mode string `json:"mode"`
	} `json:"toolChoice"`
}

// last is the content of the last message.
func (q question) last() string {
	if len(q.Messages) == 0 {
		return ""
	}
	return string(q.Messages[len(q.Messages)-1].Content)
}

func newAsker(t testing.TB, s *framework.Server, rev protocol.Revision, answer func(string, question) string, opts ...peerOption) *asker {
	t.Helper()
	a := &asker{answer: answer}
	opts = append([]peerOption{withCaps(all), answering(func(method string, params json.RawMessage) string {
		result := a.ask(method, params)
		if result == "" {
			return `"error":{"code":-1,"message":"User rejected sampling request"}`
		}
		return `"result":` + result
	})}, opts...)
	a.peer = dial(t, s, rev, opts...)
	return a
}

func (a *asker) ask(method string, params json.RawMessage) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var q question
	if err := json.Unmarshal(params, &q); err != nil {
		a.t.Errorf("the server asks %s: %v", params, err)
	}
	word := q.Message
	switch method {
	case protocol.MethodCreateMessage:
		word = "model"
	case protocol.MethodListRoots:
		word = "roots"
	}
	a.asked = append(a.asked, word)
	a.params = append(a.params, params)
	return a.answer(method, q)
}

type inputRequired struct {
	ResultType string `json:"resultType"`
	Requests   map[string]struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	} `json:"inputRequests"`
	State string `json:"requestState"`
}

// do calls until there is an answer.
func (a *asker) do(method, params string) reply {
	a.t.Helper()
	a.rounds = 1
	r := a.call(method, params)
	for ; r.Error == nil; a.rounds++ {
		var required inputRequired
		if err := json.Unmarshal(r.Result, &required); err != nil {
			a.t.Fatal(err)
		}
		if required.ResultType != "input_required" {
			return r
		}
		if a.rounds > 50 {
			a.t.Fatalf("the server asks for ever: %s", r.Result)
		}
		if a.between != nil {
			a.between()
		}
		next := a.retry(params, required)
		r = a.call(method, next)
		if !a.twice {
			continue
		}
		if again := a.call(method, next); string(again.Result) != string(r.Result) || (again.Error == nil) != (r.Error == nil) {
			a.t.Errorf("sent twice:\n%s %+v\n%s %+v", r.Result, r.Error, again.Result, again.Error)
		}
	}
	return r
}

func (a *asker) retry(params string, required inputRequired) string {
	a.t.Helper()
	answers := make(map[string]json.RawMessage)
	for _, key := range slices.Sorted(maps.Keys(required.Requests)) {
		q := required.Requests[key]
		if answer := a.ask(q.Method, q.Params); answer != "" {
			answers[key] = json.RawMessage(answer)
		}
	}
	responses, err := json.Marshal(answers)
	if err != nil {
		a.t.Fatal(err)
	}
	return fmt.Sprintf(`%s,"inputResponses":%s,"requestState":%q}`, strings.TrimSuffix(params, "}"), responses, required.State)
}

// said is an accepted form with one value.
func said(value string) string { return `{"action":"accept","content":{"value":` + value + `}}` }

// model is what a model answers with text.
func model(text string) string {
	return fmt.Sprintf(`{"role":"assistant","model":"m","stopReason":"endTurn","content":{"type":"text","text":%q}}`, text)
}

// using is a model that wants tools: pairs of a name and an input.
func using(pairs ...string) string {
	var blocks []string
	for i := 0; i < len(pairs); i += 2 {
		blocks = append(blocks, fmt.Sprintf(`{"type":"tool_use","id":"use%d","name":%q,"input":%s}`, i/2, pairs[i], pairs[i+1]))
	}
	return `{"role":"assistant","model":"m","stopReason":"toolUse","content":[` + strings.Join(blocks, ",") + `]}`
}

func unmarshal(t testing.TB, raw []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("reading %s: %v", raw, err)
	}
}
