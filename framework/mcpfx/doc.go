// Package mcpfx makes a server part of an fx program.
//
//	func main() { fx.New(program()).Run() }
//
//	func program() fx.Option {
//		return fx.Options(
//			mcpfx.Module("shop", "1.4.0", mcpfx.HTTP(":8080")),
//			mcpfx.Provide(NewCatalogue, NewOrders),
//			mcpfx.Use(audit),
//			fx.Provide(OpenDB),
//		)
//	}
//
// A constructor given to [Provide] takes what it needs, and returns a value with
// the method Components() []framework.Component.
//
// # What comes from the graph
//
// If the graph has a *zap.Logger, a framework.Store or a transport.Authenticator, the
// server uses it. Everything else is set by [Options]. *framework.App is in the graph, too:
// fx.Decorate can change it before it is built, as it can replace anything else that
// constructors take. *framework.Server is the built server. A provider cannot take it,
// since it would depend on itself: handlers use framework.ServerFrom.
//
// # Guarantees
//
// Components are listed by the names of their providers' types, in the order of each
// provider, since fx itself passes values on in random order. What fx would drop silently
// is an error with file and line: a constructor that returns no provider, a provider that
// is nil, a Provide or Use without [Module].
//
// The server starts after everything that its providers need, and stops before it. Once fx
// has started, the server listens; a port that is taken fails the start. The program ends
// when all carriers have ended: with exit code 0 at the end of stdin if there is only
// stdio, and with 1 if a carrier fails. fx.StopTimeout bounds how long calls in flight may
// take to end.
//
// A program with a Fiber app of its own, or a mux of net/http, mounts the server there, and
// says so with [Mounted]:
//
//	fx.New(
//		fx.Provide(NewApp), // a *fiber.App that listens in a hook of fx.Lifecycle
//		fx.Invoke(func(app *fiber.App, s *framework.Server) { fiberhttp.Mount(app.Group("/mcp"), s) }),
//		mcpfx.Module("shop", "1.4.0", mcpfx.Mounted()),
//	)
//
// fx logs to the same logger, and so never to stdout: what it does at level debug, and why
// it cannot start or stop as an error. Every fault of a *framework.BuildError is an entry
// of its own. An fx.WithLogger after Module replaces this logging.
//
// # What it does not do
//
// It reads no flags and no environment: package serve does. Package serve/inspect has a
// flag and a carrier for "kagami inspect". Tests use mcpfxtest.
package mcpfx
