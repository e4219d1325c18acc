package auth

import (
	"context"
	"errors"
	"fmt"

	"github.com/kagami-mcp/kagami/transport"
)

// Verifier verifies a token and returns its principal. It is called concurrently, and must limit
// how long it waits.
//
// An error that wraps [ErrUnavailable], context.Canceled or context.DeadlineExceeded is answered with
// 503, and a [*transport.AuthError] with its own status and challenge. Any other error means that the
// token is not valid, and is answered with 401. Clients do not see texts of errors.
type Verifier interface {
	Verify(ctx context.Context, token string) (*transport.Principal, error)
}

// missing reports whether v is nil, or a nil value of a type of this package.
func missing(v Verifier) bool {
	switch v := v.(type) {
	case nil:
		return true
	case *JWT:
		return v == nil
	case *Introspection:
		return v == nil
	case VerifierFunc:
		return v == nil
	}
	return false
}

// VerifierFunc is a function that implements Verifier.
type VerifierFunc func(ctx context.Context, token string) (*transport.Principal, error)

// Verify calls f.
func (f VerifierFunc) Verify(ctx context.Context, token string) (*transport.Principal, error) {
	return f(ctx, token)
}

// ErrUnavailable is the error if a token cannot be verified now, because the authorization server
// cannot be reached or the verifier is not configured. Clients should try again.
var ErrUnavailable = errors.New("auth: tokens cannot be verified now")

// misset is an error in the configuration. Tokens cannot be verified at all. It wraps
// ErrUnavailable, which determines the answer. Its text is for the author of the program.
type misset struct{ text string }

func (m *misset) Error() string { return "auth: " + m.text }
func (m *misset) Unwrap() error { return ErrUnavailable }

func missetf(format string, args ...any) error { return &misset{fmt.Sprintf(format, args...)} }

func unavailable(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrUnavailable, fmt.Errorf(format, args...))
}

// rejection is the reason why a token is not valid, in a text that its sender may read. It is used
// only for tokens that the authorization server has issued.
type rejection struct {
	told string
	err  error
}

func (r *rejection) Error() string {
	if r.err == nil {
		return "auth: " + r.told
	}
	return "auth: " + r.told + ": " + r.err.Error()
}

func (r *rejection) Unwrap() error { return r.err }

// audienced is a Verifier that needs the audience of tokens, unless its own settings name one.
type audienced interface {
	verify(ctx context.Context, token, resource string) (*transport.Principal, error)
	// fault returns the error in the settings, or nil.
	fault(resource string) error
	// names returns the authorization server and the audience in the settings, or "".
	names() (issuer, audience string)
}
