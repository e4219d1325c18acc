package dialect

import (
	"github.com/kagami-mcp/kagami/protocol"
)

// Dialect is one revision of the protocol: what exists in it, how it is
// spelled, and which rules hold. Values are immutable and safe for concurrent
// use; get one from [All], [Of], [Handshake] or [PerRequest].
type Dialect struct {
	rev     protocol.Revision
	methods map[string]sides
	traits
	shapes
}

// sides says who may send a method under a revision.
type sides uint8

const (
	clientAsks sides = 1 << iota
	serverAsks
	clientTells
	serverTells
)

// Revision is the revision that d translates.
func (d *Dialect) Revision() protocol.Revision { return d.rev }

// String is the revision's date.
func (d *Dialect) String() string { return d.rev.String() }

// ClientMethod says that method is a request that a client may send under this
// revision, the requests of the tasks extension included (2026-07-28).
func (d *Dialect) ClientMethod(method string) bool { return d.methods[method]&clientAsks != 0 }

// ServerMethod says that method is a request that a server may make of the
// client under this revision: on the wire where ServerRequests holds, inside an
// input_required result where InputRounds does.
func (d *Dialect) ServerMethod(method string) bool { return d.methods[method]&serverAsks != 0 }

// ClientNotification says that a client may send the notification under this revision.
func (d *Dialect) ClientNotification(method string) bool { return d.methods[method]&clientTells != 0 }

// ServerNotification says that a server may send the notification under this revision.
func (d *Dialect) ServerNotification(method string) bool { return d.methods[method]&serverTells != 0 }

// add makes methods exist for the given sides, beside what they had.
func (d *Dialect) add(s sides, methods ...string) {
	for _, m := range methods {
		d.methods[m] |= s
	}
}

// remove makes methods not exist.
func (d *Dialect) remove(methods ...string) {
	for _, m := range methods {
		delete(d.methods, m)
	}
}
