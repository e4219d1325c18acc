// Package memory stores the state of a server in memory.
//
//	store := memory.New()                                      // the default bounds
//	store := memory.Sized(memory.Bounds{TotalBytes: 64 << 20}) // smaller
//	log := store.Events()                                      // an eventlog.Store
//	once := store.Claims()                                     // a claim.Store
//	peers := store.Sessions()                                  // a session.Store
//	jobs := store.Tasks()                                      // a task.Store and task.Queue
//	news := store.Changes()                                    // a change.Bus
//
// The contents belong to this process alone and are lost when it ends. With more than one node, a
// client must return to the same node. Servers in one process that are given the same Store are one
// server to their clients.
//
// A Store is safe for concurrent use. Its size is bounded for any input, bookkeeping included; only
// callers that wait in Take or Subscribe are not counted. A Store allocates nothing before the
// first use and starts no goroutines.
//
// Operations do not block and ignore the context. They fail only with the errors of their interface
// and with ErrFull. Take and Subscribe are the exceptions: they wait until their context ends. Only
// one of all callers in Take has a timer. Both use only the caller's goroutine.
//
// Events have no lifetime: they are evicted when the store is full. Adding or removing an event
// takes constant time on average. Reading takes time in proportion to the result. Claims and
// sessions stay until their lifetime is over, by the monotonic clock; when the store is full, it
// refuses new ones. Tasks also stay until their lifetime is over, but an ended task is evicted for
// a new one. Operations on claims, sessions and tasks take logarithmic time on average, because
// each removes only a few expired items.
//
// The TTL of a task runs on the monotonic clock, starting with Create. The lifetime of a session
// starts when it is set. If the wall clock jumps, existing items expire neither sooner nor later.
//
// Working tasks are handed out in the order they arrived, were released, or lost their
// lease. Callers that wait for a task are served in the order they came. An expired lease
// can be renewed as long as no other worker has taken the task.
//
// All subscribers of a bus receive its messages in the same order. Only a subscriber that falls too
// far behind loses messages.
//
// The store copies what it is given. Events and messages that it returns are shared with the store
// and with other callers. They are read-only, and remain valid after the store has removed them. A
// returned claim, session or task is a copy.
package memory

// The rest of this file is for those who change the package.
//
// # Ownership and locks
//
// Each kind of data (events, claims, sessions, tasks, changes) has one mutex, which guards all of that
// kind. They are independent: no operation holds two of them. Publish also takes the locks of inboxes,
// one at a time. While it holds a lock, the package does not call functions of its callers. Subscribe
// calls fn without a lock.
//
// What is stored is copied on the way in, before the lock is taken. A stored frame, value or record is
// replaced and never changed in place, so a reader takes the slice under the lock and copies it, or
// shares it, after the unlock. Only the bookkeeping is changed in place: indexes, sizes, ends.
//
// An index and what it counts change together, in insert, forget and the functions between. bytes of a
// kind is the sum of cost over what it holds, and cost must return the same value at insert and at
// forget, or the sum drifts. So code that changes a length also changes bytes.
//
// There are no goroutines. A call of Take or Subscribe sleeps in its caller's goroutine, on a channel
// with space for one element that is never closed. The element is a hint: its receiver looks
// again under the lock, so a hint too many does no harm. To lose none, a waiter of Take that leaves the
// list, with or without a task, passes the hint on (taskQueue.quit).
//
// All state is lost if the process dies.
