package boltstore

import (
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
)

// Option configures Open. Other packages cannot implement it.
type Option func(*settings)

// settings holds the options of a store.
type settings struct {
	memory.Bounds
	lockWait time.Duration
	syncing  bool // sync the events as well
}

// Sized sets the bounds. Without it, the defaults of [memory.Bounds] apply, so that a server with a
// file accepts as much as one without.
func Sized(b memory.Bounds) Option { return func(s *settings) { s.Bounds = b.Filled() } }

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
// it, events survive any end of the process (on Linux, macOS and Windows), but not the end of the
// machine.
func SyncEvents() Option { return func(s *settings) { s.syncing = true } }

// settle returns the settings of the options.
func settle(opts []Option) *settings {
	s := &settings{Bounds: memory.Bounds{}.Filled(), lockWait: time.Second}
	for _, o := range opts {
		if o != nil {
			o(s)
		}
	}
	return s
}
