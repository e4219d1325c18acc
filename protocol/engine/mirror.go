package engine

import (
	"errors"
	"strings"

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

// mirrored compares Mcp-Method and Mcp-Name with the body (2026-07-28
// basic/transports/streamable-http "Standard Headers"), and returns the name.
func (x *exchange) mirrored(params jsontext.Object) (name string, fault *protocol.Fault) {
	if !x.byHeader() {
		return "", nil
	}
	if method, ok := x.header(headerMethod); !ok || method != x.method {
		return "", unlike(x.request, headerMethod, "the method")
	}
	value, ok := x.header(headerName)
	name, err := dialect.DecodeMirror(value)
	same, named := dialect.MirrorsName(x.method, params, name)
	if named && (!ok || err != nil || !same) {
		return "", unlike(x.request, headerName, "the name")
	}
	return name, nil
}

// mirroredArguments compares the Mcp-Param-* fields with the arguments of a tool.
func (x *exchange) mirroredArguments(tool string, params jsontext.Object) *protocol.Fault {
	if !x.byHeader() || x.method != protocol.MethodCallTool {
		return nil
	}
	mirrors := x.snapshot.Mirrors(tool)
	if len(mirrors) == 0 {
		return nil
	}
	arguments, _ := params.Member("arguments")
	for i := range mirrors {
		if err := x.repeats(&mirrors[i], arguments); err != nil {
			return mismatch("%s: %v", mirrors[i].Header, err)
		}
	}
	return nil
}

func (x *exchange) repeats(m *dialect.Mirror, arguments []byte) error {
	want, present := m.Value(arguments)
	value, times := x.request.Fields.Value(m.Header)
	switch {
	case !present && times == 0:
		return nil
	case !present:
		return errors.New("the arguments hold no such value")
	case times != 1:
		return errors.New("it must be there once")
	}
	text, err := dialect.DecodeMirror(strings.Trim(value, " \t"))
	if err != nil {
		return err
	}
	if !m.Same(text, want) {
		return errors.New("it does not repeat the argument")
	}
	return nil
}

// byHeader reports whether the header of the HTTP request must repeat parts of this frame.
func (x *exchange) byHeader() bool {
	return x.request != nil && x.request.Sessions != nil && x.dialect.MirrorHeaders()
}

// header returns a field that must occur exactly once, without surrounding space. It returns false if
// the field is missing or repeated.
func (x *exchange) header(name string) (string, bool) {
	value, times := x.request.Fields.Value(name)
	if times != 1 {
		return "", false
	}
	return strings.Trim(value, " \t"), true
}

func mismatch(format string, args ...any) *protocol.Fault {
	return protocol.Faultf(protocol.FaultHeaderMismatch, format, args...)
}

// unlike returns the fault of a header that does not repeat a part of the body.
func unlike(r *transport.Request, header, what string) *protocol.Fault {
	switch _, n := r.Fields.Value(header); n {
	case 0:
		return mismatch("%s is missing: it must repeat %s in the body", header, what)
	case 1:
		return mismatch("%s does not repeat %s in the body", header, what)
	default:
		return mismatch("%s is there %d times: once is right", header, n)
	}
}
