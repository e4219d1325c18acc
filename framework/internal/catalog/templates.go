package catalog

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/protocol"
)

// templates finds the templates that may match a URI, by the literal text that their URIs begin with. It looks
// only at templates that fit, however many there are.
type templates struct {
	spelled  []spelled  // the most specific first
	prefixes []prefixed // sorted
	odd      bool       // a prefix is not in normal form
}

// spelled is a template with its prefix in normal form.
type spelled struct {
	*Entry
	prefix string
}

// prefixed is a prefix with its templates.
type prefixed struct {
	prefix  string
	outer   int   // index of the longest other prefix that this prefix begins with, or -1
	indexes []int // indexes of the templates in spelled, ascending
}

func indexed(entries []*Entry) templates {
	slices.SortStableFunc(entries, func(a, b *Entry) int { return cmp.Compare(b.Specificity, a.Specificity) })
	byPrefix := make(map[string][]int)
	var t templates
	for i, e := range entries {
		byPrefix[e.Prefix] = append(byPrefix[e.Prefix], i)
		prefix := normalPrefix(e)
		t.spelled = append(t.spelled, spelled{e, prefix})
		t.odd = t.odd || prefix != e.Prefix
	}
	for _, prefix := range slices.Sorted(maps.Keys(byPrefix)) {
		outer := len(t.prefixes) - 1
		for outer >= 0 && !strings.HasPrefix(prefix, t.prefixes[outer].prefix) {
			outer = t.prefixes[outer].outer
		}
		t.prefixes = append(t.prefixes, prefixed{prefix, outer, byPrefix[prefix]})
	}
	return t
}

// spellings yields the templates that may be the template of the URI, each with the spelling that
// it matches. A template may match if its prefix in normal form begins the URI in normal form (RFC 3986
// section 6.2): clients normalize URIs, and read https://Example.com/{id} as https://example.com/7.
//
// All spellings of a URI must lead to the same template. So normal forms are compared first, unless all are
// normal; otherwise notes://%73ecret/1 would lead past notes://secret/{id} to notes://{+path}.
func (t *templates) spellings(uri string) iter.Seq2[*Entry, string] {
	return func(yield func(*Entry, string) bool) {
		if normal := protocol.NormalURI(uri); normal != uri || t.odd {
			for _, s := range t.spelled {
				rest, ok := strings.CutPrefix(normal, s.prefix)
				if ok && !yield(s.Entry, s.Prefix+rest) {
					return
				}
			}
		}
		var room [8]int
		for _, i := range t.beginning(uri, room[:0]) {
			if !yield(t.spelled[i].Entry, uri) {
				return
			}
		}
	}
}

// beginning returns the indexes of the templates with a prefix that begins the URI, ascending. It appends them
// to fit, an empty slice with some room.
func (t *templates) beginning(uri string, fit []int) []int {
	// All prefixes of uri sort before it. Any text that sorts between a prefix and uri also begins with
	// the prefix. So outer leads from the last prefix that sorts before uri to all that fit.
	last, found := slices.BinarySearchFunc(t.prefixes, uri, func(p prefixed, uri string) int { return strings.Compare(p.prefix, uri) })
	if !found {
		last--
	}
	for ; last >= 0; last = t.prefixes[last].outer {
		if p := &t.prefixes[last]; strings.HasPrefix(uri, p.prefix) {
			fit = append(fit, p.indexes...)
		}
	}
	slices.Sort(fit)
	return fit
}

// normalPrefix returns the prefix of a template in normal form. If a variable may continue the authority,
// the prefix is normalized as the first part of a longer one.
func normalPrefix(e *Entry) string {
	_, rest, authority := strings.Cut(e.Prefix, "://")
	next, _ := strings.CutPrefix(e.Key, e.Prefix)
	switch {
	case !authority || strings.Contains(rest, "/"), rest != "" && (strings.HasPrefix(next, "{?") || strings.HasPrefix(next, "{#")):
		return protocol.NormalURI(e.Prefix)
	case rest != "" && strings.HasPrefix(next, "{/"): // the slash is a part of the variable
		return strings.TrimSuffix(protocol.NormalURI(e.Prefix), "/")
	}
	return strings.TrimSuffix(protocol.NormalURI(e.Prefix+"x/"), "x/")
}

// Spelling returns a URI of the entry in the form that the entry is registered with: its own URI, or a URI
// that begins with the literal text of its template. normal is the URI in normal form.
func (e *Entry) Spelling(normal string) string {
	if e.Kind == Resource {
		return e.Key
	}
	if rest, ok := strings.CutPrefix(normal, normalPrefix(e)); ok {
		return e.Prefix + rest
	}
	return normal
}
