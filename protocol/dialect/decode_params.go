package dialect

import (
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

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

type paramsReader func(d *Dialect, o jsontext.Object) (protocol.Params, *fail)

// into returns a reader of params that uses a table of members.
func into[T any, P interface {
	*T
	protocol.Params
}](members fields[T]) paramsReader {
	return func(d *Dialect, o jsontext.Object) (protocol.Params, *fail) {
		t := new(T)
		if f := members.decodeObject(d, t, o); f != nil {
			return nil, f
		}
		return P(t), nil
	}
}
