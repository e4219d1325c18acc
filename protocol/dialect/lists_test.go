package dialect_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// TestListsReserveNothing: a list with a million wrong items is refused without room for them.
func TestListsReserveNothing(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	raw := []byte(`{"tools":[` + strings.Repeat("0,", 1<<20) + `0],"ttlMs":0,"cacheScope":"public"}`)
	d := dialect.All()[len(dialect.All())-1]
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, fault := d.DecodeResult(protocol.MethodListTools, raw)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; fault == nil || n > 1<<20 {
		t.Errorf("%v, %d bytes", fault, n)
	}
}
