// Package nethttp serves Streamable HTTP and HTTP+SSE as http.Handlers, over HTTP/1 and HTTP/2: as
// a server of its own, or under the program's own mux.
//
//	err := server.Serve(ctx, nethttp.New(":8080")) // http://127.0.0.1:8080/mcp
//
//	mux.Handle("/mcp", nethttp.Handler(server))
//	mux.Handle("/sse", nethttp.SSE(server)) // for clients of 2024-11-05
//
// In addition to the rules of packages streamable and legacysse, the following holds:
//
//   - The handlers' context has the values of the request's context, so that middleware of the
//     program can add a principal (transport.WithPrincipal).
//   - The carrier reads a body, and answers "Expect: 100-continue", only after it has accepted the
//     header of the request.
//   - Timeouts of the program's http.Server do not cut streams off, because the carrier sets the
//     deadlines of each request itself.
//   - A disconnect is noticed when net/http reports it. On HTTP/1 that is only after the body was
//     read, and the carrier uses it only if it ends the client's call or stream. Otherwise the
//     client may have closed only its sending half, and a disconnect is noticed at the next write.
//   - The http.ResponseWriter of middleware must have Flush or Unwrap, as http.ResponseController
//     requires. Under middleware without them, such as http.TimeoutHandler, there are no streams:
//     progress is dropped, handlers cannot ask the client during a call, and GET is 405. Each
//     endpoint logs one warning.
//
// Serve of New ends as package transport describes. An endpoint of Handler or SSE ends with its
// host: the host's Shutdown ends its streams, and http.Server.Shutdown then returns.
package nethttp
