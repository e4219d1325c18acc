// Package fiberhttp carries Streamable HTTP and HTTP+SSE on Fiber v2: as a server of its
// own, or under the program's app.
//
//	err := server.Serve(ctx, fiberhttp.New(":8080")) // http://127.0.0.1:8080/mcp
//
//	app := fiber.New(fiber.Config{ReadBufferSize: 16 << 10}) // room for long tokens
//	app.Use(recover.New(), cors.New())
//	fiberhttp.Mount(app.Group("/mcp"), server) // /mcp, and /mcp/sse with /mcp/messages
//
// What holds besides the rules of packages streamable and legacysse:
//
//   - Short answers are ordinary responses on a connection that is kept. Whatever stays open
//     takes its connection over, so that middleware neither buffers it nor cuts it off. Header
//     fields that middleware set are sent. Middleware that compresses does not see streams.
//   - A client that does not read is dropped after WriteTimeout. One that leaves is seen at once
//     where that ends its call or its stream. Elsewhere it may have closed only its sending half;
//     that it has left is noticed when something is written.
//   - After a stream a server of New goes on with the connection, unless it has TLS or the client
//     speaks HTTP/1.0; a mounted one closes it.
//   - A server of New without TLS runs handlers in the goroutine that reads the connection, and
//     lets others go on with the connection when a handler takes long (ADR 34).
//   - Nothing of fasthttp's memory leaves the handler; it works with any fiber.Config. Nor does
//     fasthttp's own context, if the UserContext derives from it: see Context.
//   - Errors are written as JSON-RPC, and never reach the app's ErrorHandler. That of
//     a mounted app still answers what Fiber refuses before routing: its own BodyLimit,
//     and header fields beyond its ReadBufferSize of 4 KiB by default.
//   - The Host field is checked as it was sent, not what a proxy claims.
//
// New's Serve ends as package transport says. The host ends what Mount made:
// [framework.Server.Shutdown] lets its streams end, and then the app can be shut down.
//
// It does not work under adaptor.FiberApp, with app.Test where a stream is answered,
// nor with Prefork, since sessions are in memory. There is no HTTP/2: see nethttp.
//
// [framework.Server.Shutdown]: https://pkg.go.dev/github.com/kagami-mcp/kagami/framework#Server.Shutdown
package fiberhttp
