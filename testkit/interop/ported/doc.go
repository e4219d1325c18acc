// Package ported is the server of docs/porting.md as it is written with the official Go
// SDK and with mcp-go. docs/code/porting is what it becomes here; TestPorted asks all
// three the same.
package ported

import (
	"maps"
	"slices"
	"strings"
)

// Notes are texts by name. They are not guarded: this is a page of a guide.
type Notes map[string]string

func (n Notes) find(query string, limit int) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(n)) {
		if strings.Contains(n[name], query) && len(names) < limit {
			names = append(names, name)
		}
	}
	return names
}

func (n Notes) beginningWith(prefix string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(n)), func(s string) bool { return !strings.HasPrefix(s, prefix) })
}

const rawSchema = `{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}`
