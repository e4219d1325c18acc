package binding_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

type (
	dInner struct {
		Limit int    `json:"limit" validate:"min=1"`
		Name  string `json:"name" default:"x" validate:"min=1"`
	}
	dPair struct {
		A int `json:"a"`
		B int `json:"b" validate:"gtefield=A"`
	}
	dEither struct {
		A int `json:"a"`
		B int `json:"b" default:"9" validate:"eq=7|gtfield=A"`
	}
	dCross struct {
		A int `json:"a"`
		B int `json:"b" validate:"gtecsfield=Max"`
	}
)

// TestDefaultsOfStructs checks that the members of a default satisfy their rules, in structs and in lists and
// maps of structs.
func TestDefaultsOfStructs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		t    reflect.Type
		text string
		want bool
	}{
		{reflect.TypeFor[dInner](), `{"limit":0}`, false},
		{reflect.TypeFor[dInner](), `{"limit":1}`, true},
		{reflect.TypeFor[dInner](), `{"limit":1,"name":""}`, false},
		{reflect.TypeFor[*dInner](), `{"limit":0}`, false},
		{reflect.TypeFor[*dInner](), `{"limit":1}`, true},
		{reflect.TypeFor[*dInner](), `null`, true},
		{reflect.TypeFor[[]dInner](), `[{"limit":1},{"limit":0}]`, false},
		{reflect.TypeFor[[]dInner](), `[{"limit":1},{"limit":2}]`, true},
		{reflect.TypeFor[[]dInner](), `[]`, true},
		{reflect.TypeFor[[][]*dInner](), `[[{"limit":0}]]`, false},
		{reflect.TypeFor[map[string]dInner](), `{"k":{"limit":0}}`, false},
		{reflect.TypeFor[map[string]dInner](), `{"k":{"limit":3}}`, true},
		{reflect.TypeFor[dPair](), `{"a":2,"b":1}`, false},
		{reflect.TypeFor[dPair](), `{"a":1,"b":1}`, true},
		{reflect.TypeFor[[]dPair](), `[{"a":2,"b":1}]`, false},
		{reflect.TypeFor[dCross](), `{"a":2,"b":1}`, true},
		{reflect.TypeFor[dEither](), `{"a":1}`, true},
	} {
		owner := reflect.StructOf([]reflect.StructField{
			{Name: "V", Type: tt.t, Tag: reflect.StructTag(`json:"v" ` + quoteTag("default", tt.text))},
			{Name: "Max", Type: reflect.TypeFor[int](), Tag: `json:"max,omitempty"`},
		})
		p, faults := binding.Compile(owner, binding.Input, binding.Options{})
		if built := p != nil; built != tt.want {
			t.Errorf("%s %s: built %v, want %v: %v", tt.t, tt.text, built, tt.want, faults)
		}
		if p == nil && !strings.Contains(faults[0].Problem, "breaks the field's own rules") {
			t.Errorf("%s %s: %v", tt.t, tt.text, faults)
		}
	}
}
