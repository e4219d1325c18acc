package uritemplate

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// capture is what one group of the pattern holds: the value of a variable, or
// the text of a query when it has several names.
type capture struct {
	variable
	query []variable
	may   trust
}

// Match returns the variables of a URI of this template, and false if the URI is
// not of it. Absent query variables are absent from the map, which is the
// caller's.
//
// It returns [ErrUnsafe], wrapped with the variable and the reason, if the URI is
// of the template but a value, once decoded,
//
//   - comes from an escape that is broken or not UTF-8, or contains NUL;
//
// and, unless it is of {?x} or {&x}, whose values are data,
//
//   - has ".." as a path segment, whether "/" or "\" separates,
//   - begins with "/" or "\",
//   - contains a control character, or
//   - has a backslash or comes from an escaped slash, outside {+x} and {#x} and the variables
//     of [Template.AllowSlashes].
//
// A URI that begins like the template and has more than 64 KiB is unsafe too.
func (t *Template) Match(uri string) (map[string]string, bool, error) {
	if !strings.HasPrefix(uri, t.prefix) {
		return nil, false, nil
	}
	if len(uri) > maxURI {
		return nil, false, fmt.Errorf("matching URI template %q: %w", t.raw, unsafe("URI of more than 64 KiB"))
	}
	var few [16]int
	groups := t.split(uri, few[:0])
	if groups == nil {
		return nil, false, nil
	}
	found := matching{values: make(map[string]string, len(t.captures))}
	for i, c := range t.captures {
		text := ""
		if from, to := groups[2*i+2], groups[2*i+3]; from >= 0 {
			text = uri[from:to] // else an absent query, or ";x" for an empty value
		}
		ok, err := found.take(c, text)
		if err != nil {
			return nil, false, fmt.Errorf("matching URI template %q: %w", t.raw, err)
		}
		if !ok {
			return nil, false, nil
		}
	}
	if !found.settle() {
		return nil, false, nil
	}
	return found.values, true, nil
}

// matching collects the values of one URI.
type matching struct {
	values   map[string]string
	prefixes map[string]string // of variables with the prefix modifier
}

