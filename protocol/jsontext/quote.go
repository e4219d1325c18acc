package jsontext

import (
	"encoding/base64"
	"encoding/binary"
	"math/bits"
	"slices"
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

// stretch is how much text is quoted at a time: room for the longest escapes is made once
// for each, and then bytes are stored without asking for more.
const stretch = 1 << 10

// longest is how many bytes one byte can become: \u001f, or the \ufffd of one that is no
// UTF-8.
const longest = 6

func quote[T ~string | ~[]byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	at := plainRun(s, 0) // most texts are plain to their end, and need no more room than they have
	dst = append(dst, s[:at]...)
	for at < len(s) {
		end := min(len(s), at+stretch)
		dst = slices.Grow(dst, longest*(end-at)+utf8.UTFMax) // a character may reach beyond the end
		var n int
		at, n = quoteStretch(dst[len(dst):cap(dst)], s, at, end)
		dst = dst[:len(dst)+n]
	}
	return append(dst, '"')
}

// quoteStretch writes s from i to end into out, which has room. It returns where it has
// come to, which is not within a character, and how much was written.
//
// A word is stored before it is looked at: what is not plain in it is written over.
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
		// Short escapes are asked for first, as the most frequent ones; a switch costs a fifth more.
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

// quoteRunes is quoteStretch as long as the text is not ASCII.
func quoteRunes[T ~string | ~[]byte](out []byte, s T, i, end int) (at, n int) {
	for i < end && s[i] >= utf8.RuneSelf {
		if plainRune(s, i) {
			out[n], out[n+1], out[n+2] = s[i], s[i+1], s[i+2]
			i, n = i+3, n+3
			continue
		}
		// The conversion of at most four bytes stays on the stack.
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

// plainRune reports whether a character of three bytes begins at s[i] that is written as it is.
// It says so of most of them, those of Chinese and Japanese included, without decoding them. After
// 0xE0 and 0xED not all such bytes are UTF-8, and E2 80 A8 and A9 are U+2028 and U+2029.
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

// What escapes says of a byte that has no escape of two characters.
const (
	byUnicode   = 1 // it has one of six
	beyondASCII = 2 // it belongs to a character that has to be looked at
)

const hexDigits = "0123456789abcdef"

// escapes is the second character of the shortest escape of each byte, or one of the
// above; 0: the byte stands for itself.
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
