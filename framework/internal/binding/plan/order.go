package plan

import (
	"maps"
	"slices"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// maxOrdered is the length of text up to which findings are sorted. In longer texts they stay
// in the order of decoding, and the findings of rules follow.
const maxOrdered = 64 << 10

// sortFindings orders findings by where their values stand in the caller's
// document, what is missing last.
func sortFindings(found []Finding, raw []byte) {
	places := make(map[string][]int, len(found))
	for _, f := range found {
		if len(raw) > maxOrdered {
			break
		}
		if _, ok := places[f.Path]; !ok {
			places[f.Path] = placeOf(raw, f.Path)
		}
	}
	slices.SortStableFunc(found, func(a, b Finding) int {
		if a.Missing != b.Missing {
			if b.Missing {
				return -1
			}
			return 1
		}
		if a.Missing {
			return 0
		}
		return slices.Compare(places[a.Path], places[b.Path])
	})
}

// placeOf is the ordinal of each step of a path.
func placeOf(raw []byte, path string) []int {
	var out []int
	for path != "" {
		var part string
		part, path = jsonedit.FirstStep(path)
		part = jsonedit.Unescaped(part)
		if inner, ok := jsonedit.Unquoted(raw, jsontext.KindObject, jsontext.KindArray); ok {
			raw = inner
		}
		place := jsonedit.Ordinal(raw, part)
		out = append(out, place)
		next, ok := jsonedit.ChildOf(raw, part)
		if !ok {
			break
		}
		raw = next
	}
	return out
}

func unknownNames(values map[string]string, known []Field) []string {
	rest := maps.Clone(values)
	for _, f := range known {
		delete(rest, f.Name)
	}
	return slices.Sorted(maps.Keys(rest))
}
