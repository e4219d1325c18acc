// Package memory holds the ports of a server in memory.
//
//	store := memory.New()                             // the default bounds
//	store := memory.Sized(memory.TotalBytes(64 << 20))  // smaller
//	log := store.Events()                             // an eventlog.Store
//	once := store.Claims()                            // a claim.Store
//	jobs := store.Tasks()                             // a task.Store
//
// What is kept is gone with the process, and belongs to this process alone: with
// more than one node, a client must come back to the same one.
//
// Guarantees. A Store is safe for concurrent use and bounded whatever is put into
// it, the bookkeeping included. It allocates nothing before the first use and
// starts no goroutine and no timer. An operation never blocks and never fails but
// with the errors of its port and with ErrFull; the context is not looked at.
//
// Events read no clock: the oldest go when there is no room, not when time has
// passed. Adding an event and forgetting one take constant time on average,
// reading takes time for what is read. Claims are the other way round: they stay
// until their time has passed, by the monotonic clock, and when there is no room a
// new one is refused. Tasks stay until their time has passed, too, but one that has
// ended makes room for a new one. An operation takes time that grows with the
// logarithm of their number, on average: the expired are dropped a few at a time.
//
// The TTL of a task runs by the monotonic clock from Create on: if the wall clock
// jumps, the tasks that are there expire neither sooner nor later.
//
// Ownership of bytes. What is put in is copied. An event that is handed out is
// shared with the store and with other readers: it is read-only, and stays as it
// is after the store has forgotten it. A claim or a task that is handed out is a copy.
package memory
