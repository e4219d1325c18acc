// Package catalog is the registry of everything a server serves.
//
//	r := catalog.New(catalog.Config{PageSize: 100, Secret: key})
//	change := r.Update(nil, entries)
//	snapshot := r.Snapshot() // an engine.Snapshot
//
// It is copy-on-write: readers take an immutable Snapshot without a lock, and
// Update publishes a new one. Entries are encoded before they come here, once
// for each dialect; the pages that callers with the same scopes see are joined of
// those bytes once, as long as they are asked for and the catalog does not change.
//
// Guarantees. Everything may be called concurrently. Lists are in the order of
// registration and depend on the caller's scopes only (2026-07-28 server/tools:
// MUST NOT vary per connection). Cursors are opaque and authenticated, survive a
// restart of a server with the same secret, and go on at the right place when
// components were added or removed in between.
//
// The package does not know what a component does, has no schemas, and notifies no clients of changes.
package catalog
