package binding_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"sync"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// TestMapsShareNothing checks that no map contains anything of another map that is read or written at the same
// time or later, although the memory for reading and writing is used again.
func TestMapsShareNothing(t *testing.T) {
	t.Parallel()
	type both struct {
		Texts  map[string]string         `json:"texts"`
		Counts map[int]map[string]uint16 `json:"counts"`
	}
	in := mustCompile(t, reflect.TypeFor[both](), binding.Input, binding.Options{})
	out := mustCompile(t, reflect.TypeFor[both](), binding.Output, binding.Options{})
	check := func(size int) {
		want := both{Texts: map[string]string{}, Counts: map[int]map[string]uint16{}}
		for i := range size {
			want.Texts[fmt.Sprint("k", i)] = fmt.Sprint(size, " ", i)
			want.Counts[i%3] = map[string]uint16{fmt.Sprint(i): uint16(size)}
		}
		text, err := out.Encode(reflect.ValueOf(want))
		if plain, _ := json.Marshal(want); err != nil || string(text) != string(plain) {
			t.Errorf("%d members are written as %s, %v, want %s", size, text, err, plain)
		}
		var got both
		if _, err := in.Decode(context.Background(), text, reflect.ValueOf(&got).Elem()); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %v, %v", text, got, err)
		}
	}
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 100 {
				check((i * (worker + 1)) % 150)
			}
		})
	}
	all.Wait()
}

// TestFailedMapsLeaveNothing checks that neither a map with a bad value nor a map that cannot be written
// leaves anything in this memory.
func TestFailedMapsLeaveNothing(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[map[string]float64](), binding.Input, binding.Options{})
	for range 50 {
		var m map[string]float64
		into := reflect.ValueOf(&m).Elem()
		if _, err := p.Decode(context.Background(), []byte(`{"a":1,"b":"x","b":2,"c":{}}`), into); err == nil {
			t.Fatalf("%v was read", m)
		}
		if _, err := p.Decode(context.Background(), []byte(`{"d":4}`), into); err != nil || !maps.Equal(m, map[string]float64{"d": 4}) {
			t.Fatalf("read %v, %v", m, err)
		}
		if text, err := p.Encode(reflect.ValueOf(map[string]float64{"a": math.NaN(), "b": 1})); err == nil {
			t.Fatalf("written as %s", text)
		}
		if text, err := p.Encode(into); err != nil || string(text) != `{"d":4}` {
			t.Fatalf("written as %s, %v", text, err)
		}
	}
}
