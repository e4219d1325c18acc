package rawschema

import (
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"time"
)

// formats are the asserted formats of draft 7 and earlier. Formats without a good check are
// annotations: URI templates, and the international formats.
var formats = map[string]func(string) bool{
	"date-time":             isTime(time.RFC3339),
	"date":                  isTime(time.DateOnly),
	"time":                  isTime("15:04:05Z07:00"),
	"email":                 isEmail,
	"hostname":              isHostname,
	"ipv4":                  func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is4() },
	"ipv6":                  func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is6() && a.Zone() == "" },
	"uri":                   func(s string) bool { u, err := parseURI(s); return err == nil && u.IsAbs() },
	"uri-reference":         func(s string) bool { _, err := parseURI(s); return err == nil },
	"uuid":                  matches(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`),
	"json-pointer":          isPointer,
	"relative-json-pointer": isRelativePointer,
	"regex":                 isRegex,
}

// The bounds are in bytes. Reading a longer text takes long for its size: a regular expression costs
// up to 20 µs for each byte.
const (
	longestEmail = 320
	longestTime  = 64
	longestRegex = 4 << 10
)

func isRegex(s string) bool {
	if len(s) > longestRegex {
		return false
	}
	_, err := syntax.Parse(s, syntax.Perl)
	return err == nil
}

func isTime(layout string) func(string) bool {
	return func(s string) bool {
		if len(s) > longestTime {
			return false
		}
		_, err := time.Parse(layout, strings.ToUpper(s))
		return err == nil
	}
}

func isEmail(s string) bool {
	if len(s) > longestEmail {
		return false
	}
	a, err := mail.ParseAddress(s)
	return err == nil && a.Address == s
}

var label = matches(`^[0-9A-Za-z]([0-9A-Za-z-]{0,61}[0-9A-Za-z])?$`)

// isHostname is RFC 1123 2.1.
func isHostname(s string) bool {
	s = strings.TrimSuffix(s, ".")
	if len(s) > 253 {
		return false
	}
	for part := range strings.SplitSeq(s, ".") {
		if !label(part) {
			return false
		}
	}
	return true
}

// isPointer reports whether s is a JSON pointer (RFC 6901 3): each ~ is followed by 0 or 1. A
// regular expression would take 30 ns for each byte.
func isPointer(s string) bool {
	return (s == "" || s[0] == '/') && strings.Count(s, "~") == strings.Count(s, "~0")+strings.Count(s, "~1")
}

// isRelativePointer is a number of levels, and # or a pointer from there.
func isRelativePointer(s string) bool {
	pointer := strings.TrimLeft(s, "0123456789")
	levels := strings.TrimSuffix(s, pointer)
	return levels != "" && (levels == "0" || levels[0] != '0') && (pointer == "#" || isPointer(pointer))
}

// parseURI is stricter than net/url, which accepts characters that RFC 3986 wants escaped.
func parseURI(s string) (*url.URL, error) {
	if strings.ContainsAny(s, "\\ <>\"{}|^`") {
		return nil, url.InvalidHostError(s)
	}
	return url.Parse(s)
}

// matches compiles its expression at the first use, since few programs need it.
func matches(expression string) func(string) bool {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
	return func(s string) bool { return compiled().MatchString(s) }
}
