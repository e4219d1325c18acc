// Package nethttp carries Streamable HTTP and HTTP+SSE as native http.Handlers, over
// HTTP/1 and HTTP/2: as a server of its own, or under the program's own mux.
//
//	err := server.Serve(ctx, nethttp.New(":8080")) // http://127.0.0.1:8080/mcp
//
//	mux.Handle("/mcp", nethttp.Handler(server))
//	mux.Handle("/sse", nethttp.SSE(server)) // for clients of 2024-11-05
//
// What holds besides the rules of packages streamable and legacysse:
//
//   - The handlers' context has the values of the request's, so that middleware of
//     the program may put a transport.WithPrincipal there.
//   - A body is not read, and "Expect: 100-continue" not answered, before everything
//     else of the request was found right.
//   - Timeouts of the program's http.Server do not cut streams off: the deadlines of
//     a request are set anew while it is served.
//   - A client that leaves is seen at once where net/http sees it: on HTTP/1 not
//     before the body was read, and only where that ends its call or its stream. Elsewhere it may
//     have closed only its sending half; that it has left is noticed when something is written.
//   - Middleware must hand through http.Flusher or Unwrap, as http.ResponseController
//     wants it. Under one that does not (http.TimeoutHandler) there are no streams: progress
//     is dropped, nobody can be asked live, GET is 405, and stderr says so, once.
//
// New's Serve ends as package transport says. The host ends what Handler and SSE made: its
// Shutdown lets their streams end, and http.Server.Shutdown then returns.
package nethttp
