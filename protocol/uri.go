package protocol

import "strings"

// NormalURI returns the normal form of an absolute URI. Two spellings of one URI have the same
// normal form (RFC 3986 sections 6.2.2.1 and 6.2.2.2). If uri is not an absolute URI, or has a
// broken escape, NormalURI returns it unchanged.
//
// The scheme is in lower case, and escapes are in upper case. Unreserved characters are not escaped.
// Bytes that a URI cannot contain, such as the bytes of "é", are escaped. Segments such as ".." stay.
//
// For http, https, ws and wss, the host is in lower case, an empty path after a host becomes "/", and
// an empty or default port is removed (section 6.2.3). In URIs of other schemes, what stands in the
// place of a host is often a name with its own case, such as in notes://Milk. Like the URL standard
// of browsers, NormalURI keeps it.
func NormalURI(uri string) string {
	if isPlain(uri) {
		return uri
	}
	scheme, rest, ok := strings.Cut(uri, ":")
	if !ok || !isScheme(scheme) || hasBrokenEscape(rest) {
		return uri
	}
	lower := strings.ToLower(scheme)
	authority, path := "", rest
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		end := strings.IndexAny(after, "/?#")
		if end < 0 {
			end = len(after)
		}
		authority, path = "//"+normalAuthority(lower, after[:end]), after[end:]
		if (path == "" || path[0] != '/') && isWeb(lower) {
			path = "/" + path
		}
	}
	path = normalEscapes(path)
	if out := lower + ":" + authority + path; out != uri {
		return out
	}
	return uri
}

// isPlain reports whether a URI is certainly in normal form: it has no escapes and no bytes to
// escape, and a scheme in lower case without rules of its own. It may return false for a URI in
// normal form.
func isPlain(uri string) bool {
	inScheme := true
	for i := range len(uri) {
		switch c := uri[i]; {
		case c == ':':
			inScheme = false
		case inScheme && c >= 'A' && c <= 'Z', c == '%', !isURIByte(c):
			return false
		}
	}
	scheme, _, _ := strings.Cut(uri, ":")
	return !isWeb(scheme)
}

func hasBrokenEscape(s string) bool {
	for i := range len(s) {
		if s[i] == '%' && (i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2])) {
			return true
		}
	}
	return false
}

func isWeb(scheme string) bool {
	switch scheme {
	case "http", "https", "ws", "wss":
		return true
	}
	return false
}

// normalAuthority normalizes the user and the host, and removes the default port of the scheme.
func normalAuthority(scheme, authority string) string {
	user, host, ok := strings.Cut(normalEscapes(authority), "@")
	if !ok {
		user, host = "", user
	} else {
		user += "@"
	}
	if !isWeb(scheme) {
		return user + host
	}
	host = strings.TrimSuffix(lowerOutsideEscapes(host), ":")
	switch scheme {
	case "http", "ws":
		host = strings.TrimSuffix(host, ":80")
	case "https", "wss":
		host = strings.TrimSuffix(host, ":443")
	}
	return user + host
}

// lowerOutsideEscapes puts the ASCII letters of s in lower case, except the digits of escapes.
func lowerOutsideEscapes(s string) string {
	out := []byte(s)
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '%':
			i += 2
		case c >= 'A' && c <= 'Z':
			out[i] = c | 0x20
		}
	}
	return string(out)
}

func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if letter := c >= 'a' && c <= 'z'; !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", rune(s[i]))) {
			return false
		}
	}
	return s != ""
}

const upperHex = "0123456789ABCDEF"

// normalEscapes normalizes the escapes of s. Unreserved bytes are not escaped. Reserved bytes stay
// escaped or not, as in s. All other bytes are escaped. No escape of s is broken.
func normalEscapes(s string) string {
	i := 0
	for i < len(s) && s[i] != '%' && isURIByte(s[i]) {
		i++
	}
	if i == len(s) {
		return s
	}
	out := append(make([]byte, 0, len(s)+8), s[:i]...)
	for ; i < len(s); i++ {
		c, plain := s[i], isURIByte(s[i])
		if c == '%' {
			c = unhex(s[i+1])<<4 | unhex(s[i+2])
			plain = isUnreserved(c)
			i += 2
		}
		if plain {
			out = append(out, c)
		} else {
			out = append(out, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return string(out)
}

func isUnreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

var uriBytes = func() (all [256]bool) {
	for c := range 256 {
		all[c] = isUnreserved(byte(c)) || strings.IndexByte(":/?#[]@!$&'()*+,;=", byte(c)) >= 0
	}
	return all
}()

// isURIByte reports whether a URI may contain the byte unescaped.
func isURIByte(c byte) bool { return uriBytes[c] }

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
