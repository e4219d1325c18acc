package client

import (
	"encoding/json"

	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// answerID returns the id that the answer to a frame will have. The id is zero if the server cannot
// read one. answerID returns false if the frame is never answered.
func answerID(frame []byte) (jsonrpc.ID, bool) {
	if jsontext.Check(frame, jsontext.Limits{}) != nil {
		return jsonrpc.ID{}, true
	}
	if !jsonrpc.IsBatch(frame) {
		return memberID(frame)
	}
	members, fault := jsonrpc.Batch(frame)
	if fault != nil {
		return jsonrpc.ID{}, true
	}
	for _, m := range members {
		if id, answered := memberID(m); answered {
			return id, true
		}
	}
	return jsonrpc.ID{}, false
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

func memberID(text []byte) (jsonrpc.ID, bool) {
	msg, fault := jsonrpc.Decode(text)
	if fault != nil {
		return fault.ID, !fault.Notification
	}
	return msg.ID, msg.Kind == jsonrpc.Request
}
