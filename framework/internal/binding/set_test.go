package binding_test

import (
	"reflect"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// TestSet checks that a type is compiled once for each mode, with its faults.
func TestSet(t *testing.T) {
	t.Parallel()
	type counted struct {
		N int `json:"n"`
	}
	var set binding.Set
	in := reflect.TypeFor[counted]()
	first, _ := set.Compile(in, binding.Input)
	again, _ := set.Compile(in, binding.Input)
	loose, _ := set.CompileLoose(in, binding.Input)
	output, _ := set.Compile(in, binding.Output)
	if first == nil || again != first || loose == first || output == first {
		t.Fatalf("%p %p %p %p", first, again, loose, output)
	}
	for plan, fails := range map[*binding.Plan]bool{first: true, loose: false} {
		if _, err := plan.Decode(t.Context(), []byte(`{"n":1,"other":2}`), reflect.New(in).Elem()); (err != nil) != fails {
			t.Errorf("an unknown member: %v", err)
		}
	}
	for range 2 {
		if plan, faults := set.Compile(reflect.TypeFor[chan int](), binding.Output); plan != nil || len(faults) != 1 {
			t.Errorf("%v, %v", plan, faults)
		}
	}
}
