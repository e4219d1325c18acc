package redisstore

import "time"

// Option of a Store. Sealed.
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

// taskBounds bound the tasks of one owner: those that have ended, and the others.
type taskBounds struct{ ended, endedBytes, liveBytes int }

// eventBounds bound one stream.
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

// Prefix sets the beginning of every key and channel; default "kagami:". It must not contain
// braces, by which a Cluster finds the slot of a key: that is an error of Open; with New, of
// every operation.
func Prefix(prefix string) Option { return func(o *options) { o.prefix = prefix } }

// LeaseLife sets how long a worker has a task without renewing its lease; default 30 s. d
// below 10 ms is 10 ms.
func LeaseLife(d time.Duration) Option {
	return func(o *options) { o.leaseLife = max(d, 10*time.Millisecond) }
}

// Sweep sets how often a store in which somebody waits for a task looks for leases that ran
// out; default 10 s. So a task whose worker dies goes to another after LeaseLife and Sweep
// at most. d below 10 ms is 10 ms.
func Sweep(d time.Duration) Option {
	return func(o *options) { o.sweep = max(d, 10*time.Millisecond) }
}

// Encrypt seals what is kept; see the package. The first key seals, all of them open. To
// rotate, add the new one behind the old one everywhere, then put it in front everywhere,
// and take the old one away when what it sealed has expired. A key is at least 16 bytes
// that nobody can guess. Records from before Encrypt was set are refused: begin with a new
// Prefix.
//
// A key that is shorter, or no key at all, is an error of Open; with New, of every
// operation that keeps or reads something. The bytes of a key may be changed afterwards.
func Encrypt(keys ...[]byte) Option {
	return func(o *options) { o.sealed, o.keys = true, append(o.keys, keys...) }
}

// StreamEvents bounds the number of events of one stream; default 16,384. n below 1 is 1.
func StreamEvents(n int) Option { return func(o *options) { o.events.events = max(n, 1) } }

// StreamBytes bounds the frames of one stream together; default 8 MiB. The newest event
// is kept even if it alone is larger, so that a large answer can be fetched. n below 1
// is 1.
func StreamBytes(n int) Option { return func(o *options) { o.events.bytes = max(n, 1) } }

// StreamTTL sets how long the events of a stream are kept after the last one; default an
// hour. The stream's number is kept a day longer: a stream that began at 1 again could pass
// events off as others that a client has seen. d below 10 ms is 10 ms.
func StreamTTL(d time.Duration) Option {
	const longest = 100 * 365 * 24 * time.Hour // so that a day more is one
	return func(o *options) { o.events.ttl = min(max(d, 10*time.Millisecond), longest) }
}

// EndedTasks bounds the number of tasks of one owner that have ended, and are kept for
// their results; default 16,384. The one that ended first goes first. n below 1 is 1.
func EndedTasks(n int) Option { return func(o *options) { o.tasks.ended = max(n, 1) } }

// EndedBytes bounds the ended tasks of one owner in bytes, counting everything that is kept
// of a task; default 256 MiB. The one that ended last is kept even if it alone is larger. n
// below 1 is 1.
func EndedBytes(n int) Option { return func(o *options) { o.tasks.endedBytes = max(n, 1) } }

// LiveBytes bounds the tasks of one owner that have not ended, counting everything that is
// kept of them; default 256 MiB. A new task that does not fit is refused with task.ErrFull;
// accepted tasks may grow beyond it by half as much together, and can always end. n below 1
// is 1.
func LiveBytes(n int) Option { return func(o *options) { o.tasks.liveBytes = max(n, 1) } }
