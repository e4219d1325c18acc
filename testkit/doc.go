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
// A [Session] is one client with a connection of its own to a server built for
// it. Every frame takes the whole way through the client, the carrier, the engine
// and the handlers, so what a test sees is what a client of that revision sees.
// Tests need not know the revision: what differs on the wire (errors of arguments,
// wrapped structured results, how changes and logs are asked for, how questions
// travel) is evened out, but for [Session.Raw].
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
//   - the specification: [Conformance]
//   - middleware alone: [Chain]
//   - speed: [Bench]
//
// Overriding what is injected is in framework/mcpfx/mcpfxtest. Packages testkit/storetest
// and testkit/transporttest prove stores and carriers that others have written.
//
// # Handlers that ask
//
// The user, the model and the roots of a session are scripted before the call; what
// nobody asks for and what nobody answers fails the test:
//
//	s.OnElicit("Which city", "Oslo")
//	s.OnElicit("Really", testkit.Decline)
//	s.OnSample("Summarize", "short")
//	s.CallRaw("travel", "{}").OK()
//
// Where the call goes in rounds (2026-07-28) the handler is also run again on the
// same answers, and must ask and do the same. [Session.Chaos] goes further: a fresh
// server for each round, each round twice, a crash after each effect.
// [Session.Rounds] goes through a call by hand:
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
// In a testing/synctest bubble [Session.Advance] makes time pass: what expires, polls,
// times out or is limited by a rate needs no sleep. [Virtual] gives each body of a matrix
// such a bubble, over Fiber too.
//
// # Carriers that are bad, and servers that change
//
// With [Faults] the carrier is late, splits, repeats, reorders and breaks within what
// it may do. [Session.Record] keeps what a session said, and [Replay] holds another
// version of the server against it.
//
// # What holds
//
// A fault of the test itself, such as a question that nobody answers, an answer
// that is not of the kind asked for, or a server that does not build, ends the test
// with a message that names what was sent and what came back. What a server may
// rightly refuse is returned. The log of a test that failed has what the session sent
// and got, and what the app has logged where it has no logger of its own; one that
// passes says nothing.
//
// Sessions are closed, and their server shut down, by t.Cleanup: tasks that still run are
// told to end. The test fails if a goroutine of theirs outlives them, be it a handler's
// ([MayLeave] allows it). Calls are bounded by [Timeout]. The methods of a Session may be
// called concurrently, but those that fail the test must run in the test's goroutine, as
// always with t.FailNow. In memory everything works inside a testing/synctest bubble.
//
// A session fails the test that it was opened with: open one in each subtest that has its
// own, and in a target of f.Fuzz with the t of the target, for there package testing
// panics at any use of f.
//
// Where the app has no store of its own its tasks are in one in memory, and run as on a
// shared store: of the request's context they have the principal, and nothing else.
//
// Over HTTP a session's user is known without a token: what authenticates real
// clients is not tested here. After a session on Fiber two goroutines of fasthttp
// sleep on for some seconds; goleak.IgnoreAnyFunction knows them as
// "github.com/valyala/fasthttp.(*workerPool).Start.func2" and
// "github.com/valyala/fasthttp.updateServerDate.func1".
package testkit
