package oauth

import (
	"cmp"
	"net/http"
	"strings"
)

// challenge is one challenge of a WWW-Authenticate header (RFC 9110 §11.6.1).
type challenge struct {
	scheme string            // in lower case
	params map[string]string // names in lower case; the first parameter with a name counts
}

// maxChallenges is the maximum number of challenges that are read of an answer.
const maxChallenges = 16

// challenges returns the challenges in all WWW-Authenticate headers of an answer. If a part of a
// header cannot be parsed, the rest of this header is ignored.
func challenges(h http.Header) []challenge {
	var all []challenge
	for _, field := range h.Values("WWW-Authenticate") {
		for len(all) < maxChallenges {
			scheme, rest := token(strings.TrimLeft(field, " \t,"))
			if scheme == "" {
				break
			}
			c := challenge{strings.ToLower(scheme), map[string]string{}}
			field = c.read(rest)
			all = append(all, c)
		}
	}
	return all
}

// read reads the parameters up to the next challenge, and returns the text after them.
func (c *challenge) read(s string) string {
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
		if name = strings.ToLower(name); c.params[name] == "" {
			c.params[name] = text
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

// wanted returns the challenge that the flow can answer: the first one for Bearer or DPoP tokens. If
// another one has an error for the scheme of the sent token, wanted returns that one; the metadata and
// the scopes may then come from the first one. sent is empty if no token was sent.
func wanted(h http.Header, sent string) (challenge, bool) {
	var first *challenge
	for _, c := range challenges(h) {
		if c.scheme != "bearer" && c.scheme != "dpop" {
			continue
		}
		if first == nil {
			first = &c
		}
		if c.params["error"] == "" || !strings.EqualFold(c.scheme, sent) {
			continue
		}
		for _, name := range []string{"resource_metadata", "scope"} {
			c.params[name] = cmp.Or(c.params[name], first.params[name])
		}
		return c, true
	}
	if first == nil {
		return challenge{}, false
	}
	return *first, true
}

// scopes returns the scopes that a challenge names, or nil.
func (c *challenge) scopes() []string {
	if scopes := strings.Fields(c.params["scope"]); len(scopes) > 0 {
		return scopes
	}
	return nil
}
