package client

import "strings"

// ChallengeParam returns a parameter of the challenge, such as "scope", "error" or
// "error_description" (RFC 6750 section 3). If there are several challenges, the first one with the
// parameter counts. If none has it, ChallengeParam returns "".
func (e *HTTPError) ChallengeParam(name string) string {
	for found, rest := nextParam(e.Challenge); found != ""; found, rest = nextParam(rest) {
		var value string
		value, rest = paramValue(rest)
		if strings.EqualFold(found, name) && value != "" {
			return value
		}
	}
	return ""
}

// needs returns the end of an error text with the scopes that the challenge requires, or "".
func (e *HTTPError) needs() string {
	scope := e.ChallengeParam("scope")
	if scope == "" {
		return ""
	}
	return " (scopes needed: " + strings.ToValidUTF8(scope[:min(len(scope), maxErrorText)], "") + ")"
}

// nextParam returns the name before the next "=", and the text after it.
func nextParam(s string) (name, rest string) {
	before, rest, found := strings.Cut(s, "=")
	if !found {
		return "", ""
	}
	return before[strings.LastIndexAny(before, " ,\t")+1:], rest
}

// paramValue parses a token or a quoted string (RFC 9110 §5.6). It returns the value and the text
// after it.
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
