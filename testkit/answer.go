package testkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Answer is a raw answer with assertions. A failed assertion shows what was sent and the answer.
type Answer struct {
	t       testing.TB
	dialect *dialect.Dialect
	sent    string
	raw     json.RawMessage // the result, or the whole frame if it is not a single response
	result  protocol.Result // raw decoded; nil if the dialect does not know it
	err     error           // the server's error
	refused *Error          // err as tests see it
	batch   []*Answer       // the responses, if raw is a batch
}

// decode decodes the raw result of a method.
func (a *Answer) decode(method string) {
	a.t.Helper()
	result, fault := a.dialect.DecodeResult(method, a.raw)
	if fault != nil {
		a.t.Fatalf("testkit: the answer is not a result of %s at %s: %s\nsent: %s\ngot:  %s", method, a.dialect, fault.Message, a.sent, a.raw)
		return
	}
	a.result = result
}

// frame reads the answer to a raw frame. An answer that is not a single response is kept as it
// is.
func (a *Answer) frame(sent string, answer []byte) {
	a.t.Helper()
	a.raw = answer
	switch {
	case len(answer) == 0:
		return
	case jsonrpc.IsBatch(answer):
		a.responses(sent, answer)
		return
	}
	msg, fault := jsonrpc.Decode(answer)
	if fault != nil {
		a.t.Fatalf("testkit: the answer is not JSON-RPC: %s\nsent: %s\ngot:  %s", fault.Reason, sent, answer)
		return
	}
	request, fault := decodeSent(sent)
	if fault == nil {
		a.dialect = dialectOf(request.Params, a.dialect)
	}
	if msg.Kind == jsonrpc.Failure {
		a.err = a.dialect.DecodeError(msg.Error)
		a.refused = asError(a.err)
		return
	}
	a.raw = msg.Result
	if fault == nil {
		a.result, _ = a.dialect.DecodeResult(request.Method, msg.Result)
	}
}

// responses reads the responses of a batch.
func (a *Answer) responses(sent string, answer []byte) {
	a.t.Helper()
	for response := range jsontext.Elements(answer) {
		one := &Answer{t: a.t, dialect: a.dialect, sent: sent}
		one.frame(requestOf(sent, response), response)
		a.batch = append(a.batch, one)
	}
}

// requestOf returns the request of a batch that a response answers. Without one, it returns "".
func requestOf(batch string, response []byte) string {
	id, _ := jsontext.Member(response, "id")
	if jsontext.Check([]byte(batch), jsontext.Limits{}) != nil {
		return ""
	}
	for request := range jsontext.Elements([]byte(batch)) {
		if sent, ok := jsontext.Member(request, "id"); ok && bytes.Equal(sent, id) {
			return string(request)
		}
	}
	return ""
}

func decodeSent(frame string) (jsonrpc.Message, *jsonrpc.Fault) {
	if jsontext.Check([]byte(frame), jsontext.Limits{}) != nil {
		return jsonrpc.Message{}, &jsonrpc.Fault{Code: jsonrpc.CodeParse}
	}
	return jsonrpc.Decode([]byte(frame))
}

// failure returns the JSON-RPC error or the isError result as an error, of a batch the first one.
// If there is neither, it returns nil.
func (a *Answer) failure() error {
	for _, one := range a.batch {
		if err := one.failure(); err != nil {
			return err
		}
	}
	if a.refused != nil {
		return a.refused
	}
	if r, ok := a.result.(*protocol.CallToolResult); ok && r.IsError {
		return &Error{Text: dialect.TextOf(r.Content), Result: r}
	}
	return nil
}

// got returns the answer as text, for failure messages.
func (a *Answer) got() string {
	switch {
	case a.refused != nil:
		s := "error " + a.refused.Error()
		if data, ok := a.data(); ok {
			s += " data " + data
		}
		return s
	case len(a.raw) == 0:
		return "nothing"
	}
	return string(a.raw)
}

func (a *Answer) data() (string, bool) {
	var e *protocol.Error
	if !errors.As(a.err, &e) || e.Data == nil {
		return "", false
	}
	if raw, ok := e.Data.(json.RawMessage); ok {
		return string(raw), true
	}
	return fmt.Sprint(e.Data), true
}

func (a *Answer) fatalf(format string, args ...any) {
	a.t.Helper()
	a.t.Fatalf("testkit: %s\nsent: %s\ngot:  %s", fmt.Sprintf(format, args...), a.sent, a.got())
}

// OK fails the test on any error. An error of one response of a batch counts.
func (a *Answer) OK() *Answer {
	a.t.Helper()
	if a.failure() != nil {
		a.fatalf("want success")
	}
	return a
}

