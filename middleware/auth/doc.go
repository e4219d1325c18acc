// Package auth makes a server an OAuth 2.1 resource server (basic/authorization of each
// revision): it demands a token of every HTTP request, verifies it, and tells clients
// where to get one.
//
//	jwt := &auth.JWT{Issuer: "https://login.example.com"}
//	app := framework.New("shop", "1.0.0", framework.WithAuth(auth.Bearer(jwt,
//		auth.Resource("https://shop.example.com/mcp"), // and the audience of the tokens
//		auth.Require("shop"),
//	)))
//
// # What is checked
//
// A token is taken only from the Authorization header, once, with at most 8 KiB. [JWT]
// checks signature, algorithm, issuer, audience, expiry and "not before", against keys that
// it fetches and keeps; [Introspection] asks the authorization server (RFC 7662); [Static]
// is for development; a [VerifierFunc] is anything else. [DPoP] demands a proof that the
// client holds the token's key (RFC 9449). Every request is checked: a session is not a
// credential, and a stream that only listens ends with its token.
//
// # What a refused client is told
//
//	                                          status  error of WWW-Authenticate
//	no token, or another scheme               401     none
//	two headers, no token's syntax, too long  400     invalid_request
//	a token that is not valid here            401     invalid_token
//	a scope of Require is missing             403     insufficient_scope, all scopes
//	no proof, or not one of this request      401     invalid_dpop_proof
//	the authorization server is away          503     no header, but Retry-After
//
// The header names the metadata of RFC 9728, if the resource and an authorization server
// are known; HTTP carriers serve it at both well-known places (see fiberhttp.MountMetadata
// and nethttp.Metadata for servers of your own). Texts of errors, and anything of a token
// or that a client sent, are not repeated; [OnRefuse] gets the reason.
//
// # Scopes
//
// A scope is an opaque name, and the principal has it or does not: "tools" does not cover
// "tools:read" by its spelling, since spelling means different things to different
// authorization servers (at one, "repo" covers "public_repo"). Use [Implies] to say what
// covers what; the principal then has the covered scopes, too, wherever scopes matter:
// Require, framework.Scopes, lists, handlers.
//
// # What else holds
//
// Authenticators and verifiers are safe for concurrent use, start no goroutine, and keep
// bounded memory. They wait for an authorization server for at most 5 seconds. Principals
// are shared by the calls of one token: they are read-only.
//
// A verified token is trusted until it expires or the keys change, an introspected one for
// [Introspection].TTL. The token itself is not kept, not even in the principal, so that it
// cannot be passed on to others (2025-11-25 basic/security_best_practices "Token
// Passthrough").
//
// The package is not an authorization server, and does not read headers of proxies.
package auth
