package engine

import (
	"slices"

	"github.com/kagami-mcp/kagami/protocol"
)

// backlog is what waits for one client. Changes are merged; the zero value is empty. The
// lock of the feed guards it.
type backlog struct {
	lists  [4]bool    // by protocol.ListKind: the list has changed
	uris   []string   // of resources that have changed, each once
	tasks  []taskNews // the newest news of each task
	frames [][]byte   // notifications that other nodes have for the session
}

// taskNews is the newest state of a task that waits to be told.
type taskNews struct {
	id   string
	news protocol.Params
}

func (b *backlog) empty() bool {
	return b.lists == [4]bool{} && len(b.uris) == 0 && len(b.tasks) == 0 && len(b.frames) == 0
}

// update adds a resource that has changed. Where too many wait it adds watched instead, to
// which the client has subscribed and which covers the resource.
func (b *backlog) update(watched, uri string) {
	if len(b.uris) >= maxPending {
		uri = watched
	}
	if !slices.Contains(b.uris, uri) {
		b.uris = append(b.uris, uri)
	}
}

// task replaces earlier news of the task. Where too many tasks wait, the oldest news are
// dropped: in both designs notifications are a courtesy, and clients ask for the state.
func (b *backlog) task(id string, news protocol.Params) {
	b.tasks = slices.DeleteFunc(b.tasks, func(t taskNews) bool { return t.id == id })
	if len(b.tasks) >= maxPending {
		b.tasks = b.tasks[1:]
	}
	b.tasks = append(b.tasks, taskNews{id, news})
}

// frame adds a notification of another node. Where too many wait, the oldest is dropped.
func (b *backlog) frame(frame []byte) {
	if len(b.frames) >= maxPending {
		b.frames = b.frames[1:]
	}
	b.frames = append(b.frames, frame)
}

// narrow leaves what the filter wants.
func (b *backlog) narrow(f *protocol.SubscriptionFilter) {
	for k := range b.lists {
		b.lists[k] = b.lists[k] && wants(f, protocol.ListKind(k))
	}
	b.tasks = slices.DeleteFunc(b.tasks, func(t taskNews) bool { return !slices.Contains(f.Tasks, t.id) })
	b.uris = slices.DeleteFunc(b.uris, func(uri string) bool {
		return !slices.ContainsFunc(f.URIs, func(watched string) bool { return covers(watched, uri) })
	})
}

// wants says whether the filter names the lists of a kind.
func wants(f *protocol.SubscriptionFilter, k protocol.ListKind) bool {
	return [...]bool{f.Tools, f.Resources, f.Resources, f.Prompts}[k]
}

// next removes and returns the oldest frame, else a change; both are nil where nothing waits.
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
