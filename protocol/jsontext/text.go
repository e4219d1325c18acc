package jsontext

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// String returns the unescaped text of a checked string value. It returns false if value is of
// another kind.
func String(value []byte) (s string, ok bool) {
	text, ok := Text(value)
	return string(text), ok
}

// Text is like String, but does not copy a text without escapes. The result may alias value, so
// callers must not modify it.
func Text(value []byte) (text []byte, ok bool) { return TextIn(nil, value) }

// TextIn is like Text, but unescapes into room if its capacity suffices. The result aliases value
// or room, or has memory of its own.
func TextIn(room, value []byte) (text []byte, ok bool) {
	inner, ok := unquote(value)
	if !ok || bytes.IndexByte(inner, '\\') < 0 {
		return inner, ok
	}
	if cap(room) < len(inner) { // unescaping never makes the text longer
		room = make([]byte, 0, len(inner))
	}
	return unescape(room[:0], inner), true
}

// AppendString appends the unescaped text of a checked string value to dst. If value is of another
// kind, it returns dst unchanged and false.
func AppendString(dst []byte, value []byte) (text []byte, ok bool) {
	inner, ok := unquote(value)
	if !ok {
		return dst, false
	}
	return unescape(dst, inner), true
}

// unquote returns the text between the quotes of a string value, still escaped. It returns false if
// value is of another kind.
func unquote(value []byte) (inner []byte, ok bool) {
	if n := len(value); n > 0 && (value[0] != '"' || value[n-1] != '"') {
		value = trim(value)
	}
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return nil, false
	}
	return value[1 : len(value)-1], true
}

// trim removes the space around a value. Usually there is none.
func trim(value []byte) []byte {
	start, end := skipSpace(value, 0), len(value)
	for end > start && isSpace(value[end-1]) {
		end--
	}
	return value[start:end]
}

// unescape appends the unescaped form of inner, the text between quotes, to dst. Malformed escapes
// become U+FFFD. Checked text has none, so its result is exact.
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

// appendEscaped appends the character that one valid escape represents.
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

// AppendTexts appends all strings (unescaped) and numbers (as written) of a checked value to all,
// at any depth. Names of members are not included. If a string contains JSON, as some models write
// it, AppendTexts also appends the strings and numbers of that JSON.
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
		if inner := []byte(text); Check(inner, DefaultLimits()) == nil { // terminates: each level of nesting needs at least twice as many bytes of escapes
			all = AppendTexts(all, Compact(nil, inner))
		}
	case KindNumber:
		all = append(all, string(value))
	}
	return all
}

// TrimBOM returns text without a leading byte order mark. JSON does not allow one, but Windows
// editors and shells write one. RFC 8259 section 8.1 permits readers to ignore it.
func TrimBOM(text []byte) []byte {
	return bytes.TrimPrefix(text, []byte("\uFEFF"))
}

// Clip shortens text to about n bytes, at the end of a character, and appends "…" if it removed
// anything. Use it for parts of a request that a response repeats.
func Clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
