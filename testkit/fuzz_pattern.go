package testkit

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kagami-mcp/kagami/framework/serve/surface"
)

// matching is a text that a schema's pattern and lengths allow, and of those with the
// fewest repetitions one.
func matching(s *surface.Schema) (string, bool) {
	if s.Pattern == "" {
		return "", false
	}
	parsed, err := syntax.Parse(s.Pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	pattern, err := regexp.Compile(s.Pattern)
	if err != nil {
		return "", false
	}
	const most = 64
	for n := range most {
		var b strings.Builder
		sample(&b, parsed, n)
		if text := b.String(); pattern.MatchString(text) && fits(s, text) {
			return text, true
		}
	}
	return "", false
}

// fits says whether the text is as long as the schema wants it.
func fits(s *surface.Schema, text string) bool {
	n := utf8.RuneCountInString(text)
	least, errLeast := strconv.Atoi(string(s.MinLength))
	most, errMost := strconv.Atoi(string(s.MaxLength))
	return (errLeast != nil || n >= least) && (errMost != nil || n <= most)
}

// sample writes a text that an expression matches, with n repetitions where it has the
// choice. Where it looks around, at words or lines, the text may not match.
func sample(b *strings.Builder, e *syntax.Regexp, n int) {
	switch e.Op {
	case syntax.OpLiteral:
		b.WriteString(string(e.Rune))
	case syntax.OpCharClass:
		b.WriteRune(oneOfClass(e.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpCapture, syntax.OpConcat:
		for _, part := range e.Sub {
			sample(b, part, n)
		}
	case syntax.OpAlternate:
		sample(b, e.Sub[0], n)
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		for range times(e, n) {
			sample(b, e.Sub[0], n)
		}
	default: // what takes no room
	}
}

// times is how often a repetition repeats: n, if it may.
func times(e *syntax.Regexp, n int) int {
	switch e.Op {
	case syntax.OpQuest:
		return min(n, 1)
	case syntax.OpPlus:
		return max(n, 1)
	case syntax.OpRepeat:
		n = max(n, e.Min)
		if e.Max >= 0 {
			n = min(n, e.Max)
		}
	default: // OpStar
	}
	return n
}

// oneOfClass is a character of a class, which has pairs of the first and last of each
// range: a plain one where there is one.
func oneOfClass(ranges []rune) rune {
	in := func(c rune) bool {
		for pair := range slices.Chunk(ranges, 2) {
			if pair[0] <= c && c <= pair[1] {
				return true
			}
		}
		return false
	}
	for _, c := range "aA1-_ " {
		if in(c) {
			return c
		}
	}
	for c := ' '; c <= '~'; c++ {
		if in(c) {
			return c
		}
	}
	if len(ranges) == 0 {
		return 'a'
	}
	return ranges[0]
}
