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
// more goroutine serves all of them. With the first shared session the node starts two more, or three
// if there is a bus. Shutdown waits for all goroutines.
//
// # Ownership and locks
//
// A request has one goroutine of its carrier, which is in PendingRequest.Serve until the response
// is decided. With a Hijacker it also serves the exchange. Otherwise a goroutine of the worker pool
// does, and the goroutine of the carrier waits. The endpoint has these other goroutines:
//
//   - one for all heartbeats, while streams are open (heartbeats.run), and short ones for single
//     beats, which the end of a stream waits for
//   - one for the end of each session, during Shutdown, which may wait for a client that does not
//     read
//   - one for a stream whose events come in quick succession (stream.pour), until nothing is
//     pending
//   - one for the end of each connection that was carried with Begin (streamConn.close)
//   - one for each stream that another node writes and Begin carries (follower.serve), until the
//     stream or the connection ends
//   - for the node: its subscription and its periodic look (package cluster)
//   - for timers: a late response (responseTimers), an idle session (expiryQueue), an expired
//     token
//
// A postedExchange holds everything of one POST: its session in use, its place among the client's
// calls, and the stream of its response. Its serve gives all that back, in whatever goroutine it
// runs. If the response stays open, the Stream has another use of the session and another count in
// running. Its leave gives both back, once, when the connection has ended. A request that is
// refused before the hand-over is released by run itself.
//
// The body of a POST belongs to the endpoint, and the answer to the goroutine that returns the
// Reply. Memory of a BufferSource may be taken for an answer only until PendingRequest.Serve
// returns: whole cuts the stream off from it.
//
// Locks are taken in these orders:
//
//   - Endpoint.mu, session.mu, expiryQueue.mu
//   - stream.mu, session.mu
//   - stream.mu, record.mu
//   - record.changing, then session.mu or record.mu, one at a time
//
// A stream's lock is held while its frames are written to the log and to the connection. It
// therefore blocks for as long as the client does not read, up to the limit of the carrier. No
// other lock is held during I/O, except record.changing. Never take a stream's lock while you hold
// the lock of the session, of the endpoint, of a queue, of the timers or of heartbeats. Functions
// that end streams collect them under the lock and end them after it.
//
// heartbeats.mu, responseTimers' queue.mu, streamQuotas.mu, sessionLife.mu and the lock of a log are
// taken last. The lock of a responseTimer's queue is held while its timers fire, and firing never
// blocks.
//
// # Panics and crashes
//
// hostcall recovers and logs panics of the host, and the request gets an internal error. A panic
// of a store is recovered where a goroutine of the endpoint would otherwise end the program: in
// serve, in pour, in beats, and at the end of a connection. runtime.Goexit in a handler ends the
// goroutine of the request; deserted hands the connection over before that.
//
// If the process dies, its sessions remain in the shared store, and other nodes restore them. Its
// streams remain in the log with their wills; see stream_will.go. Without a shared store, both are
// gone.
package streamable
