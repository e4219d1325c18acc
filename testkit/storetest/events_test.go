package storetest_test

import (
	"testing"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/testkit/storetest"
)

func TestEvents(t *testing.T) {
	t.Parallel()
	storetest.Events(t, func(testing.TB) eventlog.Store { return memory.New().Events() })
}
