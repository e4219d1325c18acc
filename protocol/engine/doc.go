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
// A file uses functions and methods of the files before it only. To follow a request from its
// arrival, begin at the front door and go back.
//
//   - what the engine reaches: errors.go, catalog.go, config.go
//   - state: engine.go, conn.go (sessions, calls in flight), conn_asks.go, session_shared.go
//   - one call: outlet.go, call.go, round.go, call_questions.go, exchange.go, exchange_sessionless.go,
//     answer.go
//   - live questions: node_forward.go, ask.go, server_request.go
//   - tasks: round_replay.go, task_job.go, task_execution.go, task_record.go, task_run.go,
//     task_queue.go, task_create.go, task_methods.go, task_await.go
//   - requests: round_serve.go, listen.go, dispatch.go, serve.go
//   - the front door: notifications.go, arrival.go, accept_http.go (posted frames), accept.go,
//     batch.go, interrupted.go
//   - nodes and life: nodes.go, lifecycle.go
//
// What needs no Engine is below, in internal packages: feed, header, nodebus, replay, roundstore,
// taskrecord, taskwatch, and the small parts clientprofile, framebuf, storeerror and wait.
//
// Carriers, schemas, arguments, registration of components and authorization are the work of other
// packages.
package engine