func (m *matching) take(c capture, text string) (bool, error) {
	if c.query == nil {
		return m.set(c.variable, text, c.may)
	}
	if text == "" {
		return true, nil
	}
	for pair := range strings.SplitSeq(text, "&") {
		name, value, _ := strings.Cut(pair, "=")
		i := slices.IndexFunc(c.query, func(v variable) bool { return v.name == name })
		if i < 0 {
			return false, nil
		}
		if ok, err := m.set(c.query[i], value, data); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// set files a value. It is false where the variable already has another one, or
// a prefix is longer than the template allows.
func (m *matching) set(v variable, text string, may trust) (bool, error) {
	value, err := decode(text, may)
	if err != nil {
		return false, fmt.Errorf("variable %s: %w", v.name, err)
	}
	target := m.values
	if v.max > 0 {
		if utf8.RuneCountInString(value) > v.max {
			return false, nil
		}
		if m.prefixes == nil {
			m.prefixes = map[string]string{}
		}
		target = m.prefixes
	}
	before, twice := target[v.name]
	if v.max > 0 && len(before) > len(value) { // {x:1}/{x:3}: the longer value must begin with the shorter one
		before, value = value, before
	}
	target[v.name] = value
	return !twice || before == value || v.max > 0 && strings.HasPrefix(value, before), nil
}

// settle joins prefixes and whole values: {x:1}/{x} matches "a/abc" only if they
// agree, {x:1} alone yields the prefix.
func (m *matching) settle() bool {
	for name, prefix := range m.prefixes {
		if whole, ok := m.values[name]; !ok {
			m.values[name] = prefix
		} else if !strings.HasPrefix(whole, prefix) {
			return false
		}
	}
	return true
}

// split finds the captures. It returns pairs of offsets: the pair of the whole match, and then a
// pair for each capture. They are in room if room is large enough. If the URI does not match, split
// returns nil.
func (t *Template) split(uri string, room []int) []int {
	if t.pattern != nil {
		return t.pattern.FindStringSubmatchIndex(uri)
	}
	groups, at := append(room, 0, len(uri)), 0
	for _, p := range t.parts {
		if p.vars == nil {
			if !strings.HasPrefix(uri[at:], p.literal) {
				return nil
			}
			at += len(p.literal)
			continue
		}
		end := len(uri)
		if i := strings.IndexAny(uri[at:], segmentEnds); i >= 0 {
			end = at + i
		}
		if end == at {
			return nil
		}
		groups, at = append(groups, at, end), end
	}
	if at < len(uri) {
		return nil
	}
	return groups
}

// segmentEnds are what a simple variable does not take.
const segmentEnds = "/?#"

// direct reports whether a URI can be split in only one way, without a pattern. Every variable is
// then a simple one. It reaches to the end of the URI, or to a literal with a first character that
// it cannot contain. Every literal can be written in only one way.
func (t *Template) direct() bool {
	for i, p := range t.parts {
		switch {
		case p.vars == nil:
			if string(appendEncoded(nil, p.literal, true)) != p.literal || strings.Contains(p.literal, "%") {
				return false
			}
		case p.op != 0 || len(p.vars) > 1 || p.vars[0].explode:
			return false
		case i+1 < len(t.parts) && (t.parts[i+1].literal == "" || !strings.ContainsRune(segmentEnds, rune(t.parts[i+1].literal[0]))):
			return false
		}
	}
	return true
}

// compile finds the captures and, where it takes one, builds the pattern.
func (t *Template) compile() error {
	t.prefix = literalPrefix(t.parts)
	pattern := t.capture()
	if t.direct() {
		return nil
	}
	var err error
	t.pattern, err = regexp.Compile(pattern)
	return err
}

// capture finds the captures and the pattern of the whole. Go's regular expressions
// run in linear time, so that no URI can make matching slow.
func (t *Template) capture() string {
	var pattern strings.Builder
	pattern.WriteString(`\A`)
	for i := 0; i < len(t.parts); i++ {
		p := t.parts[i]
		switch {
		case p.vars == nil:
			writeLiteral(&pattern, p.literal)
		case p.isQuery():
			vars := slices.Clip(p.vars) // a run of expressions is one optional group
			for ; i+1 < len(t.parts) && t.parts[i+1].isQuery(); i++ {
				vars = append(vars, t.parts[i+1].vars...)
			}
			fmt.Fprintf(&pattern, `(?:\%c([^#]*))?`, p.op)
			t.captures = append(t.captures, capture{query: vars})
		default:
			t.addPath(&pattern, p, t.rest(i+1))
		}
	}
	pattern.WriteString(`\z`)
	return pattern.String()
}

// rest says which of "?" and "#" the template goes on with after a part, so that
// {+x} before them leaves them alone.
func (t *Template) rest(from int) string {
	rest := ""
	for _, p := range t.parts[from:] {
		switch {
		case p.isQuery() || strings.Contains(p.literal, "?"):
			return "?#"
		case p.op == '#' || strings.Contains(p.literal, "#"):
			rest = "#"
		}
	}
	return rest
}

// addPath writes an expression that is not a query, one group a variable.
func (t *Template) addPath(pattern *strings.Builder, p part, rest string) {
	op := operators[p.op]
	excluded, may := segmentEnds, segment
	if op.reserved {
		excluded, may = rest, path
	}
	if op.named || len(p.vars) > 1 {
		excluded += op.sep
	}
	before := op.first
	for _, v := range p.vars {
		pattern.WriteString(regexp.QuoteMeta(before))
		writeValue(pattern, p.op, v, class(excluded))
		t.captures = append(t.captures, capture{variable: v, may: may})
		before = op.sep
	}
}

func writeValue(pattern *strings.Builder, op byte, v variable, class string) {
	switch {
	case op == ';':
		writeLiteral(pattern, v.name)
		fmt.Fprintf(pattern, `(?:=(%s*))?`, class)
	case op == '/' && v.explode:
		fmt.Fprintf(pattern, `(%s+(?:/%s+)*)`, class, class)
	default:
		fmt.Fprintf(pattern, `(%s+)`, class)
	}
}

// class is the set of all characters but the excluded ones.
func class(excluded string) string {
	if excluded == "" {
		return `[\s\S]`
	}
	return "[^" + regexp.QuoteMeta(excluded) + "]"
}

// writeLiteral accepts a literal as it stands, as Expand encodes it, and in normal form: the case
// of the digits in escapes does not matter (RFC 3986 §6.2.2.1), and an unreserved character may be
// escaped in the template only (§6.2.2.2).
func writeLiteral(pattern *strings.Builder, literal string) {
	for i := 0; i < len(literal); {
		_, size := utf8.DecodeRuneInString(literal[i:])
		if literal[i] == '%' {
			size = 3
		}
		c := literal[i : i+size]
		i += size
		plain, escape := c, string(appendEncoded(nil, c, true))
		if text, _ := url.PathUnescape(c); isUnreserved(text[0]) {
			plain = text
		}
		switch {
		case plain != escape:
			fmt.Fprintf(pattern, `(?:%s|(?i:%s))`, regexp.QuoteMeta(plain), escape)
		case c[0] == '%':
			fmt.Fprintf(pattern, `(?i:%s)`, escape)
		default:
			pattern.WriteString(regexp.QuoteMeta(plain))
		}
	}
}

// literalPrefix is the cheap test before the pattern: what a URI must begin with
// byte for byte.
func literalPrefix(parts []part) string {
	if len(parts) == 0 {
		return ""
	}
	literal := parts[0].literal
	if i := strings.IndexFunc(literal, func(r rune) bool { return r == '%' || r >= utf8.RuneSelf }); i >= 0 {
		return literal[:i]
	}
	return literal
}
