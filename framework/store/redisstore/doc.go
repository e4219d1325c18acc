// Package redisstore stores the state of a server in Redis, for several processes that are one
// server to their clients.
//
//	store, err := redisstore.Open(ctx, "rediss://user:secret@redis.example:6379/0")
//	...
//	defer store.Close()
//	app := framework.New("shop", "1.4.0", framework.WithStore(store))
//
// If a URL cannot express the connection (Sentinel, Cluster, certificates), use your own client:
//
//	client := redis.NewUniversalClient(&redis.UniversalOptions{...})
//	store := redisstore.New(client, redisstore.Prefix("shop:"))
//
// The client must read from masters only. A replica does not have the last change yet, so a session
// that was just made would not be found.
//
// All servers with one prefix must have the same options. Different prefixes keep servers apart,
// unless one prefix is the beginning of another. Redis must be version 7 or newer.
//
// # Guarantees
//
// Every change is one step (a Lua script). A task and its queue entry change together, so that an
// accepted task is never lost from the queue. Every change is sent once, even if the client's
// MaxRetries allows more. If there is no answer, the change may or may not have happened.
//
// Items expire by the clock of Redis. For sessions and tasks, the servers set the times by their
// own clocks. All these clocks must agree to within a few seconds (NTP). If a server's clock is
// behind, its items expire that much sooner. If it is 20 s behind, other servers treat the server
// as dead when they take over its streams.
//
// The task queue is a Redis stream with a consumer group, and a lease is a pending entry. If a
// lease is not renewed for LeaseLife, it expires. The next Sweep of any server then hands the task
// to another worker. Entries of tasks that no longer need them are removed when they are found.
//
// A Store has nothing in memory except its waiting callers. New and Open start no goroutines. Take
// starts one, which uses one connection for all waiting callers and reads no more tasks than they
// take. Each Subscribe has its own goroutine. Both end with their callers, or with Close.
//
// # Redis away
//
// A call fails when its connection fails, and calls succeed again as soon as Redis is back. With
// Open, a failure takes about two seconds at most. With your own client, it takes as long as its
// DialTimeout (times DialerRetries), PoolTimeout and ReadTimeout together. Calls that only read
// take this time again for each of its MaxRetries. Set a ReadTimeout of a second or more, because a
// Take reads for half a second at a time.
//
// A context ends a call that waits for Redis only with ContextTimeoutEnabled. Take and Subscribe
// always end with their context. Subscribe survives an outage, and reports it with fn(nil).
// Messages of go-redis itself about connections go to stderr, or to the logger of redis.SetLogger.
//
// # How to configure Redis
//
// Data that Redis loses is lost. With the append-only file and `appendfsync always`, no
// acknowledged data is lost. With `everysec`, up to a second of it is lost, and a failover may lose
// data that had not reached the replica.
//
// With snapshots alone (RDB, the default of many packages), a crash loses everything since the last
// snapshot. That may be minutes of sessions, of accepted tasks, and of results that clients have
// not fetched. The restored data is consistent: tasks and their queue are as of one moment.
//
// `maxmemory-policy` must be noeviction, because any other policy silently removes tasks. When the
// memory is full, sessions, claims and new tasks return ErrFull, and most other writes an error. What
// is in use remains in use: Touch of a session and Renew and Release of a lease succeed.
//
// There is no bound for everything together. Tasks are bounded for each owner (EndedTasks,
// EndedBytes, LiveBytes, and by the server). Streams are bounded by StreamEvents, StreamBytes and
// StreamTTL, and sessions and claims by their lifetime. A stream therefore never displaces
// another's events. But many large streams can fill the memory of Redis for as long as StreamTTL.
//
// On a Cluster, the tasks of one prefix are in one slot and therefore on one shard: their records,
// their queue and their indexes change together. Sessions, claims and events are distributed.
//
// # Encryption
//
// With Encrypt, contents are sealed (AES-256-GCM): tasks, the data of sessions, frames of events,
// values of claims, and messages of the bus. Redis does not store messages of the bus.
//
// Keys are not sealed: IDs, owners, principals, names of streams and claims. Counters, versions and
// times are not sealed either. An attacker who can write to Redis cannot replace one record by
// another or make up a message. The attacker can restore an older record.
package redisstore

// The rest of this file is for those who change the package.
//
// # Ownership and locks
//
// Redis has the state. A script runs there as one step, so no lock of this package orders changes,
// and two Stores with one prefix need none between them. In this process there are only these
// goroutines:
//
//   - the reader of the queue (takeQueue.read), while a Take waits. The first Take starts it, and it
//     ends when no Take waits, or with Close.
//   - the reader of a subscriber (changes.listen). Subscribe starts it, and waits for its end
//     before it returns.
//
// Store.begin registers both kinds, and Close ends their contexts and waits for them. A call of
// Take itself is not registered: takeQueue.close answers it.
//
// Locks are taken in the order takeQueue.mu, Store.mu: the first Take registers its reader while it
// holds takeQueue.mu. The lock of an inbox is taken alone. No lock is held during a command, nor while
// the function of a subscriber runs. A context is ended under Store.mu; functions that wait for its end
// run elsewhere.
//
// A Take hands over a channel with space for one answer. While the channel is in takeQueue.waiting, the
// goroutine that removes it under takeQueue.mu sends the answer, or leave removes it, and then there is
// none. An entry that Redis has delivered belongs to the reader until hand gives it to a Take.
// Entries without a Take are released again.
//
// If this process dies, its entries stay pending in Redis until their leases expire. If a command
// fails, the change may have happened; once makes sure that it is never sent twice.
