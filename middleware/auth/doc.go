// Package auth makes a server an OAuth 2.1 resource server (basic/authorization of each revision).
// It requires a token with every HTTP request, verifies it, and shows clients where to get one.
//
//	jwt := &auth.JWT{Issuer: "https://login.example.com"}
//	app := framework.New("shop", "1.0.0", framework.WithAuth(auth.Bearer(jwt,
//		auth.Resource("https://shop.example.com/mcp"), // and the audience of the tokens
//		auth.Require("shop"),
//	)))
//
// # Checks
//
// A token is accepted only in the Authorization header, once, with at most 8 KiB. [JWT] checks
// signature, algorithm, issuer, audience, expiry and "not before", with keys that it fetches and
// caches. [Introspection] asks the authorization server (RFC 7662). [Static] is for development. A
// [VerifierFunc] is a verifier of your own. [DPoP] requires a proof that the client holds the
// token's key (RFC 9449).
//
// Every request is checked, because a session is not a credential. A stream that only listens ends
// when its token expires.
//
// # Refusals
//
//	                                          status  error of WWW-Authenticate
//	no token, or another scheme               401     none
//	two headers, no token's syntax, too long  400     invalid_request
//	a token that is not valid here            401     invalid_token
//	a scope of Require is missing             403     insufficient_scope, all scopes
//	no proof, or not one of this request      401     invalid_dpop_proof
//	a proof without a nonce of [DPoPNonces]   401     use_dpop_nonce
//	the authorization server does not answer  503     no header, but Retry-After
//
// If the resource and an authorization server are known, the header names the metadata of RFC 9728.
// HTTP carriers serve the metadata at both well-known places (for servers of your own, see
// fiberhttp.MountMetadata and nethttp.Metadata). Refusals do not contain texts of errors, tokens,
// or other data from the client. [OnRefuse] gets the reason.
//
// # Scopes
//
// A scope is an opaque name. For example, "tools" does not cover "tools:read", because
// authorization servers differ in what such names mean (at one, "repo" covers "public_repo"). Use
// [Implies] to declare which scopes a scope covers. The principal then also has the covered scopes
// wherever scopes matter: Require, framework.Scopes, lists, handlers.
//
// # Guarantees
//
// Authenticators and verifiers are safe for concurrent use, do not start goroutines, and use a
// limited amount of memory. They wait for an authorization server for at most 5 seconds. Principals are shared by the calls
// of one token, so they are read-only.
//
// A verified token is trusted until it expires or the keys change. The answer of an introspection
// is trusted for [Introspection].TTL. The token itself is not stored, not even in the principal, so
// that it cannot be passed on (2025-11-25 basic/security_best_practices "Token Passthrough").
//
// The package is not an authorization server, and does not read header fields of proxies.
package auth
