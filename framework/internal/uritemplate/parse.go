package uritemplate

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPrefix bounds the prefix modifier (RFC 6570 §2.4.1).
const maxPrefix = 9999

// ParseError says where a template is wrong and why.
type ParseError struct {
	Template string
	Offset   int // in bytes, of the first character that is wrong
	Reason   string
}

// Error names the template, the offset and the reason.
func (e *ParseError) Error() string {
	return fmt.Sprintf("URI template %q: offset %d: %s", e.Template, e.Offset, e.Reason)
}

// Parse reads a template of RFC 6570. A template that is wrong is a
// [*ParseError].
func Parse(template string) (*Template, error) {
	p := parser{text: template}
	for p.pos < len(template) {
		next := p.readLiteral
		if template[p.pos] == '{' {
			next = p.readExpression
		}
		if err := next(); err != nil {
			return nil, err
		}
	}
	t := &Template{raw: template, parts: p.parts}
	if err := t.compile(); err != nil {
		return nil, p.fail(0, "too large to match: "+err.Error())
	}
	return t, nil
}

// parser walks a template once, from left to right.
type parser struct {
	text  string
	pos   int
	parts []part
}

func (p *parser) fail(offset int, reason string) error {
	return &ParseError{Template: p.text, Offset: offset, Reason: reason}
}

// readLiteral takes everything up to the next expression (RFC 6570 §2.1).
func (p *parser) readLiteral() error {
	start := p.pos
	for p.pos < len(p.text) && p.text[p.pos] != '{' {
		r, size := utf8.DecodeRuneInString(p.text[p.pos:])
		switch {
		case r == '}':
			return p.fail(p.pos, `"}" without "{" before it`)
		case r == '%':
			if !isEscape(p.text[p.pos:]) {
				return p.fail(p.pos, `"%" must be followed by two hexadecimal digits`)
			}
			size = 3
		case !isLiteral(r, size):
			return p.fail(p.pos, fmt.Sprintf("character %q is not allowed; percent-encode it", r))
		}
		p.pos += size
	}
	p.parts = append(p.parts, part{literal: p.text[start:p.pos]})
	return nil
}

// isLiteral reports whether a literal may contain the character. It may contain the apostrophe:
// erratum 6937 corrects its absence from the grammar of RFC 6570.
func isLiteral(r rune, size int) bool {
	if r == utf8.RuneError && size == 1 {
		return false
	}
	return r != ' ' && !unicode.IsControl(r) && !strings.ContainsRune("\"<>\\^`|", r)
}

// readExpression takes "{", operator, variables, "}" (RFC 6570 §2.2).
func (p *parser) readExpression() error {
	inside, _, closed := strings.Cut(p.text[p.pos+1:], "}")
	if !closed {
		return p.fail(p.pos, `"{" without "}" after it`)
	}
	p.pos++
	if inside == "" {
		return p.fail(p.pos, "expression names no variable")
	}
	op := inside[0]
	if strings.IndexByte("=,!@|", op) >= 0 {
		return p.fail(p.pos, fmt.Sprintf("operator %q is reserved and has no meaning", op))
	}
	var expression part
	if _, ok := operators[op]; ok && op != 0 {
		expression.op, inside = op, inside[1:]
		p.pos++
	}
	for spec := range strings.SplitSeq(inside, ",") {
		v, err := p.variable(spec)
		if err != nil {
			return err
		}
		expression.vars = append(expression.vars, v)
		p.pos += len(spec) + 1 // the comma, or the brace at the end
	}
	p.parts = append(p.parts, expression)
	return nil
}

// variable reads a name with its modifier (RFC 6570 §2.3 and §2.4).
func (p *parser) variable(spec string) (variable, error) {
	length := nameLength(spec)
	v, modifier := variable{name: spec[:length]}, spec[length:]
	switch {
	case spec == "":
		return v, p.fail(p.pos, "variable has no name")
	case strings.HasSuffix(v.name, "."):
		return v, p.fail(p.pos+length-1, "name ends in a dot")
	case length > 0 && modifier != "" && modifier[0] == '*':
		v.explode, modifier = true, modifier[1:]
	case length > 0 && modifier != "" && modifier[0] == ':':
		digits := modifier[1:]
		modifier = strings.TrimLeft(digits, "0123456789")
		n, err := strconv.Atoi(strings.TrimSuffix(digits, modifier))
		if err != nil || n < 1 || n > maxPrefix || digits[0] == '0' {
			return v, p.fail(p.pos+len(spec)-len(digits), "prefix length must be a number from 1 to 9999")
		}
		v.max = n
	}
	if modifier != "" {
		r, _ := utf8.DecodeRuneInString(modifier)
		reason := fmt.Sprintf("character %q cannot stand in a variable; names take letters, digits, \"_\" and \".\"", r)
		return v, p.fail(p.pos+len(spec)-len(modifier), reason)
	}
	return v, nil
}

// nameLength returns the length in bytes of the name (RFC 6570 §2.3) at the beginning of spec.
func nameLength(spec string) int {
	n := 0
	for n < len(spec) {
		switch c := spec[n]; {
		case isAlphanumeric(c), c == '_', c == '.' && n > 0 && spec[n-1] != '.':
			n++
		case isEscape(spec[n:]):
			n += 3
		default:
			return n
		}
	}
	return n
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// isEscape reports whether s begins with a percent escape.
func isEscape(s string) bool {
	return len(s) >= 3 && s[0] == '%' && isHex(s[1]) && isHex(s[2])
}
