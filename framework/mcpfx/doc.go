// Package mcpfx makes a server part of an fx program.
//
//	func main() { fx.New(program()).Run() }
//
//	func program() fx.Option {
//		return fx.Options(
//			mcpfx.Module("shop", "1.4.0", mcpfx.HTTP(":8080")),
//			mcpfx.Provide(NewCatalog, NewOrders),
//			mcpfx.Use(audit),
//			fx.Provide(OpenDB),
//		)
//	}
//
// A constructor given to [Provide] has its dependencies as parameters. It returns a value with the
// method Components() []framework.Component.
//
// # What comes from the graph
//
// If the graph has a *zap.Logger, a framework.Store or a transport.Authenticator, the server uses
// it. fx registers a value under exactly one type, which must be one of these. fx.Supply(guard) and a
// constructor that returns *Guard provide another type, and the server does not see the value.
//
// [Auth] and [Store] take a constructor of any type that implements the interface. If the constructor
// lacks a dependency, they report it. Without them, fx treats the value as missing, and the server
// starts without it.
//
// Everything else is set by [Options]. The graph also contains *framework.App, which
// fx.Decorate can change before it is built. *framework.Server is the built server. A provider
// cannot have it as a parameter, because it would depend on itself. Handlers use
// framework.ServerFrom instead.
//
// # Guarantees
//
// Components are sorted by the type names of their providers, and then by the order within each
// provider. fx itself passes values on in random order. Mistakes that fx would ignore are errors
// with file and line: a constructor that does not return a provider, a nil provider, or a Provide
// or Use without [Module].
//
// The server starts after everything that its providers need, and stops before it. With [HTTP], the
// server listens when fx has started, and the start fails if a port is in use. The program ends when all
// transports have ended: with exit code 0 at the end of stdin if there is only stdio, and with 1 if
// a transport fails. Calls in flight may take three quarters of fx.StopTimeout to end, if
// WithShutdownGrace is not shorter; then they are cancelled. The rest of the time is for the hooks
// that close what the server uses.
//
// A program with its own Fiber app, or a mux of net/http, mounts the server there and passes
// [Mounted]:
//
//	fx.New(
//		fx.Provide(NewApp), // a *fiber.App that listens in a hook of fx.Lifecycle
//		fx.Invoke(func(app *fiber.App, s *framework.Server) { fiberhttp.Mount(app.Group("/mcp"), s) }),
//		mcpfx.Module("shop", "1.4.0", mcpfx.Mounted()),
//	)
//
// fx logs to the logger of the graph, or else to stderr, and therefore never to stdout. Its steps
// have level debug. If it cannot start or stop, it logs an error. Every fault of a
// *framework.BuildError has its own entry. An fx.WithLogger after Module replaces this logging.
//
// # What the package does not do
//
// The package reads no flags and no environment; package serve does. Package serve/inspect has a
// flag and a transport for "kagami inspect". Tests use mcpfxtest.
package mcpfx
