package feed

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/transport"
)

// maxPending bounds the updated URIs that wait for a slow client. Above it, an update is sent with
// the URI of the subscription, which covers it.
const maxPending = 256

// MaxWatched bounds the resources that one session or stream watches, and the tasks of a stream.
const MaxWatched = 1024

// MaxWatchedBytes bounds the URIs that one session watches, in bytes together.
const MaxWatchedBytes = 128 << 10

// Feed sends changes to one client: to a handshake session without a request, and to a listen stream
// according to its filter. Pending changes are merged, so that a client that does not read costs a
// bounded amount of memory.
//
// A feed collects changes from its creation on. It sends them after Attach and Start, and Stop ends
// it for good. While there is something to send, one goroutine (drain) runs. kick starts it, and it
// ends itself when nothing is pending. All state changes under mu, but drain sends without mu. The
// Group of the hub counts the goroutine.
type Feed struct {
	hub *Hub
	d   *dialect.Dialect

	*stream // nil for a session

	mu       sync.Mutex // guards the fields below
	out      transport.Outbound
	ctx      context.Context //nolint:containedctx // the stream's, for sends of the goroutine
	open     bool            // the listen request is acknowledged, or the session is initialized
	stopped  bool            // nothing more is sent
	draining bool            // the goroutine drain runs
	filter   protocol.SubscriptionFilter
	waiting  *backlog // pending changes; nil: none
	learned  uint64   // Hub.learned when the feed last began to watch something
}

// stream is the additional state of the feed of a listen stream.
type stream struct {
	id     jsonrpc.ID     // of the request
	ended  wait.Latch     // released when the feed is stopped
	drains sync.WaitGroup // counts the goroutine drain, for Settle
}

// Session returns the feed of a session. It sends all changes of lists, and watches nothing yet.
func (h *Hub) Session(d *dialect.Dialect) *Feed {
	return &Feed{hub: h, d: d, filter: protocol.SubscriptionFilter{Tools: true, Prompts: true, Resources: true}}
}

// Stream returns the feed of the listen request with the id. From the start it collects the changes
// that the filter names.
func (h *Hub) Stream(d *dialect.Dialect, id jsonrpc.ID, filter protocol.SubscriptionFilter) *Feed {
	f := &Feed{hub: h, d: d, stream: &stream{id: id}}
	filter.URIs = filter.URIs[:min(len(filter.URIs), MaxWatched)]
	filter.Tasks = filter.Tasks[:min(len(filter.Tasks), MaxWatched)]
	f.Narrow(filter)
	return f
}

// Attach sets the Outbound and the context of sends. Nothing is sent before Start.
func (f *Feed) Attach(ctx context.Context, out transport.Outbound) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ctx, f.out = ctx, out
	f.kick()
}

// Start begins to send, first the changes that are pending.
func (f *Feed) Start() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = true
	f.kick()
}

// Stop ends the feed for good. It does not wait for a frame that is being sent; see Settle.
func (f *Feed) Stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
	f.forget()
	if f.stream != nil {
		f.ended.Release()
	}
}

// Leave makes the feed watch nothing. It is called when the listen request is no longer in flight.
func (f *Feed) Leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forget()
}

// forget removes the feed from the topics. Only Narrow and WatchAll add it again, and not after Stop.
// The caller holds f.mu.
func (f *Feed) forget() {
	f.hub.resources.replace(f, f.filter.URIs, nil)
	f.hub.tasks.replace(f, f.filter.Tasks, nil)
}

// Settle waits until nothing is being sent on the listen stream. It may be called only after Stop.
func (f *Feed) Settle() { f.drains.Wait() }

// Narrow sets the filter, and drops pending changes that it excludes.
func (f *Feed) Narrow(filter protocol.SubscriptionFilter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.filter
	f.filter = filter
	if !f.stopped {
		f.hub.resources.replace(f, before.URIs, filter.URIs)
		f.hub.tasks.replace(f, before.Tasks, filter.Tasks)
	}
	if f.waiting != nil {
		f.waiting.narrow(&before, &filter)
	}
}

// WatchAll replaces the resources that the client watches. uris has no duplicates. Usually one
// resource is added or removed, so WatchAll does not touch the index for the common first part.
func (f *Feed) WatchAll(uris []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.filter.URIs
	same := 0
	for same < min(len(before), len(uris)) && before[same] == uris[same] {
		same++
	}
	f.filter.URIs = slices.Clone(uris)
	if f.stopped {
		return
	}
	f.hub.resources.replace(f, before[same:], uris[same:])
	if same < len(uris) {
		f.learned = f.hub.learned.Add(1)
	}
}

// Watched returns the resources that the client watches.
func (f *Feed) Watched() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.filter.URIs)
}

