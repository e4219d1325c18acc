package client_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// TestEveryServerRequest walks the table of methods (protocol/dialect/methods.go): a client that can
// do everything has each request of servers that its revision has on the wire, and no other.
func TestEveryServerRequest(t *testing.T) {
	t.Parallel()
	for _, d := range dialect.All() {
		if !d.ServerRequests() {
			continue // they are in results: see the tests of rounds
		}
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			c, _ := connect(t, func(f *fake) {
				f.legacy(d.String())
				call := f.expect(protocol.MethodCallTool)
				for _, method := range dialect.Methods() {
					if !strings.HasPrefix(method, "notifications/") {
						f.tries(d, method)
					}
				}
				f.result(call, `{"content":[]}`)
			}, capable()...)
			if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// tries sends a request to the client and checks whether the client has the method.
func (f *fake) tries(d *dialect.Dialect, method string) {
	f.t.Helper()
	params := "{}"
	name := strings.ReplaceAll(method, "/", ".") + ".params.json"
	if text, err := os.ReadFile(filepath.Join("..", "dialect", "testdata", d.String(), name)); err == nil {
		params = string(text)
	}
	answer := f.question(method, params)
	if has := answer.Error == nil || answer.Error.Code != -32601; has != d.ServerMethod(method) {
		f.t.Errorf("%s: the client has %s: %t, want %t", d, method, has, !has)
	}
}

// capable are options for all that a server may ask.
func capable() []client.Option {
	return []client.Option{
		client.OnElicit(func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) {
			return &client.ElicitAnswer{Action: "decline"}, nil
		}),
		client.OnSample(func(context.Context, *client.SampleRequest) (*client.SampleAnswer, error) {
			return &client.SampleAnswer{Model: "m", Content: []protocol.Block{protocol.Text{Text: "a"}}}, nil
		}),
		client.OnRoots(func(context.Context) ([]protocol.Root, error) { return nil, nil }),
	}
}
