// Package legacysse implements the rules of HTTP+SSE, the transport of 2024-11-05 (basic/transports
// "HTTP with SSE"), without an HTTP library. Carriers such as fiberhttp and nethttp read a request,
// call the endpoint, and write its reply. The package uses parts of package streamable.
//
// A GET opens a stream. Its first event, "endpoint", contains the URI for the client's
// posts. The server sends each frame as a "message" event on that stream. With every carrier the
// following holds:
//
//   - The URI is a relative reference, so that it is right behind proxies. Its query identifies the
//     connection; no header field does.
//   - An accepted frame is answered with 202 and no body. The answer is 404 if a connection was
//     never opened, has ended, or belongs to another principal. The client cannot find out which.
//   - The frames of a connection are accepted in the order of arrival and served concurrently.
//   - When the stream ends, the connection ends, and its exchanges are cancelled.
//   - A handler sees the header and the principal of the POST with its request.
//   - When the host stops, new requests are refused. A stream ends when the exchanges of its
//     connection have ended.
//
// If the host shares a store ([transport.Server] Sessions, Changes and Events), a frame may be
// posted to any of its processes. The process with the stream reads the frame from the event log
// when it gets a message about it, or within a minute. The handler sees the header of the POST
// without credentials. If a process cannot look up a connection, it answers 503.
//
// Clients may negotiate any handshake revision. Requests of 2026-07-28 are served as on any custom
// transport, without the header fields of Streamable HTTP. A session ends with its stream, and a
// stream cannot be resumed.
//
// An Endpoint is safe for concurrent use. It starts goroutines for exchanges, for the end of
// connections during Shutdown, and for the node: three with the first shared connection, and one while
// it reads the inbox of a connection. Shutdown waits for all of them. After its context has ended, it
// waits two more seconds for exchanges.
//
// # Ownership and locks
//
// Endpoint.running counts each request, each exchange, and each stream. A GET hands its count to the
// stream: leave gives it back, or open if there is no session. enter counts an exchange before
// leave gives back the count of the stream, so the count never reaches 0 in between.
//
// The body of a POST belongs to the endpoint, and then to the host. A frame that was posted on
// another node is copied before, because the event log shares its memory.
//
// A session owns its context, its stream and its record in the store. newSession registers it, and
// leave, which runs once, takes all of that back: when the stream has ended, or at once if none was
// opened. The goroutine that reads the inbox owns remote.taken; wake hands that on to the next one,
// under remote.mu.
//
// Locks are taken in these orders:
//
//   - session.accepting, alone, during Host.Accept, which does not run user code
//   - session.mu, then the lock of the quota of calls
//   - Endpoint.mu and remote.mu, each alone
//
// Except for session.accepting, no lock is held during I/O or a call of the host. The lock of a stream
// is held while its frames are written, so Finish and Send may wait for the client. They are called
// without a lock.
package legacysse