// IsError fails the test on success. An isError result and a JSON-RPC error both count, because
// revisions differ. In a batch, one of either is enough.
func (a *Answer) IsError() *Answer {
	a.t.Helper()
	if a.failure() == nil {
		a.fatalf("want an error")
	}
	return a
}

// Code fails the test unless the answer is a JSON-RPC error with this code.
func (a *Answer) Code(code int) *Answer {
	a.t.Helper()
	if a.refused == nil || a.refused.Code != code {
		a.fatalf("want JSON-RPC error %d", code)
	}
	return a
}

// Mentions fails the test unless the text contains all words.
func (a *Answer) Mentions(words ...string) *Answer {
	a.t.Helper()
	text := a.Text()
	for _, w := range words {
		if !strings.Contains(text, w) {
			a.fatalf("the text does not mention %q", w)
		}
	}
	return a
}

// Omits fails the test if the text contains any word.
func (a *Answer) Omits(words ...string) *Answer {
	a.t.Helper()
	text := a.Text()
	for _, w := range words {
		if strings.Contains(text, w) {
			a.fatalf("the text mentions %q", w)
		}
	}
	return a
}

// Text returns the text of all blocks, contents or messages, or of the error. The text of embedded
// resources, and the name, URI and description of links, are included. Structured content is not
// included; see [Answer.JSON]. If the answer has no text, for example only an image, Text returns
// "". If the answer is not from a tool, a resource or a prompt, Text returns its JSON.
func (a *Answer) Text() string {
	if a.refused != nil {
		return a.refused.Text
	}
	var texts []string
	switch r := a.result.(type) {
	case *protocol.CallToolResult:
		return wordsOf(r.Content)
	case *protocol.ReadResourceResult:
		for _, c := range r.Contents {
			if c.Data == nil {
				texts = append(texts, c.Text)
			}
		}
	case *protocol.GetPromptResult:
		for _, m := range r.Messages {
			texts = append(texts, wordsOf(m.Blocks()))
		}
	default:
		return string(a.raw)
	}
	return strings.Join(texts, "\n")
}

// JSON decodes the structured result, or the text if there is none, with encoding/json. If the
// answer is not a result of a tool or resource, it decodes the whole result.
func (a *Answer) JSON(into any) *Answer {
	a.t.Helper()
	a.OK()
	raw := []byte(a.raw)
	switch r := a.result.(type) {
	case *protocol.CallToolResult:
		raw = a.structured(r)
	case *protocol.ReadResourceResult:
		raw = []byte(a.Text())
	}
	if err := json.Unmarshal(raw, into); err != nil {
		a.fatalf("want JSON for %T: %v", into, err)
	}
	return a
}

// structured returns the structured result. 2025-06-18 and 2025-11-25 require an object {"result":
// ...} around values that are not objects, and structured removes it. If the object was added for
// this reason, the text contains the bare value.
func (a *Answer) structured(r *protocol.CallToolResult) []byte {
	text := []byte(dialect.TextOf(r.Content))
	if r.Structured == nil {
		return text
	}
	inner, ok := jsontext.Member(r.Structured, "result")
	if a.dialect.Handshake() && ok && jsontext.Len(r.Structured) == 1 && sameJSON(inner, text) {
		return inner
	}
	return r.Structured
}

func sameJSON(a, b []byte) bool {
	if jsontext.Check(b, jsontext.Limits{}) != nil {
		return false
	}
	return bytes.Equal(jsontext.Compact(nil, a), jsontext.Compact(nil, b))
}

// Blocks returns the blocks of a tool result, also of one with isError.
func (a *Answer) Blocks() []protocol.Block {
	a.t.Helper()
	if r, ok := a.result.(*protocol.CallToolResult); ok {
		return r.Content
	}
	a.fatalf("want the result of a tool")
	return nil
}

// Contents returns the contents of a resource.
func (a *Answer) Contents() []protocol.Contents {
	a.t.Helper()
	if r, ok := a.result.(*protocol.ReadResourceResult); ok {
		return r.Contents
	}
	a.fatalf("want the contents of a resource")
	return nil
}

// Messages returns the messages of a prompt.
func (a *Answer) Messages() []protocol.Message {
	a.t.Helper()
	if r, ok := a.result.(*protocol.GetPromptResult); ok {
		return r.Messages
	}
	a.fatalf("want the messages of a prompt")
	return nil
}

// Meta returns the result's _meta, or nil if there is none.
func (a *Answer) Meta() protocol.Meta {
	a.t.Helper()
	if a.refused != nil {
		a.fatalf("want a result")
	}
	raw, ok := jsontext.Member(a.raw, "_meta")
	if !ok {
		return nil
	}
	var meta protocol.Meta
	if err := json.Unmarshal(raw, &meta); err != nil {
		a.fatalf("want _meta: %v", err)
	}
	return meta
}
