// Package fiberhttp serves Streamable HTTP and HTTP+SSE with Fiber v2: as a server of its own, or
// under the program's app.
//
//	err := server.Serve(ctx, fiberhttp.New(":8080")) // http://127.0.0.1:8080/mcp
//
//	app := fiber.New(fiber.Config{ReadBufferSize: 16 << 10}) // room for long tokens
//	app.Use(recover.New())
//	fiberhttp.Mount(app.Group("/mcp"), server) // /mcp, and /mcp/sse with /mcp/messages
//
// In addition to the rules of packages streamable and legacysse, the following holds:
//
//   - Short answers are ordinary responses on a connection that stays open. A stream takes over its
//     connection, so that middleware can neither buffer the stream nor cut it off. Header fields
//     that middleware has set are sent. Middleware that compresses does not see streams.
//   - A client that does not read is disconnected after WriteTimeout. A disconnect is noticed at
//     once if it ends the client's call or stream. Otherwise the client may have closed only its
//     sending half, and a disconnect is noticed at the next write.
//   - A server of New reads connections itself, with fasthttp's parser. It judges a request by its
//     header, before it reads the body (ADR 22), and runs the handler in the goroutine that reads the
//     connection. If the handler takes long, another goroutine continues with the connection (ADR 39).
//   - After a stream, a server of New keeps the connection open, unless the client speaks HTTP/1.0. A
//     mounted endpoint closes it.
//   - Memory of fasthttp does not leave the handler, with any fiber.Config. Nor does fasthttp's own
//     context, even if the UserContext derives from it; see Context.
//   - Errors are JSON-RPC errors and do not reach the app's ErrorHandler. The ErrorHandler of a
//     mounted app still answers requests that Fiber refuses before routing: bodies beyond Fiber's
//     own BodyLimit, and headers beyond its ReadBufferSize (4 KiB by default).
//   - The Host field is checked as the client sent it. Fields that a proxy sets do not replace it.
//
// Serve of New ends as package transport describes. An endpoint of Mount ends with its host:
// [framework.Server.Shutdown] ends its streams, and then the app can be shut down.
//
// The package does not work under adaptor.FiberApp, with app.Test for answers that are streams, or
// with Prefork, because sessions are in memory. It does not support HTTP/2; use nethttp for that.
//
// [framework.Server.Shutdown]: https://pkg.go.dev/github.com/kagami-mcp/kagami/framework#Server.Shutdown
package fiberhttp

// The rest of this file is for those who change the package.
//
// # Ownership and locks
//
// A server of New has one goroutine that accepts, and one of its pool for each connection. That one
// reads a request, runs the handler, and writes the response. If the response becomes a stream, Hijack
// hands the connection to the line: another goroutine of the pool watches it, and senders write to it,
// each in its own goroutine and under the lock of the stream. The first goroutine does not touch
// the connection again. When the stream is over, the second one goes on with the next request.
//
// Hijack may run in any goroutine while the handler still runs, and the goroutine in the handler waits
// for its end before it looks at the worker (streamable closes hijacked). This orders the fields of the
// worker without a lock.
//
// server.open counts connections: Serve adds one, and the first Close of the conn gives it back. Every
// way out closes the conn: the worker's end, unless the connection was hijacked; the goroutine of a
// hijacked connection; or the handler of the program that has hijacked it.
//
// The memory of a request is borrowed from fasthttp until the handler has returned. readRequest copies
// what may be kept. The memory of an answer (Buffer) belongs to the endpoint until Serve returns its
// reply, and then to the worker, which writes it before it uses it again. A worker that may still be
// used by a handler is not put back into the pool (returned).
//
// borrowed.mu is the only lock. It is held while a value is looked up in the context of fasthttp, which
// runs code of middleware, so that the end of the request waits for it. It is taken last.
//
// A mounted endpoint has no goroutine of its own for a request. After Hijack, fasthttp runs one for the
// connection, which is the line's. If fasthttp drops the Hijack, a timer ends the stream.
//
// # Panics and crashes
//
// carrier.serve recovers a panic and answers with 500. If a handler ends the goroutine
// (runtime.Goexit), worker.end closes the connection, and the pool starts another goroutine when it
// needs one.
