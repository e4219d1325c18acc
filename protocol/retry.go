package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// CodeTooMany is the error code for a call that is refused temporarily, by a rate limit or a limit
// on concurrent calls. No revision defines a code for this. Codes of an implementation must be
// outside JSON-RPC's reserved range (2026-07-28 basic "Error Codes"). The number is therefore the
// corresponding HTTP status.
const CodeTooMany = 429

// Retry is the Data of an Error that reports when the client may try again.
type Retry struct{ After time.Duration }

// MarshalJSON returns {"retryAfterMs": 1500}. The time is rounded up to whole milliseconds, so that
// a client never retries too early. The error is always nil.
func (r Retry) MarshalJSON() ([]byte, error) {
	after := max(r.After, 0)
	ms := int64(after / time.Millisecond)
	if after%time.Millisecond > 0 {
		ms++
	}
	return append(strconv.AppendInt([]byte(`{"retryAfterMs":`), ms, 10), '}'), nil
}

// TooMany returns an Error with CodeTooMany and a Retry as its Data.
func TooMany(after time.Duration, format string, args ...any) *Error {
	return &Error{Code: CodeTooMany, Message: fmt.Sprintf(format, args...), Data: Retry{After: after}}
}

// RetryAfter returns how long a client should wait before it tries again. It returns false if err
// does not contain a time. It also accepts errors that a client received from a server.
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

// sentRetry reads the JSON that Retry.MarshalJSON writes.
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
