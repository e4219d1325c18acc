package catalog

import "github.com/kagami-mcp/kagami/protocol/jsontext"

// Clip bounds what is echoed to the caller to about 128 bytes, at the end of a character.
func Clip(name string) string { return jsontext.Clip(name, 128) }

// Bounds of a search for the nearest name: it runs on names that callers send.
const (
	nearestLength = 64
	nearestTries  = 1000
)

// Nearest is the candidate that a misspelled name most likely meant, or "".
func Nearest(name string, candidates []string) string {
	if len(name) > nearestLength {
		return ""
	}
	best, bestDistance := "", len(name)/3+1
	for _, candidate := range candidates[:min(len(candidates), nearestTries)] {
		if len(candidate) > nearestLength {
			continue
		}
		if d := distance(name, candidate); d <= bestDistance && (best == "" || d < bestDistance) {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// distance is Levenshtein's, by bytes, with two neighbors in the wrong order as
// one mistake.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
