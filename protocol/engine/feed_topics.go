package engine

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
)

// topics are what feeds watch, resources or tasks, by name: who is to be told of one is
// found without asking all. They are changed under the lock of the feed, and it is a
// feed's filter that says what it watches.
type topics struct {
	mu     sync.RWMutex // guards byName and what is in it; after feed.mu
	byName map[string]audience
}

// audience are the feeds that watch one topic: of most there is one.
type audience struct {
	one  *feed
	more map[*feed]struct{}
}

// hit is a feed that watches something, and the name under which it does.
type hit struct {
	feed    *feed
	watched string
	uri     string // that it is told of an update of; of Engine.toldOf
}

// replace makes the feed watch the names after, and before no more. That is one step: who
// looks meanwhile for those that watch what is in both finds the feed. Under f.mu.
func (t *topics) replace(f *feed, before, after []string) {
	if slices.Equal(before, after) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range before {
		t.remove(f, name)
	}
	for _, name := range after {
		t.add(f, name)
	}
	if len(t.byName) == 0 {
		t.byName = nil // a map keeps the room that it once needed
	}
}

// add makes the feed one that watches the name. Under t.mu.
func (t *topics) add(f *feed, name string) {
	if t.byName == nil {
		t.byName = make(map[string]audience)
	}
	a := t.byName[name]
	switch {
	case a.one == f:
		return
	case a.one == nil && a.more == nil:
		a.one = f
	case a.more == nil:
		a.more = map[*feed]struct{}{f: {}}
	default:
		a.more[f] = struct{}{}
	}
	t.byName[name] = a
}

// remove undoes add. Under t.mu.
func (t *topics) remove(f *feed, name string) {
	a, ok := t.byName[name]
	if !ok {
		return
	}
	if a.one == f {
		a.one = nil
	} else if delete(a.more, f); len(a.more) == 0 {
		a.more = nil
	}
	if t.byName[name] = a; a.one == nil && a.more == nil {
		delete(t.byName, name)
	}
}

// has says whether the feed watches the name. Under f.mu it stays so.
func (t *topics) has(f *feed, name string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	a := t.byName[name]
	_, among := a.more[f]
	return among || a.one == f
}

// names are all that somebody watches.
func (t *topics) names() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Collect(maps.Keys(t.byName))
}

// of are the feeds that watch the name. They may have ceased to when they are told.
func (t *topics) of(name string) []hit {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byName[name].appendTo(nil, name)
}

// covering are the feeds that watch the resource or one above it, each once.
func (t *topics) covering(uri string) []hit {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if len(t.byName) == 0 {
		return nil
	}
	var hits []hit
	names := 0
	for name := range above(uri) {
		before := len(hits)
		if hits = t.byName[name].appendTo(hits, name); len(hits) > before {
			names++
		}
	}
	if names < 2 {
		return hits
	}
	seen := make(map[*feed]struct{}, len(hits))
	return slices.DeleteFunc(hits, func(h hit) bool {
		_, again := seen[h.feed]
		seen[h.feed] = struct{}{}
		return again
	})
}

func (a audience) appendTo(hits []hit, name string) []hit {
	if a.one != nil {
		hits = append(hits, hit{feed: a.one, watched: name})
	}
	hits = slices.Grow(hits, len(a.more))
	for f := range a.more {
		hits = append(hits, hit{feed: f, watched: name})
	}
	return hits
}

// above are the names that cover the uri, itself the last.
func above(uri string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for end := range len(uri) + 1 {
			if endsName(uri, end) && !yield(uri[:end]) {
				return
			}
		}
	}
}

// endsName says whether a name that covers the uri may end there.
func endsName(uri string, end int) bool {
	return end == len(uri) || strings.IndexByte("/?#", uri[end]) >= 0 || end > 0 && uri[end-1] == '/'
}
