// Package testkit tests MCP servers as their clients see them, in memory.
//
//	func TestSearch(t *testing.T) {
//		testkit.AllRevisions(t, newApp, func(t *testing.T, s *testkit.Session) {
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
// wrapped structured results, how changes and logs are asked for) is evened out,
// but for [Session.Raw].
//
// A fault of the test itself, such as a question that nobody answers, an answer
// that is not of the kind asked for, or a server that does not build, ends the test
// with a message that names what was sent and what came back. What a server may
// rightly refuse is returned.
//
// Sessions are closed, and their server shut down, by t.Cleanup. Calls are bounded
// by [Timeout]. The methods of a Session may be called concurrently, but those that
// fail the test must run in the test's goroutine, as always with t.FailNow.
// Everything works inside a testing/synctest bubble.
package testkit
