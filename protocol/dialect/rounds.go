package dialect

import (
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// inputRequests writes questions as bare {method, params} under their keys
// (2026-07-28 schema, InputRequests).
func (w *writer) inputRequests(list []protocol.InputRequest) {
	w.key("inputRequests")
	w.open('{')
	for i, q := range list {
		for _, before := range list[:i] {
			if before.Key == q.Key {
				w.fail("input request key %q is used twice", q.Key)
			}
		}
		w.keyOf(q.Key)
		w.inputRequest(q)
	}
	w.shut('}')
}

func (w *writer) inputRequest(q protocol.InputRequest) {
	m, ok := w.d.methods[q.Params.Method()]
	if !ok || !m.server || !m.request {
		w.fail("input request %q: %T cannot be asked", q.Key, q.Params)
		return
	}
	w.open('{')
	w.str("method", m.name)
	w.key("params")
	w.open('{')
	if m.params.write != nil {
		*w = m.params.write(*w, q.Params)
	}
	w.shut('}')
	w.shut('}')
}

// readInputRequests keeps the order of the questions on the wire.
func readInputRequests(d *Dialect, to *[]protocol.InputRequest, v []byte) *fail {
	if jsontext.KindOf(v) != jsontext.KindObject {
		return refuse("must be an object")
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
	params []byte
}

var bareRequestMembers = fields[bareRequest]{
	{"method", required, func(_ *Dialect, q *bareRequest, v []byte) *fail {
		return readEnum(&q.method, v, protocol.MethodElicit, protocol.MethodCreateMessage, protocol.MethodListRoots)
	}},
	{"params", optional, func(_ *Dialect, q *bareRequest, v []byte) *fail { return readObject(&q.params, v) }},
}

var (
	decodeCreateMessage = into(createMessageMembers)
	decodeListRoots     = into(fields[protocol.ListRootsParams]{})
)

func (q *bareRequest) decode(d *Dialect, v []byte) *fail {
	if f := bareRequestMembers.decode(d, q, v); f != nil {
		return f
	}
	var f *fail
	switch q.method {
	case protocol.MethodElicit:
		q.Params, f = decodeElicit(d, jsontext.Bare(q.params))
	case protocol.MethodCreateMessage:
		q.Params, f = decodeCreateMessage(d, jsontext.Bare(q.params))
	default:
		q.Params, f = decodeListRoots(d, jsontext.Bare(q.params))
	}
	if f != nil {
		return f.in("params")
	}
	return nil
}
