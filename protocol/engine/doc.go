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
// A file uses functions and methods of the files before it only, except that Accept passes a batch to
// the file after it. To follow a request from its arrival, begin at the front door and go back.
//
//   - what the engine reaches: errors.go, catalog.go, config.go
//   - state: engine.go, outage.go, conn.go (sessions, calls in flight), conn_asks.go, session_shared.go
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
//
// # Ownership and locks
//
// Accept runs in the carrier's goroutine, in the order of arrival. The frame belongs to the engine
// from then on. The exchange belongs to Accept until it returns, and then to the carrier, which
// calls Serve once, in any goroutine. When the answer was sent, goroutines of the handler may still
// refer to the Call, but cannot send anything on its stream.
//
// A handler runs in the goroutine of Serve, or in the goroutine of its task. These goroutines
// belong to the engine:
//
//   - Start starts the goroutines of nodes: looking, taking, the sender of nodebus, and the
//     subscription to the bus. taking adds one that ends its context when Shutdown begins. stopNodes
//     ends them, as the last step of Shutdown.
//   - taking starts one goroutine for each lease (serveLease). That one starts and ends the
//     goroutine that renews the lease. A task without a queue has one goroutine (work) while its
//     handler runs, and none while the task waits for answers.
//   - A feed starts its goroutine when there is something to send. A round whose outcome could not
//     be stored has one that keeps trying (roundstore).
//   - Messages of other nodes that may block are handled in a goroutine each: a forwarded
//     cancellation, and the end of an elicitation.
//   - Members of a batch, questions asked together and the watcher of a task's questions end before
//     the Serve that started them returns.
//
// Engine.running counts all of them except the goroutines of nodes, which have a group of their
// own, and the last item, which an exchange includes. The second run of ReplayCheck is not counted.
// If its handler ignores its context, it may outlive Shutdown.
//
// Locks are taken in this order. A lock is never taken while a later one of its line is held:
//
//   - conn.mu, Feed.mu, topics.mu or Group.mu
//   - conn.mu, then Engine.mu or the lock of clientprofile.Profiles
//   - session.altering, Feed.mu
//   - job.mu, Feed.mu
//   - execution.reporting, job.telling; and execution.reporting, job.mu
//   - execution.keeping, job.telling; and execution.keeping, job.mu
//   - job.telling, then Engine.mu, Feed.mu, Group.mu or Node.mu, one at a time
//   - exchange.reporting, exchange.sending
//   - Effects.mu (package replay), round.mu
//
// Of these, only telling, sending and the two locks named reporting are held during a Send, and
// telling also during an update of the store. A batch holds collector.mu while it sends its
// answers. A client that does not read therefore delays the other frames of its own call, and the
// end of its own task, but nothing else. execution.keeping is held while effects of Once are written
// into the store, also while the store is away and the write is tried again. No other lock is held
// during I/O, and no lock while a handler, an effect or a catalog runs.
//
// round.mu is held while the handler's context is ended. That is safe, because functions of
// context.AfterFunc run in goroutines of their own.
//
// # Panics and crashes
//
// A panic of a handler or of the catalog becomes a PanicError and an internal error for the client:
// dispatch recovers it, and guarded does in rounds and in tasks. rescue recovers panics of frame
// middleware and of OnRootsChanged, and answers a request whose handler has called runtime.Goexit.
// Panics of stores are not recovered here. Package framework wraps stores, so that they return
// errors instead.
//
// If the process dies, its calls are lost. A carrier on another node answers them with the error of
// Interrupted. A task of a queue is taken again when its lease expires. The new worker first
// increments Record.Runs, so that writes of a worker which is still alive are refused (errLost).
// The claim of a round expires in the same way, and the round may then run again.
package engine
