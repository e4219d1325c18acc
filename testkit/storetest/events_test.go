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

func TestEventsFull(t *testing.T) {
	t.Parallel()
	storetest.EventsFull(t, func(_ testing.TB, total int) eventlog.Store {
		return memory.Sized(memory.Bounds{TotalBytes: total}).Events()
	})
}
