package boltstore

import "time"

// Option of Open. Sealed.
type Option func(*settings)

// settings of a store. The numbers are most that may be kept.
type settings struct {
	leaseLife time.Duration
	lockWait  time.Duration
	syncing   bool // of events

	sessionRecords, sessionBytes            int
	taskRecords, taskBytes                  int
	claimEntries, claimBytes                int
	streamBytes, streamEvents, eventsInFile int
}

// LeaseLife sets how long a worker has a task without renewing its lease; default 30 s. If
// d is 0 or less, the default applies.
func LeaseLife(d time.Duration) Option {
	return func(s *settings) {
		if d > 0 {
			s.leaseLife = d
		}
	}
}

// LockWait sets how long Open waits for another process to close the file, such as the one
// that this one replaces; default 1 s. If d is 0 or less, the default applies.
func LockWait(d time.Duration) Option {
	return func(s *settings) {
		if d > 0 {
			s.lockWait = d
		}
	}
}

// SyncEvents makes the events of streams as durable as everything else: Append then waits
// for the disk. Without it they survive the end of the process, however it ends, but not
// that of the machine.
func SyncEvents() Option { return func(s *settings) { s.syncing = true } }

// SessionRecords bounds the number of sessions; default 262,144. n below 1 is 1.
func SessionRecords(n int) Option { return func(s *settings) { s.sessionRecords = max(n, 1) } }

// SessionBytes bounds all sessions together, the bookkeeping included; default 256 MiB.
// n below 1 is 1.
func SessionBytes(n int) Option { return func(s *settings) { s.sessionBytes = max(n, 1) } }

// TaskRecords bounds the number of tasks; default 100,000. n below 1 is 1.
func TaskRecords(n int) Option { return func(s *settings) { s.taskRecords = max(n, 1) } }

// TaskBytes bounds all tasks together, the bookkeeping included; default 256 MiB. The tasks
// of one owner that have not ended take three quarters of it at most, and a new one is
// accepted only while they take no more than all unfinished tasks leave free. n below 1 is
// 1.
func TaskBytes(n int) Option { return func(s *settings) { s.taskBytes = max(n, 1) } }

// ClaimEntries bounds the number of claims, counters among them; default 262,144. n
// below 1 is 1.
func ClaimEntries(n int) Option { return func(s *settings) { s.claimEntries = max(n, 1) } }

// ClaimBytes bounds all claims together, the bookkeeping included; default 64 MiB. Values
// of more than 1 KiB leave a quarter of it to smaller ones. n below 1 is 1.
func ClaimBytes(n int) Option { return func(s *settings) { s.claimBytes = max(n, 1) } }

// StreamBytes bounds the frames of one stream together; default 8 MiB. The newest
// event is kept even if it alone is larger, so that a large answer can be fetched. n
// below 1 is 1.
func StreamBytes(n int) Option { return func(s *settings) { s.streamBytes = max(n, 1) } }

// StreamEvents bounds the number of events of one stream; default 16,384. n below 1 is 1.
func StreamEvents(n int) Option { return func(s *settings) { s.streamEvents = max(n, 1) } }

// TotalBytes bounds all streams together, the bookkeeping included; default 256 MiB. If an
// event does not fit into it at all, only its number is kept. n below 1 is 1.
func TotalBytes(n int) Option { return func(s *settings) { s.eventsInFile = max(n, 1) } }

// settle is what the options say. The bounds are those of store/memory where they say
// nothing: a server that is given a file must not suddenly refuse what it took before.
func settle(opts []Option) *settings {
	s := &settings{
		leaseLife: 30 * time.Second, lockWait: time.Second,
		sessionRecords: 1 << 18, sessionBytes: 256 << 20,
		taskRecords: 100_000, taskBytes: 256 << 20,
		claimEntries: 1 << 18, claimBytes: 64 << 20,
		streamBytes: 8 << 20, streamEvents: 16384, eventsInFile: 256 << 20,
	}
	for _, o := range opts {
		if o != nil {
			o(s)
		}
	}
	return s
}
