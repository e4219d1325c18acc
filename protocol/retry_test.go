package protocol_test

import (
	"encoding/json"
	"errors"
	"fmt"
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
	for _, err := range []error{nil, errors.New("x"), &protocol.Error{Code: protocol.CodeTooMany}} {
		if after, ok := protocol.RetryAfter(err); ok {
			t.Errorf("%v says %v", err, after)
		}
	}
}
