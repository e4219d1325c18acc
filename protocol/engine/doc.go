// Package engine runs the protocol: it understands frames, keeps sessions and
// calls in flight, and drives what the server serves.
//
//	e := engine.New(engine.Config{Info: info, Catalog: catalog})
//	exchange, err := e.Accept(ctx, frame)   // carriers, in order of arrival
//	err = exchange.Serve(ctx, out)          // any goroutine
//	err = e.Shutdown(ctx)
//
// What is served stands behind two small interfaces that this package defines,
// Catalog with its Snapshot, and Handler; package framework implements them.
//
// The path of a request: Accept decodes the envelope (the only time), selects
// the dialect, finds the session of the connection, decodes the parameters and
// files the request as in flight. Serve runs the frame-level chain, the handler
// and sends the answer. Nothing after Accept asks which revision it serves, but
// for traits of the dialect.
//
// Handshake revisions and 2026-07-28 live side by side on one connection: a
// request that names its revision in _meta is served by that alone, any other
// belongs to the session that initialize opened.
//
// Guarantees. Notifications of a call never follow its answer and none is lost
// before it. A cancelled call sends nothing more. User code never runs under a
// lock of this package, nor inside Accept. New starts no
// goroutine; those that an Engine starts have ended when Shutdown returns nil.
// The engine takes its clock from Config.Now (timers are those of package time)
// and does not log: it reports to Config.Failed.
//
// Not here: carriers, schemas, arguments, registration, authorization.
package engine
