package binding_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

type maskTree struct {
	Word  string                 `json:"word,omitempty" secret:"true"`
	Name  string                 `json:"name,omitempty"`
	Left  *maskTree              `json:"left,omitempty"`
	All   []maskTree             `json:"all,omitempty"`
	ByKey map[string][2]maskTree `json:"byKey,omitempty"`
}

type maskOuter struct {
	Tree  maskTree `json:"tree,omitzero"`
	Plain maskBare `json:"plain,omitzero"`
	Any   any      `json:"any,omitempty"`
}

type maskBare struct {
	Word string     `json:"word,omitempty"`
	More []maskBare `json:"more,omitempty"`
}

func maskOf[T any](t testing.TB) *binding.Mask {
	t.Helper()
	plan, faults := binding.Compile(reflect.TypeFor[T](), binding.Input, binding.Options{})
	if plan == nil {
		t.Fatalf("faults: %v", faults)
	}
	return binding.MaskOf(plan)
}

func TestMask(t *testing.T) {
	t.Parallel()
	m := maskOf[maskOuter](t)
	for raw, want := range map[string]string{
		`{}`:                                                   `{}`,
		`{"tree":{"word":"s","name":"n"}}`:                     `{"tree":{"word":"#","name":"n"}}`,
		`{"tree":{"left":{"left":{"word":1}}}}`:                `{"tree":{"left":{"left":{"word":"#"}}}}`,
		`{"tree":{"all":[{"word":{"a":[1]}},{}]}}`:             `{"tree":{"all":[{"word":"#"},{}]}}`,
		`{"tree":{"byKey":{"k":[{"word":"s"},{"name":"n"}]}}}`: `{"tree":{"byKey":{"k":[{"word":"#"},{"name":"n"}]}}}`,
		`{"tree":{"Word":"s","wrod":"s"}}`:                     `{"tree":{"Word":"#","wrod":"#"}}`,
		`{"tree":{"word":null,"left":null}}`:                   `{"tree":{"word":"#","left":null}}`,
		`{"tree":"{\"word\":\"s\"}"}`:                          `{"tree":"#"}`,
		`{"tree":["s"]}`:                                       `{"tree":"#"}`,
		`{"tree":{"all":{"word":"s"},"byKey":["s"]}}`:          `{"tree":{"all":"#","byKey":"#"}}`,
		`{"plain":{"word":"p","more":[{"word":"p"}]}}`:         `{"plain":{"word":"p","more":[{"word":"p"}]}}`,
		`{"plain":{"Word":"p"},"any":{"word":2}}`:              `{"plain":{"Word":"p"},"any":{"word":2}}`,
		`{"Tree":{"word":"s"},"unknown":"s"}`:                  `{"Tree":"#","unknown":"#"}`,
		` { "tree" : { "w\u006frd" : "s" } } `:                 `{"tree":{"w\u006frd":"#"}}`,
		`"s"`:                                                  `"#"`,
	} {
		var told []string
		got := string(m.Append(nil, []byte(raw), "#", func(value []byte) { told = append(told, string(value)) }))
		if got != want {
			t.Errorf("%s\nis   %s\nwant %s", raw, got, want)
		}
		if len(told) != strings.Count(want, `"#"`) {
			t.Errorf("%s: told of %v", raw, told)
		}
	}
}

// Of a value that may be of several types nothing is shown where one of them has a secret.
func TestMaskOfUnion(t *testing.T) {
	t.Parallel()
	type in struct {
		Name  string            `json:"name"`
		Shape uShape            `json:"shape"`
		By    map[string]uShape `json:"by,omitempty"`
		Flat  uFlat             `json:"flat"`
	}
	plan := mustCompile(t, reflect.TypeFor[in](), binding.Input, binding.Options{Unions: unions()})
	raw := `{"name":"n","shape":{"kind":"circle","r":1},"by":{"a":{"kind":"square","pin":"s"}},"flat":{"side of it":"left","x":1}}`
	want := `{"name":"n","shape":"#","by":{"a":"#"},"flat":{"side of it":"left","x":1}}`
	if got := string(binding.MaskOf(plan).Append(nil, []byte(raw), "#", func([]byte) {})); got != want {
		t.Errorf("is   %s\nwant %s", got, want)
	}
}

func TestMaskOfNothing(t *testing.T) {
	t.Parallel()
	if binding.MaskOf(nil) != nil || maskOf[maskBare](t) != nil {
		t.Error("a type without secrets has a mask")
	}
}

// Whatever comes in, what goes out is JSON, and has nothing of a secret member.
func FuzzMask(f *testing.F) {
	for _, seed := range []string{`{"tree":{"word":"s"}}`, `{"tree":{"all":[{"word":["s"]}]}}`, `{"Tree":{"word":"s"}}`, `[]`, `{"any":[{"a":null}]}`} {
		f.Add(seed)
	}
	m := maskOf[maskOuter](f)
	f.Fuzz(func(t *testing.T, raw string) {
		if !json.Valid([]byte(raw)) {
			return
		}
		got := m.Append(nil, []byte(raw), "#", func([]byte) {})
		if !json.Valid(got) {
			t.Fatalf("%s is masked as %s", raw, got)
		}
		var v struct{ Tree struct{ Word any } }
		if json.Unmarshal(got, &v) == nil && v.Tree.Word != nil && !slices.Contains([]any{"#"}, v.Tree.Word) {
			t.Errorf("%s is masked as %s", raw, got)
		}
	})
}
