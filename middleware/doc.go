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
// Each is a framework.Middleware for App.Use, Group or one component's With. The phases
// put them in order, outermost first: Trace, Metrics, Logging and Audit (trace);
// RateLimit, Concurrency and Timeout (limit); Cache (cache); CheckOutput and MaxResult
// (validate). Within a phase the order is that of Use.
//
// A call that asks the client in rounds (2026-07-28 basic/patterns/mrtr) runs many times
// and is one call to all of them: what logs, counts or audits does so when it is over,
// a rate limit takes one event for it, and nothing of a round goes into a cache.
//
// Guarantees. All are safe for concurrent use and start no goroutine. What they keep is
// bounded, and belongs to the value that the function returned: components and servers
// that are given the same value share it. A wrong argument is reported by Build.
// Nothing trusts what a client says of itself, forwarding headers included: who calls is
// its principal, its session or the address of its connection.
//
// A completion is a call of the prompt or template, with the arguments that were written
// so far; clients ask as their users type. Subscriptions, pings and the polling of tasks
// are no calls, and come to none of them.
//
// A call that is refused because the caller lacks scopes of the component comes to those
// of the phase trace only, with the outcome "denied".
//
// What they do not do: recover from panics and check scopes, which the engine does for
// every call; authenticate, which is package middleware/auth's.
package middleware
