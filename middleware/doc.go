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
// Each is a framework.Middleware for App.Use, Group or one component's With. Their phases
// put them in order, outermost first: Trace, Metrics, Logging and Audit (trace); RateLimit,
// Concurrency and Timeout (limit); Cache (cache); CheckOutput and MaxResult (validate).
// Within a phase the order is that of Use.
//
// A call that asks the client in rounds (2026-07-28 basic/patterns/mrtr) runs many times
// and counts as one call for all of them: it is logged, counted and audited when it is
// over, a rate limit takes one event for it, and no round goes into a cache.
//
// Guarantees. All are safe for concurrent use and start no goroutine. What they keep is
// bounded, and belongs to the value that the function returned: components and servers that
// are given the same value share it. Build reports a wrong argument. Nothing trusts what a
// client says about itself, forwarding headers included: a caller is known by its
// principal, its session or the address of its connection.
//
// A completion is a call of the prompt or template, with the arguments written so far;
// clients ask as their users type. Subscriptions, pings and the polling of tasks are not
// calls and pass through none of them.
//
// A call that is refused because the caller lacks scopes of the component passes only
// through those of the phase trace, with the outcome "denied".
//
// They do not recover from panics or check scopes, which the engine does for every call,
// and do not authenticate, which package middleware/auth does.
package middleware
