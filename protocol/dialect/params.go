package dialect

import (
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// AppendParams appends the params of a request or notification, always as an object. m becomes its
// _meta and may be nil. A client request of 2026-07-28 always has the required members of _meta.
// AppendParams returns an error if the revision lacks the method. It accepts methods that are not
// in the specification.
func (d *Dialect) AppendParams(dst []byte, p protocol.Params, m *protocol.RequestMeta) ([]byte, error) {
	w := d.writer(dst)
	method := protocol.MethodOf(p)
	custom, isCustom := p.(*protocol.CustomParams)
	row, ok := d.methods[method]
	if !ok && !isCustom {
		w.fail("%s does not exist", method)
		return w.done()
	}
	var meta []byte
	w.open('{')
	if isCustom {
		meta = w.custom(custom.Raw)
	} else {
		w.take(row.params.write(d, w.b, p))
	}
	w.requestMeta(m, isRequest(method) && (isCustom || row.client.has(d)), meta)
	w.shut('}')
	return w.done()
}

// custom writes the members of an object outside the specification, except _meta, which it returns.
func (w *writer) custom(raw []byte) (meta []byte) {
	if len(raw) > 0 && jsontext.KindOf(raw) != jsontext.KindObject {
		w.fail("params must be an object")
	}
	for key, v := range jsontext.Members(raw) {
		if key.Is("_meta") {
			meta = v
			continue
		}
		w.keyOf(key.String())
		w.raw(v)
	}
	return meta
}

// DecodeParams decodes the params of a request or notification of either side. Nil params are
// absent. A method that the revision lacks yields CustomParams. The fault is an InvalidParams that
// names the member by its path. DecodeMeta reads _meta. Raw JSON in the result aliases params.
func (d *Dialect) DecodeParams(method string, params []byte) (protocol.Params, *protocol.Fault) {
	return d.DecodeParamsObject(method, jsontext.Bare(params))
}

// DecodeParamsObject is like DecodeParams, but uses the outline of the params.
func (d *Dialect) DecodeParamsObject(method string, params jsontext.Object) (protocol.Params, *protocol.Fault) {
	m, ok := d.methods[method]
	if !ok {
		return decodeCustom(method, params)
	}
	p, f := m.params.read(d, params)
	if f != nil {
		return nil, f.fault("params")
	}
	return p, nil
}

// decodeCustom reads params of a method that the revision lacks.
func decodeCustom(method string, o jsontext.Object) (protocol.Params, *protocol.Fault) {
	raw := o.Raw()
	if raw != nil && jsontext.KindOf(raw) != jsontext.KindObject {
		return nil, refuse("must be an object").fault("params")
	}
	if f := repeated(raw); f != nil {
		return nil, f.fault("params")
	}
	return &protocol.CustomParams{Name: method, Raw: raw}, nil
}

// codec decodes and encodes the params of a method.
type codec struct {
	read  func(d *Dialect, o jsontext.Object) (protocol.Params, *fail)
	write func(d *Dialect, dst []byte, p protocol.Params) ([]byte, error) // writes the members
}

// coded returns a codec of a function for each direction.
func coded[T any, P interface {
	*T
	protocol.Params
}](read func(d *Dialect, p *T, o jsontext.Object) *fail, write func(d *Dialect, dst []byte, p *T) ([]byte, error)) codec {
	return codec{
		read: func(d *Dialect, o jsontext.Object) (protocol.Params, *fail) {
			p := new(T)
			if f := read(d, p, o); f != nil {
				return nil, f
			}
			return P(p), nil
		},
		write: func(d *Dialect, dst []byte, p protocol.Params) ([]byte, error) {
			typed, _ := p.(P) // methods and types of params belong together
			return write(d, dst, typed)
		},
	}
}

// params returns a codec that uses a table of members.
func params[T any, P interface {
	*T
	protocol.Params
}](ms members[T]) codec {
	return coded[T, P](ms.decodeObject, ms.appendInto)
}

// listParams returns the codec for the params of a list request.
func listParams(kind protocol.ListKind) codec {
	return coded(func(d *Dialect, p *protocol.ListParams, o jsontext.Object) *fail {
		p.Kind = kind
		return listMembers.decodeObject(d, p, o)
	}, listMembers.appendInto)
}

// listChanged returns the codec for the params of a list_changed notification.
func listChanged(kind protocol.ListKind) codec {
	none := rows[protocol.ListChangedParams]()
	return coded(func(d *Dialect, p *protocol.ListChangedParams, o jsontext.Object) *fail {
		p.Kind = kind
		return none.decodeObject(d, p, o)
	}, none.appendInto)
}
