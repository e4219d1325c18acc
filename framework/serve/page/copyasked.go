package page

import (
	"fmt"
	"strconv"

	"github.com/kagami-mcp/kagami/framework/serve/record"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// asked is a question of the server, with the client's answer, as found in the frames of a call.
type asked struct {
	method string
	params []byte
	answer []byte // nil before the answer
}

// askedIn returns the questions in the frames of a call, in order. The server asks them in requests
// or in rounds. On 2025-11-25 the client may first answer with a task, and the server then fetches
// the answer later.
func askedIn(frames []record.Frame) []*asked {
	var all []*asked
	open := map[string]*asked{} // by ID, by "/" and key, or by "task " and ID of the task
	ask := func(id string, question []byte) {
		q := &asked{method: textIn(question, "method")}
		q.params, _ = jsontext.Member(question, "params")
		switch q.method {
		case protocol.MethodTaskResult:
			open[id] = open["task "+textIn(q.params, "taskId")]
		case protocol.MethodElicit, protocol.MethodCreateMessage, protocol.MethodListRoots:
			if open[id] == nil { // otherwise the server repeats the question
				open[id], all = q, append(all, q)
			}
		}
	}
	answer := func(id string, result []byte) {
		if q := open[id]; q != nil {
			q.answer = result
			task, _ := jsontext.Member(result, "task")
			open["task "+textIn(task, "taskId")] = q
		}
	}
	for _, f := range frames {
		if jsontext.Check(f.Text, jsontext.DefaultLimits()) != nil {
			continue
		}
		id, _ := jsontext.Member(f.Text, "id")
		result, _ := jsontext.Member(f.Text, "result")
		params, _ := jsontext.Member(f.Text, "params")
		if f.Sent {
			answer(string(id), result)
			responses, _ := jsontext.Member(params, "inputResponses")
			for key, response := range jsontext.Members(responses) {
				answer("/"+key.String(), response)
			}
			continue
		}
		if id != nil {
			ask(string(id), f.Text)
		}
		requests, _ := jsontext.Member(result, "inputRequests")
		for key, request := range jsontext.Members(requests) {
			ask("/"+key.String(), request)
		}
	}
	return all
}

// scripted returns the line of a test that answers the question in the same way.
func (q *asked) scripted() string {
	if q.method != protocol.MethodElicit {
		return fmt.Sprintf("\t// The server sent %s: script the answer.\n", q.method)
	}
	answer := "testkit.Cancel"
	switch textIn(q.answer, "action") {
	case "decline":
		answer = "testkit.Decline"
	case "accept":
		content, _ := jsontext.Member(q.answer, "content")
		answer = fmt.Sprintf("json.RawMessage(%s)", goWithSecret(orEmpty(content)))
	}
	return fmt.Sprintf("\ts.OnElicit(%s, %s)\n", strconv.Quote(textIn(q.params, "message")), answer)
}
