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
// Any handshake revision may be negotiated here, and requests of 2026-07-28 are
// served as on any custom transport: without the headers of Streamable HTTP. There
// are no sessions that outlive a stream, and nothing can be resumed.
//
// An Endpoint is safe for concurrent use. It starts goroutines only for exchanges,
// and Shutdown joins them.
package legacysse
