package storetest_test

import (
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/testkit/storetest"
)

func TestQueue(t *testing.T) {
	t.Parallel()
	storetest.Queue(t, func(_ testing.TB, life time.Duration) (a, b storetest.QueueStore) {
		s := memory.Sized(memory.Bounds{LeaseLife: life}).Tasks().(storetest.QueueStore)
		return s, s
	})
}
