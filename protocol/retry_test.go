package protocol_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
)

func TestRetry(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]string{
		0:                         `{"retryAfterMs":0}`,
		-time.Second:              `{"retryAfterMs":0}`,
		1:                         `{"retryAfterMs":1}`,
		time.Millisecond:          `{"retryAfterMs":1}`,
		math.MaxInt64:             `{"retryAfterMs":9223372036855}`,
		1500*time.Millisecond + 1: `{"retryAfterMs":1501}`,
	} {
		if got, err := json.Marshal(protocol.Retry{After: after}); string(got) != want || err != nil {
			t.Errorf("%v is %s, %v; want %s", after, got, err, want)
		}
	}
	err := fmt.Errorf("calling: %w", protocol.TooMany(3*time.Second, "wait %s", "3s"))
	if after, ok := protocol.RetryAfter(err); after != 3*time.Second || !ok || err.Error() != "calling: wait 3s (JSON-RPC error 429)" {
		t.Errorf("%v: %v, %v", err, after, ok)
	}
	for data, want := range map[string]time.Duration{ // as a client has it
		`{"retryAfterMs":1500}`:      1500 * time.Millisecond,
		`{"retryAfterMs":-1,"x":[]}`: 0,
		`{"retryAfterMs":1e30}`:      math.MaxInt64,
		`{"retryAfterMs":0.5}`:       500 * time.Microsecond,
	} {
		err := fmt.Errorf("calling: %w", &protocol.Error{Code: 1, Data: json.RawMessage(data)})
		if after, ok := protocol.RetryAfter(err); after != want || !ok {
			t.Errorf("%s: %v, %v", data, after, ok)
		}
	}
	for _, err := range []error{
		nil, errors.New("x"), &protocol.Error{Code: protocol.CodeTooMany}, &protocol.Error{Data: "x"},
		&protocol.Error{Data: json.RawMessage(`{"retryAfterMs":"1"}`)}, &protocol.Error{Data: json.RawMessage(`[1]`)}, &protocol.Error{Data: json.RawMessage(`{}`)},
	} {
		if after, ok := protocol.RetryAfter(err); ok {
			t.Errorf("%v says %v", err, after)
		}
	}
}
