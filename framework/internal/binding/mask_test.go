package binding_test

import (
	"encoding/json"
	"errors"
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

// TestMaskOfUnion checks that nothing is shown of a value that may have several types if one of them has a secret.
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

// FuzzMask checks that the output for any JSON is JSON without any part of a secret member.
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

// TestSecretNames checks that no text contains names that a caller gives in a secret value. Names of its
// fields may be shown.
func TestSecretNames(t *testing.T) {
	t.Parallel()
	type part struct {
		N    int            `json:"n" validate:"max=3"`
		More map[string]int `json:"more,omitempty"`
	}
	type in struct {
		Map  map[string]string `json:"map,omitempty" secret:"true" validate:"dive,keys,alpha,endkeys,min=4"`
		Num  map[int]int       `json:"num,omitempty" secret:"true"`
		Sub  *part             `json:"sub,omitempty" secret:"true"`
		List []part            `json:"list,omitempty" secret:"true"`
		Open map[string]part   `json:"open,omitempty"`
	}
	p := mustCompile(t, reflect.TypeFor[in](), binding.Input, binding.Options{})
	for raw, want := range map[string]string{
		`{"map":{"SECRET1":"long enough"}}`:           "/map/[hidden]",
		`{"map":{"SECRET":"x"}}`:                      "/map/[hidden]",
		`{"map":{"SECRET":1}}`:                        "/map/[hidden]",
		`{"num":{"SECRET":1}}`:                        "/num/[hidden]",
		`{"sub":{"n":1,"SECRET":1}}`:                  "/sub/[hidden]",
		`{"sub":{"n":9}}`:                             "/sub/n",
		`{"sub":{"n":1,"more":{"SECRET":"x"}}}`:       "/sub/more/[hidden]",
		`{"list":[{"n":1},{"n":1,"SECRET":{}}]}`:      "/list/1/[hidden]",
		`{"open":{"public":{"n":1,"also":"x"}}}`:      "/open/public/also",
		`{"open":{"public":{"n":1,"more":{"a":""}}}}`: "/open/public/more/a",
	} {
		var v in
		_, err := p.Decode(t.Context(), []byte(raw), reflect.ValueOf(&v).Elem())
		var invalid *binding.Invalid
		if !errors.As(err, &invalid) || invalid.Issues[0].Path != want || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// tLogin reads its own JSON.
type tLogin struct {
	User     string `json:"user"`
	Password string `json:"password" secret:"true"`
}

func (l *tLogin) UnmarshalJSON(raw []byte) error {
	type plain tLogin
	return json.Unmarshal(raw, (*plain)(l))
}

// TestMaskOfOwnJSON checks that a value that a type with a secret reads itself is hidden as a whole.
func TestMaskOfOwnJSON(t *testing.T) {
	t.Parallel()
	m := maskOf[struct {
		L    tLogin   `json:"l"`
		All  []tLogin `json:"all,omitempty"`
		Open tLogin   `json:"open" secret:"false"`
	}](t)
	const raw = `{"l":{"user":"u","password":"s"},"all":[{"password":"s"}],"open":{"user":"u"}}`
	if got := string(m.Append(nil, []byte(raw), "#", func([]byte) {})); got != `{"l":"#","all":"#","open":{"user":"u"}}` {
		t.Errorf("got %s", got)
	}
}
