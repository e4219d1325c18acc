package rules

import (
	"strings"
	"unicode"
)

// scans judge formats without a bound. Validator's regular expressions for them take up to a second for a text
// of a megabyte. These functions read the text once, and return the same verdict for every text.
var scans = map[string]func(string) bool{
	"alpha": func(s string) bool { return s != "" && all(s, isLetter) },
	"alphaspace": func(s string) bool {
		return s != "" && all(s, func(c rune) bool { return c == ' ' || isLetter(c) })
	},
	"alphanum": func(s string) bool { return s != "" && all(s, isAlphanumeric) },
	"alphanumspace": func(s string) bool {
		return s != "" && all(s, func(c rune) bool { return c == ' ' || isAlphanumeric(c) })
	},
	"alphaunicode": func(s string) bool { return s != "" && all(s, unicode.IsLetter) },
	"alphanumunicode": func(s string) bool {
		return s != "" && all(s, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) })
	},
	"ascii":        func(s string) bool { return all(s, isASCII) },
	"printascii":   func(s string) bool { return all(s, func(c rune) bool { return ' ' <= c && c <= '~' }) },
	"multibyte":    func(s string) bool { return s == "" || !all(s, isASCII) },
	"hexadecimal":  scanHexadecimal,
	"base32":       scanBase32,
	"base64":       func(s string) bool { return scanBase64(s, '+', '/') },
	"base64url":    func(s string) bool { return scanBase64(s, '-', '_') },
	"base64rawurl": scanBase64RawURL,
	"datauri":      scanDataURI,
	"jwt":          scanJWT,
	"html":         scanHTML,
	"html_encoded": scanHTMLEncoded,
	"url_encoded":  scanURLEncoded,
}

// all reports whether ok holds for each character of a text.
func all(s string, ok func(rune) bool) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return !ok(c) })
}

func isASCII(c rune) bool { return c < 0x80 }

func isLetter(c rune) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c rune) bool { return '0' <= c && c <= '9' }

func isAlphanumeric(c rune) bool { return isLetter(c) || isDigit(c) }

func isHex(c rune) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func isBase64URL(c rune) bool { return isAlphanumeric(c) || c == '-' || c == '_' }

func scanHexadecimal(s string) bool {
	if digits, ok := strings.CutPrefix(s, "0x"); ok {
		s = digits
	} else if digits, ok := strings.CutPrefix(s, "0X"); ok {
		s = digits
	}
	return s != "" && all(s, isHex)
}

func scanBase32(s string) bool {
	digits := strings.TrimRight(s, "=")
	switch len(s) - len(digits) {
	case 0, 1, 3, 4, 6:
		return s != "" && len(s)%8 == 0 && all(digits, func(c rune) bool { return 'A' <= c && c <= 'Z' || '2' <= c && c <= '7' })
	}
	return false
}

func scanBase64(s string, char62, char63 rune) bool {
	digits := strings.TrimRight(s, "=")
	return s != "" && len(s)%4 == 0 && len(s)-len(digits) <= 2 &&
		all(digits, func(c rune) bool { return isAlphanumeric(c) || c == char62 || c == char63 })
}

func scanBase64RawURL(s string) bool {
	return s != "" && len(s)%4 != 1 && all(s, isBase64URL)
}

// scanDataURI looks only at the beginning, as validator does: the media type may be missing, and the rest of
// the header is not judged.
func scanDataURI(s string) bool {
	head, data, found := strings.Cut(s, ",")
	return found && strings.HasPrefix(head, "data:") && scanBase64(data, '+', '/')
}

func scanJWT(s string) bool {
	header, rest, _ := strings.Cut(s, ".")
	claims, signature, found := strings.Cut(rest, ".")
	return found && header != "" && claims != "" && all(header, isBase64URL) && all(claims, isBase64URL) && all(signature, isBase64URL)
}

// scanHTML looks for a tag that begins and ends on one line.
func scanHTML(s string) bool {
	open := false
	for i := range len(s) {
		switch s[i] {
		case '\n':
			open = false
		case '<':
			name := strings.TrimPrefix(s[i+1:], "/")
			open = open || name != "" && isLetter(rune(name[0]))
		case '>':
			if open {
				return true
			}
		}
	}
	return false
}

func scanHTMLEncoded(s string) bool {
	for i := range len(s) {
		if s[i] == '&' && isEntity(s[i+1:]) {
			return true
		}
	}
	return false
}

func isEntity(s string) bool {
	if digits, ok := strings.CutPrefix(s, "#"); ok {
		return twoHex(strings.TrimPrefix(digits, "x"))
	}
	return strings.HasPrefix(s, "gt") || strings.HasPrefix(s, "lt") || strings.HasPrefix(s, "quot") || strings.HasPrefix(s, "amp")
}

func scanURLEncoded(s string) bool {
	for {
		_, rest, found := strings.Cut(s, "%")
		if !found {
			return true
		}
		if !twoHex(rest) {
			return false
		}
		s = rest[2:]
	}
}

func twoHex(s string) bool { return len(s) >= 2 && all(s[:2], isHex) }
