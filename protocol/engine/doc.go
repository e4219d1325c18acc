// Package engine runs the protocol. It decodes frames, keeps sessions and calls in flight, and runs
// the handlers of the server's components.
//
//	e := engine.New(engine.Config{Info: info, Catalog: catalog})
//	exchange, err := e.Accept(ctx, frame)   // carriers, in order of arrival
//	err = exchange.Serve(ctx, out)          // any goroutine
//	err = e.Shutdown(ctx)
//
// The engine reaches the server's components through the interfaces that this package defines:
// Catalog with its Snapshot, and Handler. Package framework implements them.
//
// The path of a request: Accept decodes the envelope (the only time), selects the dialect, finds the
// session of the connection, decodes the parameters and registers the request as in flight. Serve
// runs the frame-level chain and the handler, and sends the answer. Code after Accept does not
// compare revisions. It asks the dialect for its traits.
//
// Handshake revisions and 2026-07-28 can share one connection. A request that names its revision in
// _meta is served under that revision alone. Any other request belongs to the session that initialize
// opened.
//
// Guarantees: Notifications of a call never follow its answer, and those sent before the answer are
// not lost. A cancelled call sends nothing more. User code never runs under a lock of this package,
// nor inside Accept. New starts no goroutine. All goroutines of an Engine have ended when Shutdown
// returns nil. The engine takes its clock from Config.Now, but its timers are timers of package time.
// It does not log, but reports errors to Config.Failed.
//
// # Reading order
//
//   - what the engine reaches: catalog.go, engine.go
//   - the front door: accept.go, accept_http.go (posted frames), batch.go, conn.go (sessions, calls in
//     flight)
//   - one call: origin.go, exchange.go, dispatch.go, notifications.go; outlet.go with call.go and call_notify.go,
//     which handlers use
//   - questions: ask.go, server_request.go
//   - questions on 2026-07-28: round.go, round_replay.go
//   - tasks: task_create.go, task_methods.go, task_job.go, task_execution.go, task_run.go, task_queue.go, task_record.go,
//     task_await.go, task_unreadable.go
//   - what belongs to no call: listen.go, and package feed
//   - several processes: session_shared.go, nodes.go, node_forward.go, interrupted.go
//   - small parts: exchange_sessionless.go
//
// Carriers, schemas, arguments, registration of components and authorization are the work of other
// packages.
package engine
