// Package testkit tests MCP servers as their clients see them: at every revision,
// over every carrier, round by round.
//
//	func TestSearch(t *testing.T) {
//		testkit.Matrix(t, newApp, func(t *testing.T, s *testkit.Session) {
//			out, err := testkit.Call(s, search, SearchIn{Query: "tea"})
//			...
//			s.CallRaw("search", `{"limit":"ten"}`).IsError().Mentions("/limit")
//		})
//	}
//
// A [Session] is one client with a connection of its own to a server built for it. Every
// frame goes all the way through the client, the carrier, the engine and the handlers, so a
// test sees what a client of that revision sees. Tests need not know the revision:
// differences on the wire (argument errors, wrapped structured results, how changes and
// logs are asked for, how questions travel) are evened out, except by [Session.Raw].
//
// [New] opens one session in memory; [Matrix], [AllRevisions], [AllCarriers] and
// [BothEras] run one body on many, one after another, in a few milliseconds each.
//
// # The kit
//
//   - calls: [Call] by the handle, [CallAs] and [ReadAs] by type, [Session.CallRaw] as
//     models write, [Session.Raw] frame by frame; [Session.Read], [Session.Get],
//     [Session.Complete], and an [Answer] to look at
//   - lists: [Session.Tools] and its like; [Session.Golden] keeps one as it is on the
//     wire, [Contract] all that the server offers, with what a change of it means
//   - users, models, roots: [Session.OnElicit], [Session.OnSample],
//     [Session.OnSampleTools], [Session.Roots]; [Ordered]; [Without] takes the client's
//     abilities
//   - rounds: [Session.Rounds] by hand, [Session.Chaos] as the world might
//   - tasks: [Start], and the methods of [Task]
//   - time: [Virtual], [Session.Advance]
//   - what is said unasked: [Session.Progress], [Session.Logs], [Session.Notifications],
//     [Session.AwaitNotification], [Session.InOrder], [Session.Eventually],
//     [Session.Subscribe]
//   - who calls: [User], [Principal], [Session.As]; [IdP] makes real tokens
//   - bad carriers: [Faults]; other versions of the server: [Session.Record], [Replay]
//   - generated calls: [Mistakes], [FuzzTool], [FuzzAgreement]
//   - the rules of the specification that an app can break: [Conformance]
//   - middleware alone: [Chain]
//   - speed: [Bench]
//
// To replace what fx injects, see framework/mcpfx/mcpfxtest. Packages testkit/storetest and
// testkit/transporttest test stores and carriers of your own.
//
// # Handlers that ask
//
// The user, the model and the roots of a session are scripted before the call. An answer
// that is never asked for, and a question that nobody answers, fail the test:
//
//	s.OnElicit("Which city", "Oslo")
//	s.OnElicit("Really", testkit.Decline)
//	s.OnSample("Summarize", "short")
//	s.CallRaw("travel", "{}").OK()
//
// If the call goes in rounds (2026-07-28), the handler is also run again on the same
// answers, and must ask and do the same. [Session.Chaos] goes further: a fresh server for
// each round, each round twice, a crash after each effect. With [Session.Rounds] a test
// goes through a call by hand:
//
//	r := s.Rounds("travel", "{}")
//	r.Tamper().Answer("Oslo").Result().Code(-32602)
//
// # Tasks and time
//
// [Start] begins a task; its worker can be killed, and another one takes it over as
// it would on another node:
//
//	job := testkit.Start(s, render, RenderIn{Film: "Ran"})
//	job.Step() // until it asks, or is over
//	job.Crash()
//	job.Resume()
//	out, err := job.Await()
//
// In a testing/synctest bubble [Session.Advance] makes time pass: tests of expiry, polling,
// timeouts and rate limits need no sleep. [Virtual] gives each body of a matrix such a
// bubble, over Fiber, too.
//
// # Carriers that are bad, and servers that change
//
// With [Faults] the carrier delays, splits, repeats, reorders and breaks as much as the
// specification lets it. [Session.Record] keeps what a session said, and [Replay] compares
// another version of the server with it.
//
// # What holds
//
// A fault of the test itself, such as a question that nobody answers, an answer of another
// kind than was asked for, or a server that does not build, ends the test with a message
// that names what was sent and what came back. What a server may rightly refuse is
// returned. The log of a failed test has what the session sent and got, and what the app
// has logged if it has no logger of its own; a test that passes logs nothing.
//
// t.Cleanup closes sessions and shuts their server down: tasks that still run are told to
// end. The test fails if a goroutine of theirs outlives them, even a handler's ([MayLeave]
// allows it). Calls are bounded by [Timeout]. The methods of a Session may be called
// concurrently, but those that fail the test must run in the test's goroutine, as always
// with t.FailNow. In memory everything works inside a testing/synctest bubble.
//
// A session fails the test that it was opened with: open one in each subtest that has its
// own, and in a target of f.Fuzz with the t of the target, for there package testing
// panics at any use of f.
//
// If the app has no store of its own, its tasks are kept in one in memory, and run as on a
// shared store: of the request's context they have only the principal.
//
// Over HTTP a session's user is known without a token: the authentication of real clients
// is not tested here. After a session on Fiber two goroutines of fasthttp go on sleeping
// for some seconds; for goleak.IgnoreAnyFunction their names are
// "github.com/valyala/fasthttp.(*workerPool).Start.func2" and
// "github.com/valyala/fasthttp.updateServerDate.func1".
package testkit
