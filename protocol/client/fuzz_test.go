package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// Whatever a server sends, the client goes on.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":` + form + `}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1002,"progress":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x://a"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`[{"jsonrpc":"2.0","id":1002,"result":{}},7]`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`,
		`{"jsonrpc":"2.0","id":1002,"result":{},"error":{}}`,
		"not JSON", "[]", "",
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, frame []byte, handshake bool) {
		c, _ := connect(t, func(f *fake) {
			if handshake {
				f.legacy("2025-11-25")
			} else {
				f.modern()
			}
			f.send("%s", frame)
			for {
				select {
				case got := <-f.in:
					if bytes.Contains(got, []byte(`"ping"`)) || bytes.Contains(got, []byte(`"server/discover"`)) {
						select {
						case f.out <- []byte(`{"jsonrpc":"2.0","id":` + idIn(got) + `,"result":{}}`):
						case <-f.gone:
						}
						return
					}
				case <-f.gone:
					return
				}
			}
		}, client.OnElicit(func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) {
			return &client.ElicitAnswer{Action: "cancel"}, nil
		}), client.OnNotification(func(context.Context, protocol.Notification) {}))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		// The frame may answer the ping, in its way; but the ping must be answered.
		if err := c.Ping(ctx); errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("Ping after %q: %v", frame, err)
		}
	})
}
