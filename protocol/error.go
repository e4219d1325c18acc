package protocol

import (
	"fmt"
)

// JSON-RPC error codes for the errors of handlers.
const (
	CodeInvalidParams = -32602
	CodeInternal      = -32603
)

// CodeInterrupted is the error code for a request whose server process has ended before the
// answer: what it was to do may have been done or not. No revision defines one; the number is that
// of the corresponding HTTP status, as with [CodeTooMany].
const CodeInterrupted = 502

// Error is a JSON-RPC error. A handler that returns one answers with it as it is.
type Error struct {
	Code    int
	Message string
	Data    any // marshals to JSON; nil: not sent
}

// Error returns the message with its code.
func (e *Error) Error() string { return fmt.Sprintf("%s (JSON-RPC error %d)", e.Message, e.Code) }

// FaultKind says what went wrong. Each dialect has its own error code for a kind.
type FaultKind uint8

// Kinds of faults.
const (
	FaultInternal FaultKind = iota
	FaultInvalidRequest
	FaultMethodNotFound
	FaultInvalidParams
	FaultInvalidArguments   // of a tool: an isError result where the revision wants one (SEP-1303), else as InvalidParams
	FaultResourceNotFound   // URI
	FaultHeaderMismatch     // 2026-07-28
	FaultMissingCapability  // Required; 2026-07-28
	FaultUnsupportedVersion // Supported, Requested
	FaultURLRequired        // Elicitations; 2025-11-25
	FaultRejected           // the user refused (sampling, client to server)
)

// Fault is a protocol error without a revision's error code. Message may be shown to the
// peer.
type Fault struct {
	Kind         FaultKind
	Message      string
	Data         any                 // InvalidParams and others: further machine-readable detail; nil: none
	URI          string              // ResourceNotFound
	Required     *ClientCapabilities // MissingCapability: only what is missing
	Supported    []string            // UnsupportedVersion
	Requested    string              // UnsupportedVersion
	Elicitations []ElicitParams      // URLRequired
}

// Error returns the message.
func (f *Fault) Error() string { return f.Message }

// Faultf makes a fault of a kind that needs no further fields.
func Faultf(kind FaultKind, format string, args ...any) *Fault {
	return &Fault{Kind: kind, Message: fmt.Sprintf(format, args...)}
}
