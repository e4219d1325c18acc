// Package streamable holds the rules of Streamable HTTP for all revisions on one
// URL, without an HTTP library: carriers such as fiberhttp and nethttp read a
// request, ask the endpoint, and write what it says.
//
//	visit, refused := endpoint.Check(ctx, &streamable.Request{Method: ..., Host: ..., Fields: ...})
//	if refused != nil { write(refused); return }
//	reply := visit.Serve(body)          // blocks until there is something to say
//	if reply.Stream == nil { write(reply); return }
//	reply.Stream.Serve(gone, sink)      // takes the connection over
//
// What holds whatever carries it:
//
//   - A status is not committed before the first byte: an answer that comes first
//     decides it, however late (2026-07-28: 404 for an unknown method, 400 for a
//     missing capability). A response becomes an SSE stream when the first other
//     message exists; on 2025-11-25 when the answer is not there at once, so that
//     the client can resume.
//   - Every refusal has a JSON-RPC error as its body.
//   - A handshake session is a [transport.Connection] under a random id, bound to
//     the principal that opened it, ended by DELETE or after a while of idleness.
//   - What is sent on a resumable stream is numbered and kept in the host's
//     [eventlog.Store]; a client that comes back with Last-Event-ID gets what
//     it missed, from that stream only.
//   - The handler's context outlives the HTTP request on handshake revisions and
//     ends with it on 2026-07-28.
//
// An Endpoint is safe for concurrent use. It starts goroutines only for requests,
// and Shutdown joins them.
package streamable
