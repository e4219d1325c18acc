// Package authserver is an authorization server for MCP servers that have none (2025-03-26
// basic/authorization; the authorization server's part of the later revisions). It is a module of its
// own.
//
//	as, err := authserver.New("https://shop.example.com", authserver.Own(users))
//	app := framework.New("shop", "1.0.0", framework.WithAuth(as.Guard("https://shop.example.com/mcp")))
//	serve.Main(app, serve.HTTP(fiberhttp.Route("/", as.Handler())))
//
// It has two modes. With [Own] it knows the users, through a port. With [Broker] it sends them to an
// OpenID provider at which the program is registered once, by hand, and issues tokens of its own for
// that session: the way to use a provider that lets no client register itself.
//
// # What it does
//
// Authorization code with PKCE (S256 only), rotated refresh tokens, client credentials and ID-JAG if
// asked for; metadata (RFC 8414), registration (RFC 7591), client id metadata documents, revocation
// (RFC 7009), introspection (RFC 7662), issuer in responses (RFC 9207), resource indicators (RFC
// 8707), access tokens as signed JWTs (RFC 9068), DPoP (RFC 9449). It has neither the implicit grant nor
// the password grant, neither plain PKCE nor ID tokens, and puts no token into a URL.
//
// # What holds
//
// A code works once, for the client, the redirect URI, the verifier and the resource that it was made
// for; a second use ends all that came of it. Of two refreshes with one token, one rotates it; the other
// gets the same answer within [Grace], and ends the grant after that. What is stored are digests of
// codes and tokens, and sealed secrets. A client gets a token only after the user has seen a page that
// says who the client is and where the answer will be sent. A browser is sent only to a redirect URI
// that was checked. Handlers are safe for concurrent use and start no goroutine; state is in the store,
// so any number of processes may share it.
//
// # Where it stands
//
// The handler must be reached at the issuer's URL, by https except on loopback. It reads no header of a
// proxy: behind one, tell [Limit] who asks.
package authserver
