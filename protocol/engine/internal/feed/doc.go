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
// Locks are taken in the order Feed.mu, topics.mu. Nothing is sent under a lock.
package feed
