package uritemplate

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Expand returns the URI for the values (RFC 6570 §3). A variable without a
// value is left out, a value without a variable is ignored. The error names a
// variable whose value is not valid UTF-8, which no URI can carry.
func (t *Template) Expand(values map[string]string) (string, error) {
	var dst []byte
	for _, p := range t.parts {
		if p.vars == nil {
			dst = appendEncoded(dst, p.literal, true)
			continue
		}
		var err error
		if dst, err = p.expand(dst, values); err != nil {
			return "", fmt.Errorf("expanding URI template %q: %w", t.raw, err)
		}
	}
	return string(dst), nil
}

// expand appends one expression (RFC 6570 §3.2.1).
func (p part) expand(dst []byte, values map[string]string) ([]byte, error) {
	op := operators[p.op]
	before := op.first
	for _, v := range p.vars {
		value, ok := values[v.name]
		if !ok {
			continue
		}
		if !utf8.ValidString(value) {
			return nil, fmt.Errorf("the value of %s is not valid UTF-8", v.name)
		}
		dst = append(dst, before...)
		dst = p.expandOne(dst, op, v, value)
		before = op.sep
	}
	return dst, nil
}

func (p part) expandOne(dst []byte, op operator, v variable, value string) []byte {
	if v.max > 0 { // characters of the value, not bytes of its encoding (RFC 6570 §2.4.1)
		runes := []rune(value)
		value = string(runes[:min(len(runes), v.max)])
	}
	if op.named {
		dst = append(dst, v.name...)
		if value == "" {
			return append(dst, op.ifEmpty...)
		}
		dst = append(dst, '=')
	}
	if p.op == '/' && v.explode { // slashes separate segments
		return append(dst, strings.ReplaceAll(string(appendEncoded(nil, value, false)), "%2F", "/")...)
	}
	return appendEncoded(dst, value, op.reserved)
}

// appendEncoded percent-encodes what is not unreserved. With reserved set,
// reserved characters and existing escapes pass, as in literals and in {+x}.
func appendEncoded(dst []byte, s string, reserved bool) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(s) {
		c := s[i]
		if isUnreserved(c) || reserved && (isReserved(c) || isEscape(s[i:])) {
			dst = append(dst, c)
			continue
		}
		dst = append(dst, '%', hex[c>>4], hex[c&15])
	}
	return dst
}

// isUnreserved and isReserved are the sets of RFC 3986 §2.
func isUnreserved(c byte) bool {
	return isAlphanumeric(c) || strings.IndexByte("-._~", c) >= 0
}

func isReserved(c byte) bool {
	return strings.IndexByte(":/?#[]@!$&'()*+,;=", c) >= 0
}