// pend returns the backlog, which it makes at the first call. The caller holds f.mu.
func (f *Feed) pend() *backlog {
	if f.waiting == nil {
		f.waiting = new(backlog)
	}
	return f.waiting
}

// TaskChanged queues the new state of a task.
func (f *Feed) TaskChanged(id string, news protocol.Params) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pend().task(id, news)
	f.kick()
}

// watchedTaskChanged queues the new state of a task, if the filter still names the task.
func (f *Feed) watchedTaskChanged(id string, news protocol.Params) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hub.tasks.has(f, id) {
		f.pend().task(id, news)
		f.kick()
	}
}

// ListChanged queues a change of a list, if the filter includes it.
func (f *Feed) ListChanged(k protocol.ListKind) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wanted := wants(&f.filter, k)
	if k == protocol.ListTemplates {
		k = protocol.ListResources // one notification for both
	}
	if wanted {
		f.pend().lists[k] = true
		f.kick()
	}
}

// updated queues an update of uri, if the filter still names watched, which covers uri.
func (f *Feed) updated(watched, uri string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hub.resources.has(f, watched) {
		f.pend().update(watched, uri)
		f.kick()
	}
}

// UpdateAll queues an update of each resource that the client watches.
func (f *Feed) UpdateAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, uri := range f.filter.URIs {
		f.pend().update(uri, uri)
	}
	f.kick()
}

// updatedSince is like updated, for an update that was sent when Hub.learned was at learned. It
// skips feeds that began to watch earlier, because they have not missed the update.
func (f *Feed) updatedSince(learned uint64, watched, uri string) {
	f.mu.Lock()
	late := f.learned > learned
	f.mu.Unlock()
	if late {
		f.updated(watched, uri)
	}
}

// kick starts the goroutine drain if there is something to send and it is not running. The caller
// holds f.mu.
func (f *Feed) kick() {
	if !f.open || f.stopped || f.draining || f.out == nil || !f.pending() || !f.hub.running.Begin() {
		return
	}
	f.draining = true
	if f.stream != nil {
		f.drains.Add(1)
	}
	go f.drain()
}

// pending reports whether there is something to send. The caller holds f.mu.
func (f *Feed) pending() bool {
	if f.waiting != nil && f.waiting.empty() {
		f.waiting = nil // an idle session must not hold the memory
	}
	return f.waiting != nil
}

// drain is the goroutine that sends until nothing is pending. An error of sending or encoding stops
// the feed of a listen stream. In a session only that change is lost: the store of its events may be
// unavailable for a moment, and the end of the session stops the feed.
func (f *Feed) drain() {
	defer f.hub.running.Done()
	if f.stream != nil {
		defer f.drains.Done()
	}
	for {
		f.mu.Lock()
		next, err := f.take()
		if next == nil && err == nil {
			f.draining = false
			f.mu.Unlock()
			return
		}
		ctx, out := f.ctx, f.out
		f.mu.Unlock()
		if err == nil {
			err = f.send(ctx, out, next)
		}
		if err != nil && f.stream != nil {
			f.Stop()
		}
	}
}

var errPanicked = errors.New("feed: an Outbound has panicked")

// send sends a frame. Frame middleware may have wrapped the Outbound. Its panic is reported and becomes an
// error, because it would end the process here.
func (f *Feed) send(ctx context.Context, out transport.Outbound, frame []byte) (err error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if f.hub.Panicked != nil {
			f.hub.Panicked(ctx, v)
		}
		err = errPanicked
	}()
	return out.Send(ctx, transport.Frame{JSON: frame})
}

// Push queues a frame that another node has made for the session.
func (f *Feed) Push(frame []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pend().frame(frame)
	f.kick()
}

// take returns the next frame to send, or nil if the feed is empty. The caller holds f.mu.
func (f *Feed) take() ([]byte, error) {
	if f.stopped || !f.pending() {
		return nil, nil
	}
	frame, change := f.waiting.next()
	if change == nil {
		return frame, nil
	}
	var meta protocol.RequestMeta
	if f.stream != nil {
		meta.SubscriptionID = f.id
	}
	return Notification(f.d, change, &meta)
}

// Ended returns a channel that is closed when the feed of a listen stream is stopped. If it was
// stopped already, the channel is nil and already is true.
func (f *Feed) Ended() (ended <-chan struct{}, already bool) { return f.ended.Wait() }

// Filter returns the filter that Narrow has set.
func (f *Feed) Filter() protocol.SubscriptionFilter {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.filter
}

// Outbound returns the Outbound that Attach has set, or nil. live reports whether the feed sends now.
func (f *Feed) Outbound() (out transport.Outbound, live bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.out, f.out != nil && f.open && !f.stopped
}
