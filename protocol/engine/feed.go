package engine

import (
	"context"
	"sync"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
)

// maxPending bounds the updated URIs that wait for a slow client. Above it, an update is sent with
// the URI of the subscription, which covers it.
const maxPending = 256

// maxWatched bounds the resources that one session or stream watches.
const maxWatched = 1024

// feed sends changes to one client: to a handshake session without a request, and to a listen stream
// according to its filter. Pending changes are merged, so that a client that does not read costs a
// bounded amount of memory.
//
// A feed collects changes from its creation on. It sends them after attach and start, and stop ends
// it for good. While there is something to send, one goroutine (drain) runs. kick starts it, and it
// ends itself when nothing is pending. All state changes under mu, but drain sends without mu.
// Engine.running counts the goroutine.
type feed struct {
	e *Engine
	d *dialect.Dialect

	*listening // nil for a session

	session string // the id of the session if other nodes may serve it; otherwise empty

	mu       sync.Mutex // guards the fields below
	out      transport.Outbound
	ctx      context.Context //nolint:containedctx // the stream's, for sends of the goroutine
	open     bool            // the listen request is acknowledged, or the session is initialized
	stopped  bool            // nothing more is sent
	draining bool            // the goroutine drain runs
	filter   protocol.SubscriptionFilter
	waiting  *backlog // pending changes; nil: none
	learned  uint64   // Engine.learned when the feed last began to watch something
}

// listening is the additional state of the feed of a listen stream.
type listening struct {
	id     jsonrpc.ID     // of the request
	ended  wait.Latch     // released when the feed is stopped
	drains sync.WaitGroup // counts the goroutine drain, for settle
}

func newFeed(e *Engine, d *dialect.Dialect) *feed {
	return &feed{
		e: e, d: d,
		filter: protocol.SubscriptionFilter{Tools: true, Prompts: true, Resources: true},
	}
}

// attach sets the Outbound and the context of sends. Nothing is sent before start.
func (f *feed) attach(ctx context.Context, out transport.Outbound) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ctx, f.out = ctx, out
	f.kick()
}

// start begins to send, first the changes that are pending.
func (f *feed) start() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = true
	f.kick()
}

// stop ends the feed for good. It does not wait for a frame that is being sent; see settle.
func (f *feed) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
	f.forget()
	if f.listening != nil {
		f.ended.Release()
	}
}

// leave makes the feed watch nothing. It is called when the listen request is no longer in flight.
func (f *feed) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forget()
}

// forget removes the feed from the topics. Only narrow adds it again. The caller holds f.mu.
func (f *feed) forget() {
	f.e.resources.replace(f, f.filter.URIs, nil)
	f.e.tasks.replace(f, f.filter.Tasks, nil)
}

// settle waits until nothing is being sent on the listen stream. It may be called only after stop.
func (f *feed) settle() { f.drains.Wait() }

// narrow sets the filter, and drops pending changes that it excludes.
func (f *feed) narrow(filter protocol.SubscriptionFilter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.filter
	f.filter = filter
	if !f.stopped {
		f.e.resources.replace(f, before.URIs, filter.URIs)
		f.e.tasks.replace(f, before.Tasks, filter.Tasks)
	}
	if f.waiting != nil {
		f.waiting.narrow(&filter)
	}
}

// pend returns the backlog, which it makes at the first call. The caller holds f.mu.
func (f *feed) pend() *backlog {
	if f.waiting == nil {
		f.waiting = new(backlog)
	}
	return f.waiting
}

// taskChanged queues the new state of a task.
func (f *feed) taskChanged(id string, news protocol.Params) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pend().task(id, news)
	f.kick()
}

// watchedTaskChanged queues the new state of a task, if the filter still names the task.
func (f *feed) watchedTaskChanged(id string, news protocol.Params) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.e.tasks.has(f, id) {
		f.pend().task(id, news)
		f.kick()
	}
}

func (f *feed) listChanged(k protocol.ListKind) {
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
func (f *feed) updated(watched, uri string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.e.resources.has(f, watched) {
		f.pend().update(watched, uri)
		f.kick()
	}
}

// updatedSince is like updated, for an update that was sent when Engine.learned was at learned. It
// skips feeds that began to watch earlier, because they have not missed the update.
func (f *feed) updatedSince(learned uint64, watched, uri string) {
	f.mu.Lock()
	late := f.learned > learned
	f.mu.Unlock()
	if late {
		f.updated(watched, uri)
	}
}

// kick starts the goroutine drain if there is something to send and it is not running. The caller
// holds f.mu.
func (f *feed) kick() {
	if !f.open || f.stopped || f.draining || f.out == nil || !f.pending() || !f.e.running.Begin() {
		return
	}
	f.draining = true
	if f.listening != nil {
		f.drains.Add(1)
	}
	go f.drain()
}

// pending reports whether there is something to send. The caller holds f.mu.
func (f *feed) pending() bool {
	if f.waiting != nil && f.waiting.empty() {
		f.waiting = nil // an idle session must not hold the memory
	}
	return f.waiting != nil
}

// drain is the goroutine that sends until nothing is pending. An error of sending or encoding stops
// the feed.
func (f *feed) drain() {
	defer f.e.running.Done()
	if f.listening != nil {
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
		if err != nil || out.Send(ctx, transport.Frame{JSON: next}) != nil {
			f.stop()
		}
	}
}

// push queues a frame that another node has made for the session.
func (f *feed) push(frame []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pend().frame(frame)
	f.kick()
}

// take returns the next frame to send, or nil if there is none. The caller holds f.mu.
func (f *feed) take() ([]byte, error) {
	if f.stopped || !f.pending() {
		return nil, nil
	}
	frame, change := f.waiting.next()
	if change == nil {
		return frame, nil
	}
	var meta protocol.RequestMeta
	if f.listening != nil {
		meta.SubscriptionID = f.id
	}
	return notification(f.d, change, &meta)
}

// notification encodes one notification frame.
func notification(d *dialect.Dialect, p protocol.Params, m *protocol.RequestMeta) ([]byte, error) {
	return appendNotification(nil, d, p, m)
}

// appendNotification is like notification, but appends to dst. If it fails, it returns dst unchanged.
func appendNotification(dst []byte, d *dialect.Dialect, p protocol.Params, m *protocol.RequestMeta) ([]byte, error) {
	frame := append(dst, `{"jsonrpc":"2.0","method":`...)
	frame = append(jsontext.Quote(frame, p.Method()), `,"params":`...)
	frame, err := d.AppendParams(frame, p, m)
	if err != nil {
		return dst, err
	}
	return append(frame, '}'), nil
}
