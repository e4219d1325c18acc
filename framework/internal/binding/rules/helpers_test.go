package rules_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// structWith returns a struct type with one field, V, and its tag.
func structWith(t reflect.Type, tag string) reflect.Type {
	return reflect.StructOf([]reflect.StructField{{Name: "V", Type: t, Tag: reflect.StructTag(`json:"v" ` + tag)}})
}

func quoteTag(key, value string) string { return fmt.Sprintf("%s:%q", key, value) }

func mustCompile(t testing.TB, typ reflect.Type, mode binding.Mode, opts binding.Options) *binding.Plan {
	t.Helper()
	p, faults := binding.Compile(typ, mode, opts)
	if p == nil {
		t.Fatalf("%s: %v", typ, faults)
	}
	return p
}
