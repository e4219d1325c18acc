package protocol

import "strings"

// NormalURI returns the normal form of an absolute URI. Two spellings of one URI have the same
// normal form (RFC 3986 section 6.2.2). If uri is not an absolute URI, NormalURI returns it
// unchanged.
//
// Scheme and host are in lower case, and escapes in upper case. Unreserved characters are not
// escaped. Bytes that a URI cannot contain, such as the bytes of "é", are escaped. For http, https,
// ws and wss, an empty path after a host becomes "/", and a default port is removed (section
// 6.2.3).
func NormalURI(uri string) string {
	if isPlain(uri) {
		return uri
	}
	scheme, rest, ok := strings.Cut(uri, ":")
	if !ok || !isScheme(scheme) {
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
// escape, no capital before the path, and a scheme without rules of its own. It may return false
// for a URI in normal form.
func isPlain(uri string) bool {
	slashes := 0 // the third ends the authority
	for i := range len(uri) {
		switch c := uri[i]; {
		case c == '/':
			slashes++
		case c >= 'A' && c <= 'Z' && slashes < 3, c == '%', !isURIByte(c):
			return false
		}
	}
	scheme, _, _ := strings.Cut(uri, ":")
	return !isWeb(scheme)
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
	user, host, ok := strings.Cut(authority, "@")
	if !ok {
		user, host = "", authority
	} else {
		user = normalEscapes(user) + "@"
	}
	host = normalEscapes(strings.ToLower(host))
	switch scheme {
	case "http", "ws":
		host = strings.TrimSuffix(host, ":80")
	case "https", "wss":
		host = strings.TrimSuffix(host, ":443")
	}
	return user + host
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
// escaped or not, as in s. All other bytes are escaped.
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
		c := s[i]
		if c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			c = unhex(s[i+1])<<4 | unhex(s[i+2])
			i += 2
			if isUnreserved(c) {
				out = append(out, c)
			} else {
				out = append(out, '%', upperHex[c>>4], upperHex[c&15])
			}
			continue
		}
		if c != '%' && isURIByte(c) {
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
func isURIByte(c byte) bool {
	return uriBytes[c]
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
