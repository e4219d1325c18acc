package feed

import (
	"context"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
)

// Hub is what the feeds of one engine share: the index of what they watch. Its methods never block.
type Hub struct {
	running *wait.Group           // counts the goroutines of the feeds
	secret  func(uri string) bool // reports whether a resource is confidential; nil: none is

	// Panicked reports a panic of an Outbound. It is set before the first feed, and may be nil.
	Panicked func(ctx context.Context, v any)

	resources topics        // watched by sessions and listen streams
	tasks     topics        // watched by listen streams
	learned   atomic.Uint64 // incremented when a session begins to watch something; see UpdatedSince
}

// NewHub returns a hub without feeds. secret reports whether only some clients may learn of a
// resource. It may be nil.
func NewHub(running *wait.Group, secret func(uri string) bool) *Hub {
	return &Hub{running: running, secret: secret}
}

// Learned returns a number that grows when a session begins to watch something.
func (h *Hub) Learned() uint64 { return h.learned.Load() }

// Updated queues an update of the resource for all feeds that watch it or a resource above it.
func (h *Hub) Updated(uri string) {
	for _, r := range h.recipients(uri) {
		r.feed.updated(r.watched, r.uri)
	}
}

// UpdatedSince is like Updated, for an update that was published when Learned returned learned. It
// skips feeds that began to watch earlier, because they have not missed the update.
func (h *Hub) UpdatedSince(learned uint64, uri string) {
	for _, r := range h.recipients(uri) {
		r.feed.updatedSince(learned, r.watched, r.uri)
	}
}

// UpdateAll queues an update of every watched resource. It returns false if no resource is watched.
func (h *Hub) UpdateAll() bool {
	names := h.resources.names()
	for _, name := range names {
		for _, r := range h.resources.of(name) {
			r.feed.updated(name, name)
		}
	}
	return len(names) > 0
}

// TaskChanged queues the new state of a task for all feeds that watch it. encode returns that state
// for the revision of a feed. If it returns an error, the feed is skipped.
func (h *Hub) TaskChanged(id string, encode func(*dialect.Dialect) (protocol.Params, error)) {
	for _, r := range h.tasks.of(id) {
		if news, err := encode(r.feed.d); err == nil {
			r.feed.watchedTaskChanged(id, news)
		}
	}
}

// TaskIDs returns the ids of all watched tasks.
func (h *Hub) TaskIDs() []string { return h.tasks.names() }

// recipients returns the feeds to notify of an update of uri, each with the URI to send. If uri is
// confidential, a feed that watches only a parent of uri is sent the parent's URI instead.
func (h *Hub) recipients(uri string) []recipient {
	hits, normal := h.resources.covering(uri), protocol.NormalURI(uri)
	secret := len(hits) > 0 && h.secret != nil && h.secret(uri)
	for i, r := range hits {
		hits[i].uri = uri
		if r.watched != uri && protocol.NormalURI(r.watched) == normal {
			hits[i].uri = r.watched // in the spelling of the client
		}
		if secret && !h.resources.has(r.feed, uri) {
			hits[i].uri = r.watched
		}
	}
	return hits
}
