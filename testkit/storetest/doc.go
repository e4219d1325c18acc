// Package storetest tests stores: each function runs the suite of one port against an
// implementation of it.
//
//	func TestEvents(t *testing.T) {
//		storetest.Events(t, func(testing.TB) eventlog.Store { return memory.New().Events() })
//	}
//
// Suites of ports with a clock wait for short lives to end; those of claims and tasks
// may call a [Clock] instead.
//
// The suites test what a port promises and nothing else, so that all implementations pass
// the same tests. The amounts are small enough for the bounds of any sensible
// configuration; the bounds themselves are left to each store's own tests. Only what a full
// store drops is tested here, too: [TasksFull] and [EventsFull] open small stores. Run the
// suites with -race: they use stores from many goroutines.
package storetest
