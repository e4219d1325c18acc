// Package memory holds the ports of a server in memory.
//
//	store := memory.New()                             // the default bounds
//	store := memory.Sized(memory.TotalBytes(64 << 20))  // smaller
//	log := store.Events()                             // an eventlog.Store
//	once := store.Claims()                            // a claim.Store
//	peers := store.Sessions()                         // a session.Store
//	jobs := store.Tasks()                             // a task.Store and task.Queue
//	news := store.Changes()                           // a change.Bus
//
// What is kept is gone with the process, and belongs to this process alone: with more than
// one node, a client must come back to the same one. Servers in one process that are given
// the same Store are one server to their clients.
//
// Guarantees. A Store is safe for concurrent use and bounded, whatever is put into it,
// bookkeeping included; only callers that wait in Take or Subscribe are not counted. It
// allocates nothing before the first use and starts no goroutine. An operation never
// blocks, and fails only with the errors of its port and with ErrFull; it ignores the
// context. Take and Subscribe wait until their context ends; of all callers in Take, one
// has a timer. Neither needs any goroutine but its caller's.
//
// Events read no clock: they go when there is no room, not after a time. Adding or
// forgetting an event takes constant time on average, reading takes time in proportion to
// what is read. Claims and sessions are the other way round: they stay until their time has
// passed, by the monotonic clock, and when there is no room a new one is refused. Tasks
// stay until their time has passed, too, but one that has ended makes room for a new one.
// An operation takes time logarithmic in their number, on average: the expired are dropped
// a few at a time.
//
// The TTL of a task runs by the monotonic clock from Create on, the life of a session
// from when it was set: if the wall clock jumps, those that are there expire neither
// sooner nor later.
//
// Working tasks are handed out in the order in which they came, came back, or had their
// lease run out; those that wait for them are served in the order in which they came. A
// lease that ran out can be renewed as long as nobody else has taken the task.
//
// All subscribers of a bus get its messages in the same order; only a subscriber that falls
// too far behind loses any.
//
// Ownership of bytes. What is put in is copied. An event or a message that is handed out is
// shared with the store and with others: it is read-only, and remains valid after the store
// has forgotten it. A claim, a session or a task that is handed out is a copy.
package memory
