// Package streamable implements the rules of Streamable HTTP for all revisions on one URL, without
// an HTTP library. Carriers such as fiberhttp and nethttp read a request, call the endpoint, and
// write its reply.
//
//	pending, refused := endpoint.Check(ctx, &streamable.Request{Method: ..., Host: ..., Fields: ...})
//	if refused != nil { write(refused); return }
//	reply := pending.Serve(body)          // blocks until the response is decided
//	if reply.Stream == nil { write(reply); return }
//	reply.Stream.Serve(gone, sink)      // takes the connection over; or Begin, without a goroutine
//
// With every carrier the following holds:
//
//   - The status is decided by the first byte of the response. If the answer comes first, it
//     decides the status, however late it comes (2026-07-28: 404 for an unknown method, 400 for a
//     missing capability).
//   - A response becomes an SSE stream when another message is sent before the answer. On
//     2025-11-25 it also does if the answer takes longer than StreamDelay, so that the client can
//     resume. For a client that accepts only SSE, an answer that comes first is one event with a
//     length, on a connection that may stay open. Like an answer in JSON it is whole, and cannot be
//     resumed.
//   - Every refusal has a JSON-RPC error as its body.
//   - A handshake session is a [transport.Connection] with a random id. It belongs to the principal
//     that opened it. It ends by DELETE, or after SessionIdle without requests and streams.
//   - The events of a resumable stream are numbered and stored in the host's [eventlog.Store]. A
//     client that comes back with Last-Event-ID gets the events that it missed, of that stream
//     only.
//   - On handshake revisions the handler's context outlives the HTTP request. On 2026-07-28 it ends
//     with the request.
//
// If the host shares a store ([transport.Server] Sessions, Events and Changes), any of its
// processes, the nodes, serves any session:
//
//   - The store has a record of the session under a digest of its id; it does not get the id. Each
//     request reads the record once. It sees what another node has changed, and a session that has
//     ended on any node is 404 on every node. While the store is unavailable the answer is 503, and
//     the session remains.
//   - A node keeps its part of a session until the session is idle on this node. DELETE, or
//     idleness on all nodes, ends the session itself.
//   - A stream that broke can be resumed on any node. A node that does not run the exchange polls
//     the log until it finds the end, which the node with the exchange has marked. It gives up
//     after SessionIdle without a new event. If the other node has died, it ends the stream with
//     the answer that the exchange has provided in advance ([transport.Planned]).
//   - Messages that do not belong to an exchange are sent by one node: the node where the client
//     last opened the standalone stream, at first the node that opened the session. Other nodes
//     drop them. A client that opens the stream on another node with Last-Event-ID gets the
//     messages that it missed; without it, only new ones.
//
// Idle sessions and streams are cheap. A session has no timer, channel or stream of its own, and an
// open stream has no goroutine; one goroutine sends the heartbeats of all streams. A client that
// does not read does not delay other clients.
//
// An Endpoint is safe for concurrent use. It starts goroutines for requests, which stay for at most
// half a second without work, and end when the host begins to stop. While streams are open, one
// more goroutine serves all of them. With the first shared session it starts two more. Shutdown
// waits for all goroutines.
package streamable
