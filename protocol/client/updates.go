package client

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/kagami-mcp/kagami/protocol"
)

// maxUpdates limits the changes of one Subscribe that are queued separately.
const maxUpdates = 1024

// updates holds the changes that a Subscribe has not yielded yet. Senders call offer and missed,
// and end when no more changes come; the sequence calls next. On a nil *updates, missed and end do
// nothing.
//
// The sender may be the reader, under watchTable.mu, so offer and end must not block. wake has room
// for one signal. Several goroutines may range over the sequence: next passes the signal on.
type updates struct {
	uri string

	mu     sync.Mutex // guards queue and closed
	queue  []string
	closed bool
	wake   chan struct{} // one, buffered
}

func newUpdates(uri string) *updates { return &updates{uri: uri, wake: make(chan struct{}, 1)} }

// covers reports whether uri is the watched resource, or is below it by its path, query or fragment
// (2025-11-25 schema, ResourceUpdatedNotification). A server may spell the URI in another way.
// covers therefore also returns uri in the spelling of the watched URI.
func (u *updates) covers(uri string) (string, bool) {
	if _, ok := below(u.uri, uri); ok {
		return uri, true
	}
	watched := protocol.NormalURI(u.uri)
	rest, ok := below(watched, protocol.NormalURI(uri))
	if rest != "" && strings.HasSuffix(watched, "/") && !strings.HasSuffix(u.uri, "/") {
		rest = "/" + rest
	}
	return u.uri + rest, ok
}

// below reports whether uri is the watched URI or below it, and returns the part of uri after the
// watched URI.
func below(watched, uri string) (string, bool) {
	rest, ok := strings.CutPrefix(uri, watched)
	return rest, ok && (rest == "" || strings.HasSuffix(watched, "/") || strings.ContainsRune("/?#", rune(rest[0])))
}

// offer queues a change of uri. It does not block. If too many changes are queued, they become one
// change of the watched URI.
func (u *updates) offer(uri string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if slices.Contains(u.queue, uri) {
		return
	}
	if len(u.queue) >= maxUpdates {
		u.queue, uri = u.queue[:0], u.uri
	}
	u.queue = append(u.queue, uri)
	u.signal()
}

// missed records that notifications may have been lost, so the watched URI may have changed.
func (u *updates) missed() {
	if u != nil {
		u.offer(u.uri)
	}
}

// end makes next return false after the queued changes. The owner of the subscription calls it, and
// also a renewal that lost the subscription.
func (u *updates) end() {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	u.signal()
}

// signal wakes one goroutine in next. It never blocks.
func (u *updates) signal() {
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// next waits for a change. It returns false when ctx ends, or when the updates have ended and all
// were returned.
func (u *updates) next(ctx context.Context) (string, bool) {
	for {
		u.mu.Lock()
		if len(u.queue) > 0 || u.closed {
			defer u.mu.Unlock()
			u.signal() // wakes another goroutine that ranges over the same sequence
			if len(u.queue) == 0 {
				return "", false
			}
			uri := u.queue[0]
			u.queue = u.queue[1:]
			return uri, true
		}
		u.mu.Unlock()
		select {
		case <-u.wake:
		case <-ctx.Done():
			return "", false
		}
	}
}

func (u *updates) all(ctx context.Context) iter.Seq[string] {
	return func(yield func(string) bool) {
		for ctx.Err() == nil {
			uri, ok := u.next(ctx)
			if !ok || !yield(uri) {
				return
			}
		}
	}
}
