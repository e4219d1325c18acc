package oauth

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/client/internal/challenge"
)

// wanted returns the challenge that the flow can answer: the first one for Bearer or DPoP tokens. If
// another one has an error for the scheme of the sent token, wanted returns that one; the metadata and
// the scopes may then come from the first one. sent is empty if no token was sent.
func wanted(h http.Header, sent string) (challenge.Challenge, bool) {
	var first *challenge.Challenge
	for _, c := range challenge.Parse(h.Values("WWW-Authenticate")...) {
		if c.Scheme != "bearer" && c.Scheme != "dpop" {
			continue
		}
		if first == nil {
			first = &c
		}
		if c.Params["error"] == "" || !strings.EqualFold(c.Scheme, sent) {
			continue
		}
		for _, name := range []string{"resource_metadata", "scope"} {
			c.Params[name] = cmp.Or(c.Params[name], first.Params[name])
		}
		return c, true
	}
	if first == nil {
		return challenge.Challenge{}, false
	}
	return *first, true
}

// scopesOf returns the scopes that a challenge names, or nil.
func scopesOf(c challenge.Challenge) []string {
	if scopes := strings.Fields(c.Params["scope"]); len(scopes) > 0 {
		return scopes
	}
	return nil
}
