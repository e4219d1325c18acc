package client

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// ErrClosed is the error of calls on a closed client.
var ErrClosed = errors.New("client: closed")

// ErrInputRequired is the error of a call that the server does not finish without answers from the
// user or the model (2026-07-28 basic/patterns/mrtr). Either the client lacks a handler for some
// questions, which the text names, or it has already answered [MaxRounds] times.
var ErrInputRequired = errors.New("client: the server requires input to finish the call")

// ErrRejected is the error that a handler of [OnSample] or [OnElicit] returns if the user refuses
// to deal with the question at all. If [Approve] refuses sampling or roots, the error also wraps
// ErrRejected. On handshake revisions, the server receives error -1. On 2026-07-28, the call ends
// with this error.
var ErrRejected = errors.New("client: the user rejected the request")

// ErrInvalidAnswer is the error of a question whose [OnElicit] handler accepted a form with content
// that does not match the form's schema. The text names the fields.
var ErrInvalidAnswer = errors.New("client: the answer does not fit the form")

// ToolError is a result with isError as a Go error.
type ToolError struct {
	Tool   string
	Result *protocol.CallToolResult
}

// Error returns the name of the tool and the text of the result.
func (e *ToolError) Error() string {
	text := cmp.Or(dialect.TextOf(e.Result.Content), "the tool failed without a text")
	return fmt.Sprintf("tool %q: %s", e.Tool, text)
}

// interruptedError is an error of the server with the code protocol.CodeInterrupted: there will be
// no answer.
type interruptedError struct{ error }

// Unwrap returns the server's error and io.ErrUnexpectedEOF, which every error of a lost answer
// wraps.
func (e *interruptedError) Unwrap() []error { return []error{e.error, io.ErrUnexpectedEOF} }

// errLost is the error of a connection that the other side ended without a known reason.
var errLost = fmt.Errorf("client: the connection was lost: %w", io.ErrUnexpectedEOF)

// lostError returns the error of a lost connection. It always wraps io.ErrUnexpectedEOF.
func lostError(cause error) error {
	if cause == nil || errors.Is(cause, io.EOF) {
		return errLost
	}
	return fmt.Errorf("client: the connection was lost: %w (%w)", io.ErrUnexpectedEOF, cause)
}
