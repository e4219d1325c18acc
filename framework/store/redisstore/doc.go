// Package redisstore holds the ports of a server on Redis, for several processes that are
// one server to their clients.
//
//	store, err := redisstore.Open(ctx, "rediss://user:secret@redis.example:6379/0")
//	...
//	defer store.Close()
//	app := framework.New("shop", "1.4.0", framework.WithStore(store))
//
// If a URL cannot say it (Sentinel, Cluster, certificates), bring a client of your own:
//
//	client := redis.NewUniversalClient(&redis.UniversalOptions{...})
//	store := redisstore.New(client, redisstore.Prefix("shop:"))
//
// All servers with one prefix must have the same options. Different prefixes keep servers
// apart, unless one is the beginning of another. Redis must be version 7 or newer.
//
// # Guarantees
//
// Every change is one step (a Lua script): a task and its place in line change together, so
// that no accepted task is ever out of sight. Every change is sent once, whatever the
// client's MaxRetries: if no answer comes, the error does not say whether it has happened.
// Things expire by the clock of Redis, at times that for sessions and tasks the servers set
// by their own clocks. All these clocks must agree to within a few seconds (NTP): a server
// whose clock is behind makes them expire that much sooner, and one that is 20 s behind is
// taken for dead when another takes over its streams.
//
// The line is a stream with a consumer group, and a lease is a pending entry of it: it runs
// out if it is not renewed for LeaseLife, and the next Sweep of any server hands the task
// to another worker. An entry whose task has gone on without it is dropped when it is
// found.
//
// A Store keeps nothing in memory but its waiting callers. New and Open start no goroutine.
// Take starts one, which uses one connection for all waiting callers and reads no more than
// they take, and Subscribe has one of its own; both end with their callers, or with Close.
//
// # Redis away
//
// A call fails when its connection does, and succeeds again as soon as Redis is back. With
// Open, failing takes about two seconds at most. With a client of your own it takes as long
// as its DialTimeout (times DialerRetries), PoolTimeout and ReadTimeout together, and for
// calls that only read, once more for each of its MaxRetries. Do not set a ReadTimeout
// below a second, or none: a Take reads half a second at a time. A context ends a call that
// waits for Redis only with ContextTimeoutEnabled; Take and Subscribe end with theirs in
// any case. Subscribe survives an outage, and says so by fn(nil). What go-redis itself
// reports about connections goes to stderr, or where redis.SetLogger says.
//
// # What Redis must be told
//
// What Redis loses is lost. With the append-only file and `appendfsync always`, nothing
// that was acknowledged is lost; with `everysec`, up to a second of it, and a failover may
// lose what had not reached the replica. With snapshots alone (RDB, the default of many
// packages) a crash loses everything since the last one: minutes of sessions, of accepted
// tasks, and of results that clients have not fetched; what comes back is consistent, tasks
// and their line as of one moment. `maxmemory-policy` must be noeviction: any other
// silently removes tasks. When memory is full then, sessions, claims and new tasks return
// ErrFull, and everything else an error.
//
// There is no bound for everything together: tasks are bounded for each owner (EndedTasks,
// EndedBytes, LiveBytes, and by the server), streams by StreamEvents, StreamBytes and
// StreamTTL, and sessions and claims by the time they live. So no stream pushes out
// another's events, but many large ones can fill the memory of Redis for as long as
// StreamTTL.
//
// On a Cluster, the tasks of one prefix are in one slot, and so on one shard: their
// records, their line and their indexes change together. Sessions, claims and events
// are spread.
//
// # What is kept in the clear
//
// With Encrypt, what was said is sealed (AES-256-GCM): tasks, the data of sessions, frames
// of events, values of claims, and messages of the bus, which Redis does not keep. Keys are
// not: ids, owners, principals, names of streams and claims; nor are counters, versions and
// times. Somebody who can write to Redis cannot pass one record off as another, nor make up
// a message, but can bring back an older one.
package redisstore
