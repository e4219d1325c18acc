package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/feed"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/nodebus"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// Changed notifies clients that lists have changed: all live sessions, and the listen streams that
// asked for it. It never blocks.
func (e *Engine) Changed(kinds ...protocol.ListKind) {
	e.eachFeed(func(f *feed.Feed) {
		for _, k := range kinds {
			f.ListChanged(k)
		}
	})
}

// Updated notifies the subscribers of the resource, and of resources above it, that it has changed.
// It never blocks.
func (e *Engine) Updated(uri string) {
	learned := e.feeds.Learned()
	e.feeds.Updated(uri)
	e.node.Broadcast(nodebus.Message{Kind: nodebus.Updated, URI: uri, Version: learned})
}

// receive handles a message of the bus, in the goroutine of Subscribe. A nil message means that
// messages may have been lost. receive must not block.
//
// It runs in one goroutine, so messages of one node are handled in the order of the bus. It may
// take conn.mu and the locks of feeds, but reads no store: what needs the store goes to changes,
// and the goroutine looking does it.
func (e *Engine) receive(message []byte) {
	if message == nil {
		e.changes.All(e.nodes.listening.Swap(true)) // at the first call, clients cannot have missed an update
		return
	}
	n, own, ok := e.node.Decode(message)
	if !ok {
		return
	}
	if own {
		e.echoed(&n)
		return
	}
	switch n.Kind {
	case nodebus.Task:
		e.changes.Task(n.Task)
	case nodebus.Updated:
		e.feeds.Updated(n.URI)
	case nodebus.Frame:
		e.delivered(n.Session, n.Frame)
	case nodebus.Notify:
		if s := e.sessionOf(n.Session); s != nil {
			s.feed.Push(n.Frame)
		}
	case nodebus.Kept:
		if c := e.connOf(n.Session); c != nil {
			_ = c.takeOver(n.Frame, n.Version, false)
		}
	case nodebus.Roots:
		if e.cfg.RootsChanged != nil {
			e.cfg.RootsChanged(n.Session)
		}
	case nodebus.Elicitation:
		e.notifyElicitationComplete(n.Visit)
	case nodebus.Lost:
		e.changes.All(true)
	}
}

// ElicitationComplete notifies the other nodes that the page of an elicitation is done. The node
// that asked then notifies its client. ElicitationComplete never blocks.
func (e *Engine) ElicitationComplete(id string) {
	e.node.Broadcast(nodebus.Message{Kind: nodebus.Elicitation, Visit: id})
}

// notifyElicitationComplete notifies the client if this node asked it. It uses a goroutine, because
// sending may block.
//
// The goroutine ends after PublishTimeout at the latest, if the Outbound respects its context.
// Shutdown waits for it.
func (e *Engine) notifyElicitationComplete(id string) {
	if e.cfg.ElicitationComplete == nil {
		return
	}
	send := e.cfg.ElicitationComplete(id)
	if send == nil {
		return
	}
	_ = e.running.Go(func() { // while the engine closes, it does not notify clients
		ctx, cancel := context.WithTimeout(context.Background(), nodebus.PublishTimeout) //nolint:forbidigo // what is forwarded answers nothing
		defer cancel()
		_ = send(ctx, &protocol.ElicitationCompleteParams{ID: id}) // if the client is gone, the notification is dropped
	})
}

// echoed handles a message that this node has sent itself. The feeds of this node were notified of an
// update before the bus had the message. In between, another node may have accepted a subscription
// for a session whose feed is here. The bus keeps the order, so this node now has the subscription,
// and echoed notifies that feed.
func (e *Engine) echoed(n *nodebus.Message) {
	if n.Kind == nodebus.Updated {
		e.feeds.UpdatedSince(n.Version, n.URI)
	}
}

// delivered handles a frame that the client of a session has sent to another node.
//
// The frame belongs to the engine. A request is ignored, because the node that has received it
// serves it.
func (e *Engine) delivered(session string, frame []byte) {
	c := e.connOf(session)
	msg, fault := jsonrpc.Decode(frame)
	if c == nil || fault != nil {
		return
	}
	switch msg.Kind {
	case jsonrpc.Request:
	case jsonrpc.Notification:
		x := &exchange{origin: origin{conn: c}, method: msg.Method, forwarded: true}
		e.forwarded(x, c.notified(x, msg.Params))
	default:
		c.deliver(msg)
	}
}

// forwarded runs the step of a notification that another node has received. A cancellation runs in a
// goroutine of its own: it waits for frames of the call that are being written, and the goroutine of
// the bus must not block.
//
// While the engine closes, a cancellation runs in the goroutine of the bus after all. It then waits
// only for frames that Shutdown waits for, too.
func (e *Engine) forwarded(x *exchange, do step) {
	run := func() {
		ctx := context.Background() //nolint:forbidigo // what is forwarded answers nothing
		var err error
		returned := false
		defer func() { x.rescue(ctx, nil, recover(), returned, &err) }()
		err = do(ctx, nil)
		returned = true
	}
	if x.method != protocol.NotificationCancelled || !e.running.Go(run) {
		run()
	}
}

// looking is the goroutine that reads changed tasks. It reads them one after the other, so that a
// client never receives an older state of a task after a newer one.
//
// It owns what Next has taken. If the store is slow, changes are merged in the meantime, by task. If
// messages were lost, the store may have lost its data, too, and looking stores the secret again.
func (e *Engine) looking(ctx context.Context) {
	for {
		changed, ok := e.changes.Next(ctx)
		if !ok {
			return
		}
		if changed.All {
			changed.Tasks = e.everything(changed.Tasks)
		}
		kept := !changed.All || e.keepSecret(ctx)
		away := false
		for id := range changed.Tasks {
			if away = away || !e.reread(ctx, id); away {
				e.changes.Task(id) // it is read when the store is back
			}
		}
		if away || !kept {
			_ = wait.Pause(ctx, rereadPause) // if ctx has ended, Next returns false
		}
		if changed.Resync && e.feeds.UpdateAll() {
			_ = wait.Pause(ctx, resyncPause) // if ctx has ended, Next returns false
		}
	}
}

// keepSecret stores the secret of states again if the store has lost it. If the store is away,
// keepSecret returns false, and looking calls it again.
func (e *Engine) keepSecret(ctx context.Context) bool {
	err := e.rounds.Keep(ctx)
	if err != nil && ctx.Err() != nil {
		return true
	}
	e.attempted(ctx, &e.secrets, "keeping the secret of states", err)
	if err != nil {
		e.changes.All(false)
	}
	return err == nil
}

// rereadPause is the pause before changed tasks are read again after an error of the store.
const rereadPause = time.Second

// resyncPause is the pause after updates of all resources. It keeps clients from reading without end if a bus
// loses messages all the time.
const resyncPause = time.Second

// everything adds all tasks of this node to dirty, because messages were lost. It also makes all
// waits for answers check the store.
//
// It takes each lock for itself, one after the other.
func (e *Engine) everything(dirty map[string]bool) map[string]bool {
	if dirty == nil {
		dirty = make(map[string]bool)
	}
	e.jobs.mu.Lock()
	jobs := slices.Collect(maps.Keys(e.jobs.byID))
	e.jobs.mu.Unlock()
	for _, id := range slices.Concat(jobs, e.watches.IDs(), e.feeds.TaskIDs()) {
		dirty[id] = true
	}
	for _, c := range e.connections() {
		c.lookForAnswers()
	}
	return dirty
}
