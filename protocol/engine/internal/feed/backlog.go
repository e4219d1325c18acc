package feed

import (
	"slices"

	"github.com/kagami-mcp/kagami/protocol"
)

// backlog holds the pending changes for one client, merged. The zero value is empty. It is guarded by
// Feed.mu.
type backlog struct {
	lists  [4]bool        // by protocol.ListKind: the list has changed
	uris   []string       // of changed resources, without duplicates
	tasks  []taskMessages // the latest state of each task
	frames [][]byte       // notifications of other nodes for the session
}

// taskMessages is the latest state of a task, as the notification to send.
type taskMessages struct {
	id   string
	news protocol.Params
}

func (b *backlog) empty() bool {
	return b.lists == [4]bool{} && len(b.uris) == 0 && len(b.tasks) == 0 && len(b.frames) == 0
}

// update adds a changed resource. If too many are pending, it adds watched instead, the resource that
// the client has subscribed to and that covers uri.
func (b *backlog) update(watched, uri string) {
	if len(b.uris) >= maxPending {
		uri = watched
	}
	if !slices.Contains(b.uris, uri) {
		b.uris = append(b.uris, uri)
	}
}

// task replaces the pending state of the task. If too many tasks are pending, the oldest is dropped:
// in both designs of tasks, notifications are optional, and clients poll for the state.
func (b *backlog) task(id string, news protocol.Params) {
	b.tasks = slices.DeleteFunc(b.tasks, func(t taskMessages) bool { return t.id == id })
	if len(b.tasks) >= maxPending {
		b.tasks = b.tasks[1:]
	}
	b.tasks = append(b.tasks, taskMessages{id, news})
}

// frame adds a notification of another node. If too many are pending, the oldest is dropped.
func (b *backlog) frame(frame []byte) {
	if len(b.frames) >= maxPending {
		b.frames = b.frames[1:]
	}
	b.frames = append(b.frames, frame)
}

// narrow drops pending changes that the filter excludes. If a pending resource is covered only by another
// one that the filter names, it is replaced by that one: the client may not be allowed to learn its URI,
// which it watched before.
func (b *backlog) narrow(before, f *protocol.SubscriptionFilter) {
	for k := range b.lists {
		b.lists[k] = b.lists[k] && wants(f, protocol.ListKind(k))
	}
	b.tasks = slices.DeleteFunc(b.tasks, func(t taskMessages) bool { return !slices.Contains(f.Tasks, t.id) })
	uris := b.uris
	b.uris = nil
	for _, uri := range uris {
		refused := slices.Contains(before.URIs, uri) && !slices.Contains(f.URIs, uri)
		normal := protocol.NormalURI(uri)
		for _, watched := range f.URIs {
			switch {
			case !covers(watched, uri) && !covers(protocol.NormalURI(watched), normal):
			case refused:
				b.update(watched, watched)
			default:
				b.update(watched, uri)
			}
		}
	}
}

// wants reports whether the filter includes changes of lists of the kind.
func wants(f *protocol.SubscriptionFilter, k protocol.ListKind) bool {
	return [...]bool{f.Tools, f.Resources, f.Resources, f.Prompts}[k]
}

// next removes and returns the oldest frame or, if there is none, a change. If nothing is pending,
// both results are nil.
func (b *backlog) next() (frame []byte, change protocol.Params) {
	if len(b.frames) > 0 {
		frame, b.frames = b.frames[0], b.frames[1:]
		return frame, nil
	}
	for k, changed := range b.lists {
		if changed {
			b.lists[k] = false
			return nil, &protocol.ListChangedParams{Kind: protocol.ListKind(k)}
		}
	}
	if len(b.uris) > 0 {
		change, b.uris = &protocol.ResourceUpdatedParams{URI: b.uris[0]}, b.uris[1:]
	} else if len(b.tasks) > 0 {
		change, b.tasks = b.tasks[0].news, b.tasks[1:]
	}
	return nil, change
}
