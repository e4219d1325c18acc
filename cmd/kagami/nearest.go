package main

import (
	"fmt"
	"slices"
	"strings"
)

// maxNames is the maximum number of names in a message.
const maxNames = 20

// unlisted returns the message that the server does not list a component, to be printed after the
// server's own answer. The message names similar components, unless the answer does, and the listed
// ones.
func unlisted(answer error, kind, name string, names []string) string {
	text := fmt.Sprintf("the server lists no %s %q.", kind, name)
	if near := nearest(name, names); len(near) > 0 && !strings.Contains(answer.Error(), "Did you mean") {
		text += " Did you mean " + strings.Join(near, " or ") + "?"
	}
	if len(names) == 0 {
		return text
	}
	listed, more := names, ""
	if len(names) > maxNames {
		listed, more = names[:maxNames], fmt.Sprintf(" and %d more", len(names)-maxNames)
	}
	return fmt.Sprintf("%s It lists: %s%s", text, strings.Join(listed, ", "), more)
}

// nearest returns at most three names that are similar to name, the most similar first. A name is
// similar if it contains name, or if its distance is at most a third of name's length.
func nearest(name string, names []string) []string {
	lower := strings.ToLower(name)
	from := func(other string) int { return distance(lower, strings.ToLower(other)) }
	near := slices.DeleteFunc(slices.Clone(names), func(other string) bool {
		return from(other) > max(1, len(name)/3) && (len(name) <= 2 || !strings.Contains(strings.ToLower(other), lower))
	})
	slices.SortStableFunc(near, func(a, b string) int { return from(a) - from(b) })
	return near[:min(3, len(near))]
}

// distance returns the Levenshtein distance between a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
