package binding

import (
	"maps"
	"slices"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// maxOrdered is the length of text up to which findings are sorted. In longer texts they stay
// in the order of decoding, with those of the rules behind.
const maxOrdered = 64 << 10

// sortFindings orders findings by where their values stand in the caller's
// document, what is missing last.
func sortFindings(found []finding, raw []byte) {
	places := make(map[string][]int, len(found))
	for _, f := range found {
		if len(raw) > maxOrdered {
			break
		}
		if _, ok := places[f.Path]; !ok {
			places[f.Path] = placeOf(raw, f.Path)
		}
	}
	slices.SortStableFunc(found, func(a, b finding) int {
		if a.missing != b.missing {
			if b.missing {
				return -1
			}
			return 1
		}
		if a.missing {
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
		part, path = firstStep(path)
		part = unescaped(part)
		if inner, ok := unquoted(raw, jsontext.KindObject, jsontext.KindArray); ok {
			raw = inner
		}
		place := ordinal(raw, part)
		out = append(out, place)
		next, ok := childOf(raw, part)
		if !ok {
			break
		}
		raw = next
	}
	return out
}

func ordinal(raw []byte, part string) int {
	i := 0
	if jsontext.KindOf(raw) == jsontext.KindArray {
		for range jsontext.Elements(raw) {
			if jsontext.PointerIndex("", i) == "/"+part {
				return i
			}
			i++
		}
		return i
	}
	for key := range jsontext.Members(raw) {
		if key.Is(part) {
			return i
		}
		i++
	}
	return i
}

func unknownNames(values map[string]string, known []Field) []string {
	rest := maps.Clone(values)
	for _, f := range known {
		delete(rest, f.Name)
	}
	return slices.Sorted(maps.Keys(rest))
}
