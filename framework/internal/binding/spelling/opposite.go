package spelling

import (
	"slices"
	"strings"
)

// meant calls guess until it returns a name that does not mean the opposite.
func meant(guess func(string, []string) string, name string, names []string) string {
	for len(name) <= MaxGuess {
		best := guess(name, names)
		if best == "" || !opposite(name, best) {
			return best
		}
		names = slices.DeleteFunc(slices.Clone(names), func(other string) bool { return other == best })
	}
	return ""
}

// opposite reports whether one name means the reverse of the other, although the two are spelled alike.
func opposite(a, b string) bool {
	flatA, flatB := Flatten(a), Flatten(b)
	if flatA == flatB {
		return false
	}
	x, y := WordsOf(a), WordsOf(b)
	if len(x) != len(y) {
		return saysNot(x) != saysNot(y) || reversed(flatA, flatB, reversals)
	}
	for i := range x {
		if reversed(x[i], y[i], reversals) || reversed(x[i], y[i], ofWords) {
			return true
		}
	}
	return reversed(flatA, flatB, reversals)
}

// nots are words that reverse a name.
var nots = []string{
	"not", "non", "never", "except", "without", "exclude", "excludes", "excluded", "excluding", "disable", "disabled", "skip", "ignore", "omit", "hide",
}

func saysNot(words []string) bool {
	return len(words) > 1 && words[0] == "no" || slices.ContainsFunc(words, func(word string) bool { return slices.Contains(nots, word) })
}

// reversals are beginnings that mean the opposite if the rest is the same.
var reversals = [][2]string{
	{"un", ""},
	{"im", ""},
	{"ir", ""},
	{"il", ""},
	{"no", ""},
	{"non", ""},
	{"not", ""},
	{"dis", ""},
	{"max", "min"},
	{"before", "after"},
	{"old", "new"},
	{"latit", "longit"},
	{"in", "ex"},
	{"im", "ex"},
	{"in", "de"},
	{"en", "de"},
	{"en", "dis"},
	{"at", "de"},
	{"a", "de"},
}

// ofWords are such beginnings of a single word: in_reply_to is not the opposite of reply_to.
var ofWords = [][2]string{{"in", ""}, {"de", ""}, {"fe", ""}}

func reversed(a, b string, by [][2]string) bool {
	return slices.ContainsFunc(by, func(pair [2]string) bool {
		return sameBehind(a, pair[0], b, pair[1]) || sameBehind(b, pair[0], a, pair[1])
	})
}

// sameBehind reports whether the words are the same after these beginnings. A short rest may be the same by
// accident.
func sameBehind(a, beginA, b, beginB string) bool {
	restA, okA := strings.CutPrefix(a, beginA)
	restB, okB := strings.CutPrefix(b, beginB)
	return okA && okB && restA == restB && (beginB != "" || len(restB) > 3)
}
