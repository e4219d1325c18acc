package feed

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/kagami-mcp/kagami/protocol"
)

// topics is an index from watched names (resources or tasks) to feeds, so that a change does not have
// to ask all feeds. The filter of a feed lists the names that it watches. The index is changed
// together with the filter, under Feed.mu and mu.
type topics struct {
	mu     sync.RWMutex // guards byName, its sets, and odd; taken after Feed.mu
	byName map[string]feedSet

	// odd maps the normal form of a URI to the names in byName that are other spellings of it. Few
	// clients use other spellings, and they mean the same resource.
	odd map[string]map[string]struct{}
}

// feedSet is the set of feeds that watch one topic. Most topics have one feed, which needs no map.
type feedSet struct {
	one  *Feed
	more map[*Feed]struct{} // all others; nil: none
}

// recipient is a feed to notify of a change.
type recipient struct {
	feed    *Feed
	watched string // the watched name that covers the resource
	uri     string // the URI to send; set by Hub.recipients
}

// replace makes the feed watch the names in after instead of the names in before, in one step: a name
// in both is watched all the time. The caller holds f.mu.
func (t *topics) replace(f *Feed, before, after []string) {
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
		t.byName = nil // an empty map would keep the memory of its largest size
	}
}

// add adds the feed to the set of the name. The caller holds t.mu.
func (t *topics) add(f *Feed, name string) {
	if t.byName == nil {
		t.byName = make(map[string]feedSet)
	}
	a := t.byName[name]
	switch {
	case a.one == f:
		return
	case a.one == nil && a.more == nil:
		a.one = f
	case a.more == nil:
		a.more = map[*Feed]struct{}{f: {}}
	default:
		a.more[f] = struct{}{}
	}
	t.byName[name] = a
	if normal := protocol.NormalURI(name); normal != name {
		if t.odd == nil {
			t.odd = make(map[string]map[string]struct{})
		}
		if t.odd[normal] == nil {
			t.odd[normal] = make(map[string]struct{}, 1)
		}
		t.odd[normal][name] = struct{}{}
	}
}

// remove reverses add. The caller holds t.mu.
func (t *topics) remove(f *Feed, name string) {
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
		t.forget(name)
	}
}

// forget removes a name without feeds from odd. The caller holds t.mu.
func (t *topics) forget(name string) {
	normal := protocol.NormalURI(name)
	if normal == name {
		return
	}
	delete(t.odd[normal], name)
	if len(t.odd[normal]) == 0 {
		delete(t.odd, normal)
	}
}

// has reports whether the feed watches the name. The result cannot change while the caller holds
// f.mu.
func (t *topics) has(f *Feed, name string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	a := t.byName[name]
	_, among := a.more[f]
	return among || a.one == f
}

// names returns all watched names.
func (t *topics) names() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Collect(maps.Keys(t.byName))
}

// of returns the feeds that watch the name. Until the caller notifies a feed, the feed may have
// stopped watching.
func (t *topics) of(name string) []recipient {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byName[name].appendTo(nil, name)
}

// covering returns the feeds that watch the resource or a resource above it. Each feed is returned
// once, and once more for each other spelling of the URI that it watches.
func (t *topics) covering(uri string) []recipient {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if len(t.byName) == 0 {
		return nil
	}
	var hits []recipient
	names := 0
	for name := range t.spellings(uri) {
		before := len(hits)
		if hits = t.byName[name].appendTo(hits, name); len(hits) > before {
			names++
		}
	}
	if names < 2 {
		return hits
	}
	type told struct {
		feed *Feed
		as   string // another spelling of the uri that the feed watches; empty: none
	}
	seen, normal := make(map[told]struct{}, len(hits)), protocol.NormalURI(uri)
	return slices.DeleteFunc(hits, func(h recipient) bool {
		t := told{feed: h.feed}
		if h.watched != uri && protocol.NormalURI(h.watched) == normal {
			t.as = h.watched
		}
		_, again := seen[t]
		seen[t] = struct{}{}
		return again
	})
}

// spellings yields the names that cover the uri, in the watched spellings. The caller holds t.mu.
func (t *topics) spellings(uri string) iter.Seq[string] {
	normal := protocol.NormalURI(uri)
	if normal == uri && len(t.odd) == 0 {
		return above(uri)
	}
	return func(yield func(string) bool) {
		for name := range above(uri) {
			if !yield(name) {
				return
			}
		}
		for name := range above(normal) {
			if !t.namesAlike(uri, normal, name, yield) {
				return
			}
		}
	}
}

// namesAlike yields a name of the normal form and its odd spellings, without those that cover the uri
// as it is spelled.
func (t *topics) namesAlike(uri, normal, name string, yield func(string) bool) bool {
	if normal != uri && !strings.HasPrefix(uri, name) && !yield(name) {
		return false
	}
	for odd := range t.odd[name] {
		if odd != uri && !yield(odd) {
			return false
		}
	}
	return true
}

func (a feedSet) appendTo(hits []recipient, name string) []recipient {
	if a.one != nil {
		hits = append(hits, recipient{feed: a.one, watched: name})
	}
	hits = slices.Grow(hits, len(a.more))
	for f := range a.more {
		hits = append(hits, recipient{feed: f, watched: name})
	}
	return hits
}

// above yields the names that cover the uri; see covers. The uri itself is the last.
func above(uri string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for end := range len(uri) + 1 {
			if endsName(uri, end) && !yield(uri[:end]) {
				return
			}
		}
	}
}

// endsName reports whether uri[:end] covers the uri.
func endsName(uri string, end int) bool {
	return end == len(uri) || strings.IndexByte("/?#", uri[end]) >= 0 || end > 0 && uri[end-1] == '/'
}

// covers reports whether a subscription to watched includes updates of uri: watched itself, or a
// resource below it (2025-11-25 server/resources: "may be a sub-resource of the one that the client
// subscribed to"). above enumerates the same relation.
func covers(watched, uri string) bool {
	return strings.HasPrefix(uri, watched) && endsName(uri, len(watched))
}
