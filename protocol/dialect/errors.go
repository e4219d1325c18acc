package dialect

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Error codes of the specification in addition to JSON-RPC's. -32020 to -32022 are from 2026-07-28
// basic "Error Codes".
const (
	codeRejected           = -1     // sampling refused by the user (client/sampling)
	codeResourceNotFound   = -32002 // up to 2025-11-25 (server/resources "Error Handling")
	codeHeaderMismatch     = -32020
	codeMissingCapability  = -32021
	codeUnsupportedVersion = -32022
	codeURLRequired        = -32042 // 2025-11-25 only (client/elicitation)
)

// Error returns the wire form of err on this revision. A *protocol.Fault gets the code and data of
// its kind. A *protocol.Error is sent unchanged, except for codes that the revision forbids. For
// any other error, Error returns nil, and the caller decides what the client may see.
//
// If err contains both types, as an error of DecodeError does, Error uses the fault. A proxy thus
// translates errors between revisions.
func (d *Dialect) Error(err error) *jsonrpc.Error {
	if fault, ok := errors.AsType[*protocol.Fault](err); ok {
		return d.faultError(fault)
	}
	plain, ok := errors.AsType[*protocol.Error](err)
	if !ok {
		return nil
	}
	e := &jsonrpc.Error{Code: d.number(plain.Code), Message: plain.Message}
	if plain.Data != nil {
		e.Data = anyData(plain.Data)
	}
	return e
}

// number returns code, or its replacement if the revision forbids it. A handler that uses a code of
// an older revision thus works with clients of all revisions. 2026-07-28 basic "Error Codes"
// forbids two codes.
func (d *Dialect) number(code int) int {
	if !d.Handshake() && (code == codeResourceNotFound || code == codeURLRequired) {
		return jsonrpc.CodeInvalidParams
	}
	return code
}

// anyData encodes the data of an error. It returns nil if the data cannot be encoded, because the
// error itself is more important.
func anyData(v any) []byte {
	if raw, ok := v.(json.RawMessage); ok && len(raw) == 0 {
		return nil
	}
	data, err := appendAny(nil, v)
	if err != nil {
		return nil
	}
	return data
}

func (d *Dialect) faultError(f *protocol.Fault) *jsonrpc.Error {
	row := faults[protocol.FaultInternal]
	if int(f.Kind) < len(faults) {
		row = faults[f.Kind]
	}
	e := &jsonrpc.Error{Code: row.modern, Message: cmp.Or(f.Message, row.message), Data: d.faultData(f)}
	switch {
	case f.Kind == protocol.FaultURLRequired && d.ElicitationIDs():
		e.Code = codeURLRequired
	case row.handshake != row.modern && d.Handshake(): // before a revision is agreed, d is nil
		e.Code = row.handshake
	}
	return e
}

// faults are the error codes of each kind of fault, on revisions with and without a handshake, and
// the message for a fault without one. FaultURLRequired has a code of its own on revisions with
// elicitationId.
var faults = [...]struct {
	handshake, modern int
	message           string
}{
	protocol.FaultInternal:           {jsonrpc.CodeInternal, jsonrpc.CodeInternal, "Internal error"},
	protocol.FaultInvalidRequest:     {jsonrpc.CodeInvalidRequest, jsonrpc.CodeInvalidRequest, "Invalid request"},
	protocol.FaultMethodNotFound:     {jsonrpc.CodeMethodNotFound, jsonrpc.CodeMethodNotFound, "Method not found"},
	protocol.FaultInvalidParams:      {jsonrpc.CodeInvalidParams, jsonrpc.CodeInvalidParams, "Invalid params"},
	protocol.FaultInvalidArguments:   {jsonrpc.CodeInvalidParams, jsonrpc.CodeInvalidParams, "Invalid arguments"},
	protocol.FaultResourceNotFound:   {codeResourceNotFound, jsonrpc.CodeInvalidParams, "Resource not found"},
	protocol.FaultHeaderMismatch:     {jsonrpc.CodeInvalidRequest, codeHeaderMismatch, "Header mismatch"},
	protocol.FaultMissingCapability:  {jsonrpc.CodeInvalidParams, codeMissingCapability, "Missing required client capability"},
	protocol.FaultUnsupportedVersion: {jsonrpc.CodeInvalidParams, codeUnsupportedVersion, "Unsupported protocol version"},
	protocol.FaultURLRequired:        {jsonrpc.CodeInvalidParams, jsonrpc.CodeInvalidParams, "URL elicitation required"},
	protocol.FaultRejected:           {codeRejected, codeRejected, "User rejected the request"},
}

// shortened limits the length of a text of the request that is repeated in an error.
func shortened(text string) string { return jsontext.Clip(text, 1024) }

