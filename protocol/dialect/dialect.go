package dialect

import (
	"github.com/kagami-mcp/kagami/protocol"
)

// Dialect is one revision of the protocol: its methods, its wire form and its rules. Dialects are
// immutable and safe for concurrent use. Get one from [All], [Of], [Handshake] or [PerRequest].
type Dialect struct {
	rev     protocol.Revision
	bit     revisions // contains only rev
	methods map[string]*method
	all     []*Dialect // dialects of all revisions, oldest first
}

// Revision returns the revision of d.
func (d *Dialect) Revision() protocol.Revision { return d.rev }

// String returns the date of the revision.
func (d *Dialect) String() string { return d.rev.String() }

// ServerMethod reports whether a server may send the request method on this revision. If
// ServerRequests is true, it sends the request on the wire. If InputRounds is true, it sends the
// request in an input_required result.
func (d *Dialect) ServerMethod(method string) bool {
	m, ok := d.methods[method]
	return ok && m.server.has(d) && isRequest(method)
}

// ClientNotification reports whether a client may send the notification method on this revision.
func (d *Dialect) ClientNotification(method string) bool {
	m, ok := d.methods[method]
	return ok && m.client.has(d) && !isRequest(method)
}

// Serves reports whether a client may send the request method to a server with these capabilities.
// session must report whether the request belongs to a session.
func (d *Dialect) Serves(method string, has *protocol.ServerCapabilities, session bool) bool {
	m, ok := d.methods[method]
	return ok && m.client.has(d) && isRequest(method) && (session || !m.session) && (m.needs == nil || m.needs(*has))
}
