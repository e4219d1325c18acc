package spelling

import (
	"slices"
	"strings"
	"unicode"

	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
)

// synonyms are names that models confuse. Within a group any name suggests any other.
var synonyms = [][]string{
	{"cursor", "page", "offset", "next", "after", "start", "skip", "pagetoken"},
	{"limit", "count", "max", "size", "top", "pagesize", "perpage", "maxresults", "numresults"},
	{"query", "q", "search", "text", "term", "keywords", "searchterm"},
	{"id", "identifier", "uid", "key"},
	{"path", "file", "filename", "filepath"},
	{"url", "uri", "link", "href"},
	{"message", "text", "body", "content"},
	{"from", "start", "since", "begin"},
	{"to", "end", "until"},
	{"name", "title", "label"},
	{"lat", "latitude"},
	{"lon", "lng", "long", "longitude"},
}

// Others lists the names that exist, for a name that does not exist. free are the names that the caller has
// not used.
func Others(name string, names, free []string, arguments bool) string {
	if len(names) == 0 {
		return "There are none here."
	}
	what := "Members: "
	if arguments {
		what = "Arguments: "
	}
	hint := what + strings.Join(report.Capped(names), ", ") + "."
	if best := Nearest(name, free); best != "" {
		hint = `Did you mean ` + report.QuoteShort(best) + `? ` + hint
	}
	return hint
}

// MaxGuess bounds the names that are compared with others.
const MaxGuess = 128

// Nearest returns the name that was probably meant, or "": another spelling, a name with a word more or less,
// or another word for the same. It never returns a name that means the opposite.
func Nearest(name string, names []string) string { return meant(nearest, name, names) }

func nearest(name string, names []string) string {
	spelled, steps := spelling(name, names)
	if spelled != "" && steps < 2 {
		return spelled
	}
	if longer := affixed(name, names); longer != "" {
		return longer
	}
	if spelled != "" {
		return spelled
	}
	flat := Flatten(name)
	if best := abbreviated(flat, names); best != "" {
		return best
	}
	for _, group := range synonyms {
		if !slices.Contains(group, flat) {
			continue
		}
		for _, candidate := range names {
			if slices.Contains(group, Flatten(candidate)) {
				return candidate
			}
		}
	}
	return ""
}

// Close returns the name that name is a spelling of, with other case or separators, a typing error, or an
// abbreviation. It never returns a name that means the opposite.
func Close(name string, names []string) string { return meant(closest, name, names) }

func closest(name string, names []string) string {
	if best, _ := spelling(name, names); best != "" {
		return best
	}
	return abbreviated(Flatten(name), names)
}

// abbreviated returns the name that begins with flat, or that flat begins with.
func abbreviated(flat string, names []string) string {
	if len(flat) < 3 {
		return ""
	}
	for _, candidate := range names {
		other := Flatten(candidate)
		if len(other) >= 3 && (strings.HasPrefix(other, flat) || strings.HasPrefix(flat, other)) {
			return candidate
		}
	}
	return ""
}

// spelling returns the name that name becomes with the fewest steps, or "" if all names need too many.
func spelling(name string, names []string) (best string, steps int) {
	flat := Flatten(name)
	if flat == "" {
		return "", 0
	}
	limit := len(flat)/3 + 1
	if len(flat) < 3 {
		limit = 1
	}
	for _, candidate := range names {
		other := Flatten(candidate)
		if other == flat {
			return candidate, 0
		}
		if len(other)-len(flat) >= limit || len(flat)-len(other) >= limit {
			continue // each byte more is a step
		}
		if d := Distance(flat, other); d < limit {
			best, limit = candidate, d
		}
	}
	return best, limit
}

// affixed returns the only name that has all words of name at its beginning or end, as search_query has for
// query, or that is itself the beginning or end of name.
func affixed(name string, names []string) string {
	mine := WordsOf(name)
	best, shared, twice := "", 0, false
	for _, candidate := range names {
		if size := len(candidate); size < 2 || size > MaxGuess {
			continue
		}
		theirs := WordsOf(candidate)
		short, long := mine, theirs
		if len(short) > len(long) {
			short, long = long, short
		}
		if len(short) == len(long) || !slices.Equal(short, long[:len(short)]) && !slices.Equal(short, long[len(long)-len(short):]) {
			continue
		}
		size := len(strings.Join(short, ""))
		if size < 2 || size < shared {
			continue
		}
		best, shared, twice = candidate, size, size == shared
	}
	if twice {
		return ""
	}
	return best
}

// WordsOf returns the words of a name in small letters. The words of searchQuery are search and query.
func WordsOf(name string) []string {
	var spaced strings.Builder
	small := false
	for _, r := range name {
		if unicode.IsUpper(r) && small {
			spaced.WriteByte(' ')
		}
		small = !unicode.IsUpper(r)
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			r = ' '
		}
		spaced.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(spaced.String())
}

// Flatten returns a name in small letters, without separators.
func Flatten(name string) string { return strings.ToLower(separators.Replace(name)) }

var separators = strings.NewReplacer("_", "", "-", "", ".", "", " ", "")

// Distance returns the Levenshtein distance in bytes, with swapped neighbors as one step. If a text is longer
// than MaxGuess, it returns the length of the longer text.
func Distance(a, b string) int {
	if len(a) > MaxGuess || len(b) > MaxGuess {
		return max(len(a), len(b))
	}
	var rows [3][MaxGuess + 1]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
