package plan

import "slices"

// maxOrdered is the maximum length of a text with sorted findings. In longer texts the findings
// stay in the order of decoding, and the findings of rules follow.
const maxOrdered = 64 << 10

// sortFindings orders findings by where their values stand in the caller's
// document, what is missing last.
func sortFindings(found []Finding, raw []byte) {
	var spots map[string]spot
	if len(raw) <= maxOrdered && len(found) > 1 {
		paths := make([]string, len(found))
		for i, f := range found {
			paths[i] = f.Path
		}
		spots = seek(raw, paths)
	}
	slices.SortStableFunc(found, func(a, b Finding) int {
		switch {
		case a.Missing && b.Missing:
			return 0
		case a.Missing:
			return 1
		case b.Missing:
			return -1
		}
		return slices.Compare(spots[a.Path].place, spots[b.Path].place)
	})
}
