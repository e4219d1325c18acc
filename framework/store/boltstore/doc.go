// Package boltstore holds the ports of a server in a file, for one process whose tasks,
// sessions, claims and events are to outlive it.
//
//	store, err := boltstore.Open("/var/lib/shop/store")
//	...
//	app := framework.New("shop", "1.4.0", framework.WithStore(store))
//	...                       // serve
//	err = store.Close()       // after the server
//
// # What survives
//
// What a method has acknowledged is on the disk: it survives the end of the process
// however it ends, kill -9 included, and that of the machine. Of a write that was not
// acknowledged, all is there or nothing. Events are the exception: what is acknowledged
// survives the end of the process, but not that of the machine, after which streams that
// were not closed begin anew and clients that resume one are told so (eventlog.ErrExpired);
// [SyncEvents] makes them like the rest. Changes are in memory: nobody else listens.
//
// After a restart each task that is working is in line again. Lease.Again is true for those
// that a worker had taken and not released: the file says that they were taken, but does
// not have the lease itself, as its worker is gone, too.
//
// # What it costs
//
// A write waits for the disk, about a millisecond with an SSD; writes that come at the same
// time wait together, so that 64 writers make some thousands of writes per second where one
// makes some hundreds. A task costs three writes: Create, Take, and the Update that ends
// it; Renew, and Release of what has ended, cost none. An event is not synced and takes
// some 50 microseconds; with [SyncEvents] it is a write like any other. A renewed claim and
// a counter are writes, too. Reading waits for nobody. BenchmarkTask and its neighbours
// measure all this.
//
// Only Take heeds its context: a write is over soon, or the disk is broken.
//
// # Bounds
//
// Everything is bounded by the options, whose defaults are those of store/memory; names,
// ids and keys have at most 4,096 bytes. What has expired is not seen any more; it is
// deleted a few at a time with the writes of its port, and all at once by Open. The file
// never shrinks: free space in it is used again, and listed with each write, which makes
// writes slower while much of a large file is free. It may take twice what the bounds add
// up to. To shrink it, stop the process and let "bbolt compact"
// (go.etcd.io/bbolt/cmd/bbolt) copy it.
//
// # One process
//
// The file is locked: a second process gets [ErrInUse], after [LockWait]. It must be on a
// local disk, not on a network file system. Only its owner may read it (0600), as it holds
// what users said.
//
// Open reads all of the file, 100 MB in less than a tenth of a second if they are cached,
// so that damage is an error then ([ErrDamaged]) and not a surprise later. A damaged file
// of events is given up: events are not worth a server that does not start. To make a copy,
// use [Store.Backup], or copy both files while the store is closed. The format has a
// number: a file of an earlier version is brought up to date, and one of a later version is
// refused ([ErrNewer]).
//
// # Time
//
// Things expire by the wall clock, because no other survives a restart: if it jumps ahead
// they expire sooner, if it jumps back, later. Leases are in memory, by the monotonic
// clock.
//
// # Faults
//
// A write for which the disk has no room, or that fails otherwise, returns an error and
// leaves nothing behind; the next may succeed. If nobody can know what is on the disk (the
// last step of a commit failed), or a page is not what it should be, all writes fail from
// then on, until the store is opened again. Every method of a closed store returns
// [ErrClosed].
//
// Ownership of bytes. What is put in is copied, and what is handed out is a copy.
//
// It does not share anything with other processes: store/redisstore does.
package boltstore
