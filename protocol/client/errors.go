package client

import (
	"errors"
	"fmt"
	"io"

	"github.com/kagami-mcp/kagami/protocol"
)

// ErrClosed is the error of calls on a closed client.
var ErrClosed = errors.New("client: closed")

// ErrInputRequired says that the server will not finish a call without answers from the
// user or the model (2026-07-28 basic/patterns/mrtr), and that the client has no handler
// for some of the questions, which the text names, or has answered [MaxRounds] times.
var ErrInputRequired = errors.New("client: the server requires input to finish the call")

// ErrRejected is what a handler of [OnSample] or [OnElicit] returns if the user refuses to
// deal with the question at all, and the reason if [Approve] refuses. On handshake
// revisions the server sees error -1; on 2026-07-28 the call ends with it.
var ErrRejected = errors.New("client: the user rejected the request")

// ErrInvalidAnswer is the error of a handler of [OnElicit] that accepted a form
// with content that does not fit the form. The text names the fields.
var ErrInvalidAnswer = errors.New("client: the answer does not fit the form")

// ToolError is an isError result seen as a Go error.
type ToolError struct {
	Tool   string
	Result *protocol.CallToolResult
}

// Error is the text of the result, after the name of the tool.
func (e *ToolError) Error() string {
	text := textOf(e.Result.Content)
	if text == "" {
		text = "the tool failed without a text"
	}
	return fmt.Sprintf("tool %q: %s", e.Tool, text)
}

// interruptedError is the server's word that there will be no answer (protocol.CodeInterrupted).
type interruptedError struct{ error }

// Unwrap returns what the server has sent, and the error of all answers that are lost.
func (e *interruptedError) Unwrap() []error { return []error{e.error, io.ErrUnexpectedEOF} }

// errLost is the error if the other side has ended the connection and nothing more is known.
var errLost = fmt.Errorf("client: the connection was lost: %w", io.ErrUnexpectedEOF)

// lostError returns the error of a lost connection. It always wraps io.ErrUnexpectedEOF.
func lostError(cause error) error {
	if cause == nil || errors.Is(cause, io.EOF) {
		return errLost
	}
	return fmt.Errorf("client: the connection was lost: %w (%w)", io.ErrUnexpectedEOF, cause)
}
