package rawschema

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Patterns of JSON Schema are regular expressions of ECMA-262 (2020-12 core section 6.4), read with
// its flag u. Go's syntax is nearly the same; where the same text means something else it is
// translated here, and refused where Go has nothing for it.

// ecmaSpace is \s (ECMA-262 "WhiteSpace" and "LineTerminator"), as the inside of a class; notSpace
// is all the rest.
const (
	ecmaSpace = `\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
	notSpace  = `\x00-\x08\x0e-\x1f!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}` +
		`\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`
	anyRune = `\x00-\x{10ffff}`
)

// compileECMA compiles a pattern. The error says what of it cannot be had.
func compileECMA(pattern string) (*regexp.Regexp, error) {
	t := translator{rest: pattern}
	for t.rest != "" && t.err == nil {
		t.next()
	}
	if t.err != nil {
		return nil, t.err
	}
	return regexp.Compile(t.out.String())
}

// translator goes through a pattern once.
type translator struct {
	rest string
	out  strings.Builder
	err  error
}

func (t *translator) fail(format string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf(format, args...)
	}
}

// take takes the prefix away, if the rest begins with it.
func (t *translator) take(prefix string) bool {
	rest, ok := strings.CutPrefix(t.rest, prefix)
	t.rest = rest
	return ok
}

// takeRune takes one character away.
func (t *translator) takeRune() rune {
	r, size := utf8.DecodeRuneInString(t.rest)
	t.rest = t.rest[size:]
	return r
}

func (t *translator) next() {
	switch {
	case t.take(`\b`): // as in Go, where words are of ASCII, too
		t.out.WriteString(`\b`)
	case t.take(`\B`):
		t.out.WriteString(`\B`)
	case t.take(`\`):
		text, _ := t.escape()
		if text == ecmaSpace || text == notSpace {
			text = "[" + text + "]"
		}
		t.out.WriteString(text)
	case t.take("["):
		t.class()
	case t.take("(?"):
		t.group()
	case t.take("."):
		t.out.WriteString(`[^\n\r\x{2028}\x{2029}]`)
	default:
		t.out.WriteRune(t.takeRune())
	}
}

// group is what begins with "(?".
func (t *translator) group() {
	for _, kind := range []string{":", "i:", "-i:"} {
		if t.take(kind) {
			t.out.WriteString("(?" + kind)
			return
		}
	}
	for _, kind := range []string{"=", "!", "<=", "<!"} {
		if strings.HasPrefix(t.rest, kind) {
			t.fail("(?%s looks ahead or behind, which Go's regular expressions cannot", kind)
			return
		}
	}
	if !t.take("<") {
		t.fail("ECMA-262 has no group that begins with (?%.1s", t.rest)
		return
	}
	name, rest, ends := strings.Cut(t.rest, ">")
	if !ends || name == "" {
		t.fail("the name of a group does not end")
		return
	}
	t.rest = rest
	t.out.WriteString("(?:") // nothing can refer to the name
}

// class is what begins with "[".
func (t *translator) class() {
	negated := t.take("^")
	if t.take("]") { // nothing, or anything
		t.out.WriteString(map[bool]string{false: "[^" + anyRune + "]", true: "[" + anyRune + "]"}[negated])
		return
	}
	t.out.WriteString("[")
	if negated {
		t.out.WriteString("^")
	}
	for t.err == nil && !t.take("]") {
		from, set := t.member()
		t.out.WriteString(from)
		if len(t.rest) < 2 || t.rest[0] != '-' || t.rest[1] == ']' {
			continue
		}
		t.take("-")
		to, alsoSet := t.member()
		if set || alsoSet {
			t.out.WriteString(`\-`)
		} else {
			t.out.WriteString("-")
		}
		t.out.WriteString(to)
	}
	t.out.WriteString("]")
}

// member is one character of a class, or a set of them.
func (t *translator) member() (text string, set bool) {
	switch {
	case t.rest == "":
		t.fail("a class does not end")
		return "", false
	case t.take(`\b`):
		return `\x08`, false
	case t.take(`\-`):
		return `\-`, false
	case t.take(`\`):
		return t.escape()
	}
	r := t.takeRune()
	if strings.ContainsRune(`[]^-`, r) {
		return `\` + string(r), false
	}
	return string(r), false
}

// escape reads the characters after a backslash, and returns them as Go writes them in a class. set
// is true if they mean more than one character.
func (t *translator) escape() (text string, set bool) {
	if t.rest == "" {
		t.fail("nothing follows the last backslash")
		return "", false
	}
	switch r := t.takeRune(); {
	case strings.ContainsRune("dDwW", r):
		return `\` + string(r), true
	case r == 's':
		return ecmaSpace, true
	case r == 'S':
		return notSpace, true
	case r == 'p' || r == 'P':
		return t.property(r), true
	case strings.ContainsRune("nrtvf", r):
		return `\` + string(r), false
	case r == '0' && (t.rest == "" || t.rest[0] < '0' || t.rest[0] > '9'):
		return `\x00`, false
	case r == 'x':
		return t.code(t.digits(2)), false
	case r == 'u':
		return t.unicode(), false
	case r == 'c':
		return t.control(), false
	case r == 'k' || r >= '0' && r <= '9':
		t.fail(`\%c refers back to a group, which Go's regular expressions cannot`, r)
	case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
		t.fail(`ECMA-262 has no escape \%c`, r)
	default:
		return regexp.QuoteMeta(string(r)), false
	}
	return "", false
}

// code is the character of a number.
func (t *translator) code(n int64) string { return `\x{` + strconv.FormatInt(n, 16) + `}` }

// digits takes n hexadecimal digits away.
func (t *translator) digits(n int) int64 {
	text := t.rest[:min(n, len(t.rest))]
	value, err := strconv.ParseUint(text, 16, 32)
	if err != nil || len(text) < n {
		t.fail("an escape lacks digits")
	}
	t.rest = t.rest[len(text):]
	return int64(value)
}

// unicode is what follows \u: four digits, two such that are a pair, or digits in braces.
func (t *translator) unicode() string {
	if t.take("{") {
		text, rest, ends := strings.Cut(t.rest, "}")
		value, err := strconv.ParseUint(text, 16, 32)
		if !ends || err != nil || value > utf8.MaxRune {
			t.fail("an escape lacks digits")
			return ""
		}
		t.rest = rest
		return t.code(int64(value))
	}
	value := t.digits(4)
	if !utf16.IsSurrogate(rune(value)) {
		return t.code(value)
	}
	if t.take(`\u`) {
		if r := utf16.DecodeRune(rune(value), rune(t.digits(4))); r != utf8.RuneError {
			return t.code(int64(r))
		}
	}
	t.fail("an escape is half a pair of surrogates, which no text has")
	return ""
}

func (t *translator) control() string {
	if t.rest != "" {
		if c := t.takeRune() | 0x20; c >= 'a' && c <= 'z' {
			return t.code(int64(c - 'a' + 1))
		}
	}
	t.fail(`no letter follows \c`)
	return ""
}

// property is what follows \p or \P: a category of Unicode, or a script.
func (t *translator) property(p rune) string {
	inside, rest, ends := strings.Cut(t.rest, "}")
	inside, opens := strings.CutPrefix(inside, "{")
	if !ends || !opens {
		t.fail(`no property in braces follows \%c`, p)
		return ""
	}
	t.rest = rest
	for _, name := range []string{"Script=", "sc=", "General_Category=", "gc="} {
		inside = strings.TrimPrefix(inside, name)
	}
	return `\` + string(p) + "{" + inside + "}"
}
