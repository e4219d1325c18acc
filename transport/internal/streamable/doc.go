// Package streamable holds the rules of Streamable HTTP for all revisions on one
// URL, without an HTTP library: carriers such as fiberhttp and nethttp read a
// request, ask the endpoint, and write what it says.
//
//	pending, refused := endpoint.Check(ctx, &streamable.Request{Method: ..., Host: ..., Fields: ...})
//	if refused != nil { write(refused); return }
//	reply := pending.Serve(body)          // blocks until there is something to say
//	if reply.Stream == nil { write(reply); return }
//	reply.Stream.Serve(gone, sink)      // takes the connection over; or Begin, without a goroutine
//
// What holds whatever carries it:
//
//   - A status is not committed before the first byte: an answer that comes first
//     decides it, however late (2026-07-28: 404 for an unknown method, 400 for a
//     missing capability). A response becomes an SSE stream when the first other
//     message exists; on 2025-11-25 when the answer is not there at once, so that
//     the client can resume. For a client that takes nothing but SSE an answer that
//     comes first is one event with a length, on a connection that may be kept; like
//     an answer in JSON it is whole, and cannot be resumed.
//   - Every refusal has a JSON-RPC error as its body.
//   - A handshake session is a [transport.Connection] under a random id, bound to
//     the principal that opened it, ended by DELETE or after a while of idleness.
//   - What is sent on a resumable stream is numbered and kept in the host's
//     [eventlog.Store]; a client that comes back with Last-Event-ID gets what
//     it missed, from that stream only.
//   - The handler's context outlives the HTTP request on handshake revisions and
//     ends with it on 2026-07-28.
//
// Where the host shares a store ([transport.Server] Sessions, Events and Changes), any
// of its processes serves any session:
//
//   - The store has a record under a digest of the session's id, which it never sees.
//     Each request looks at it once: what another node has changed is seen, and a
//     session that has ended anywhere is 404 everywhere. While the store is away the
//     answer is 503, and the session stays.
//   - A node holds what it serves of a session until it is idle here. DELETE, or
//     idleness on all nodes, ends the session itself.
//   - A stream that broke is resumed at any node. One that does not run its exchange
//     reads the log until it finds the end that the other has marked; it gives up when
//     nothing has come for SessionIdle. If the other has died, it ends the stream, with the
//     answer that the exchange has left for that ([transport.Planned]).
//   - What belongs to no exchange is delivered by one node, where the client has asked
//     for it last, and dropped by the others. A client that comes to another node with
//     Last-Event-ID gets what it missed, one that comes without what happens from then.
//
// What idles is cheap: a session holds no timer, channel or stream of its own, and an open
// stream no goroutine; heartbeats of all streams come from one. A client that does not
// read makes nobody else wait.
//
// An Endpoint is safe for concurrent use. It starts goroutines only for requests, which
// stay for half a second at most when there are no others and end when the host begins
// to stop, one for all streams while there are any, and two with the first session that is
// shared; Shutdown joins them.
package streamable
