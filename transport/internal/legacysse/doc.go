// Package legacysse holds the rules of HTTP+SSE, the binding of 2024-11-05
// (basic/transports "HTTP with SSE"), without an HTTP library: carriers such as
// fiberhttp and nethttp read a request, ask the endpoint, and write what it says,
// as with package streamable, on whose parts it is built.
//
// A GET opens a stream. Its first event, "endpoint", names the URI to which the
// client posts its frames; everything the server sends is a "message" event on that
// stream. What holds whatever carries it:
//
//   - The URI is a relative reference, so that it is right behind proxies; the
//     connection is named by its query, never by a header.
//   - A frame that is taken is answered with 202 and no body. A connection that was
//     never opened, has ended or is another principal's is 404 for all alike.
//   - The frames of a connection are accepted in the order of arrival, and served
//     concurrently.
//   - The end of the stream is the end of the connection: what runs is cancelled.
//   - A handler sees the header and the principal of the POST that called it.
//   - When the host stops, nothing new is taken; a stream ends when the exchanges
//     of its connection have.
//
// Where the host shares a store ([transport.Server] Sessions, Changes and Events), a
// frame may be posted to any of its processes: the one that holds the stream takes it
// from the event log, as soon as a message tells of it, or within a minute. Its handler
// sees the header of the POST without what proves the principal. A process that cannot
// look a connection up answers 503.
//
// Any handshake revision may be negotiated here, and requests of 2026-07-28 are
// served as on any custom transport: without the headers of Streamable HTTP. There
// are no sessions that outlive a stream, and nothing can be resumed.
//
// An Endpoint is safe for concurrent use. It starts goroutines only for exchanges, and
// two of its own with the first connection that is shared; Shutdown joins them.
package legacysse
