// Package boltstore stores the state of a server in a file, for one process. Its tasks, sessions,
// claims and events survive the process.
//
//	store, err := boltstore.Open("/var/lib/shop/store")
//	...
//	app := framework.New("shop", "1.4.0", framework.WithStore(store))
//	...                       // serve
//	err = store.Close()       // after the server
//
// # Durability
//
// A write that a method has acknowledged is on the disk. It survives the end of the process in any
// way, including kill -9, and the end of the machine. A write that was not acknowledged is stored
// completely or not at all. Changes are in memory, because no other process listens.
//
// Events are an exception: an acknowledged event survives the end of the process, but not the end
// of the machine. After that, streams of a store that was not closed start again, and clients that
// resume one receive eventlog.ErrExpired. With [SyncEvents], events are as durable as the rest.
// Systems other than Linux, macOS and Windows do not report whether the machine has restarted. On these
// systems, streams also start again after a process has ended without closing the store.
//
// After a restart, each working task is in the queue again. Lease.Again is true for tasks that a
// worker had taken and not released. The file records that they were taken, but not the lease,
// which ended with the process of its worker.
//
// # Costs
//
// A write waits for the disk, about a millisecond with an SSD. Concurrent writes wait together: 64
// writers make some thousands of writes per second, and a single writer some hundreds. A task costs
// three writes: Create, Take, and the Update that ends it. Renew, and Release of an ended task,
// cost none. Renewing a claim and changing a counter are writes.
//
// An event is not synced and takes some 50 microseconds; with [SyncEvents] it costs as much as any
// write. Reads do not wait for writers. BenchmarkTask and its neighbors measure all this.
//
// Only Take observes its context. All other operations end soon, or the disk is broken.
//
// # Bounds
//
// Sized bounds everything; the defaults are the same as in store/memory. Names, IDs and keys
// have at most 4,096 bytes. Expired items are not returned. Writes to the same kind of data delete
// a few of them at a time, and Open deletes all.
//
// The file never shrinks. Its free space is reused, and listed with each write. This makes writes
// slower while much of a large file is free. The file may take twice the sum of the bounds, and
// somewhat more if most records are small. To shrink it, stop the process and copy the file with "bbolt compact" (go.etcd.io/bbolt/cmd/bbolt).
//
// # One process
//
// The file is locked: a second process gets [ErrInUse], after [LockWait]. The file must be on a
// local disk, not on a network file system. Only its owner may read it (0600), because it contains
// users' data. On Windows the file inherits the access list of its directory: use a directory that other
// users cannot read.
//
// Open reads all of the file, so that damage is found at once ([ErrDamaged]). If the file is
// cached, 100 MB take less than a tenth of a second. A damaged file of events is deleted, because
// losing events is better than a server that does not start. To make a copy, use [Store.Backup], or
// copy both files while the store is closed. Open upgrades files of older formats, and refuses
// files of newer formats ([ErrNewer]).
//
// # Time
//
// Items expire by the wall clock, because no other clock survives a restart. If it jumps ahead,
// they expire sooner; if it jumps back, later. Leases are in memory and use the monotonic clock.
//
// # Faults
//
// If a write fails, for example because the disk is full, it returns an error and changes nothing.
// The next write may succeed. All writes fail from then on in two cases. Either a page is damaged,
// or the last step of a commit failed and the content of the disk is unknown. Open the store again
// then. Serve of a server returns an error in these cases ([Store.Failed]), so that a restart does
// that. Every method of a closed store returns [ErrClosed], except for Changes, which is in memory.
//
// The store copies the records and byte slices that it receives, and returns copies.
//
// The package does not share data with other processes; store/redisstore does.
package boltstore

// The rest of this file is for those who change the package.
//
// # Ownership and locks
//
// The package starts no goroutine. A write runs in the goroutine of its caller, or in the goroutine
// of another caller that leads at that moment. Its function run must therefore not depend on a
// goroutine, and must not call write or view: a second transaction in the leader would wait for
// itself.
//
// Each of the two files has one writer at a time, and any number of readers. bbolt's own lock is
// held from the beginning of a transaction to its end. These locks are taken in this order:
//
//   - bbolt's lock for writers, file.mu: a damaged page or a failed commit is recorded inside the
//     transaction
//   - bbolt's lock for writers, taskQueue.mu: Release looks at the lease inside its transaction
//
// Neither file.mu nor taskQueue.mu is held during I/O, and neither is taken under the other. The main
// file may be written while the file of events is closed or opened (setMark), but a transaction of
// one file never begins one of the other.
//
// Bytes that a bucket returns belong to bbolt until the transaction ends: copy what leaves it, and
// copy a key before you remove its row. Bytes that are put into a bucket must not change before the
// commit. The caller of a method is blocked until then, so its record may be put without a copy.
//
// # The queue
//
// The file has the truth about tasks; taskQueue has the order and the leases, in memory. A transaction
// only notes moves. They are applied after its commit, in the order of commits, by the leader. The
// queue may therefore be behind the file, so Take checks the file before it hands out a task.
//
// # Crashes
//
// A transaction is on the disk completely or not at all. After a restart, Open builds the queue
// from the file. Leases are gone; the bucket tasks.taken tells the next worker that the task may
// have run (Lease.Again). A panic of bbolt, for example because of a damaged page, is recovered:
// the write or read returns ErrDamaged, and all later writes of the file fail.
