package framework_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// TestEveryMethod walks the table of methods (protocol/dialect/methods.go). A server with all
// capabilities has each method of the revision and none of the others, and a server without
// components has only those that need no capability.
func TestEveryMethod(t *testing.T) {
	t.Parallel()
	unconditional := []string{
		protocol.MethodInitialize, protocol.MethodDiscover, protocol.MethodPing, protocol.MethodListen, protocol.MethodSetLevel,
	}
	full, bare := build(t, completeApp()), build(t, quiet())
	for _, d := range dialect.All() {
		for _, method := range dialect.Methods() {
			if strings.HasPrefix(method, "notifications/") || method == protocol.MethodInitialize && !d.Handshake() {
				continue // an initialize is always of a revision with a handshake
			}
			t.Run(d.String()+"/"+method, func(t *testing.T) {
				t.Parallel()
				params, exists := goldenParams(t, d, method)
				asks := exists && !slices.Contains(serverOnly(d), method)
				if got := hasMethod(t, full, d, method, params); got != asks {
					t.Errorf("a server with all capabilities serves it: %t, want %t", got, asks)
				}
				want := asks && slices.Contains(unconditional, method)
				if got := hasMethod(t, bare, d, method, params); got != want {
					t.Errorf("a server without components serves it: %t, want %t", got, want)
				}
			})
		}
	}
}

// serverOnly returns the requests that only servers send: their golden files are of the other side.
func serverOnly(d *dialect.Dialect) (names []string) {
	for _, method := range []string{protocol.MethodCreateMessage, protocol.MethodListRoots, protocol.MethodElicit} {
		if d.ServerMethod(method) {
			names = append(names, method)
		}
	}
	return names
}

// completeApp has all that a capability is declared for.
func completeApp() *framework.App {
	type in struct {
		ID string `json:"id" uri:"id"`
	}
	one := func(context.Context, in) (string, error) { return "one", nil }
	return quiet().Add(
		framework.Tool("t", one, framework.Task(framework.TaskOptional)),
		framework.Resource("a://one", func(context.Context) (string, error) { return "one", nil }),
		framework.ResourceTemplate("b://{id}", one),
		framework.Prompt("p", func(context.Context, in) (framework.Messages, error) { return nil, nil },
			framework.Complete("id", func(context.Context, string, map[string]string) ([]string, error) { return nil, nil })),
	)
}

// goldenParams returns the params of the method's golden file, without _meta; exists says that the
// revision has the file.
func goldenParams(t *testing.T, d *dialect.Dialect, method string) (params string, exists bool) {
	t.Helper()
	name := strings.ReplaceAll(method, "/", ".") + ".params.json"
	text, err := os.ReadFile(filepath.Join("..", "protocol", "dialect", "testdata", d.String(), name))
	if err != nil {
		return "{}", false
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	delete(members, "_meta")
	bare, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(bare), true
}

// hasMethod reports whether the request is answered with anything but "method not found".
func hasMethod(t *testing.T, s *framework.Server, d *dialect.Dialect, method, params string) bool {
	t.Helper()
	p := dial(t, s, d.Revision())
	if method == protocol.MethodListen && d.ListenStream() {
		return listens(p, params)
	}
	r := p.call(method, params)
	return r.Error == nil || r.Error.Code != -32601
}

// listens reports whether subscriptions/listen is served, and ends the stream.
func listens(p *peer, params string) bool {
	opened := make(chan string, 1)
	p.watch(opened)
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	p.ctx = ctx
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":"listen","method":%q,"params":%s}`, protocol.MethodListen, p.params(protocol.MethodListen, params)))
	}()
	select {
	case <-opened:
		cancel()
		<-ended
		return true
	case <-ended:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.answers[`"listen"`]
	return r.Error == nil || r.Error.Code != -32601
}
