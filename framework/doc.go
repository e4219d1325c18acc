// Package framework is the main entry point of Kagami: it turns plain Go functions
// into Model Context Protocol tools, resources and prompts, for clients of every
// published revision at once.
//
//	type SearchIn struct {
//		Query string `json:"query" doc:"words to look for" validate:"min=2"`
//		Limit int    `json:"limit,omitempty" default:"10" validate:"min=1,max=100"`
//	}
//
//	app := framework.New("shop", "1.4.0").Add(
//		framework.Tool("search", shop.Search, framework.ReadOnly()),
//		framework.ResourceTemplate("orders://{user}/{year}", shop.Orders),
//		framework.Prompt("review", Review),
//	)
//	server, err := app.Build()                  // every fault at once, with file and line
//	err = server.Serve(ctx, stdio.New())        // or serve.Main(app)
//
// Build inspects types by reflection once and compiles them into schemas and plans;
// each call decodes, fills in defaults, validates and encodes according to its plan.
// Handlers are plain functions. They use the protocol through functions that take
// their context (Progress, Log, Elicit, Generate, Caller ...), which do nothing or
// return ErrUnsupported where the feature is not available.
//
// Guarantees. No registration input makes anything panic: Build returns one *BuildError.
// Panics in handlers are recovered. Error texts that are not meant for clients stay in the
// log. A Server is safe for concurrent use, an App is not. Handlers run concurrently and
// guard what they share. A handler's context ends when
// its client cancels, when the client disconnects (except over HTTP on handshake revisions,
// where the call goes on), or when the server stops; results returned after that are not
// sent. It also ends when its Timeout expires, after which a result is the answer still. A
// handler owns the byte slices it gets; it must not change those it has returned.
//
// Not here: carriers (package transport and below), ready-made middleware,
// command lines (package serve).
package framework
