package main

import "strings"

// challenge is what WWW-Authenticate asks for (RFC 6750 §3).
type challenge struct{ scope, code, description string }

// challengeOf reads the parameters of a challenge, of several those of the first that
// has them.
func challengeOf(header string) challenge {
	var c challenge
	for name, rest := nextParam(header); name != ""; name, rest = nextParam(rest) {
		var value string
		value, rest = paramValue(rest)
		for wanted, field := range map[string]*string{"scope": &c.scope, "error": &c.code, "error_description": &c.description} {
			if strings.EqualFold(name, wanted) && *field == "" {
				*field = value
			}
		}
	}
	return c
}

// nextParam is the name before the next "=", and what comes after that.
func nextParam(s string) (name, rest string) {
	before, rest, found := strings.Cut(s, "=")
	if !found {
		return "", ""
	}
	return before[strings.LastIndexAny(before, " ,\t")+1:], rest
}

// paramValue is a token or a quoted string (RFC 9110 §5.6), and what comes after it.
func paramValue(s string) (value, rest string) {
	if !strings.HasPrefix(s, `"`) {
		if end := strings.IndexAny(s, ", \t"); end >= 0 {
			return s[:end], s[end:]
		}
		return s, ""
	}
	var text strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return text.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		text.WriteByte(s[i])
	}
	return text.String(), ""
}

// told is what the server says is wrong, for a person.
func (c challenge) told() string {
	text := ""
	if why := strings.Trim(c.code+": "+c.description, ": "); why != "" {
		text = "\nThe server says: " + onOneLine(why) + "."
	}
	if c.scope != "" {
		text += "\nScopes that are needed: " + onOneLine(c.scope) + "."
	}
	return text
}
