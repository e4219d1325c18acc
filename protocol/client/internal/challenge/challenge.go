// Package challenge parses the challenges of a server that needs credentials: the header field
// WWW-Authenticate (RFC 9110 §11.6.1).
package challenge

import (
	"regexp"
	"strings"
)

// Challenge is one challenge of a WWW-Authenticate header (RFC 9110 §11.6.1).
type Challenge struct {
	Scheme string            // in lower case
	Params map[string]string // names in lower case; the first parameter with a name counts
}

// maxChallenges is the maximum number of challenges that are read of an answer.
const maxChallenges = 16

// Parse returns the challenges in the WWW-Authenticate header fields of an answer. If a part of a
// field cannot be parsed, the rest of this field is ignored.
func Parse(fields ...string) []Challenge {
	var all []Challenge
	for _, field := range fields {
		for len(all) < maxChallenges {
			scheme, rest := token(strings.TrimLeft(field, " \t,"))
			if scheme == "" {
				break
			}
			c := Challenge{strings.ToLower(scheme), map[string]string{}}
			field = c.read(token68.ReplaceAllString(rest, ""))
			all = append(all, c)
		}
	}
	return all
}

// token68 is what some schemes have instead of parameters, such as Negotiate (RFC 9110 §11.2).
var token68 = regexp.MustCompile(`^ +[A-Za-z0-9._~+/-]+=*[ \t]*(,|$)`)

// read reads the parameters up to the next challenge, and returns the text after them.
func (c *Challenge) read(s string) string {
	for {
		s = strings.TrimLeft(s, " \t,")
		name, rest := token(s)
		rest = strings.TrimLeft(rest, " \t")
		if name == "" || !strings.HasPrefix(rest, "=") {
			if name == "" && s != "" {
				return "" // cannot be read
			}
			return s // the next scheme, or the end
		}
		text, after, ok := paramValue(strings.TrimLeft(rest[1:], " \t"))
		if !ok {
			return ""
		}
		if name = strings.ToLower(name); c.Params[name] == "" {
			c.Params[name] = text
		}
		s = after
	}
}

// token reads an RFC 9110 token.
func token(s string) (name, rest string) {
	end := strings.IndexFunc(s, func(r rune) bool {
		return r >= 0x7f || r <= ' ' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
	if end < 0 {
		end = len(s)
	}
	return s[:end], s[end:]
}

// paramValue parses a token or a quoted string. A value without quotes may contain any character
// that does not end a parameter, because servers write URLs without quotes.
func paramValue(s string) (text, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, ", \t")
		if end < 0 {
			end = len(s)
		}
		return s[:end], s[end:], true
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:], true
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return "", "", false
}
