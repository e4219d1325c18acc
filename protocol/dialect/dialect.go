package dialect

import (
	"github.com/kagami-mcp/kagami/protocol"
)

// Dialect is one revision of the protocol: what exists in it, how it is
// spelled, and which rules hold. Values are immutable and safe for concurrent
// use; get one from [All], [Of], [Handshake] or [PerRequest].
type Dialect struct {
	rev     protocol.Revision
	methods map[string]sent
	all     []*Dialect // of all revisions, oldest first
	traits
	shapes
}

// Revision is the revision that d translates.
func (d *Dialect) Revision() protocol.Revision { return d.rev }

// String is the revision's date.
func (d *Dialect) String() string { return d.rev.String() }

// ServerMethod reports whether a server may send the request under this revision: on the wire if
// ServerRequests is true, in an input_required result if InputRounds is true.
func (d *Dialect) ServerMethod(method string) bool {
	m, ok := d.methods[method]
	return ok && m.server && m.request()
}

// ClientNotification reports whether a client may send the notification under this revision.
func (d *Dialect) ClientNotification(method string) bool {
	m, ok := d.methods[method]
	return ok && m.client && !m.request()
}

// Serves reports whether a client may ask a server with these capabilities for method. session says
// whether the request belongs to a session.
func (d *Dialect) Serves(method string, has *protocol.ServerCapabilities, session bool) bool {
	m, ok := d.methods[method]
	return ok && m.client && m.request() && (session || !m.session) && m.needs.in(has)
}
