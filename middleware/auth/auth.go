package auth

import (
	"context"
	"errors"
	"fmt"

	"github.com/kagami-mcp/kagami/transport"
)

// Verifier turns a token into a principal. It is called concurrently, and must bound how
// long it waits.
//
// An error that wraps [ErrUnavailable] is answered with 503, a [*transport.AuthError] with
// what it says, and any other with 401: the token is not valid. Texts of errors do not
// reach the client.
type Verifier interface {
	Verify(ctx context.Context, token string) (*transport.Principal, error)
}

// missing says whether there is no verifier, or a nil one of some type.
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

// VerifierFunc is a function that is a Verifier.
type VerifierFunc func(ctx context.Context, token string) (*transport.Principal, error)

// Verify calls f.
func (f VerifierFunc) Verify(ctx context.Context, token string) (*transport.Principal, error) {
	return f(ctx, token)
}

// ErrUnavailable says that a token could not be verified: the authorization server is away,
// or the verifier is not set up. Clients should try again.
var ErrUnavailable = errors.New("auth: tokens cannot be verified now")

// misset wraps ErrUnavailable, which decides about the answer. Its text is for the author of
// the program: tokens cannot be verified at all, not only now.
type misset struct{ text string }

func (m *misset) Error() string { return "auth: " + m.text }
func (m *misset) Unwrap() error { return ErrUnavailable }

func missetf(format string, args ...any) error { return &misset{fmt.Sprintf(format, args...)} }

func unavailable(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrUnavailable, fmt.Errorf(format, args...))
}

// rejection is why a token is not valid, in words that its sender may read. It is used only for
// tokens that the authorization server has issued.
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

// audienced is a Verifier that must be told which audience tokens need, unless its own settings
// name one.
type audienced interface {
	verify(ctx context.Context, token, resource string) (*transport.Principal, error)
	// fault is what is wrong with its settings, or missing from them.
	fault(resource string) error
}

// issuing is a Verifier that takes tokens of one authorization server.
type issuing interface{ issuer() string }

// intended is a Verifier that takes tokens for one audience.
type intended interface{ audience() string }
