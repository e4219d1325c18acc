package boltstore

import "time"

// Option configures Open. Other packages cannot implement it.
type Option func(*settings)

// settings holds the options of a store. The numbers are maximums.
type settings struct {
	leaseLife time.Duration
	lockWait  time.Duration
	syncing   bool // sync the events as well

	sessionRecords, sessionBytes            int
	taskRecords, taskBytes                  int
	claimEntries, claimBytes                int
	streamBytes, streamEvents, eventsInFile int
}

// LeaseLife sets how long a worker has a task without renewing its lease. If d is 0 or less, the
// default of 30 s applies.
func LeaseLife(d time.Duration) Option {
	return func(s *settings) {
		if d > 0 {
			s.leaseLife = d
		}
	}
}

// LockWait sets how long Open waits for another process to close the file, such as the process that
// this one replaces. If d is 0 or less, the default of 1 s applies.
func LockWait(d time.Duration) Option {
	return func(s *settings) {
		if d > 0 {
			s.lockWait = d
		}
	}
}

// SyncEvents makes events as durable as everything else: Append then waits for the disk. Without
// it, events survive any end of the process, but not the end of the machine.
func SyncEvents() Option { return func(s *settings) { s.syncing = true } }

// SessionRecords sets the maximum number of sessions; the default is 262,144. If n is below 1, it
// counts as 1.
func SessionRecords(n int) Option { return func(s *settings) { s.sessionRecords = max(n, 1) } }

// SessionBytes sets the maximum size of all sessions, including bookkeeping; the default is 256
// MiB. If n is below 1, it counts as 1.
func SessionBytes(n int) Option { return func(s *settings) { s.sessionBytes = max(n, 1) } }

// TaskRecords sets the maximum number of tasks; the default is 100,000. If n is below 1, it counts
// as 1.
func TaskRecords(n int) Option { return func(s *settings) { s.taskRecords = max(n, 1) } }

// TaskBytes sets the maximum size of all tasks, including bookkeeping; the default is 256 MiB. The
// unfinished tasks of one owner take at most three quarters of it. A new task is accepted only if
// the owner's unfinished tasks then take no more than all unfinished tasks leave free. If n is
// below 1, it counts as 1.
func TaskBytes(n int) Option { return func(s *settings) { s.taskBytes = max(n, 1) } }

// ClaimEntries sets the maximum number of claims, including counters; the default is 262,144. If n
// is below 1, it counts as 1.
func ClaimEntries(n int) Option { return func(s *settings) { s.claimEntries = max(n, 1) } }

// ClaimBytes sets the maximum size of all claims, including bookkeeping; the default is 64 MiB. A
// quarter of it is reserved for values of at most 1 KiB. If n is below 1, it counts as 1.
func ClaimBytes(n int) Option { return func(s *settings) { s.claimBytes = max(n, 1) } }

// StreamBytes sets the maximum size of all frames of one stream; the default is 8 MiB. The newest
// event is kept even if it alone is larger, so that a client can fetch a large answer. If n is
// below 1, it counts as 1.
func StreamBytes(n int) Option { return func(s *settings) { s.streamBytes = max(n, 1) } }

// StreamEvents sets the maximum number of events of one stream; the default is 16,384. If n is
// below 1, it counts as 1.
func StreamEvents(n int) Option { return func(s *settings) { s.streamEvents = max(n, 1) } }

// TotalBytes sets the maximum size of all streams, including bookkeeping; the default is 256 MiB.
// If one event is larger than that, only its number is kept. If n is below 1, it counts as 1.
func TotalBytes(n int) Option { return func(s *settings) { s.eventsInFile = max(n, 1) } }

// settle returns the settings of the options. The defaults are the bounds of store/memory, so that
// a server with a file accepts as much as one without.
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
