// Package redisstore holds the ports of a server on Redis, for servers that are
// several processes and one to their clients.
//
//	store, err := redisstore.Open(ctx, "rediss://user:secret@redis.example:6379/0")
//	...
//	defer store.Close()
//	app := framework.New("shop", "1.4.0", framework.WithStore(store))
//
// Whoever needs more than a URL (Sentinel, Cluster, certificates) brings a client:
//
//	client := redis.NewUniversalClient(&redis.UniversalOptions{...})
//	store := redisstore.New(client, redisstore.Prefix("shop:"))
//
// All servers of one prefix must have the same options. Prefixes keep servers apart,
// if none is the beginning of another. It takes Redis 7 or newer.
//
// # Guarantees
//
// Every change is one step (a Lua script): a task and its place in line change
// together, so that none that was accepted is ever out of sight. Every change is sent
// once, whatever the client's MaxRetries: where no answer comes, the error does not
// say whether it has happened. What expires, expires by the clock of Redis. When sessions
// and tasks do, the servers say by their own: all these clocks must agree to within a few
// seconds (NTP), for a server whose clock is behind lets them end so much sooner, and one
// that is 20 s behind is taken for dead where another goes on with its streams.
//
// The line is a stream with a consumer group, and a lease an entry of it that is
// pending: it runs out when it was not renewed for LeaseLife, and the next Sweep of any
// server hands the task to another worker. An entry whose task has gone on without it
// is dropped where it is met.
//
// A Store keeps nothing in memory but who waits. New and Open start no goroutine. Take
// starts one, which uses one connection for all that wait and reads no more than they
// take, and Subscribe has one of its own; both end with their callers, or with Close.
//
// # Redis away
//
// A call fails when its connection does, and the next one that finds Redis there
// succeeds. With Open, that takes about two seconds at most. With a client from elsewhere
// it is as long as its DialTimeout (times DialerRetries), PoolTimeout and ReadTimeout are
// together, and for what only reads again for each of its MaxRetries. A ReadTimeout below
// a second, or none, is a bad one: a Take reads half a second at a time. Contexts end a
// call that waits for Redis only with ContextTimeoutEnabled; Take and Subscribe end with
// theirs in any case. Subscribe outlives it, and says so by fn(nil). What go-redis itself
// has to say of connections goes to stderr, or where redis.SetLogger says.
//
// # What Redis must be told
//
// What Redis loses, is lost. With the append-only file and `appendfsync always`,
// nothing that was acknowledged is; with `everysec`, up to a second of it, and a
// failover may lose what had not reached the replica. With snapshots alone (RDB, the
// default of many packages) a crash loses everything since the last one: minutes of
// sessions, of accepted tasks, and of results that clients have not fetched; what is
// back then is of one moment, with its line. `maxmemory-policy` must be noeviction:
// another one takes tasks away in silence. Where memory ends then, sessions and claims
// say ErrFull, and everything else an error.
//
// Redis has no bound of its own for what is kept: tasks are bounded for each
// owner (EndedTasks, EndedBytes, LiveBytes, and by the server), and streams by StreamEvents,
// StreamBytes and StreamTTL; sessions and claims by the time they live.
//
// On a Cluster, the tasks of one prefix are in one slot, and so on one shard: their
// records, their line and their indexes change together. Sessions, claims and events
// are spread.
//
// # What is kept in the clear
//
// With Encrypt, what was said is sealed (AES-256-GCM): tasks, the data of sessions,
// frames of events, values of claims, and messages of the bus, which Redis does not keep.
// Keys are not: ids, owners, principals, names of streams and claims; nor are counters,
// versions and times. Who can write to Redis cannot pass one record off as another, nor
// make a message, but can bring back an older one.
package redisstore
