package oauth

import (
	"errors"
	"fmt"
	"strings"
)

// Errors that an [*Error] wraps. Test for them with errors.Is.
var (
	ErrLogin       = errors.New("oauth: the user has to log in")
	ErrDenied      = errors.New("oauth: the user or the authorization server refused")
	ErrMixUp       = errors.New("oauth: the response is not from the authorization server that was asked") // RFC 9207 §2.4
	ErrIssuer      = errors.New("oauth: metadata of another issuer")                                       // RFC 8414 §3.3
	ErrResource    = errors.New("oauth: metadata of another resource")                                     // RFC 9728 §3.3
	ErrNoPKCE      = errors.New("oauth: the authorization server does not support S256")
	ErrUnsafeURL   = errors.New("oauth: a URL that must not be used") // not https, not public enough, or a redirect
	ErrNoWay       = errors.New("oauth: no way to make the client known to the authorization server")
	ErrForeign     = errors.New("oauth: the credentials belong to another authorization server")
	ErrScope       = errors.New("oauth: the server wants scopes that were refused")
	ErrStore       = errors.New("oauth: the store cannot be used")
	ErrUnavailable = errors.New("oauth: unavailable") // nothing is deleted from the store
)

// Error is the error of a flow. It contains the step that ended the flow, and a hint. It wraps one
// of the errors above.
type Error struct {
	Step   string // as in Inspection
	Server string // the MCP server
	Issuer string // the authorization server; empty while it is not known
	Code   string // error code of the authorization server, such as "invalid_grant"; set only after its issuer was verified
	Text   string // description from the authorization server, shortened and without control characters
	Hint   string // advice for the user
	Err    error  // an error above, possibly with a cause
}

// Error returns a text without secrets. If there is a hint, it is on a second line.
func (e *Error) Error() string {
	var text strings.Builder
	text.WriteString(e.Err.Error())
	if e.Code != "" {
		text.WriteString(": " + e.Code)
	}
	if e.Text != "" {
		text.WriteString(": " + e.Text)
	}
	if e.Issuer != "" {
		text.WriteString(" (authorization server " + cleaned(e.Issuer) + ")")
	}
	if e.Hint != "" {
		text.WriteString("\n" + e.Hint)
	}
	return text.String()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// because wraps cause in kind, which is an error above. If cause already is an *Error or kind,
// because returns it unchanged, and also if it is nil.
func because(kind, cause error) error {
	if _, done := errors.AsType[*Error](cause); done || cause == nil || errors.Is(cause, kind) {
		return cause
	}
	return caused(kind, cause)
}

// caused is an error above with its cause.
func caused(kind, cause error) error { return fmt.Errorf("%w: %w", kind, cause) }

const maxText = 300

// cleaned returns text from other parties in a form that is safe for a terminal. It is one line of
// limited length, without control characters and characters that change the direction of writing.
func cleaned(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x200b && r <= 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2060 && r <= 0x2069 || r == 0xfeff:
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return strings.TrimSpace(text)
}
