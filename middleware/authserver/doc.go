// Package authserver is an authorization server for MCP servers that have none (2025-03-26
// basic/authorization; the authorization server's part of the later revisions). It is a module of
// its own.
//
//	as, err := authserver.New("https://shop.example.com", authserver.Own(users))
//	app := framework.New("shop", "1.0.0", framework.WithAuth(as.Guard("https://shop.example.com/mcp")))
//	serve.Main(app, serve.HTTP(fiberhttp.Route("/", as.Handler())))
//
// It has two modes. With [Own] the program has the users, behind an interface. With [Broker] the
// server sends users to an OpenID provider, and issues tokens of its own for the session. The
// program is registered at the provider once, by hand. Use Broker for a provider that does not
// allow clients to register themselves.
//
// # Features
//
// The server supports the authorization code grant with PKCE (S256 only), rotated refresh tokens,
// and optionally client credentials and ID-JAG. It has metadata (RFC 8414), registration (RFC
// 7591), client ID metadata documents, revocation (RFC 7009) and introspection (RFC 7662). It sends
// the issuer in responses (RFC 9207) and supports resource indicators (RFC 8707). Access tokens are
// signed JWTs (RFC 9068), optionally bound with DPoP (RFC 9449).
//
// It has neither the implicit grant nor the password grant, neither plain PKCE nor ID tokens, and
// puts no token into a URL.
//
// # Guarantees
//
// A code works once, for the client, the redirect URI, the verifier and the resource that it was
// made for. A second use ends the grant and its tokens. If two refreshes use one token, one rotates
// it. The other gets the same answer within [Grace], and ends the grant after that.
//
// The store contains only digests of codes and tokens, and sealed secrets. A client gets a token
// only after the user has seen a page with the client and the address of the answer. A browser is
// redirected only to a redirect URI that was checked, and before the user has agreed only to a
// client that is trusted. Handlers are safe for concurrent use and
// start no goroutine. State is in the store, so any number of processes may share it.
//
// # Deployment
//
// The handler must be reached at the issuer's URL, by https except on loopback. It reads no header
// of a proxy: behind a proxy, set the function of [Limit] that returns the client's address.
package authserver
