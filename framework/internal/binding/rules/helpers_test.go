package rules_test

import (
	"reflect"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

func mustCompile(t testing.TB, typ reflect.Type, mode binding.Mode, opts binding.Options) *binding.Plan {
	t.Helper()
	p, faults := binding.Compile(typ, mode, opts)
	if p == nil {
		t.Fatalf("%s: %v", typ, faults)
	}
	return p
}
