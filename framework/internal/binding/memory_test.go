package binding_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// TestTextsAreTheCallsOwn checks that no string of a call changes with the next call, or with the text that it
// was read from, and that no string keeps a long text in memory.
func TestTextsAreTheCallsOwn(t *testing.T) {
	t.Parallel()
	type in struct {
		A, B string
		L    []string
		M    map[string]string
	}
	p := mustCompile(t, reflect.TypeFor[in](), binding.Input, binding.Options{})
	read := func(letter string) in {
		raw := []byte(strings.ReplaceAll(`{"A":"x\u0041","B":"`+strings.Repeat("x", 600)+`","L":["x","","xx"],"M":{"x":"x","kx":""}}`, "x", letter))
		var v in
		if _, err := p.Decode(context.Background(), raw, reflect.ValueOf(&v).Elem()); err != nil {
			t.Fatal(err)
		}
		clear(raw)
		return v
	}
	first := read("p")
	want := in{"pA", strings.Repeat("p", 600), []string{"p", "", "pp"}, map[string]string{"p": "p", "kp": ""}}
	for range 20 {
		read("q")
	}
	if !reflect.DeepEqual(first, want) {
		t.Errorf("got %+v", first)
	}
}

// TestAllocations checks that reading a value makes one allocation for each of its containers and one for its
// texts, and none for a scalar. Writing makes none.
func TestAllocations(t *testing.T) {
	type small struct {
		A int `json:"a" validate:"required,min=1"`
		B int `json:"b" validate:"oneof=2 3"`
	}
	var s small
	var search bSearch
	var m map[string]int
	buf := make([]byte, 0, 4096)
	for name, tt := range map[string]struct {
		most float64
		into reflect.Value
		raw  string
	}{
		"two numbers": {0, reflect.ValueOf(&s).Elem(), `{"a":1,"b":2}`},
		"ten fields":  {4, reflect.ValueOf(&search).Elem(), bRaw}, // two lists, a pointer, the texts
		"map":         {3, reflect.ValueOf(&m).Elem(), `{"a":1,"b":2,"c":3}`},
	} {
		p := mustCompile(t, tt.into.Type(), binding.Input, binding.Options{})
		raw := []byte(tt.raw)
		got := testing.AllocsPerRun(100, func() {
			if _, err := p.Decode(context.Background(), raw, tt.into); err != nil {
				t.Fatal(err)
			}
		})
		if got > tt.most && !raceEnabled {
			t.Errorf("reading %s makes %v allocations, documented are at most %v", name, got, tt.most)
		}
		write := testing.AllocsPerRun(100, func() { buf, _ = p.Append(buf[:0], tt.into) })
		if write > 0 && !raceEnabled {
			t.Errorf("writing %s makes %v allocations, documented are none", name, write)
		}
	}
	if !slices.Equal(search.Tags, []string{"a", "bb", "ccc"}) {
		t.Errorf("read %v", search.Tags)
	}
}

// TestEncodedBytesAreTheCallers checks that later calls do not write into the bytes of a result, short or
// long.
func TestEncodedBytesAreTheCallers(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[string](), binding.Output, binding.Options{})
	var kept [][]byte
	for i := range 40 {
		v := strings.Repeat(string(rune('a'+i%26)), 1<<(i%20))
		out, err := p.Encode(reflect.ValueOf(v))
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, out)
	}
	for i, out := range kept {
		if want := `"` + strings.Repeat(string(rune('a'+i%26)), 1<<(i%20)) + `"`; string(out) != want {
			t.Errorf("text %d of %d bytes has changed", i, len(want))
		}
	}
}
