package protocol

import (
	"fmt"
)

// JSON-RPC error codes for the errors of handlers.
const (
	CodeInvalidParams = -32602
	CodeInternal      = -32603
)

// CodeInterrupted is the error code for a request whose server process ended before the answer. The
// work of the request may have been done or not. No revision defines a code for this. The number is
// the corresponding HTTP status, as with [CodeTooMany].
const CodeInterrupted = 502

// Error is a JSON-RPC error. If a handler returns an Error, it is sent unchanged.
type Error struct {
	Code    int
	Message string
	Data    any // must marshal to JSON; not sent if nil
}

// Error returns the message and the code.
func (e *Error) Error() string { return fmt.Sprintf("%s (JSON-RPC error %d)", e.Message, e.Code) }

// FaultKind is the kind of a Fault. Each dialect has its own error code for a kind.
type FaultKind uint8

// Kinds of faults. Comments name the fields of Fault that a kind uses, and the revision that has
// it.
const (
	FaultInternal FaultKind = iota
	FaultInvalidRequest
	FaultMethodNotFound
	FaultInvalidParams
	FaultInvalidArguments   // arguments of a tool: an isError result if the revision requires one (SEP-1303), otherwise as FaultInvalidParams
	FaultResourceNotFound   // a resource that does not exist, with its URI
	FaultHeaderMismatch     // HTTP header fields that contradict the body (2026-07-28)
	FaultMissingCapability  // a capability that the client lacks, with Required (2026-07-28)
	FaultUnsupportedVersion // a revision that is not served, with Supported and Requested
	FaultURLRequired        // a page that the user must visit first, with Elicitations (2025-11-25)
	FaultRejected           // the user refused (sampling, client to server)
)

// Fault is a protocol error that has a kind instead of an error code of a revision. Message may be
// shown to the peer.
type Fault struct {
	Kind         FaultKind
	Message      string
	Data         any                 // further machine-readable detail, of FaultInvalidParams and others; may be nil
	URI          string              // ResourceNotFound
	Required     *ClientCapabilities // MissingCapability: only what is missing
	Supported    []string            // UnsupportedVersion
	Requested    string              // UnsupportedVersion
	Elicitations []ElicitParams      // URLRequired
}

// Error returns the message.
func (f *Fault) Error() string { return f.Message }

// Faultf returns a fault of a kind that needs no other fields. Message is formatted as by
// fmt.Sprintf.
func Faultf(kind FaultKind, format string, args ...any) *Fault {
	return &Fault{Kind: kind, Message: fmt.Sprintf(format, args...)}
}
