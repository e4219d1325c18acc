package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// CodeTooMany is the error code for a call that is refused for the moment, by a rate
// limit or for lack of room. No revision defines one, and codes of one's own must be
// outside of JSON-RPC's range (2026-07-28 basic "Error Codes"), so this is the number of
// the corresponding HTTP status.
const CodeTooMany = 429

// Retry is the Data of an Error that says when to try again.
type Retry struct{ After time.Duration }

// MarshalJSON returns {"retryAfterMs": 1500}, rounded up to whole milliseconds, so that
// a client never comes back too early. The error is always nil.
func (r Retry) MarshalJSON() ([]byte, error) {
	after := max(r.After, 0)
	ms := int64(after / time.Millisecond)
	if after%time.Millisecond > 0 {
		ms++
	}
	return append(strconv.AppendInt([]byte(`{"retryAfterMs":`), ms, 10), '}'), nil
}

// TooMany makes an Error with CodeTooMany whose Data is a Retry.
func TooMany(after time.Duration, format string, args ...any) *Error {
	return &Error{Code: CodeTooMany, Message: fmt.Sprintf(format, args...), Data: Retry{After: after}}
}

// RetryAfter returns how long a client should wait before it tries again; false if the
// error does not say. It also reads errors that a client received from a server.
func RetryAfter(err error) (time.Duration, bool) {
	plain, ok := errors.AsType[*Error](err)
	if !ok {
		return 0, false
	}
	switch data := plain.Data.(type) {
	case Retry:
		return data.After, true
	case json.RawMessage:
		return sentRetry(data)
	}
	return 0, false
}

// sentRetry reads what Retry writes.
func sentRetry(data json.RawMessage) (time.Duration, bool) {
	var said struct {
		Ms *float64 `json:"retryAfterMs"`
	}
	if json.Unmarshal(data, &said) != nil || said.Ms == nil {
		return 0, false
	}
	after := max(*said.Ms, 0) * float64(time.Millisecond)
	if after >= math.MaxInt64 {
		return math.MaxInt64, true
	}
	return time.Duration(after), true
}
