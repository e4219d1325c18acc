package binding_test

import (
	"reflect"
	"testing"
)

// TestNothingLeaksBetweenValues checks a member that one entry of a map, or one item of a list, leaves out. It
// must be the default or the zero value, and not the value of the entry before.
func TestNothingLeaksBetweenValues(t *testing.T) {
	t.Parallel()
	type inner struct {
		N *int     `json:"n"`
		L []string `json:"l,omitempty"`
	}
	type entry struct {
		A string            `json:"a,omitempty"`
		P *string           `json:"p"`
		D int               `json:"d" default:"7"`
		I inner             `json:"i,omitzero"`
		M map[string]string `json:"m,omitempty"`
		X any               `json:"x,omitempty"`
	}
	type in struct {
		Values   map[string]entry  `json:"values,omitempty"`
		Pointers map[string]*entry `json:"pointers,omitempty"`
		List     []entry           `json:"list,omitempty"`
		Array    [2]entry          `json:"array,omitempty"`
		Deep     []map[int]entry   `json:"deep,omitempty"`
	}
	const full = `{"a":"x","p":"y","d":1,"i":{"n":2,"l":["z"]},"m":{"k":"v"},"x":{"y":1}}`
	raw := `{"values":{"1":` + full + `,"2":{}},"pointers":{"1":` + full + `,"2":{}},"list":[` + full + `,{}],"array":[` + full + `,{}],"deep":[{"1":` + full + `,"2":{}},{"1":{}}]}`
	got, _, err := decodeTo[in](t, raw)
	if err != nil {
		t.Fatal(err)
	}
	want := entry{D: 7}
	for name, e := range map[string]entry{
		"a value of a map": got.Values["2"], "a pointer of a map": *got.Pointers["2"], "an item": got.List[1], "an item of an array": got.Array[1],
		"a value of an inner map": got.Deep[0][2], "a value of the next map": got.Deep[1][1],
	} {
		if !reflect.DeepEqual(e, want) {
			t.Errorf("%s: %+v, want %+v", name, e, want)
		}
	}
	if got.Values["1"].A != "x" || got.List[0].I.L[0] != "z" {
		t.Errorf("the first entries: %+v", got)
	}
}
