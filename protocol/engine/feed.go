package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/transport"
)

// maxPending bounds the updated URIs that wait for a slow client: beyond it an
// update is reported as one of the subscription's own URI, which covers it.
const maxPending = 256

// maxWatched bounds the resources that one session or stream watches.
const maxWatched = 1024

// feed brings changes to one client: to a handshake session unasked, to a listen
// stream as its filter wants. Changes that wait are merged, so a client that does
// not read costs a bounded amount; a goroutine exists only while there is
// something to send.
type feed struct {
	e  *Engine
	d  *dialect.Dialect
	id jsonrpc.ID // of the listen request; zero for a session

	session string // whose it is, where other nodes may serve it; it may have no stream here

	mu       sync.Mutex // guards the fields below
	out      transport.Outbound
	ctx      context.Context //nolint:containedctx // the stream's, for sends that no caller waits for
	open     bool            // acknowledged, or initialized
	stopped  bool
	draining bool
	filter   protocol.SubscriptionFilter
	lists    [4]bool
	uris     []string
	tasks    []taskNews
	frames   [][]byte      // that other nodes have for the session
	ended    chan struct{} // closed by stop
	drains   sync.WaitGroup
}

func newFeed(e *Engine, d *dialect.Dialect) *feed {
	return &feed{
		e: e, d: d, ended: make(chan struct{}),
		filter: protocol.SubscriptionFilter{Tools: true, Prompts: true, Resources: true},
	}
}

// attach says where to send; start lets what waits go.
func (f *feed) attach(ctx context.Context, out transport.Outbound) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ctx, f.out = ctx, out
	f.kick()
}

func (f *feed) start() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = true
	f.kick()
}

func (f *feed) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.stopped {
		f.stopped = true
		close(f.ended)
	}
}

// settle waits until nothing is being sent; only after stop.
func (f *feed) settle() { f.drains.Wait() }

// narrow leaves what the filter wants, also of what waits already.
func (f *feed) narrow(filter protocol.SubscriptionFilter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.filter = filter
	for k := range f.lists {
		f.lists[k] = f.lists[k] && f.wants(protocol.ListKind(k))
	}
	f.tasks = slices.DeleteFunc(f.tasks, func(t taskNews) bool { return !slices.Contains(filter.Tasks, t.id) })
	f.uris = slices.DeleteFunc(f.uris, func(uri string) bool {
		return !slices.ContainsFunc(filter.URIs, func(watched string) bool { return covers(watched, uri) })
	})
}

// taskNews is the newest state of a task that waits to be told.
type taskNews struct {
	id   string
	news protocol.Params
}

// taskChanged tells of a task. Where too many wait the oldest goes: who must know asks
// (both designs: notifications are a courtesy).
func (f *feed) taskChanged(id string, news protocol.Params) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tasks = slices.DeleteFunc(f.tasks, func(t taskNews) bool { return t.id == id })
	if len(f.tasks) >= maxPending {
		f.tasks = f.tasks[1:]
	}
	f.tasks = append(f.tasks, taskNews{id, news})
	f.kick()
}

// watchesTask says whether the filter names the task.
func (f *feed) watchesTask(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.filter.Tasks, id)
}

// watchedTasks are those that the filter names.
func (f *feed) watchedTasks() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.filter.Tasks)
}

// wants says whether the filter names the lists of a kind. Under f.mu.
func (f *feed) wants(k protocol.ListKind) bool {
	return [...]bool{f.filter.Tools, f.filter.Resources, f.filter.Resources, f.filter.Prompts}[k]
}

func (f *feed) listChanged(k protocol.ListKind) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wanted := f.wants(k)
	if k == protocol.ListTemplates {
		k = protocol.ListResources // one notification for both
	}
	if wanted {
		f.lists[k] = true
		f.kick()
	}
}

func (f *feed) updated(uri string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, watched := range f.filter.URIs {
		if covers(watched, uri) {
			f.pend(watched, uri)
			f.kick()
			return
		}
	}
}

func (f *feed) pend(watched, uri string) {
	if len(f.uris) >= maxPending {
		uri = watched
	}
	if !slices.Contains(f.uris, uri) {
		f.uris = append(f.uris, uri)
	}
}

// kick starts a drain if there is something to send and nobody does. Under f.mu.
func (f *feed) kick() {
	if !f.open || f.stopped || f.draining || f.out == nil || !f.pending() || !f.e.begin() {
		return
	}
	f.draining = true
	f.drains.Add(1)
	go f.drain()
}

func (f *feed) pending() bool {
	return f.lists != [4]bool{} || len(f.uris) > 0 || len(f.tasks) > 0 || len(f.frames) > 0
}

func (f *feed) drain() {
	defer f.e.running.Done()
	defer f.drains.Done()
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
		if err != nil || out.Send(ctx, next) != nil {
			f.stop()
		}
	}
}

// push sends a frame that another node has for the session.
func (f *feed) push(frame []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.frames) >= maxPending {
		f.frames = f.frames[1:]
	}
	f.frames = append(f.frames, frame)
	f.kick()
}

// take is the next frame to send; nil: none. Under f.mu.
func (f *feed) take() ([]byte, error) {
	if len(f.frames) > 0 && !f.stopped {
		frame := f.frames[0]
		f.frames = f.frames[1:]
		return frame, nil
	}
	if p := f.change(); p != nil {
		return notification(f.d, p, &protocol.RequestMeta{SubscriptionID: f.id})
	}
	return nil, nil
}

// change is the next change to tell, or nil. Under f.mu.
func (f *feed) change() protocol.Params {
	if f.stopped {
		return nil
	}
	for k, changed := range f.lists {
		if changed {
			f.lists[k] = false
			return &protocol.ListChangedParams{Kind: protocol.ListKind(k)}
		}
	}
	if len(f.uris) > 0 {
		uri := f.uris[0]
		f.uris = f.uris[1:]
		return &protocol.ResourceUpdatedParams{URI: uri}
	}
	if len(f.tasks) > 0 {
		news := f.tasks[0].news
		f.tasks = f.tasks[1:]
		return news
	}
	return nil
}

// notification encodes one notification frame.
func notification(d *dialect.Dialect, p protocol.Params, m *protocol.RequestMeta) ([]byte, error) {
	params, err := d.AppendParams(nil, p, m)
	if err != nil {
		return nil, err
	}
	return jsonrpc.AppendNotification(nil, p.Method(), params), nil
}
