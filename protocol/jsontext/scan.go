package jsontext

import (
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// Reasons why a text is refused. Scanners return "" if the text is valid.
const (
	reasonEnd       = "unexpected end of the text"
	reasonBOM       = "byte order mark before the value"
	reasonValue     = "a value was expected"
	reasonName      = "a member name in quotes was expected"
	reasonColon     = "a colon was expected after the member name"
	reasonInArray   = "a comma or a closing bracket was expected"
	reasonInObject  = "a comma or a closing brace was expected"
	reasonTrailing  = "data after the value"
	reasonLiteral   = "unknown literal; true, false or null was expected"
	reasonNumber    = "malformed number"
	reasonControl   = "unescaped control character in a string"
	reasonEscape    = "malformed escape in a string"
	reasonSurrogate = "lone surrogate in a string"
	reasonUTF8      = "invalid UTF-8 in a string"
	reasonDepth     = "nested too deep"
	reasonElements  = "too many elements"
	reasonDigits    = "number too long"
)

// isSpace reports whether b is JSON space. The first comparison excludes all but control characters
// and the space, because most bytes of a frame are not space.
func isSpace(b byte) bool { return b <= ' ' && (b == ' ' || b == '\n' || b == '\t' || b == '\r') }
func isDigit(b byte) bool { return b-'0' <= 9 }

// skipSpace returns the index of the first byte at or after i that is not space. If there is no
// such byte, it returns len(text).
func skipSpace(text []byte, i int) int {
	for i < len(text) && isSpace(text[i]) {
		i++
	}
	return i
}

// plainRun returns the index of the first byte at or after i that is a quote, a backslash, a
// control character or not ASCII. If there is no such byte, it returns len(s). It examines eight
// bytes at a time.
func plainRun[T ~string | ~[]byte](s T, i int) int {
	for ; i+8 <= len(s); i += 8 {
		if hit := notPlain(load8(s, i)); hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for i < len(s) && isPlain(s[i]) {
		i++
	}
	return i
}

// ones and highs have the lowest and the highest bit of each byte.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// notPlain sets the highest bit of each byte of w that is not plain. Because of borrows, the
// subtraction may also set the bit of bytes above such a byte, but never below it. The lowest set
// bit is therefore exact.
func notPlain(w uint64) uint64 {
	quote, slash := w^(ones*'"'), w^(ones*'\\')
	return (w | ((w-ones*' ')|(quote-ones)|(slash-ones))&^w) & highs
}

// quoteOrSlash sets the highest bit of each byte of w that is a quote or a backslash. As in
// notPlain, only the lowest set bit is exact.
func quoteOrSlash(w uint64) uint64 {
	quote, slash := w^(ones*'"'), w^(ones*'\\')
	return ((quote-ones)&^quote | (slash-ones)&^slash) & highs
}

func isPlain(b byte) bool { return b >= ' ' && b < utf8.RuneSelf && b != '"' && b != '\\' }

// load8 is like binary.LittleEndian.Uint64, but also accepts strings. It compiles to one load.
func load8[T ~string | ~[]byte](s T, i int) uint64 {
	b := s[i : i+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// scanString checks the string whose first byte after the quote is text[i]. It returns the index
// after the closing quote, or of the error. escaped reports whether the string contains a
// backslash.
func scanString(text []byte, i int) (end int, escaped bool, reason string) {
	for {
		i = plainRun(text, i)
		if i == len(text) {
			return i, escaped, reasonEnd
		}
		switch b := text[i]; {
		case b == '"':
			return i + 1, escaped, ""
		case b == '\\':
			size, reason := scanEscape(text[i:])
			if reason != "" {
				return i, true, reason
			}
			i, escaped = i+size, true
		case b < ' ':
			return i, escaped, reasonControl
		default:
			if i = scanRunes(text, i); i < len(text) && text[i] >= utf8.RuneSelf {
				return i, escaped, reasonUTF8
			}
		}
	}
}

// scanRunes returns the index after the characters outside ASCII at i. It stops at an ASCII byte,
// at the end, or at a byte that does not begin a valid character.
func scanRunes(text []byte, i int) int {
	for i < len(text) && text[i] >= utf8.RuneSelf {
		if plainRune(text, i) {
			i += 3
			continue
		}
		_, size := utf8.DecodeRune(text[i:])
		if size == 1 {
			return i
		}
		i += size
	}
	return i
}

// scanEscape checks the escape at s[0] and returns its size. A surrogate pair is one escape of 12
// bytes.
func scanEscape(s []byte) (size int, reason string) {
	if len(s) < 2 {
		return 0, reasonEnd
	}
	switch s[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, ""
	case 'u':
	default:
		return 0, reasonEscape
	}
	high, ok := hex4(s, 2)
	if !ok {
		return 0, reasonEscape
	}
	if !utf16.IsSurrogate(high) {
		return 6, ""
	}
	if len(s) < 8 || s[6] != '\\' || s[7] != 'u' {
		return 0, reasonSurrogate
	}
	low, ok := hex4(s, 8)
	if !ok || utf16.DecodeRune(high, low) == utf8.RuneError {
		return 0, reasonSurrogate
	}
	return 12, ""
}

// hex4 reads the four hexadecimal digits at s[i].
func hex4(s []byte, i int) (rune, bool) {
	if len(s) < i+4 {
		return 0, false
	}
	var r rune
	for _, b := range s[i : i+4] {
		switch {
		case isDigit(b):
			b -= '0'
		case b|0x20 >= 'a' && b|0x20 <= 'f':
			b = b | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(b)
	}
	return r, true
}

// scanNumber checks the number that begins at text[i]. It returns the index after the number, or of
// the error.
func scanNumber(text []byte, i int) (end int, reason string) {
	if text[i] == '-' {
		i++
	}
	first := i
	if i = skipDigits(text, i); i == first {
		return i, missingDigit(text, i)
	}
	if text[first] == '0' && i > first+1 {
		return first, reasonNumber
	}
	if i < len(text) && text[i] == '.' {
		first = i + 1
		if i = skipDigits(text, first); i == first {
			return i, missingDigit(text, i)
		}
	}
	if i < len(text) && text[i]|0x20 == 'e' {
		i++
		if i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		first = i
		if i = skipDigits(text, first); i == first {
			return i, missingDigit(text, i)
		}
	}
	return i, ""
}

func missingDigit(text []byte, i int) string {
	if i == len(text) {
		return reasonEnd
	}
	return reasonNumber
}

func skipDigits(text []byte, i int) int {
	for i < len(text) && isDigit(text[i]) {
		i++
	}
	return i
}

// scanLiteral checks that text[i] begins true, false or null. It returns the index after the
// literal, or of the error.
func scanLiteral(text []byte, i int) (end int, reason string) {
	word := "null"
	switch text[i] {
	case 't':
		word = "true"
	case 'f':
		word = "false"
	}
	end = i + len(word)
	if end > len(text) || string(text[i:end]) != word {
		return i, reasonLiteral
	}
	return end, ""
}
