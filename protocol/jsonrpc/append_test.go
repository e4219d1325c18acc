package jsonrpc_test

import (
	"testing"

	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

func TestAppend(t *testing.T) {
	t.Parallel()
	id := jsonrpc.IntID(7)
	plain := &jsonrpc.Error{Code: -32601, Message: "no \"x\"\n"}
	data := &jsonrpc.Error{Code: 1, Message: "m", Data: []byte(`{"a":1}`)}
	tests := []struct {
		name string
		got  []byte
		want string
	}{
		{"request", jsonrpc.AppendRequest(nil, id, "tools/list", nil), `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`},
		{
			"request with params", jsonrpc.AppendRequest(nil, jsonrpc.StringID("a"), "m", []byte(`{"x":1}`)),
			`{"jsonrpc":"2.0","id":"a","method":"m","params":{"x":1}}`,
		},
		{"request without id", jsonrpc.AppendRequest(nil, jsonrpc.ID{}, "m", nil), `{"jsonrpc":"2.0","method":"m"}`},
		{"notification", jsonrpc.AppendNotification(nil, "n\"", nil), `{"jsonrpc":"2.0","method":"n\""}`},
		{"notification with params", jsonrpc.AppendNotification([]byte("x"), "n", []byte(`{}`)), `x{"jsonrpc":"2.0","method":"n","params":{}}`},
		{"result", jsonrpc.AppendResult([]byte("x"), id, []byte(`{"a":1}`)), `x{"jsonrpc":"2.0","id":7,"result":{"a":1}}`},
		{"nil result", jsonrpc.AppendResult(nil, id, nil), `{"jsonrpc":"2.0","id":7,"result":{}}`},
		{"error", jsonrpc.AppendError(nil, id, plain, true), `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no \"x\"\n"}}`},
		{"error without id", jsonrpc.AppendError(nil, jsonrpc.ID{}, data, false), `{"jsonrpc":"2.0","error":{"code":1,"message":"m","data":{"a":1}}}`},
		{"error with null id", jsonrpc.AppendError(nil, jsonrpc.ID{}, data, true), `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m","data":{"a":1}}}`},
	}
	for _, tt := range tests {
		if string(tt.got) != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, tt.got, tt.want)
		}
	}
}
