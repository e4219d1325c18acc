// Package feed sends changes to clients: of lists, resources and tasks.
//
// A [Hub] has the feeds of one engine, and an index of what they watch. A [Feed] is one client's: of a
// session, or of a listen stream (2026-07-28). It merges the changes that the client has not read yet
// into a backlog.
//
//	hub := feed.NewHub(running, secret)
//	f := hub.Session(d) // collects from now on
//	f.Attach(ctx, out)
//	f.Start()           // sends from now on
//	hub.Updated(uri)    // to all feeds that watch it
//
// # Ownership and locks
//
// Locks are taken in the order Feed.mu, topics.mu, and in the order Feed.mu, then the lock of the Group.
// Nothing is sent under a lock, and the function secret is called without one. The two indexes of the
// hub are never locked together.
//
// A change first looks the feeds up in an index and notifies them after that, without its lock. A feed
// may have stopped watching in between, so it looks again under Feed.mu (has). The filter and the index
// change together under Feed.mu, so a feed that watches a name in its filter is in the index, until
// Stop or Leave.
//
// Changes that wait belong to the backlog, and the goroutine drain owns what take has returned. There
// is at most one drain for a feed: kick sets draining. drain clears it when it finds nothing
// pending, under the same lock, so no change is left behind. If the client does not read, drain waits in Send, and
// changes are merged meanwhile. Stop does not interrupt it; the carrier or the context of the stream
// ends the Send.
package feed
