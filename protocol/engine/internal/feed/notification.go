package feed

import (
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Notification encodes one notification frame.
func Notification(d *dialect.Dialect, p protocol.Params, m *protocol.RequestMeta) ([]byte, error) {
	return AppendNotification(nil, d, p, m)
}

// AppendNotification is like Notification, but appends to dst. If it fails, it returns dst unchanged.
func AppendNotification(dst []byte, d *dialect.Dialect, p protocol.Params, m *protocol.RequestMeta) ([]byte, error) {
	frame := append(dst, `{"jsonrpc":"2.0","method":`...)
	frame = append(jsontext.Quote(frame, protocol.MethodOf(p)), `,"params":`...)
	frame, err := d.AppendParams(frame, p, m)
	if err != nil {
		return dst, err
	}
	return append(frame, '}'), nil
}
