// Package storetest tests stores. Each function runs the test suite of one store interface against
// an implementation.
//
//	func TestEvents(t *testing.T) {
//		storetest.Events(t, func(testing.TB) eventlog.Store { return memory.New().Events() })
//	}
//
// If several processes share a store, open two values that share their data, and combine them with a
// function such as [SessionNodes]:
//
//	storetest.Sessions(t, storetest.SessionNodes(open))
//
// Suites for stores with expiry sleep until short lifetimes have passed. The claim and task suites
// can use a [Clock] instead.
//
// The suites test what an interface promises and nothing else, so that all implementations pass the
// same tests. The amounts are small enough for the bounds of any sensible configuration. Each
// store's own tests check its bounds. Only the eviction of a full store is also tested here:
// [TasksFull] and [EventsFull] open small stores. Run the suites with -race, because they use
// stores from many goroutines.
package storetest
