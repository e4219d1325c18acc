package client

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// maxErrorText limits the part of a body that an HTTPError keeps.
const maxErrorText = 2 << 10

// HTTPError is the error for an HTTP status that is not a success. If the body was a JSON-RPC
// error, errors.As also finds a *protocol.Error.
type HTTPError struct {
	Status     int
	Body       string        // the first 2 KiB at most, as text
	Challenge  string        // header field WWW-Authenticate, as of 401 and 403
	RetryAfter time.Duration // how long the server wants the client to wait; 0 if unknown

	session string // the session that has ended according to the server; may be empty
	moved   string // URL of a refusal of the credentials, after a redirect to another origin; may be empty
}

// Error returns the status, the text of the body, and the scopes that the challenge requires. If the
// credentials were not sent because of a redirect, the text says so.
func (e *HTTPError) Error() string {
	text := fmt.Sprintf("HTTP %d %s", e.Status, http.StatusText(e.Status))
	if e.Body != "" {
		text += ": " + e.Body
	}
	return text + e.needs()
}

func newHTTPError(resp *http.Response, body []byte) *HTTPError {
	text := strings.ToValidUTF8(string(body[:min(len(body), maxErrorText)]), "")
	e := &HTTPError{
		Status:     resp.StatusCode,
		Body:       withoutToken(strings.TrimSpace(text), resp.Request),
		Challenge:  withoutToken(strings.Join(resp.Header.Values("WWW-Authenticate"), ", "), resp.Request),
		RetryAfter: retryAfter(resp.Header.Get("Retry-After")),
	}
	if e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden {
		e.moved = movedTo(resp)
	}
	return e
}

// withoutToken hides the credentials of a request in the text of its answer. Some servers repeat a token
// that they refuse, and an error is written to logs. r is nil if the caller's RoundTripper does not set it.
func withoutToken(text string, r *http.Request) string {
	if r == nil {
		return text
	}
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if len(token) < 8 { // it may be a part of words
		return text
	}
	return strings.ReplaceAll(text, token, "(hidden)")
}

// movedTo returns the URL of a response after a redirect to another origin, or "".
func movedTo(resp *http.Response) string {
	first := resp.Request
	for first != nil && first.Response != nil {
		first = first.Response.Request
	}
	if first == nil || origin(first.URL) == origin(resp.Request.URL) {
		return ""
	}
	return resp.Request.URL.Redacted()
}

// endsSession reports whether the answer to a request with a session means that the session has
// ended. The status for that is 404 (2025-11-25 basic/transports "Session Management"). Many servers
// send 400 after a restart, with a text such as "No valid session ID provided" or "Server not
// initialized".
func (e *HTTPError) endsSession() bool {
	text := strings.ToLower(e.Body)
	return e.Status == http.StatusNotFound ||
		e.Status == http.StatusBadRequest && (strings.Contains(text, "session") || strings.Contains(text, "not initialized"))
}

// retryAfter parses seconds or a date (RFC 9110 section 10.2.3).
func retryAfter(value string) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

// sendError is the error of a request that could not be sent, or that lost its answer. It shows
// nothing about the server.
type sendError struct{ error }

// Unwrap returns the cause.
func (e *sendError) Unwrap() error { return e.error }

// saysNothing reports whether err shows nothing about what the server supports. A 500 does: Java
// servers without a session send it, with an exception in the body, for a method that they do not
// know. From 502 on, the status comes from a proxy or from a server that is not ready.
func saysNothing(err error) bool {
	if _, unsent := errors.AsType[*sendError](err); unsent {
		return true
	}
	status, refused := errors.AsType[*HTTPError](err)
	_, answered := errors.AsType[*refusedError](err)
	return refused && (status.Status == http.StatusUnauthorized || status.Status > http.StatusNotImplemented && !answered)
}

// callError is an error of Read or Write that concerns only one call. The connection remains
// usable. If error is nil, Error must not be called.
type callError struct {
	error            // nil only if frame is set
	id    jsonrpc.ID // id of the call
	frame []byte     // a JSON-RPC error that answers the call, with any id; may be nil
}

// Unwrap returns the cause.
func (e *callError) Unwrap() error { return e.error }

// refusedError is a JSON-RPC error together with an HTTP status.
type refusedError struct {
	error
	status    error
	anonymous bool // the error has no id, so the server may not have read the frame
}

// Error returns the text of the JSON-RPC error, with what the status adds to it.
func (e *refusedError) Error() string {
	if status, is := errors.AsType[*HTTPError](e.status); is {
		return e.error.Error() + status.needs()
	}
	return e.error.Error()
}

// Unwrap returns the JSON-RPC error and the error of the status.
func (e *refusedError) Unwrap() []error { return []error{e.error, e.status} }
