package plan_test

import (
	"reflect"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/binding/plan"
)

func mustCompile(t testing.TB, typ reflect.Type, mode plan.Mode, opts plan.Options) *plan.Plan {
	t.Helper()
	p, faults := plan.Compile(typ, mode, opts)
	if p == nil {
		t.Fatalf("%s: %v", typ, faults)
	}
	return p
}
