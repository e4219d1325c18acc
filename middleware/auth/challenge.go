package auth

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/middleware/internal/proof"
	"github.com/kagami-mcp/kagami/transport"
)

// quotable drops characters that would end the quotes of a parameter, or the header field.
func quotable(r rune) rune {
	if r < ' ' || r > '~' || r == '"' || r == '\\' {
		return -1
	}
	return r
}

// challenge returns a value of WWW-Authenticate with the scopes (RFC 6750 §3, RFC 9728 §5.1). If code
// is not empty, it also has the error and its description.
func (b *bearer) challenge(scopes []string, code, description string) string {
	text, separator := b.scheme(), " "
	param := func(name, value string) {
		if value != "" {
			text += separator + name + `="` + strings.Map(quotable, value) + `"`
			separator = ", "
		}
	}
	if b.proofs != nil {
		param("algs", strings.Join(proof.Algorithms(), " "))
	}
	if b.metadata != nil {
		param("resource_metadata", b.metadata.url)
	}
	param("scope", strings.Join(scopes, " "))
	param("error", code)
	param("error_description", description)
	return text
}

// InsufficientScope returns the refusal for a caller without some of the scopes. The challenge
// lists all scopes that the operation needs, including the scopes of Require. One step-up is then
// enough (2025-11-25 basic/authorization "Runtime Insufficient Scope Errors").
func (b *bearer) InsufficientScope(scopes []string) *transport.AuthError {
	scopes = appendNew(slices.Clone(b.required), scopes)
	return &transport.AuthError{
		Status:    http.StatusForbidden,
		Challenge: b.challenge(scopes, "insufficient_scope", "more scopes are needed"),
		Err:       errors.New("auth: the token lacks some of the scopes " + strings.Join(scopes, " ")),
	}
}

// refusal returns the HTTP status and the challenge for an error.
func (b *bearer) refusal(err error) *transport.AuthError {
	if told, ok := errors.AsType[*transport.AuthError](err); ok {
		return b.complete(told)
	}
	// A client that gets scopes here does not read the metadata's, so these are all scopes.
	unauthorized := func(code, description string) *transport.AuthError {
		return &transport.AuthError{
			Status: http.StatusUnauthorized, Challenge: b.challenge(b.scopes(), code, description), Nonce: b.Nonce(), Err: err,
		}
	}
	if errors.Is(err, proof.ErrNonce) {
		return unauthorized("use_dpop_nonce", "the proof needs the nonce of DPoP-Nonce")
	}
	if errors.Is(err, errNoToken) {
		return unauthorized("", "")
	}
	if m, ok := errors.AsType[*malformed](err); ok {
		return &transport.AuthError{
			Status: http.StatusBadRequest, Challenge: b.challenge(nil, "invalid_request", m.reason), Err: err,
		}
	}
	if unproven, ok := errors.AsType[*proof.Error](err); ok {
		return unauthorized("invalid_dpop_proof", unproven.Reason)
	}
	// A client that has left must not receive an answer that looks like a verdict.
	if errors.Is(err, ErrUnavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &transport.AuthError{Status: http.StatusServiceUnavailable, Err: err}
	}
	if r, ok := errors.AsType[*rejection](err); ok {
		return unauthorized("invalid_token", r.told)
	}
	return unauthorized("invalid_token", "the token is not valid here")
}

// complete returns a copy of a refusal that the program made. It adds the challenge that 401
// requires (RFC 9110 §11.6.1), and removes header fields that cannot be written.
func (b *bearer) complete(told *transport.AuthError) *transport.AuthError {
	own := *told
	if own.Err == nil {
		own.Err = told
	}
	own.Status = told.HTTPStatus()
	if strings.ContainsFunc(own.Challenge, func(r rune) bool { return r < ' ' || r > '~' }) {
		own.Challenge = ""
	}
	if own.Challenge == "" && own.Status == http.StatusUnauthorized {
		own.Challenge = b.challenge(b.scopes(), "invalid_token", "")
	}
	return &own
}
