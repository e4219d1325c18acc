package spelling_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/binding/spelling"
)

// TestNearest checks the order of guesses: a spelling, then a word more or less, then another word for the
// same.
func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"user_id", "query", "startTime", "limit", "email"}
	for name, want := range map[string]string{
		"UserID": "user_id", "user-id": "user_id", "uesr_id": "user_id", "qurey": "query", "search_query": "query", "start": "startTime",
		"max": "limit", "e_mail": "email", "emails": "email", "lim": "limit", "zzz": "", "": "", "li": "",
		strings.Repeat("query", 40): "",
	} {
		if got := spelling.Nearest(name, names); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := spelling.Nearest("name", []string{"file_name", "user_name"}); got != "" {
		t.Errorf("two names are as near: %q", got)
	}
}

// TestClose checks that Close does not take one word for another.
func TestClose(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"Limit": "limit", "limt": "limit", "max": "", "search_limit": ""} {
		if got := spelling.Close(name, []string{"limit"}); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// TestOthers checks that Others lists the names, and the nearest of the free names.
func TestOthers(t *testing.T) {
	t.Parallel()
	names := []string{"from", "to"}
	for want, got := range map[string]string{
		`Did you mean "from"? Arguments: from, to.`: spelling.Others("form", names, names, true),
		"Members: from, to.":                        spelling.Others("form", names, names[1:], false),
		"There are none here.":                      spelling.Others("form", nil, nil, true),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestDistance checks that swapped neighbors are one step.
func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "ab", 1}, {"abc", "axc", 1}, {"ca", "abc", 3}, {strings.Repeat("a", 200), "a", 200}} {
		if got, back := spelling.Distance(c.a, c.b), spelling.Distance(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("%q and %q: %d and %d, want %d", c.a, c.b, got, back, c.want)
		}
	}
}

func TestWordsOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"searchQuery": "search query", "search_query-2": "search query 2", "HTTPPort": "httpport", "__": ""} {
		if got := spelling.WordsOf(name); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%q: %q", name, got)
		}
	}
}

// TestOpposites checks that a name with the opposite meaning is not suggested, however near its spelling is.
func TestOpposites(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]string{
		"max_price": "min_price", "maxprice": "min_price", "created_before": "created_after", "exclude": "include", "exclude_tags": "tags",
		"noCache": "cache", "unpaid": "paid", "inactive": "active", "sort_desc": "sort_asc", "NotActive": "active",
	} {
		if got := spelling.Nearest(name, []string{other}) + spelling.Close(name, []string{other}); got != "" {
			t.Errorf("%q: %q", name, got)
		}
	}
	for name, want := range map[string]string{"longitude": "lng", "notstarted": "not_started"} {
		if got := spelling.Nearest(name, []string{"latitude", "lng", "not_started"}); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
