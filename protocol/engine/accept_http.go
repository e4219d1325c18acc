package engine

import (
	"errors"
	"net/http"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/header"
	"github.com/kagami-mcp/kagami/transport"
)

// agree compares the version field of a posted request with its body (2026-07-28 basic/versioning).
// The official suite determines the order of the checks.
func (a *arrival) agree(x *exchange, b *requestParams) *protocol.Fault {
	switch {
	case b.claimed && (a.version.Unclear || a.version.Text != b.version):
		x.dialect, _ = dialect.PerRequest(dialect.PerRequestVersions()[0])
		return header.Unlike(a.request, header.Version, "the protocolVersion")
	case b.claimed:
		return nil
	case a.version.Modern != nil && x.method == protocol.MethodInitialize:
		x.dialect = a.version.Modern
		return header.Mismatch("%s names a revision that has no initialize", header.Version)
	}
	return nil
}

// find finds the session that a posted frame names (2025-03-26 basic/transports "Session
// Management"). If the request does not name a session, the fault is sent as 400. If the session is
// unknown, it is sent as 404.
//
// The session is in use until the carrier has finished the request. It sets x.conn, also if it
// returns a fault because the session has ended.
func (a *arrival) find(x *exchange) *protocol.Fault {
	if fault := a.version.Handshake(); fault != nil {
		return fault
	}
	link, err := a.request.Sessions.Find()
	if err != nil {
		return x.notFound(err)
	}
	if link == nil {
		return needsSession()
	}
	x.conn = a.e.connection(link)
	if link.OneRequest {
		x.conn.assume(a.version.Text)
	}
	x.session = x.conn.current()
	if x.session == nil {
		return x.notFound(x.conn.unopened())
	}
	x.dialect = x.session.dialect
	return nil
}

// notFound returns the fault for an error of Sessions.Find or conn.unopened. If sessions cannot be looked
// up now, the status is not 404, because 404 would end the session.
func (x *exchange) notFound(err error) *protocol.Fault {
	if errors.Is(err, transport.ErrUnavailable) {
		x.status = http.StatusServiceUnavailable
		return protocol.Faultf(protocol.FaultInternal, "sessions cannot be looked up now")
	}
	x.status = http.StatusNotFound
	return noSuchSession()
}

// unopened returns a fault if a posted initialize names a session. On a carrier without sessions,
// unopened sets x.conn.
func (a *arrival) unopened(x *exchange) *protocol.Fault {
	if fault := a.version.Handshake(); fault != nil {
		return fault
	}
	link, err := a.request.Sessions.Find()
	switch {
	case err != nil:
		return x.notFound(err)
	case link == nil:
		return nil
	case !link.OneRequest:
		return alreadyInitialized()
	}
	x.conn = a.e.connection(link)
	return nil
}

// open gives a posted initialize a new session of the carrier, if it has no connection yet.
func (a *arrival) open(x *exchange) *protocol.Fault {
	if x.conn != nil {
		return nil
	}
	link, err := a.request.Sessions.Open()
	if err != nil {
		x.status = http.StatusServiceUnavailable
		return protocol.Faultf(protocol.FaultInternal, "too many sessions")
	}
	x.conn = a.e.connection(link)
	return nil
}

// byHeader reports whether the header of the HTTP request must repeat parts of this frame.
func (x *exchange) byHeader() bool {
	return x.request != nil && x.request.Sessions != nil && x.dialect.MirrorHeaders()
}
