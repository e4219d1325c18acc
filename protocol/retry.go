package protocol

import (
	"errors"
	"fmt"
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
	ms := int64((max(r.After, 0) + time.Millisecond - 1) / time.Millisecond)
	return append(strconv.AppendInt([]byte(`{"retryAfterMs":`), ms, 10), '}'), nil
}

// TooMany is an Error with CodeTooMany and a Retry.
func TooMany(after time.Duration, format string, args ...any) *Error {
	return &Error{Code: CodeTooMany, Message: fmt.Sprintf(format, args...), Data: Retry{After: after}}
}

// RetryAfter is how long the error wants a client to wait; false: it does not say.
func RetryAfter(err error) (time.Duration, bool) {
	plain, ok := errors.AsType[*Error](err)
	if !ok {
		return 0, false
	}
	retry, ok := plain.Data.(Retry)
	return retry.After, ok
}
