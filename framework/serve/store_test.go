package serve_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"github.com/kagami-mcp/kagami/framework/serve"
	"github.com/kagami-mcp/kagami/framework/store/boltstore"
)

const opening = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

// addressed finds the address that a server writes when it is ready.
type addressed struct{ found chan string }

var address = regexp.MustCompile(`over HTTP on (\S+)`)

func (a addressed) Write(p []byte) (int, error) {
	if m := address.FindSubmatch(p); m != nil {
		a.found <- string(m[1])
	}
	return len(p), nil
}

// served runs the greeter over HTTP with more flags, opens a session, and ends it. Meanwhile a client waits
// on stdin for an answer that must not come.
func served(t *testing.T, flags ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := addressed{make(chan string, 1)}, make(chan error, 1)
	var out bytes.Buffer
	go func() {
		ended <- serve.Run(ctx, greeter(), append([]string{"--http", "127.0.0.1:0"}, flags...), serve.Streams(strings.NewReader(opening+"\n"), &out, ready))
	}()
	url := "http://" + within(t, ready.found) + "/mcp"
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(opening))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	if _ = answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK || answer.Header.Get("Mcp-Session-Id") == "" {
		t.Errorf("%s %s %v", answer.Status, body, err)
	}
	cancel()
	if err := within(t, ended); err != nil {
		t.Error(err)
	}
	if out.Len() > 0 {
		t.Errorf("a server of HTTP wrote to stdout: %s", &out)
	}
}

// TestStorePrefix: all keys on a Redis that programs share begin as the flag says.
func TestStorePrefix(t *testing.T) {
	t.Parallel()
	redis := miniredis.RunT(t)
	served(t, "--store", "redis://"+redis.Addr()+"/0?prefix=mine")
	keys := redis.Keys()
	for _, key := range keys {
		if !strings.HasPrefix(key, "mine") {
			t.Errorf("key %q", key)
		}
	}
	if len(keys) == 0 {
		t.Error("nothing was kept")
	}
}

// TestStoreIsClosed checks that a program that runs a server can open the file of the store after
// the server has ended.
func TestStoreIsClosed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kept.db")
	served(t, "--store", "file:"+path)
	kept, err := boltstore.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := kept.Close(); err != nil {
		t.Error(err)
	}
}