// faultMembers has the members of an error's data, for each kind of fault with data.
var faultMembers = map[protocol.FaultKind]members[protocol.Fault]{
	protocol.FaultResourceNotFound: rows(optional("uri", clipped, func(f *protocol.Fault) *string { return &f.URI })),
	protocol.FaultMissingCapability: rows(
		required("requiredCapabilities", pointer(object(clientCapabilityMembers)), func(f *protocol.Fault) **protocol.ClientCapabilities { return &f.Required }),
	),
	protocol.FaultUnsupportedVersion: rows(
		required("supported", list(str), func(f *protocol.Fault) *[]string { return &f.Supported }),
		optional("requested", clipped, func(f *protocol.Fault) *string { return &f.Requested }),
	),
	protocol.FaultURLRequired: rows(required("elicitations", list(elicitation), func(f *protocol.Fault) *[]protocol.ElicitParams { return &f.Elicitations })),
}

// clipped is a text of the request that is repeated in an error. Encoding limits its length.
var clipped = kind[string]{
	read: readString,
	write: func(_ *Dialect, dst []byte, s *string) ([]byte, error) {
		return jsontext.Quote(dst, shortened(*s)), nil
	},
}

// faultData returns the data of the error for the fault's kind. If the kind has no data, it returns
// f.Data.
func (d *Dialect) faultData(f *protocol.Fault) []byte {
	switch {
	case f.Kind == protocol.FaultResourceNotFound && f.URI != "",
		f.Kind == protocol.FaultMissingCapability && f.Required != nil,
		f.Kind == protocol.FaultUnsupportedVersion,
		f.Kind == protocol.FaultURLRequired && d.ElicitationIDs():
		if data, err := faultMembers[f.Kind].append(d, nil, f); err == nil {
			return data
		}
		return nil
	case f.Data == nil:
		return nil
	}
	return anyData(f.Data)
}

// remoteError is an error of the peer, in its original form and as a fault.
type remoteError struct {
	plain *protocol.Error
	fault *protocol.Fault
}

// Error returns the peer's message and code.
func (e *remoteError) Error() string { return e.plain.Error() }

// Unwrap returns both forms, so that errors.As finds each.
func (e *remoteError) Unwrap() []error { return []error{e.fault, e.plain} }

// DecodeError returns the peer's error as a Go error. errors.As always finds a *protocol.Error with
// the original code and data. If they have a meaning on this revision, errors.As also finds a
// *protocol.Fault.
func (d *Dialect) DecodeError(e *jsonrpc.Error) error {
	plain := &protocol.Error{Code: e.Code, Message: e.Message}
	if e.Data != nil {
		plain.Data = json.RawMessage(e.Data)
	}
	if fault := d.meaning(e); fault != nil {
		fault.Message = e.Message
		return &remoteError{plain: plain, fault: fault}
	}
	return plain
}

// meaning returns the fault that e represents, or nil if the code adds nothing to the message.
func (d *Dialect) meaning(e *jsonrpc.Error) *protocol.Fault {
	switch e.Code {
	case codeResourceNotFound:
		return readNotFound(e.Data, true)
	case jsonrpc.CodeInvalidParams:
		if f := d.readFault(protocol.FaultUnsupportedVersion, e.Data); f != nil && d.Handshake() {
			return f
		}
		return readNotFound(e.Data, false)
	case codeHeaderMismatch:
		if !d.Handshake() {
			return &protocol.Fault{Kind: protocol.FaultHeaderMismatch}
		}
	case codeMissingCapability:
		if !d.Handshake() {
			return d.readFault(protocol.FaultMissingCapability, e.Data)
		}
	case codeUnsupportedVersion:
		// Accepted on any revision, because a server of 2026-07-28 may use
		// this code to refuse an initialize (basic/versioning).
		return d.readFault(protocol.FaultUnsupportedVersion, e.Data)
	case codeURLRequired:
		if d.ElicitationIDs() {
			return d.readFault(protocol.FaultURLRequired, e.Data)
		}
	case codeRejected:
		return &protocol.Fault{Kind: protocol.FaultRejected}
	}
	return nil
}

// readNotFound reads the data of a missing resource. Clients accept both codes for it (SEP-2164),
// but -32602 only if the data names the resource.
func readNotFound(data []byte, sure bool) *protocol.Fault {
	v, _ := jsontext.Member(data, "uri")
	uri, ok := jsontext.String(v)
	if !ok && !sure {
		return nil
	}
	return &protocol.Fault{Kind: protocol.FaultResourceNotFound, URI: uri}
}

// readFault reads the data of an error as a fault of the given kind. If data cannot be read, it
// returns nil.
func (d *Dialect) readFault(kind protocol.FaultKind, data []byte) *protocol.Fault {
	f := &protocol.Fault{Kind: kind}
	if faultMembers[kind].decode(d, f, data) != nil {
		return nil
	}
	return f
}

// HTTPStatus returns the HTTP status for the JSON-RPC code of an error, on revisions with
// [Dialect.StatusByCode]. It returns 200 for codes without a status of their own.
func HTTPStatus(code int) int {
	switch code {
	case jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case jsonrpc.CodeParse, jsonrpc.CodeInvalidRequest, codeHeaderMismatch, codeMissingCapability, codeUnsupportedVersion:
		return http.StatusBadRequest
	case protocol.CodeTooMany:
		return http.StatusTooManyRequests
	}
	return http.StatusOK
}
