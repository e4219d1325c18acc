package testkit

import (
	"encoding/json"
	"fmt"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// retry holds the members that the request of the next round adds to the call (2026-07-28
// basic/patterns/mrtr).
type retry struct {
	answers []roundAnswer
	state   *string
}

// roundAnswer is the answer to one question.
type roundAnswer struct {
	key    string
	result json.RawMessage // nil if the answer is left out
}

// params returns the params of the call with the answers and the state of the round.
func (r retry) params(call json.RawMessage) json.RawMessage {
	out := append(json.RawMessage(nil), call[:len(call)-1]...)
	responses := []byte("{")
	for _, a := range r.answers {
		if a.result != nil {
			responses = appendMember(responses, a.key, a.result)
		}
	}
	out = appendMember(out, "inputResponses", append(responses, '}'))
	if r.state != nil {
		out = appendMember(out, "requestState", jsontext.Quote(nil, *r.state))
	}
	return append(out, '}')
}

// requiredOf returns the result of a round that asks. If the round asks nothing, it returns nil. It
// also returns nil if the result cannot be decoded, which is reported elsewhere.
func requiredOf(d *dialect.Dialect, method string, raw json.RawMessage) *protocol.InputRequiredResult {
	if raw == nil {
		return nil
	}
	result, fault := d.DecodeResult(method, raw)
	if fault != nil {
		return nil
	}
	required, _ := result.(*protocol.InputRequiredResult)
	return required
}

// encoded encodes an answer.
func encoded(d *dialect.Dialect, key string, result protocol.Result) (roundAnswer, error) {
	raw, err := d.AppendResult(nil, result, nil)
	if err != nil {
		return roundAnswer{}, fmt.Errorf("encoding the answer to %q: %w", key, err)
	}
	return roundAnswer{key, raw}, nil
}
