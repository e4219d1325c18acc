package target

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"
)

// Echo answers with the bytes that another server has answered with: the limit that
// nothing gets below on that carrier.
type Echo struct {
	Kind  string        // content type
	Close bool          // each answer ends its connection
	Wait  time.Duration // how long each answer keeps the processor busy

	body []byte
	at   int // where the id stands
}

// Variables of the environment of an echo.
const (
	SampleVar = "BENCH_SAMPLE" // file with the answer of another server
	KindVar   = "BENCH_KIND"   // its content type
	CloseVar  = "BENCH_CLOSE"  // set: each answer ends its connection
	WaitVar   = "BENCH_WAIT"   // how long each answer keeps the processor busy, as time.ParseDuration reads it
)

const (
	idDigits = 10
	member   = `"id":`
)

// newEcho reads the environment. The answer to a handshake is made up.
func newEcho() (*Echo, error) {
	body, err := os.ReadFile(os.Getenv(SampleVar))
	if err != nil {
		return nil, fmt.Errorf("reading the sample: %w", err)
	}
	e := &Echo{Kind: os.Getenv(KindVar), Close: os.Getenv(CloseVar) != "", body: body}
	if e.at, err = idAt(body); err != nil {
		return nil, err
	}
	if wait := os.Getenv(WaitVar); wait != "" {
		if e.Wait, err = time.ParseDuration(wait); err != nil {
			return nil, fmt.Errorf("reading %s: %w", WaitVar, err)
		}
	}
	return e, nil
}

var errNoID = errors.New("no id of ten digits")

// idAt finds an id of ten digits.
func idAt(message []byte) (int, error) {
	for from := 0; ; {
		i := bytes.Index(message[from:], []byte(member))
		if i < 0 {
			return 0, errNoID
		}
		from += i + len(member)
		if len(message) >= from+idDigits && isNumber(message[from:from+idDigits]) {
			return from, nil
		}
	}
}

func isNumber(text []byte) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

var (
	initialize = []byte(`"method":"initialize"`)
	handshake  = []byte(`{"jsonrpc":"2.0","id":0000000000,"result":{}}`)
)

// Append appends the answer to a request. There is none to what has no id.
func (e *Echo) Append(to, request []byte) []byte {
	at, err := idAt(request)
	if err != nil {
		return to
	}
	body, place := e.body, e.at
	if bytes.Contains(request[:min(len(request), 128)], initialize) {
		body, place = handshake, len(`{"jsonrpc":"2.0","id":`)
	}
	for received := time.Now(); e.Wait > 0 && time.Since(received) < e.Wait; { //nolint:revive // a busy processor is the point
	}
	start := len(to)
	to = append(to, body...)
	copy(to[start+place:], request[at:at+idDigits])
	return to
}
