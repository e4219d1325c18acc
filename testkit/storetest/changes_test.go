package storetest_test

import (
	"testing"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/testkit/storetest"
)

func TestChanges(t *testing.T) {
	t.Parallel()
	storetest.Changes(t, func(testing.TB) change.Bus { return memory.New().Changes() })
}
