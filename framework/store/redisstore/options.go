package redisstore

import "time"

// Option configures a Store. Other packages cannot implement it.
type Option func(*options)

type options struct {
	prefix    string
	leaseLife time.Duration
	sweep     time.Duration
	sealed    bool // Encrypt was given
	keys      [][]byte
	events    eventBounds
	tasks     taskBounds
}

// taskBounds are the bounds for the tasks of one owner: ended tasks, and all others.
type taskBounds struct{ ended, endedBytes, liveBytes int }

// eventBounds are the bounds of one stream.
type eventBounds struct {
	events int
	bytes  int
	ttl    time.Duration
}

func settle(opts []Option) options {
	o := options{
		prefix:    "kagami:",
		leaseLife: 30 * time.Second,
		sweep:     10 * time.Second,
		events:    eventBounds{events: 16384, bytes: 8 << 20, ttl: time.Hour},
		tasks:     taskBounds{ended: 16384, endedBytes: 256 << 20, liveBytes: 256 << 20},
	}
	for _, opt := range opts {
		if opt != nil {
			opt(&o)
		}
	}
	return o
}

// Prefix sets the beginning of every key and channel; the default is "kagami:". It must not contain
// braces, because a Cluster uses them to find the slot of a key. If it does, Open returns an error;
// with New, every operation does.
func Prefix(prefix string) Option { return func(o *options) { o.prefix = prefix } }

// LeaseLife sets how long a worker has a task without renewing its lease; the default is 30 s. If d
// is below 10 ms, it counts as 10 ms.
func LeaseLife(d time.Duration) Option {
	return func(o *options) { o.leaseLife = max(d, 10*time.Millisecond) }
}

// Sweep sets how often a store with waiting calls of Take looks for expired leases; the default is
// 10 s. If a worker dies, another worker gets its task after LeaseLife and Sweep at most. If d is
// below 10 ms, it counts as 10 ms.
func Sweep(d time.Duration) Option {
	return func(o *options) { o.sweep = max(d, 10*time.Millisecond) }
}

// Encrypt seals stored contents; see the package comment. The first key seals, and all keys open. A
// key has at least 16 bytes that cannot be guessed. Records from before Encrypt was set are
// refused, so begin with a new Prefix.
//
// To rotate keys, first add the new key after the old one on all servers. Then put it first on all
// servers. Remove the old key when the records that it sealed have expired. A record in use keeps
// its seal until it changes. After the removal, a session with the old seal is refused (503) until
// it expires, and then the client starts a new one. In a store of authserver, keep the old key for
// as long as the documentation of authserver.Seal requires.
//
// If a key is shorter, or there is no key, Open returns an error; with New, every operation that
// stores or reads does. The caller may change the bytes of a key afterwards.
func Encrypt(keys ...[]byte) Option {
	return func(o *options) { o.sealed, o.keys = true, append(o.keys, keys...) }
}

// StreamEvents sets the maximum number of events of one stream; the default is 16,384. If n is
// below 1, it counts as 1.
func StreamEvents(n int) Option { return func(o *options) { o.events.events = max(n, 1) } }

// StreamBytes sets the maximum size of all frames of one stream; the default is 8 MiB. The newest
// event is kept even if it alone is larger, so that a client can fetch a large answer. If n is
// below 1, it counts as 1.
func StreamBytes(n int) Option { return func(o *options) { o.events.bytes = max(n, 1) } }

// StreamTTL sets how long the events of a stream are kept after the last one; the default is an
// hour. If d is below 10 ms, it counts as 10 ms.
//
// The stream's number is kept a day longer. If the stream began at 1 again, a client could mistake
// new events for events that it has seen.
func StreamTTL(d time.Duration) Option {
	const longest = 100 * 365 * 24 * time.Hour // so that adding a day does not overflow
	return func(o *options) { o.events.ttl = min(max(d, 10*time.Millisecond), longest) }
}

// EndedTasks sets the maximum number of ended tasks of one owner, which are kept for their results;
// the default is 16,384. The task that ended first is removed first. If n is below 1, it counts as
// 1.
func EndedTasks(n int) Option { return func(o *options) { o.tasks.ended = max(n, 1) } }

// EndedBytes sets the maximum size of the ended tasks of one owner, including all stored data of a
// task; the default is 256 MiB. The task that ended last is kept even if it alone is larger. If n
// is below 1, it counts as 1.
func EndedBytes(n int) Option { return func(o *options) { o.tasks.endedBytes = max(n, 1) } }

// LiveBytes sets the maximum size of the unfinished tasks of one owner, including all their stored
// data; the default is 256 MiB. A new task that does not fit is refused with task.ErrFull. Accepted
// tasks may together grow beyond the bound by half of it, and can always end. If n is below 1, it
// counts as 1.
func LiveBytes(n int) Option { return func(o *options) { o.tasks.liveBytes = max(n, 1) } }
