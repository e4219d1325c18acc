package jsontext

import (
	"encoding/base64"
	"encoding/binary"
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
// What is quoted is mostly JSON, code or prose: escapes that are a few bytes apart, or
// long runs without any. So it goes byte by byte, and by words once a run is a word long.
// Plain bytes are asked for first, which a switch would not: it costs a third more.
func quoteStretch[T ~string | ~[]byte](out []byte, s T, i, end int) (at, n int) {
	run := 0
	for i < end {
		b := s[i]
		second := escapes[b]
		if second == 0 {
			out[n] = b
			i++
			n++
			if run++; run < 8 {
				continue
			}
			for i+8 <= end {
				w := load8(s, i)
				if notPlain(w) != 0 {
					break
				}
				binary.LittleEndian.PutUint64(out[n:n+8], w)
				i, n = i+8, n+8
			}
			run = 0
			continue
		}
		run = 0
		if second > beyondASCII {
			out[n], out[n+1] = '\\', second
			i, n = i+1, n+2
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
	start := i // everything before it is in out
	for i < end && s[i] >= utf8.RuneSelf {
		// The conversion of at most four bytes stays on the stack.
		r, size := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
		if escape := escapeRune(r, size); escape != "" {
			n += copy(out[n:], s[start:i])
			n += copy(out[n:], escape)
			start = i + size
		}
		i += size
	}
	n += copy(out[n:], s[start:i])
	return i, n
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
