package catalog

import (
	"github.com/kagami-mcp/kagami/framework/internal/binding/spelling"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Clip cuts a text of the caller to about 128 bytes, at the end of a character.
func Clip(name string) string { return jsontext.Clip(name, 128) }

// Bounds of a search for the nearest name: it runs on names that callers send.
const (
	nearestLength = 64
	nearestTries  = 1000
)

// Nearest returns the candidate that a misspelled name most likely stands for, or "".
func Nearest(name string, candidates []string) string {
	if len(name) > nearestLength {
		return ""
	}
	best, bestDistance := "", len(name)/3+1
	for _, candidate := range candidates[:min(len(candidates), nearestTries)] {
		if len(candidate) > nearestLength {
			continue
		}
		if d := spelling.Distance(name, candidate); d <= bestDistance && (best == "" || d < bestDistance) {
			best, bestDistance = candidate, d
		}
	}
	return best
}
