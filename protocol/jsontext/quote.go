package jsontext

import (
	"encoding/base64"
	"unicode/utf8"
)

// Quote appends s to dst as a JSON string. It escapes what must be (quotes,
// backslashes, control characters) and U+2028 and U+2029, which end a line for
// some readers of line-delimited text; it does not escape for HTML, because a
// model would see the escapes. Invalid UTF-8 becomes \ufffd.
func Quote(dst []byte, s string) []byte { return quote(dst, s) }

// QuoteBytes is Quote for text in a byte slice.
func QuoteBytes(dst, s []byte) []byte { return quote(dst, s) }

// QuoteBase64 appends data to dst as a JSON string in standard base64 with
// padding, the encoding of every blob in MCP.
func QuoteBase64(dst, data []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, data)
	return append(dst, '"')
}

func quote[T ~string | ~[]byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	start := 0 // everything before it is in dst
	for i := plainRun(s, 0); i < len(s); i = plainRun(s, i) {
		if s[i] < utf8.RuneSelf {
			dst = append(dst, s[start:i]...)
			dst = appendEscape(dst, s[i])
			i++
			start = i
			continue
		}
		// The conversion of at most four bytes stays on the stack.
		r, size := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
		if escape := escapeRune(r, size); escape != "" {
			dst = append(dst, s[start:i]...)
			dst = append(dst, escape...)
			start = i + size
		}
		i += size
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// escapeRune returns the escape of a character outside ASCII, if it needs one.
func escapeRune(r rune, size int) string {
	switch {
	case r == utf8.RuneError && size == 1:
		return `\ufffd`
	case r == '\u2028':
		return `\u2028`
	case r == '\u2029':
		return `\u2029`
	}
	return ""
}

// appendEscape appends the shortest escape of an ASCII byte that needs one.
func appendEscape(dst []byte, b byte) []byte {
	const hex = "0123456789abcdef"
	switch b {
	case '"', '\\':
		return append(dst, '\\', b)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
}
