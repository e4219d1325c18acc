package testkit_test

import (
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	empty := func() *framework.App { return framework.New("empty", "1") }
	for _, rev := range protocol.Revisions() {
		t.Run(rev.String(), func(t *testing.T) {
			t.Parallel()
			testkit.Conformance(t, newHandles().app(), rev.String())
		})
		t.Run(rev.String()+"/empty", func(t *testing.T) {
			t.Parallel()
			testkit.Conformance(t, empty, rev.String())
		})
	}
}
