package memory

import (
	"cmp"
	"time"
)

// Bounds are the bounds of a store in memory or in a file. Sizes are in bytes, and include names,
// IDs and the store's own bookkeeping. If a field is 0, its default applies; if a number is below 0,
// it counts as 1.
type Bounds struct {
	StreamBytes    int           // all frames of one stream; default 8 MiB. The newest event is kept even if it alone is larger, so that a client can fetch a large answer
	StreamEvents   int           // events of one stream; default 16,384
	TotalBytes     int           // all streams; default 256 MiB. Of an event that alone is larger, only the number is kept
	ClaimEntries   int           // claims, including counters; default 262,144
	ClaimBytes     int           // all claims; default 64 MiB, a quarter of it reserved for values of at most 1 KiB
	SessionRecords int           // sessions; default 262,144
	SessionBytes   int           // all sessions; default 256 MiB
	TaskRecords    int           // tasks; default 100,000
	TaskBytes      int           // all tasks; default 256 MiB. The unfinished tasks of one owner take at most three quarters of it, and a new one is accepted only if they then take no more than all unfinished tasks leave free
	LeaseLife      time.Duration // how long a worker has a task without renewing its lease; default 30 s, also if it is below 0
}

// Filled returns b with the default of each field that is 0.
func (b Bounds) Filled() Bounds {
	const kilo, mega = 1 << 10, 1 << 20
	or := func(n, normal int) int { return max(cmp.Or(n, normal), 1) }
	b.StreamBytes, b.StreamEvents, b.TotalBytes = or(b.StreamBytes, 8*mega), or(b.StreamEvents, 16*kilo), or(b.TotalBytes, 256*mega)
	b.ClaimEntries, b.ClaimBytes = or(b.ClaimEntries, 256*kilo), or(b.ClaimBytes, 64*mega)
	b.SessionRecords, b.SessionBytes = or(b.SessionRecords, 256*kilo), or(b.SessionBytes, 256*mega)
	b.TaskRecords, b.TaskBytes = or(b.TaskRecords, 100_000), or(b.TaskBytes, 256*mega)
	if b.LeaseLife <= 0 {
		b.LeaseLife = 30 * time.Second
	}
	return b
}
