package client_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// The tests of this file are about servers of other SDKs that do not quite follow the specification.

// TestListWithAnEmptyCursor: some servers write "" for no cursor, and read it as none.
func TestListWithAnEmptyCursor(t *testing.T) {
	t.Parallel()
	c, wait := connect(t, func(f *fake) {
		f.legacy("2025-06-18")
		for range 2 {
			f.result(f.expect(protocol.MethodListTools), `{"tools":[{"name":"t0","inputSchema":{"type":"object"}}],"nextCursor":""}`)
		}
	})
	var names []string
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	if !slices.Equal(names, []string{"t0"}) {
		t.Errorf("tools %v", names)
	}
	wait()
}

// TestAnswerWithItsIDAsText: some servers write the id of the request as a string.
func TestAnswerWithItsIDAsText(t *testing.T) {
	t.Parallel()
	for _, era := range eras() {
		c, wait := connect(t, func(f *fake) {
			f.era(era)
			f.send(`{"jsonrpc":"2.0","id":"%s","result":{"resultType":"complete","content":[]}}`, f.expect(protocol.MethodCallTool).ID)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if _, err := c.CallTool(ctx, "x", nil); err != nil {
			t.Errorf("%s: %v", era, err)
		}
		cancel()
		wait()
	}
}

// TestProgressWithItsTokenAsText: some servers write the token of the request as a string.
func TestProgressWithItsTokenAsText(t *testing.T) {
	t.Parallel()
	c, _ := connect(t, func(f *fake) {
		f.legacy("2025-06-18")
		m := f.expect(protocol.MethodCallTool)
		f.notify(protocol.NotificationProgress, `{"progressToken":"`+string(m.ID)+`","progress":1}`)
		f.result(m, `{"content":[]}`)
	})
	reports := 0
	_, err := c.CallTool(t.Context(), "x", nil, client.OnProgress(func(protocol.Progress) { reports++ }))
	if err != nil || reports != 1 {
		t.Errorf("%d reports, %v", reports, err)
	}
}
