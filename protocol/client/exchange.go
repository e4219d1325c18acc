package client

import (
	"bytes"
	"encoding/json"

	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// outgoing is a frame with the properties that the carrier needs. They are parsed from the frame,
// so that the header fields are also right for frames of Exchange.
type outgoing struct {
	frame   []byte
	method  string // "" for a response, a batch, or a frame that is not a message
	params  []byte
	modern  *dialect.Dialect // revision without handshake that the frame names; nil if it does not name a known one
	version string           // version that the frame names
	waiting []jsonrpc.ID     // ids of requests without an answer so far; a zero id means a frame that cannot be decoded
}

// understand parses a frame. The result refers to the bytes of the frame.
func understand(frame []byte) *outgoing {
	o := &outgoing{frame: frame}
	if jsontext.Check(frame, jsontext.Limits{}) != nil {
		o.waiting = []jsonrpc.ID{{}}
		return o
	}
	if !jsonrpc.IsBatch(frame) {
		msg := o.expect(frame)
		o.method, o.params = msg.Method, msg.Params
		o.version, _ = dialect.Peek(msg.Params)
		o.modern, _ = dialect.PerRequest(o.version)
		return o
	}
	texts, fault := jsonrpc.Batch(frame)
	if fault != nil {
		o.waiting = []jsonrpc.ID{{}}
	}
	for _, text := range texts {
		o.expect(text)
	}
	return o
}

// expect decodes a message. If the server must answer the message, expect adds its id to waiting. If
// the message cannot be decoded, the result is zero.
func (o *outgoing) expect(text []byte) jsonrpc.Message {
	msg, fault := jsonrpc.Decode(text)
	switch {
	case fault == nil && msg.Kind == jsonrpc.Request:
		o.waiting = append(o.waiting, msg.ID)
	case fault != nil && !fault.Notification:
		o.waiting = append(o.waiting, fault.ID)
	}
	return msg
}

// decodeMessage decodes a message of the server. Programs in Lua or GDScript have no integers, and write
// the id 1001 as 1001.0.
func decodeMessage(text []byte) (jsonrpc.Message, *jsonrpc.Fault) {
	msg, fault := jsonrpc.Decode(text)
	if fault == nil {
		return msg, nil
	}
	id, _ := jsontext.Member(text, "id")
	whole, cut := bytes.CutSuffix(id, []byte(".0"))
	if !cut {
		return msg, fault
	}
	again := []byte{'{'}
	for key, value := range jsontext.Members(text) {
		if key.Is("id") {
			value = whole
		}
		again = appendMember(again, key.String(), value)
	}
	return jsonrpc.Decode(append(again, '}'))
}

// answeredBy returns the id of an answer that other programs read and Check refuses, for example
// because its text was cut within a pair of surrogates. For other texts the id is zero.
func answeredBy(text []byte) jsonrpc.ID {
	var a struct {
		ID     json.RawMessage `json:"id"`
		Method json.RawMessage `json:"method"`
	}
	if json.Unmarshal(text, &a) != nil || a.Method != nil && string(a.Method) != "null" {
		return jsonrpc.ID{}
	}
	id, _ := jsonrpc.ParseID(a.ID)
	return id
}
