// Package testkit tests MCP servers as their clients see them: at every revision, over every
// carrier, round by round.
//
//	func TestSearch(t *testing.T) {
//		testkit.Matrix(t, newApp, func(t *testing.T, s *testkit.Session) {
//			out, err := testkit.Call(s, search, SearchIn{Query: "tea"})
//			...
//			s.CallRaw("search", `{"limit":"ten"}`).IsError().Mentions("/limit")
//		})
//	}
//
// A [Session] is one client with a connection of its own to a server built for it. Every frame
// passes through the client, the carrier, the engine and the handlers, so a test sees what a client
// of that revision sees. Tests need not know the revision. A Session hides differences on the wire,
// except in [Session.Raw]. Such differences are argument errors, wrapped structured results, the
// way to ask for changes and logs, and the way that questions are sent.
//
// [New] opens one session in memory. [Matrix], [AllRevisions], [AllCarriers] and [BothEras] run one
// body on many, one after another, in a few milliseconds each.
//
// # The kit
//
//   - calls: [Call] by the handle, [CallAs] and [ReadAs] by type, [Session.CallRaw] as models
//     write, [Session.Raw] frame by frame; [Session.Read], [Session.Get], [Session.Complete]; each
//     raw call returns an [Answer]
//   - lists: [Session.Tools] and similar methods; [Session.Golden] compares one list on the wire
//     with a file, [Contract] all components, with the effect of each change
//   - users, models, roots: [Session.OnElicit], [Session.OnSample], [Session.OnSampleTools],
//     [Session.Roots]; [Ordered]; [Without] removes abilities of the client
//   - rounds: [Session.Rounds] by hand, [Session.Chaos] with crashes and repetitions
//   - tasks: [Start], and the methods of [Task]
//   - time: [Virtual], [Session.Advance]
//   - notifications: [Session.Progress], [Session.Logs], [Session.Notifications],
//     [Session.AwaitNotification], [Session.InOrder], [Session.Eventually], [Session.Subscribe]
//   - callers: [User], [Principal], [Session.As]; [IdP] issues real tokens
//   - unreliable carriers: [Faults]; other versions of the server: [Session.Record], [Replay]
//   - generated calls: [Mistakes], [FuzzTool], [FuzzAgreement]
//   - the rules of the specification that an app can break: [Conformance]
//   - middleware alone: [Chain]
//   - speed: [Bench]
//
// To replace values that fx injects, see framework/mcpfx/mcpfxtest. Packages testkit/storetest and
// testkit/transporttest test stores and carriers of your own.
//
// # Handlers that ask
//
// The user, the model and the roots of a session are scripted before the call. An answer that is
// never asked for, and a question without an answer, fail the test:
//
//	s.OnElicit("Which city", "Oslo")
//	s.OnElicit("Really", testkit.Decline)
//	s.OnSample("Summarize", "short")
//	s.CallRaw("travel", "{}").OK()
//
// If the call has rounds (2026-07-28), the handler is also run again with the same answers, and
// must ask and do the same. [Session.Chaos] goes further: a fresh server for each round, each round
// twice, a crash after each effect. With [Session.Rounds] a test goes through a call by hand:
//
//	r := s.Rounds("travel", "{}")
//	r.Tamper().Answer("Oslo").Result().Code(-32602)
//
// # Tasks and time
//
// [Start] starts a task. Its worker can be killed, and another one continues the task as it would
// on another node:
//
//	job := testkit.Start(s, render, RenderIn{Film: "Ran"})
//	job.Step() // until it asks, or has ended
//	job.Crash()
//	job.Resume()
//	out, err := job.Await()
//
// In a testing/synctest bubble [Session.Advance] makes time pass: tests of expiry, polling,
// timeouts and rate limits need no sleep. [Virtual] gives each body of a matrix such a bubble, also
// over Fiber.
//
// # Unreliable carriers and changing servers
//
// With [Faults] the carrier delays, splits, repeats, reorders and breaks as much as the
// specification allows. [Session.Record] stores the frames of a session, and [Replay] compares
// another version of the server with them.
//
// # Guarantees
//
// A fault of the test itself ends the test, with a message that shows what was sent and the answer.
// Such faults are a question without an answer, an answer of the wrong kind, or a server that does
// not build. An error that a server may correctly return is returned to the test. The log of a
// failed test has the frames of the session. It also has the app's log, if the app has no logger of
// its own. A test that passes logs nothing.
//
// t.Cleanup closes sessions and shuts their server down, which cancels tasks that still run. The
// test fails if a goroutine of a session outlives it, including goroutines of handlers ([MayLeave]
// allows it). Calls are bounded by [Timeout]. The methods of a Session may be called concurrently.
// Methods that fail the test must run in the test's goroutine, as always with t.FailNow. In memory
// everything works inside a testing/synctest bubble.
//
// A session fails the test that it was opened with. Open one in each subtest that has its own. In a
// target of f.Fuzz, open it with the t of the target, because package testing panics there at any
// use of f.
//
// If the app has no store of its own, its tasks are kept in a store in memory, and run as on a
// shared store. Their context then has only the principal of the request's context.
//
// Over HTTP, the session's user is authenticated without a token; the authentication of real
// clients is not tested here. After a session on Fiber, two goroutines of fasthttp remain for some
// seconds. For goleak.IgnoreAnyFunction, their names are
// "github.com/valyala/fasthttp.(*workerPool).Start.func2" and
// "github.com/valyala/fasthttp.updateServerDate.func1".
package testkit
