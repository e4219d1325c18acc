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
// An Endpoint is safe for concurrent use. It starts goroutines only for exchanges, and two more
// with the first shared connection. Shutdown waits for all of them.
package legacysse
