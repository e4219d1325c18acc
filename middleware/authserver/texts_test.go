package authserver

import (
	"maps"
	"regexp"
	"slices"
	"testing"
)

// TestTexts: every language has every text, and pages.html uses no other.
func TestTexts(t *testing.T) {
	t.Parallel()
	want := slices.Sorted(maps.Keys(texts["en"]))
	for language, table := range texts {
		if got := slices.Sorted(maps.Keys(table)); !slices.Equal(got, want) {
			t.Errorf("%s has %v, want %v", language, got, want)
		}
	}
	for _, name := range regexp.MustCompile(`(?:\$t|\.T)\.(\w+)`).FindAllStringSubmatch(pagesHTML, -1) {
		if texts["en"][name[1]] == "" {
			t.Errorf("pages.html uses %q, which no language has", name[1])
		}
	}
}
