// Package middleware provides ready-made middleware for production servers:
//
//	app.Use(
//		middleware.Trace(), middleware.Metrics(), middleware.Logging(), middleware.Audit(file),
//		middleware.RateLimit(middleware.Rate{Events: 100, Per: time.Minute}),
//		middleware.Concurrency(32, 128),
//		middleware.Timeout(30*time.Second),
//		middleware.MaxResult(1<<20),
//	)
//
// Each function returns a framework.Middleware for App.Use, Group or one component's With. The
// phases put the steps in order, outermost first: Trace, Metrics, Logging and Audit (trace);
// RateLimit, Concurrency and Timeout (limit); Cache (cache); CheckOutput and MaxResult (validate).
// Within a phase, steps run in the order of Use.
//
// A call that asks the client in rounds (2026-07-28 basic/patterns/mrtr) runs once per round, but
// counts as one call. It is logged, counted and audited when it is over. A rate limit takes one
// event for it. No round is cached.
//
// All middleware of this package is safe for concurrent use and starts no goroutines. Its state is
// bounded. The state belongs to the value that the function returned, so components and servers
// that are given the same value share it. Build reports invalid arguments. A caller is identified
// by its principal, its session or its address. What a client claims about itself is not trusted,
// and forwarding headers only from TrustedProxies of the carrier.
//
// A completion is a call of the prompt or template, with the arguments that the user has typed so
// far. Subscriptions, pings and the polling of tasks are not calls and do not pass through
// middleware.
//
// If a caller lacks the scopes of the component, the call is refused and passes only through steps
// of the phase trace, with the outcome "denied".
//
// This package does not recover from panics or check scopes; the engine does that for every call.
// Package middleware/auth authenticates callers.
package middleware
