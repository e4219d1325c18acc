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

// matching returns a text that the pattern and the lengths of a schema allow, with as few
// repetitions as possible.
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

// fits reports whether the length of the text conforms to the schema.
func fits(s *surface.Schema, text string) bool {
	n := utf8.RuneCountInString(text)
	least, errLeast := strconv.Atoi(string(s.MinLength))
	most, errMost := strconv.Atoi(string(s.MaxLength))
	return (errLeast != nil || n >= least) && (errMost != nil || n <= most)
}

// sample writes a text that an expression matches, with n repetitions where it has the choice.
// If the expression has assertions, such as word boundaries, the text may not match.
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
	default: // assertions, which match no characters
	}
}

// times returns how often to repeat: n, within the bounds of the repetition.
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

// oneOfClass returns a character of a class, an ordinary one if possible. ranges holds the first
// and the last character of each range.
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
