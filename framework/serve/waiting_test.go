//go:build unix

package serve_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

type waitingName struct {
	Name string `json:"name"`
}

// TestWaitingTasksOverHTTP: a task that waits for an answer holds its record, and nothing
// of the request that made it.
func TestWaitingTasksOverHTTP(t *testing.T) {
	const most = 3 << 10 // bytes a task
	number := rounds(2_000, 10_000)
	c := faultCarriers()[0]
	l := faultListener(t)
	s := &faultSite{t: t, addr: l.Addr().String(), hub: newFaultHub(), ended: make(chan struct{})}
	app := framework.New("waiting", "1", framework.WithLogger(zap.NewNop()))
	app.Add(framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
		answer, err := framework.Elicit[waitingName](ctx, "Who?")
		return answer.Name, err
	}, framework.Describe("Ask."), framework.Task(framework.TaskOptional)))
	server, err := app.Build()
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	s.end = end
	go func() {
		defer close(s.ended)
		if err := server.Serve(ctx, c.make(l, faultLimits{})); err != nil {
			t.Errorf("Serve: %v", err)
		}
	}()
	t.Cleanup(s.stop)
	client := &benchClient{addr: s.addr, buf: make([]byte, 64<<10)}
	defer client.drop()
	meta := `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	create := func(id int) {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"ask","arguments":{},"_meta":{%s}}}`, id, meta)
		answer, err := client.roundTrip([]byte(faultPost(body, "MCP-Protocol-Version: "+protocol.Rev20260728.String(), "Mcp-Method: tools/call", "Mcp-Name: ask", "X-Forwarded-For: 192.0.2.1", "User-Agent: a client with a name of some length")))
		if err != nil || !bytes.Contains(answer, []byte(`"resultType":"task"`)) {
			t.Fatalf("%q, %v", answer, err)
		}
	}
	for id := range 100 {
		create(id)
	}
	goroutines, _ := faultGoroutines()
	heap := faultHeap()
	for id := range number {
		create(100 + id)
	}
	faultSettle(t, goroutines+soakGoroutines)
	each := int(faultHeap()-heap) / number //nolint:gosec // it fits
	t.Logf("%d bytes a task", each)
	if each > most && !raceEnabled {
		t.Errorf("a waiting task takes %d bytes, documented are at most %d", each, most)
	}
}
