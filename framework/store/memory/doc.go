// Package memory holds the ports of a server in memory.
//
//	store := memory.New()                             // the default bounds
//	store := memory.New(memory.TotalBytes(64 << 20))  // smaller
//	log := store.Events()                             // an eventlog.Store
//
// What is kept is gone with the process, and belongs to this process alone: with
// more than one node, a client must come back to the same one.
//
// Guarantees. A Store is safe for concurrent use and bounded whatever is put into
// it, the bookkeeping included. It allocates nothing before the first use, starts
// no goroutine and reads no clock: the oldest goes when there is no room, not
// when time has passed. An operation never blocks and never fails but with the
// errors of its port; the context is not looked at. Adding an event and
// forgetting one take constant time on average, reading takes time for what is
// read.
//
// Ownership of bytes. What is put in is copied. What is handed out is shared with
// the store and with other readers: it is read-only, and stays as it is after the
// store has forgotten it.
package memory
