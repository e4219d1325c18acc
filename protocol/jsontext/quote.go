package jsontext

import (
	"encoding/base64"
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// Quote appends s to dst as a JSON string. It escapes quotes, backslashes and control characters.
// It also escapes U+2028 and U+2029, which some readers of line-delimited text treat as line ends.
// It does not escape for HTML, because a model would see the escapes. Invalid UTF-8 becomes \ufffd.
func Quote(dst []byte, s string) []byte { return quote(dst, s) }

// QuoteBytes is like Quote, for text in a byte slice.
func QuoteBytes(dst, s []byte) []byte { return quote(dst, s) }

// QuoteBase64 appends data to dst as a JSON string in standard base64 with
// padding, the encoding of every blob in MCP.
func QuoteBase64(dst, data []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, data)
	return append(dst, '"')
}

// stretch is the number of bytes that are quoted at a time. For each stretch, dst grows once by the
// maximum size of its escapes. Bytes are then stored without further checks of the capacity.
const stretch = 1 << 10

// longest is the maximum number of bytes for one byte of text: \u001f, or the \ufffd of a byte that
// is not valid UTF-8.
const longest = 6

func quote[T ~string | ~[]byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	at := plainRun(s, 0) // most texts are entirely plain and do not grow
	dst = append(dst, s[:at]...)
	for at < len(s) {
		end := min(len(s), at+stretch)
		dst = slices.Grow(dst, longest*(end-at)+utf8.UTFMax) // a character may extend beyond end
		var n int
		at, n = quoteStretch(dst[len(dst):cap(dst)], s, at, end)
		dst = dst[:len(dst)+n]
	}
	return append(dst, '"')
}

// quoteStretch writes s[i:end] to out, which is large enough. It returns the index in s of the
// first byte that it did not write, and the number of bytes written. The index is at the start of a
// character, and may be greater than end.
//
// Eight bytes are stored before they are examined. Bytes that need an escape are then overwritten.
func quoteStretch[T ~string | ~[]byte](out []byte, s T, i, end int) (at, n int) {
	for i < end {
		for ; i+8 <= end; i, n = i+8, n+8 {
			w := load8(s, i)
			binary.LittleEndian.PutUint64(out[n:n+8], w)
			if hit := notPlain(w); hit != 0 {
				plain := bits.TrailingZeros64(hit) / 8
				i, n = i+plain, n+plain
				break
			}
		}
		if i == end {
			break
		}
		// Short escapes are the most frequent, so they are tested first. A switch is 20 % slower.
		b := s[i]
		second := escapes[b]
		if second > beyondASCII {
			out[n], out[n+1] = '\\', second
			i, n = i+1, n+2
			continue
		}
		if second == 0 {
			out[n] = b
			i, n = i+1, n+1
			continue
		}
		if second == byUnicode {
			n += copy(out[n:], `\u00`)
			out[n], out[n+1] = hexDigits[b>>4], hexDigits[b&15]
			i, n = i+1, n+2
			continue
		}
		var m int
		i, m = quoteRunes(out[n:], s, i, end)
		n += m
	}
	return i, n
}

// quoteRunes is like quoteStretch, but stops at the first ASCII byte.
func quoteRunes[T ~string | ~[]byte](out []byte, s T, i, end int) (at, n int) {
	for i < end && s[i] >= utf8.RuneSelf {
		if plainRune(s, i) {
			out[n], out[n+1], out[n+2] = s[i], s[i+1], s[i+2]
			i, n = i+3, n+3
			continue
		}
		// The string of at most four bytes does not escape to the heap.
		r, size := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
		if escape := escapeRune(r, size); escape != "" {
			n += copy(out[n:], escape)
		} else {
			n += copy(out[n:], s[i:i+size])
		}
		i += size
	}
	return i, n
}

// plainRune reports whether s[i] begins a character of three bytes that needs no escape. Without
// decoding, it finds most of these characters, including Chinese and Japanese. It excludes the lead
// bytes 0xE0 and 0xED, after which not all such bytes are valid UTF-8. E2 80 A8 and E2 80 A9 are
// U+2028 and U+2029.
func plainRune[T ~string | ~[]byte](s T, i int) bool {
	if i+3 > len(s) || s[i+1]&0xC0 != 0x80 || s[i+2]&0xC0 != 0x80 {
		return false
	}
	switch s[i] {
	case 0xE1, 0xE3, 0xE4, 0xE5, 0xE6, 0xE7, 0xE8, 0xE9, 0xEA, 0xEB, 0xEC, 0xEE, 0xEF:
		return true
	case 0xE2:
		return s[i+1] != 0x80 || s[i+2]|1 != 0xA9
	}
	return false
}

// escapeRune returns the escape of a character outside ASCII, or "" if the character needs no
// escape.
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

// Values of escapes for bytes without an escape of two characters.
const (
	byUnicode   = 1 // the byte has an escape of six characters
	beyondASCII = 2 // the byte belongs to a character that must be examined
)

const hexDigits = "0123456789abcdef"

// escapes contains the second character of each byte's two-character escape, or byUnicode or
// beyondASCII. It is 0 if the byte is written unchanged.
var escapes = func() (t [256]byte) {
	for b := range t {
		switch {
		case b < ' ':
			t[b] = byUnicode
		case b >= utf8.RuneSelf:
			t[b] = beyondASCII
		}
	}
	t['"'], t['\\'] = '"', '\\'
	t['\b'], t['\f'], t['\n'], t['\r'], t['\t'] = 'b', 'f', 'n', 'r', 't'
	return t
}()
