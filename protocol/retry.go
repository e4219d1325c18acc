package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// CodeTooMany refuses a call for which there is no room now. No revision has a code
// for that, and those of one's own are outside of JSON-RPC's range (2026-07-28 basic
// "Error Codes"): it is the number of the HTTP status that says the same.
const CodeTooMany = 429

// Retry is the Data of an Error that a later attempt may not meet.
type Retry struct{ After time.Duration }

// MarshalJSON is {"retryAfterMs": 1500}, rounded up: who waits as long has waited long
// enough. There is no error.
func (r Retry) MarshalJSON() ([]byte, error) {
	after := max(r.After, 0)
	ms := int64(after / time.Millisecond)
	if after%time.Millisecond > 0 {
		ms++
	}
	return append(strconv.AppendInt([]byte(`{"retryAfterMs":`), ms, 10), '}'), nil
}

// TooMany is an Error with CodeTooMany and a Retry.
func TooMany(after time.Duration, format string, args ...any) *Error {
	return &Error{Code: CodeTooMany, Message: fmt.Sprintf(format, args...), Data: Retry{After: after}}
}

// RetryAfter is how long the error wants a client to wait; false: it does not say. It reads
// what a server has sent, too.
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
