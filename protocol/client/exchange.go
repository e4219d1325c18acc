package client

import (
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

func memberID(text []byte) (jsonrpc.ID, bool) {
	msg, fault := jsonrpc.Decode(text)
	if fault != nil {
		return fault.ID, !fault.Notification
	}
	return msg.ID, msg.Kind == jsonrpc.Request
}
