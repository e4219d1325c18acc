package binding

import (
	"slices"
	"strings"
)

// synonyms are names that models take for one another. Within a group any name
// suggests any other.
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

// otherNames says what names there are instead of one that does not exist; free are those
// that the caller has not used.
func otherNames(name string, names, free []string, arguments bool) string {
	if len(names) == 0 {
		return "There are none here."
	}
	what := "Members: "
	if arguments {
		what = "Arguments: "
	}
	hint := what + strings.Join(capped(names), ", ") + "."
	if best := nearestName(name, free); best != "" {
		hint = `Did you mean ` + quoteShort(best) + `? ` + hint
	}
	return hint
}

// maxGuess bounds the names that are compared with others.
const maxGuess = 128

// nearestName is the name that was probably meant, or "".
func nearestName(name string, names []string) string {
	if len(name) > maxGuess {
		return ""
	}
	if best := closeName(name, names); best != "" {
		return best
	}
	flat := flatten(name)
	for _, group := range synonyms {
		if !slices.Contains(group, flat) {
			continue
		}
		for _, candidate := range names {
			if slices.Contains(group, flatten(candidate)) {
				return candidate
			}
		}
	}
	return ""
}

// closeName is the name that name is a spelling of: other case or separators,
// a typing error, an abbreviation.
func closeName(name string, names []string) string {
	if len(name) > maxGuess {
		return ""
	}
	flat := flatten(name)
	if flat == "" {
		return ""
	}
	best, distance := "", len(flat)/3+1
	if len(flat) < 3 {
		distance = 1
	}
	for _, candidate := range names {
		other := flatten(candidate)
		if other == flat {
			return candidate
		}
		if len(other)-len(flat) >= distance || len(flat)-len(other) >= distance {
			continue // each byte more is a step
		}
		if d := editDistance(flat, other); d < distance {
			best, distance = candidate, d
		}
	}
	if best != "" || len(flat) < 3 {
		return best
	}
	for _, candidate := range names {
		other := flatten(candidate)
		if len(other) >= 3 && (strings.HasPrefix(other, flat) || strings.HasPrefix(flat, other)) {
			return candidate
		}
	}
	return ""
}

func flatten(name string) string { return strings.ToLower(separators.Replace(name)) }

var separators = strings.NewReplacer("_", "", "-", "", ".", "", " ", "")

// editDistance is Levenshtein's, over bytes, with swapped neighbours as one step. Texts longer
// than maxGuess are as far away as they are long.
func editDistance(a, b string) int {
	if len(a) > maxGuess || len(b) > maxGuess {
		return max(len(a), len(b))
	}
	var rows [3][maxGuess + 1]int
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
