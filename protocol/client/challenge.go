package client

import (
	"strings"

	"github.com/kagami-mcp/kagami/protocol/client/internal/challenge"
)

// ChallengeParam returns a parameter of the challenge, such as "scope", "error" or
// "error_description" (RFC 6750 section 3). If there are several challenges, the first one with the
// parameter counts. If none has it, ChallengeParam returns "".
func (e *HTTPError) ChallengeParam(name string) string {
	for _, c := range challenge.Parse(e.Challenge) {
		if value := c.Params[strings.ToLower(name)]; value != "" {
			return value
		}
	}
	return ""
}

// needs returns the end of an error text: where the server redirects to, and the scopes that the
// challenge requires. It may be empty.
func (e *HTTPError) needs() string {
	text := ""
	if e.moved != "" {
		text = " (the server redirects to " + e.moved + ", and credentials are not sent to another origin: use that URL)"
	}
	scope := e.ChallengeParam("scope")
	if scope == "" {
		return text
	}
	return text + " (scopes needed: " + strings.ToValidUTF8(scope[:min(len(scope), maxErrorText)], "") + ")"
}
