package plan

import (
	"maps"
	"slices"
)

// maxOrdered is the length of text up to which findings are sorted. In longer texts they stay
// in the order of decoding, and the findings of rules follow.
const maxOrdered = 64 << 10

// sortFindings orders findings by where their values stand in the caller's
// document, what is missing last.
func sortFindings(found []Finding, raw []byte) {
	var spots map[string]spot
	if len(raw) <= maxOrdered && len(found) > 1 {
		spots = seek(raw, pathsOf(found))
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
		return slices.Compare(spots[a.Path].place, spots[b.Path].place)
	})
}

func pathsOf(found []Finding) []string {
	out := make([]string, len(found))
	for i, f := range found {
		out[i] = f.Path
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
