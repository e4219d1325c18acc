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

// isLiteral says whether a literal may hold the character. The apostrophe is in:
// erratum 6937 corrects its absence from the grammar of RFC 6570.
func isLiteral(r rune, size int) bool {
	if r == utf8.RuneError && size == 1 {
		return false
	}
	return r != ' ' && !unicode.IsControl(r) && !strings.ContainsRune("\"<>\\^`|", r)
}

// readExpression takes "{", operator, variables, "}" (RFC 6570 §2.2).
func (p *parser) readExpression() error {
	open := p.pos
	length := strings.IndexByte(p.text[open:], '}')
	if length < 0 {
		return p.fail(open, `"{" without "}" after it`)
	}
	end := open + length
	p.pos++
	op, err := p.readOperator(end)
	if err != nil {
		return err
	}
	expression := part{op: op}
	for {
		v, err := p.readVariable(end)
		if err != nil {
			return err
		}
		expression.vars = append(expression.vars, v)
		if p.pos == end {
			break
		}
		p.pos++ // the comma that readVariable stopped at
	}
	p.pos = end + 1
	p.parts = append(p.parts, expression)
	return nil
}

func (p *parser) readOperator(end int) (byte, error) {
	if p.pos == end {
		return 0, p.fail(p.pos, "expression names no variable")
	}
	c := p.text[p.pos]
	if strings.IndexByte("=,!@|", c) >= 0 {
		return 0, p.fail(p.pos, fmt.Sprintf("operator %q is reserved and has no meaning", c))
	}
	if _, ok := operators[c]; !ok || c == 0 {
		return 0, nil
	}
	p.pos++
	return c, nil
}

// readVariable takes a name with its modifier and stops at the comma or the end.
func (p *parser) readVariable(end int) (variable, error) {
	name, err := p.readName(end)
	if err != nil {
		return variable{}, err
	}
	v := variable{name: name}
	switch {
	case p.pos < end && p.text[p.pos] == '*':
		v.explode = true
		p.pos++
	case p.pos < end && p.text[p.pos] == ':':
		if v.max, err = p.readMax(end); err != nil {
			return variable{}, err
		}
	}
	if p.pos < end && p.text[p.pos] != ',' {
		return variable{}, p.unexpected()
	}
	return v, nil
}

// unexpected is the fault of the character at hand.
func (p *parser) unexpected() error {
	r, _ := utf8.DecodeRuneInString(p.text[p.pos:])
	reason := fmt.Sprintf("character %q cannot stand in a variable; names take letters, digits, \"_\" and \".\"", r)
	return p.fail(p.pos, reason)
}

// readName takes a varname (RFC 6570 §2.3).
func (p *parser) readName(end int) (string, error) {
	start := p.pos
	for p.pos < end {
		size := p.nameSize(start)
		if size == 0 {
			break
		}
		p.pos += size
	}
	name := p.text[start:p.pos]
	switch {
	case name == "" && p.pos < end && p.text[p.pos] != ',':
		return "", p.unexpected()
	case name == "":
		return "", p.fail(start, "variable has no name")
	case strings.HasSuffix(name, "."):
		return "", p.fail(p.pos-1, "name ends in a dot")
	}
	return name, nil
}

// nameSize is the number of bytes that the name goes on with, 0 if it ends here.
func (p *parser) nameSize(start int) int {
	c := p.text[p.pos]
	switch {
	case isAlphanumeric(c) || c == '_':
		return 1
	case c == '%' && isEscape(p.text[p.pos:]):
		return 3
	case c == '.' && p.pos > start && p.text[p.pos-1] != '.':
		return 1
	}
	return 0
}

// readMax takes the prefix modifier, from 1 to 9999.
func (p *parser) readMax(end int) (int, error) {
	p.pos++
	start := p.pos
	for p.pos < end && '0' <= p.text[p.pos] && p.text[p.pos] <= '9' {
		p.pos++
	}
	n, err := strconv.Atoi(p.text[start:p.pos])
	if err != nil || n < 1 || n > maxPrefix || p.text[start] == '0' {
		return 0, p.fail(start, "prefix length must be a number from 1 to 9999")
	}
	return n, nil
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// isEscape says whether s begins with a percent escape.
func isEscape(s string) bool {
	return len(s) >= 3 && s[0] == '%' && isHex(s[1]) && isHex(s[2])
}
