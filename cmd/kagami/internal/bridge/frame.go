package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Names that only 2026-07-28 has.
const (
	metaRevision     = "io.modelcontextprotocol/protocolVersion"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
	acknowledged     = "notifications/subscriptions/acknowledged"
)

// frame contains the members of a JSON-RPC message that the bridge reads.
type frame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
}

func (f *frame) request() bool  { return f.Method != "" && len(f.ID) > 0 }
func (f *frame) response() bool { return f.Method == "" && len(f.ID) > 0 }

// key returns the id as a map key.
func key(id json.RawMessage) string { return string(bytes.TrimSpace(id)) }

// line returns the message in a line of its own. In a batch, other messages stand beside it.
func (f *frame) line() []byte {
	out := []byte(`{"jsonrpc":"2.0"`)
	if len(f.ID) > 0 {
		out = append(append(out, `,"id":`...), f.ID...)
	}
	out = fmt.Appendf(out, `,"method":%q`, f.Method)
	if len(f.Params) > 0 {
		out = append(append(out, `,"params":`...), f.Params...)
	}
	return append(out, '}')
}

// uri returns the URI in the parameters, or "".
func (f *frame) uri() (uri string) {
	_ = json.Unmarshal(f.param("uri"), &uri) // the server refuses anything else
	return uri
}

// framesOf reads a line: one message, or a batch.
func framesOf(line []byte) []frame {
	line = bytes.TrimSpace(line)
	if bytes.HasPrefix(line, []byte("[")) {
		var batch []frame
		_ = json.Unmarshal(line, &batch) // the server answers invalid JSON with an error
		return batch
	}
	var one frame
	_ = json.Unmarshal(line, &one)
	return []frame{one}
}

// alone returns the message of a line with one message, which may be in a batch.
func alone(line []byte) []byte {
	for message := range jsontext.Elements(line) {
		return message
	}
	return line
}

// param returns a member of the parameters, or of an object in them.
func (f *frame) param(path ...string) json.RawMessage {
	value := f.Params
	for _, name := range path {
		value, _ = jsontext.Member(value, name)
	}
	return value
}

// with returns the object with another value for one of its members.
func with(object []byte, name string, value json.RawMessage) []byte {
	out := []byte{'{'}
	found := false
	for k, old := range jsontext.Members(object) {
		if k.Is(name) {
			old, found = value, true
		}
		out = append(append(append(append(out, k.Raw()...), ':'), old...), ',')
	}
	if !found {
		out = append(append(fmt.Appendf(out, "%q:", name), value...), ',')
	}
	out[len(out)-1] = '}'
	return out
}

// quoted returns a text as a JSON string.
func quoted(text string) json.RawMessage {
	raw, _ := json.Marshal(text) // encoding a string does not fail
	return raw
}

// refusal returns the answer to a request that no process can serve. A tool call gets a tool error,
// which a model can read. Other requests get a JSON-RPC error.
func refusal(f *frame, text string) []byte {
	if f.Method != protocol.MethodCallTool {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":%s}}`, f.ID, quoted(text))
	}
	kind := ""
	if f.param("_meta", metaRevision) != nil {
		kind = `"resultType":"complete",`
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{%s"content":[{"type":"text","text":%s}],"isError":true}}`, f.ID, kind, quoted(text))
}

// news returns the notification that a list has changed. If listen is not nil, the notification
// contains the id of that subscription (2026-07-28).
func news(method string, listen json.RawMessage) []byte {
	if listen == nil {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q}`, method)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":{"_meta":{%q:%s}}}`, method, metaSubscription, listen)
}
