// Package catalog is the registry of all components of a server.
//
//	r := catalog.New(catalog.Config{PageSize: 100, Secret: key})
//	change := r.Update(nil, entries)
//	snapshot := r.Snapshot() // an engine.Snapshot
//
// It is copy-on-write: readers take an immutable Snapshot without a lock, and
// Update publishes a new one. Entries are encoded before they come here, once
// for each dialect. The pages are made of those bytes, and callers with the same scopes
// share them. They are kept while they are requested and the catalog does not change.
//
// Guarantees. Everything may be called concurrently. Lists are in the order of
// registration and depend only on the caller's scopes (2026-07-28 server/tools:
// MUST NOT vary per connection). Cursors are opaque and authenticated, survive a
// restart of a server with the same secret, and continue at the right place after
// components were added or removed.
//
// The package treats all components alike, contains no schemas, and does not notify clients of changes.
package catalog
