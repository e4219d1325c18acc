package header

import (
	"errors"
	"net/textproto"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
)

// Header fields that repeat parts of the body.
const (
	headerMethod = "Mcp-Method"
	headerName   = "Mcp-Name"
)

// Name compares Mcp-Method and Mcp-Name with the body of a request (2026-07-28
// basic/transports/streamable-http "Standard Headers"), and returns the name.
func Name(r *transport.Request, method string, params jsontext.Object) (name string, fault *protocol.Fault) {
	if value, ok := single(r, headerMethod); !ok || value != method {
		return "", Unlike(r, headerMethod, "the method")
	}
	value, ok := single(r, headerName)
	name, err := dialect.DecodeMirror(value)
	same, named := dialect.MirrorsName(method, params, name)
	if named && (!ok || err != nil || !same) {
		return "", Unlike(r, headerName, "the name")
	}
	return name, nil
}

// Arguments compares the Mcp-Param-* fields with the arguments of a tool.
func Arguments(r *transport.Request, mirrors []dialect.Mirror, params jsontext.Object) *protocol.Fault {
	if len(mirrors) == 0 {
		return nil
	}
	arguments, _ := params.Member("arguments")
	for i := range mirrors {
		if err := repeats(r, &mirrors[i], arguments); err != nil {
			return Mismatch("%s: %v", mirrors[i].Header, err)
		}
	}
	return nil
}

func repeats(r *transport.Request, m *dialect.Mirror, arguments []byte) error {
	want, present := m.Value(arguments)
	value, times := r.Fields.Value(m.Header)
	switch {
	case !present && times == 0:
		return nil
	case !present:
		return errors.New("the arguments hold no such value")
	case times != 1:
		return errors.New("it must be there once")
	}
	text, err := dialect.DecodeMirror(textproto.TrimString(value))
	if err != nil {
		return err
	}
	if !m.Same(text, want) {
		return errors.New("it does not repeat the argument")
	}
	return nil
}

// single returns a field that must occur exactly once, without surrounding space. It returns false if
// the field is missing or repeated.
func single(r *transport.Request, name string) (string, bool) {
	value, times := r.Fields.Value(name)
	if times != 1 {
		return "", false
	}
	return textproto.TrimString(value), true
}

// Mismatch returns the fault of a header that does not agree with the body.
func Mismatch(format string, args ...any) *protocol.Fault {
	return protocol.Faultf(protocol.FaultHeaderMismatch, format, args...)
}

// Unlike returns the fault of a header that does not repeat a part of the body.
func Unlike(r *transport.Request, header, what string) *protocol.Fault {
	switch _, n := r.Fields.Value(header); n {
	case 0:
		return Mismatch("%s is missing: it must repeat %s in the body", header, what)
	case 1:
		return Mismatch("%s does not repeat %s in the body", header, what)
	default:
		return Mismatch("%s is there %d times: once is right", header, n)
	}
}
