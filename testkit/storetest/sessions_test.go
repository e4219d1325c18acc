package storetest_test

import (
	"testing"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/testkit/storetest"
)

func TestSessions(t *testing.T) {
	t.Parallel()
	storetest.Sessions(t, func(testing.TB) session.Store { return memory.New().Sessions() })
}
