package catalog

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/protocol"
)

// templates finds the templates that may match a URI, by the literal text that their URIs begin
// with. It looks only at those that fit, however many there are.
type templates struct {
	prefixes []prefixed // sorted
	spelled  []spelled  // the most specific first
	odd      bool       // a prefix is not in normal form
}

// spelled is a template with its prefix in normal form.
type spelled struct {
	*Entry
	prefix string
}

// prefixed are the templates of one prefix.
type prefixed struct {
	prefix  string
	outer   int      // the longest other prefix that this prefix begins with; -1: none
	entries []ranked // the most specific first
}

// ranked is a template with its rank among all, the most specific first.
type ranked struct {
	*Entry
	rank int
}

func indexed(entries []*Entry) templates {
	slices.SortStableFunc(entries, func(a, b *Entry) int { return cmp.Compare(b.Specificity, a.Specificity) })
	byPrefix := make(map[string][]ranked)
	var t templates
	for rank, e := range entries {
		byPrefix[e.Prefix] = append(byPrefix[e.Prefix], ranked{e, rank})
		prefix := normalPrefix(e)
		t.spelled = append(t.spelled, spelled{e, prefix})
		t.odd = t.odd || prefix != e.Prefix
	}
	for prefix, group := range byPrefix {
		t.prefixes = append(t.prefixes, prefixed{prefix: prefix, entries: group})
	}
	slices.SortFunc(t.prefixes, func(a, b prefixed) int { return strings.Compare(a.prefix, b.prefix) })
	for i := range t.prefixes {
		outer := i - 1
		for outer >= 0 && !strings.HasPrefix(t.prefixes[i].prefix, t.prefixes[outer].prefix) {
			outer = t.prefixes[outer].outer
		}
		t.prefixes[i].outer = outer
	}
	return t
}

// of yields the templates whose prefix the URI has, the most specific first.
func (t *templates) of(uri string) iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		var few [8][]ranked
		groups := few[:0]
		// All prefixes of uri sort before it, and what sorts between a prefix and uri begins
		// with that prefix, too. So the last prefix that sorts before uri leads to all that
		// fit, by way of outer.
		last, found := slices.BinarySearchFunc(t.prefixes, uri, func(p prefixed, uri string) int { return strings.Compare(p.prefix, uri) })
		if !found {
			last--
		}
		for ; last >= 0; last = t.prefixes[last].outer {
			if p := &t.prefixes[last]; strings.HasPrefix(uri, p.prefix) {
				groups = append(groups, p.entries)
			}
		}
		for e := first(groups); e != nil; e = first(groups) {
			if !yield(e) {
				return
			}
		}
	}
}

// spellings yields the templates that may be the template of the URI, each with the spelling that
// it matches. A template may match if its prefix in normal form begins the URI in normal form (RFC 3986
// section 6.2): clients normalize URIs, and read https://Example.com/{id} as https://example.com/7.
//
// All spellings of a URI must lead to the same template. So normal forms are compared first, unless all are
// normal; otherwise notes://%73ecret/1 would lead past notes://secret/{id} to notes://{+path}.
func (t *templates) spellings(uri string) iter.Seq2[*Entry, string] {
	return func(yield func(*Entry, string) bool) {
		normal := protocol.NormalURI(uri)
		if normal == uri && !t.odd {
			_ = t.eachByPrefix(uri, yield)
			return
		}
		_ = t.eachByNormalPrefix(normal, yield) && t.eachByPrefix(uri, yield)
	}
}

// eachByPrefix yields the templates with a prefix that begins the URI. It returns false if yield has.
func (t *templates) eachByPrefix(uri string, yield func(*Entry, string) bool) bool {
	for e := range t.of(uri) {
		if !yield(e, uri) {
			return false
		}
	}
	return true
}

// eachByNormalPrefix yields the templates with a prefix that begins the URI if both are in normal form. normal is the
// URI in normal form. It returns false if yield has.
func (t *templates) eachByNormalPrefix(normal string, yield func(*Entry, string) bool) bool {
	for _, s := range t.spelled {
		rest, ok := strings.CutPrefix(normal, s.prefix)
		if ok && !yield(s.Entry, s.Prefix+rest) {
			return false
		}
	}
	return true
}

// normalPrefix returns the prefix of a template in normal form. If a variable may continue the authority,
// the prefix is normalized as the first part of a longer one.
func normalPrefix(e *Entry) string {
	_, rest, authority := strings.Cut(e.Prefix, "://")
	next, _ := strings.CutPrefix(e.Key, e.Prefix)
	switch {
	case !authority || strings.Contains(rest, "/"), rest != "" && (strings.HasPrefix(next, "{?") || strings.HasPrefix(next, "{#")):
		return protocol.NormalURI(e.Prefix)
	case rest != "" && strings.HasPrefix(next, "{/"): // the slash belongs to the variable
		return strings.TrimSuffix(protocol.NormalURI(e.Prefix), "/")
	}
	return strings.TrimSuffix(protocol.NormalURI(e.Prefix+"x/"), "x/")
}

// spelling returns a URI of the entry, which is in normal form, as the entry is registered: with its URI, or
// with the literal text that its URI template begins with.
func (e *Entry) spelling(normal string) string {
	if e.Kind == Resource {
		return e.Key
	}
	if rest, ok := strings.CutPrefix(normal, normalPrefix(e)); ok {
		return e.Prefix + rest
	}
	return normal
}

// first removes the most specific entry from the groups, and returns it; nil if they are empty.
func first(groups [][]ranked) *Entry {
	best := -1
	for i, g := range groups {
		if len(g) > 0 && (best < 0 || g[0].rank < groups[best][0].rank) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	e := groups[best][0].Entry
	groups[best] = groups[best][1:]
	return e
}
