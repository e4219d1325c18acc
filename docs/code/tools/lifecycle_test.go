package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/serve"
)

// TestAudited checks that the file has the call, and is closed when the server has ended.
func TestAudited(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.log")
	app, err := NewAudited(path)
	if err != nil {
		t.Fatal(err)
	}
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}}` + "\n")
	var out, log strings.Builder
	if err := serve.Run(t.Context(), app, nil, serve.Streams(in, &out, &log)); err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), `"add"`) {
		t.Errorf("the file has %q, %v\n%s", text, err, &out)
	}
	if _, err := NewAudited(t.TempDir()); err == nil {
		t.Error("a directory is no file")
	}
}
