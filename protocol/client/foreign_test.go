package client_test

import (
	"slices"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
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
