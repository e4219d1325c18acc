package header

import (
	"net/textproto"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/transport"
)

// Version is the header field that names the revision.
const Version = "Mcp-Protocol-Version"

// VersionField is the revision that the header of an HTTP request names.
type VersionField struct {
	Text    string           // empty if there is no such field
	Modern  *dialect.Dialect // nil: the revision has sessions, or is unknown
	Unclear bool             // the field is repeated or empty
}

// ReadVersion returns the field of a request.
func ReadVersion(r *transport.Request) (f VersionField) {
	if text, times := r.Fields.Value(Version); times > 0 {
		f.Text = textproto.TrimString(text)
		f.Unclear = times > 1 || f.Text == ""
		f.Modern, _ = dialect.PerRequest(f.Text)
	}
	return f
}

// Handshake returns a fault if the field names an unknown revision. It accepts the date of any
// handshake revision, because one existing client sends another revision than it negotiated. Without
// the field, the session decides.
func (f *VersionField) Handshake() *protocol.Fault {
	if f.Unclear || f.Text != "" && !dialect.KnownHandshake(f.Text) {
		return protocol.Faultf(protocol.FaultInvalidRequest, "unknown %s", Version)
	}
	return nil
}
