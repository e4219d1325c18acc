package client_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

func TestExchange(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ frame, answer string }{
		"request":            {`{"jsonrpc":"2.0","id":1,"method":"x"}`, `{"jsonrpc":"2.0","id":1,"result":{"a": 1}}`},
		"string id":          {`{"jsonrpc":"2.0","id":"1","method":"x"}`, `{"jsonrpc":"2.0","id":"1","error":{"code":1,"message":"m"}}`},
		"not JSON":           {`{"jsonrpc`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`},
		"unreadable id":      {`{"jsonrpc":"2.0","id":{},"method":"x"}`, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"m"}}`},
		"id that is ignored": {`{"jsonrpc":"1.0","id":7,"method":"x"}`, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"m"}}`},
		"batch":              {`[{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":5,"method":"x"}]`, `[{"jsonrpc":"2.0","id":5,"result":{}}]`},
		"refused batch":      {`[{"jsonrpc":"2.0","id":5,"method":"x"}]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"m"}}`},
		"empty batch":        {`[]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"m"}}`},
		"notification":       {`{"jsonrpc":"2.0","method":"n"}`, ``},
		"response":           {`{"jsonrpc":"2.0","id":3,"result":{}}`, ``},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, wait := connect(t, func(f *fake) {
				f.modern()
				if got := string(<-f.in); got != tt.frame {
					f.t.Errorf("the server got %s", got)
				}
				if tt.answer != "" {
					f.send("%s", tt.answer)
				}
			})
			got, err := c.Exchange(t.Context(), []byte(tt.frame))
			if err != nil || string(got) != tt.answer || (got == nil) != (tt.answer == "") {
				t.Errorf("got %q, %v", got, err)
			}
			wait()
		})
	}
}

func TestExchangeRefusesAnIDInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refused := make(chan struct{})
		c, wait := connect(t, func(f *fake) {
			f.modern()
			m := f.next()
			<-refused
			f.result(m, `{}`)
		})
		go func() {
			_, _ = c.Exchange(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"method":"x"}`))
		}()
		synctest.Wait()
		_, err := c.Exchange(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"method":"x"}`))
		if err == nil || !strings.Contains(err.Error(), "in flight") {
			t.Errorf("error %v", err)
		}
		close(refused)
		wait()
	})
}

// An error without id must be about the only request there is.
func TestErrorWithoutIDEndsTheOnlyCall(t *testing.T) {
	t.Parallel()
	c, wait := connect(t, func(f *fake) {
		f.modern()
		f.expect(protocol.MethodCallTool)
		f.send(`{"jsonrpc":"2.0","error":{"code":-32600,"message":"frame exceeds 1 bytes"}}`)
	})
	_, err := c.CallTool(t.Context(), "x", nil)
	if err == nil || !strings.Contains(err.Error(), "exceeds") {
		t.Errorf("error %v", err)
	}
	wait()
	_ = c.Close()
	if _, err := c.Exchange(t.Context(), []byte(`{}`)); !errors.Is(err, client.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
