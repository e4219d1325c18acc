package jsontext

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// String returns the text of a checked string value, unescaped. It is not ok
// if value is of another kind.
func String(value []byte) (s string, ok bool) {
	text, ok := Text(value)
	return string(text), ok
}

// Text is String without a copy, where the text is written as it is; read-only.
func Text(value []byte) (text []byte, ok bool) { return TextIn(nil, value) }

// TextIn is Text that unescapes into room, from its beginning, where it suffices: the text
// is in value, in room, or in memory of its own.
func TextIn(room, value []byte) (text []byte, ok bool) {
	inner, ok := unquote(value)
	if !ok || bytes.IndexByte(inner, '\\') < 0 {
		return inner, ok
	}
	if cap(room) < len(inner) { // which unescaping never makes longer
		room = make([]byte, 0, len(inner))
	}
	return unescape(room[:0], inner), true
}

// AppendString appends the text of a checked string value, unescaped, to dst.
// If value is of another kind, dst is returned as it is and not ok.
func AppendString(dst []byte, value []byte) (text []byte, ok bool) {
	inner, ok := unquote(value)
	if !ok {
		return dst, false
	}
	return unescape(dst, inner), true
}

// unquote returns what is between the quotes of a string value.
func unquote(value []byte) (inner []byte, ok bool) {
	if n := len(value); n > 0 && (value[0] != '"' || value[n-1] != '"') {
		value = trim(value)
	}
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return nil, false
	}
	return value[1 : len(value)-1], true
}

// trim removes space around a value; usually there is none.
func trim(value []byte) []byte {
	start, end := skipSpace(value, 0), len(value)
	for end > start && isSpace(value[end-1]) {
		end--
	}
	return value[start:end]
}

// unescape appends the inside of a string to dst. What Check would refuse
// becomes U+FFFD, so the result of checked text is exact.
func unescape(dst, inner []byte) []byte {
	for {
		n := bytes.IndexByte(inner, '\\')
		if n < 0 {
			return append(dst, inner...)
		}
		dst = append(dst, inner[:n]...)
		size, reason := scanEscape(inner[n:])
		if reason != "" {
			dst = utf8.AppendRune(dst, utf8.RuneError)
			inner = inner[n+1:]
			continue
		}
		dst = appendEscaped(dst, inner[n:n+size])
		inner = inner[n+size:]
	}
}

// appendEscaped appends what one whole, valid escape stands for.
func appendEscaped(dst, escape []byte) []byte {
	switch escape[1] {
	case 'b':
		return append(dst, '\b')
	case 'f':
		return append(dst, '\f')
	case 'n':
		return append(dst, '\n')
	case 'r':
		return append(dst, '\r')
	case 't':
		return append(dst, '\t')
	case 'u':
	default: // a quote, a backslash or a slash stands for itself
		return append(dst, escape[1])
	}
	r, _ := hex4(escape, 2)
	if len(escape) == 12 {
		low, _ := hex4(escape, 8)
		r = utf16.DecodeRune(r, low)
	}
	return utf8.AppendRune(dst, r)
}

// AppendTexts appends the strings, unescaped, and the numbers, as written, that a checked
// value has anywhere in it; of a string that is JSON itself, as some models write, also
// what that has. Names of members are not among them.
func AppendTexts(all []string, value []byte) []string {
	switch KindOf(value) {
	case KindObject:
		for _, member := range Members(value) {
			all = AppendTexts(all, member)
		}
	case KindArray:
		for item := range Elements(value) {
			all = AppendTexts(all, item)
		}
	case KindString:
		text, _ := String(value)
		all = append(all, text)
		if inner := []byte(text); Check(inner, DefaultLimits()) == nil { // each level is at least doubled by its escapes
			all = AppendTexts(all, Compact(nil, inner))
		}
	case KindNumber:
		all = append(all, string(value))
	}
	return all
}

// TrimBOM returns text without a byte order mark before it. JSON has none, but editors and
// shells of Windows put one before what they send (RFC 8259 section 8.1 lets a reader skip it).
func TrimBOM(text []byte) []byte {
	return bytes.TrimPrefix(text, []byte("\uFEFF"))
}

// Clip cuts text to about n bytes, at the end of a character, and marks that with "…". It is for
// what an answer repeats of a request.
func Clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
