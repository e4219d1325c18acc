package dialect

import (
	"encoding/json"
	"fmt"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// inputRequests are questions: bare {method, params} under their keys, in the order of the wire
// (2026-07-28 schema, InputRequests).
var inputRequests = kind[[]protocol.InputRequest]{
	read:  readInputRequests,
	write: appendInputRequests,
	none:  func(list *[]protocol.InputRequest) bool { return len(*list) == 0 },
}

func appendInputRequests(d *Dialect, dst []byte, list *[]protocol.InputRequest) ([]byte, error) {
	dst = append(dst, '{')
	for i, q := range *list {
		for _, before := range (*list)[:i] {
			if before.Key == q.Key {
				return dst, fmt.Errorf("input request key %q is used twice", q.Key)
			}
		}
		dst = append(jsontext.Quote(comma(dst), q.Key), ':')
		var err error
		if dst, err = appendInputRequest(d, dst, q); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func appendInputRequest(d *Dialect, dst []byte, q protocol.InputRequest) ([]byte, error) {
	m, ok := d.methods[protocol.MethodOf(q.Params)]
	if !ok || !m.server.has(d) || !isRequest(m.name) {
		return dst, fmt.Errorf("input request %q: %T cannot be asked", q.Key, q.Params)
	}
	dst = jsontext.Quote(append(dst, `{"method":`...), m.name)
	dst, err := m.params.write(d, append(dst, `,"params":{`...), q.Params)
	return append(dst, "}}"...), err
}

func readInputRequests(d *Dialect, to *[]protocol.InputRequest, v []byte) *fail {
	v, f := objectOf(v)
	if f != nil {
		return f
	}
	if f := repeated(v); f != nil {
		return f
	}
	list := make([]protocol.InputRequest, 0, jsontext.Len(v))
	for key, e := range jsontext.Members(v) {
		q := bareRequest{InputRequest: protocol.InputRequest{Key: key.String()}}
		if f := q.decode(d, e); f != nil {
			return f.in(q.Key)
		}
		list = append(list, q.InputRequest)
	}
	*to = list
	return nil
}

type bareRequest struct {
	protocol.InputRequest
	method string
	params json.RawMessage
}

var bareRequestMembers = rows[bareRequest](
	required("method", enum(protocol.MethodElicit, protocol.MethodCreateMessage, protocol.MethodListRoots), func(q *bareRequest) *string { return &q.method }),
	optional("params", rawObject, func(q *bareRequest) *json.RawMessage { return &q.params }),
)

func (q *bareRequest) decode(d *Dialect, v []byte) (f *fail) {
	if f := bareRequestMembers.decode(d, q, v); f != nil {
		return f
	}
	if q.Params, f = d.methods[q.method].params.read(d, jsontext.Bare(q.params)); f != nil {
		return f.in("params")
	}
	return nil
}
