package binding_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

type uShape interface{ shape() }

type uCircle struct {
	R    int    `json:"r" validate:"min=1,max=9"`
	Note string `json:"note,omitempty" validate:"max=3" default:"n"`
}

type uSquare struct {
	Kind string `json:"kind"`
	Side *int   `json:"side"`
	Pin  string `json:"pin,omitempty" secret:"true"`
}

type uGroup struct {
	Items []uShape          `json:"items" validate:"max=2"`
	Named map[string]uShape `json:"named,omitempty"`
	Back  uShape            `json:"back,omitempty"`
	Self  *uGroup           `json:"self"`
}

func (uCircle) shape()  {}
func (*uSquare) shape() {}
func (*uGroup) shape()  {}

type uPicture struct {
	Main  uShape            `json:"main"`
	Frame uShape            `json:"frame,omitempty" doc:"around it"`
	Rest  []uShape          `json:"rest,omitempty" validate:"min=1"`
	By    map[string]uShape `json:"by,omitempty"`
	Two   [2]uShape         `json:"two,omitzero"`
}

type uFlat interface{ flat() }

type uLeft struct {
	X int8 `json:"x"`
}

type uRight struct{}

func (uLeft) flat()  {}
func (uRight) flat() {}

type uFlatIn struct {
	V uFlat   `json:"v"`
	L []uFlat `json:"l,omitempty" validate:"unique"`
}

func unions() []binding.Union {
	return []binding.Union{
		{Interface: reflect.TypeFor[uShape](), Discriminator: "kind", Variants: map[string]reflect.Type{
			"square": reflect.TypeFor[*uSquare](), "circle": reflect.TypeFor[uCircle](), "group": reflect.TypeFor[*uGroup](),
		}},
		{Interface: reflect.TypeFor[uFlat](), Discriminator: "side of it", Variants: map[string]reflect.Type{
			"left": reflect.TypeFor[uLeft](), "right": reflect.TypeFor[uRight](),
		}},
	}
}

func TestUnionSchema(t *testing.T) {
	t.Parallel()
	const left = `{"type":"object","properties":{"side of it":{"type":"string","enum":["left"]},"x":{"type":"integer","minimum":-128,"maximum":127}},"required":["side of it","x"],"additionalProperties":false}`
	const right = `{"type":"object","properties":{"side of it":{"type":"string","enum":["right"]}},"required":["side of it"],"additionalProperties":false}`
	const one = `{"anyOf":[` + left + `,` + right + `]}`
	type in struct {
		V uFlat `json:"v"`
		O uFlat `json:"o,omitempty"`
	}
	p := mustCompile(t, reflect.TypeFor[in](), binding.Input, binding.Options{Unions: unions()})
	want := `{"type":"object","properties":{"v":` + one + `,"o":` + one + `},"required":["v"],"additionalProperties":false}`
	if string(p.Schema()) != want {
		t.Errorf("schema\n%s\nwant\n%s", p.Schema(), want)
	}
}

func TestRecursiveUnionsHaveDefinitions(t *testing.T) {
	t.Parallel()
	for _, mode := range []binding.Mode{binding.Input, binding.Output} {
		p := mustCompile(t, reflect.TypeFor[uPicture](), mode, binding.Options{Unions: unions()})
		judgeOf(t, p.Schema())
		if !strings.Contains(string(p.Schema()), `{"$ref":"#/$defs/uGroup_variant"}`) {
			t.Errorf("schema %s", p.Schema())
		}
		again := mustCompile(t, reflect.TypeFor[uPicture](), mode, binding.Options{Unions: unions()})
		if string(again.Schema()) != string(p.Schema()) {
			t.Error("the schema has different bytes")
		}
	}
}

func TestUnionRoundTrip(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[uPicture](), binding.Input, binding.Options{Unions: unions()})
	raw := `{"main":{"r":2,"kind":"circle"},"frame":{"kind":"square","side":3},"rest":[{"kind":"group","items":[{"kind":"circle","r":9}],"self":null}]}`
	var got uPicture
	if _, err := p.Decode(t.Context(), []byte(raw), reflect.ValueOf(&got).Elem()); err != nil {
		t.Fatal(err)
	}
	three := 3
	want := uPicture{
		Main: uCircle{R: 2, Note: "n"}, Frame: &uSquare{Kind: "square", Side: &three},
		Rest: []uShape{&uGroup{Items: []uShape{uCircle{R: 9, Note: "n"}}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	got.Frame.(*uSquare).Kind = "round" // the type decides, not the member
	got.Main = &uCircle{R: 1}           // a pointer will do
	out, err := p.Append(nil, reflect.ValueOf(got))
	const written = `{"main":{"kind":"circle","r":1},"frame":{"kind":"square","side":3},"rest":[{"kind":"group","items":[{"kind":"circle","r":9,"note":"n"}],"self":null}]}`
	if err != nil || string(out) != written {
		t.Errorf("wrote %s, %v", out, err)
	}
}

type uStranger struct{}

func (uStranger) shape() {}

func (hPoint) shape()  {}
func (hEither) shape() {}
func (uDisc) shape()   {}

// uDisc has a schema hook with the discriminator, and has no field of that name.
type uDisc struct {
	R int `json:"r"`
}

func (uDisc) JSONSchema() *jsonschema.Schema {
	properties := jsonschema.NewProperties()
	properties.Set("kind", &jsonschema.Schema{Const: "disc"})
	properties.Set("r", &jsonschema.Schema{Type: "integer"})
	return &jsonschema.Schema{Type: "object", Properties: properties, Required: []string{"kind", "r"}}
}

// TestHooksOfVariants checks that arguments satisfy the schema hook of a variant's struct. The discriminator
// is a part of the schema if the hook names it.
func TestHooksOfVariants(t *testing.T) {
	t.Parallel()
	union := binding.Union{Interface: reflect.TypeFor[uShape](), Discriminator: "kind", Variants: map[string]reflect.Type{
		"point": reflect.TypeFor[hPoint](), "either": reflect.TypeFor[*hEither](), "disc": reflect.TypeFor[uDisc](),
	}}
	p := mustCompile(t, reflect.TypeFor[box[uShape]](), binding.Input, binding.Options{Unions: []binding.Union{union}})
	for raw, want := range map[string]string{
		`{"kind":"point","x":1}`: "", `{"kind":"point","x":"1"}`: "", `{"kind":"point"}`: "/v", `{"kind":"either"}`: "/v", `{"kind":"either","name":"a"}`: "",
		`"{\"kind\":\"point\",\"y\":\"1\"}"`: "", `{"kind":"point","x":null}`: "/v/x",
		`{"kind":"disc","r":1}`: "", `{"kind":"disc","r":"1"}`: "", `{"kind":"disc"}`: "/v/r",
	} {
		_, err := p.Decode(t.Context(), []byte(`{"v":`+raw+`}`), reflect.New(p.Type()).Elem())
		if got := paths(err); got != want {
			t.Errorf("%s: faults at %q, want %q (%v)", raw, got, want, err)
		}
	}
}

func TestUnionAppend(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[uPicture](), binding.Output, binding.Options{Unions: unions()})
	_, err := p.Append(nil, reflect.ValueOf(uPicture{Main: uCircle{R: 1}, Rest: []uShape{uStranger{}}}))
	if err == nil || !strings.Contains(err.Error(), "/rest/0: type binding_test.uStranger is not a variant of binding_test.uShape") {
		t.Errorf("error %v", err)
	}
	out, err := p.Append(nil, reflect.ValueOf(uPicture{Rest: []uShape{(*uSquare)(nil)}}))
	if want := `{"main":null,"rest":[null]}`; err != nil || string(out) != want {
		t.Errorf("wrote %s, %v", out, err)
	}
	loop := &uGroup{}
	loop.Back = loop
	if _, err := p.Append(nil, reflect.ValueOf(uPicture{Main: loop})); err == nil || !strings.Contains(err.Error(), "contains itself") {
		t.Errorf("error %v", err)
	}
	root := mustCompile(t, reflect.TypeFor[uShape](), binding.Output, binding.Options{Unions: unions()})
	var s uShape = uCircle{R: 1}
	if out, err := root.Append(nil, reflect.ValueOf(&s).Elem()); err != nil || string(out) != `{"kind":"circle","r":1}` {
		t.Errorf("wrote %s, %v", out, err)
	}
}

func TestUnionErrorsTeach(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[uPicture](), binding.Input, binding.Options{Unions: unions()})
	cases := []struct{ name, raw, want, try string }{
		{"missing", `{"main":{"side":1}}`, `/main/kind: missing. Want one of "circle", "group", "square".`, `{"main":{"side":1,"kind":"square"}}`},
		{"unknown", `{"main":{"kind":"cirlce","r":1}}`, `/main/kind: got "cirlce" (text). Want one of "circle", "group", "square". Did you mean "circle"?`, `{"main":{"kind":"circle","r":1}}`},
		{"no text", `{"main":{"kind":7,"r":1}}`, `/main/kind: got 7 (number). Want one of "circle", "group", "square".`, `{"main":{"kind":"circle","r":1}}`},
		{"null", `{"main":null}`, `/main: got null. Want an object whose "kind" is one of "circle", "group", "square".`, `{"main":{"kind":"circle","r":1}}`},
		{"null item", `{"main":{"kind":"circle","r":1},"rest":[null]}`, `/rest/0: got null. Want an object whose "kind" is one of`, ""},
		{"absent", `{}`, `/main: missing. Want an object whose "kind" is one of "circle", "group", "square".`, `{"main":{"kind":"circle","r":1}}`},
		{"list", `{"main":[]}`, `/main: got [] (list). Want an object whose "kind"`, `{"main":{"kind":"circle","r":1}}`},
		{"unknown member", `{"main":{"kind":"circle","r":1,"side":1}}`, `/main/side: no such member. Members: r, note.`, `{"main":{"kind":"circle","r":1}}`},
		{"twice", `{"main":{"kind":"circle","r":1,"kind":"circle"}}`, `/main/kind: given twice.`, ``},
		{"twice, own", `{"main":{"kind":"square","side":1,"kind":"square"}}`, `/main/kind: given twice.`, ``},
		{"rule", `{"main":{"kind":"circle","r":10}}`, `/main/r: got 10 (number). Want a whole number from 1 to 9.`, `{"main":{"kind":"circle","r":9}}`},
		{"rule of an item", `{"main":{"kind":"circle","r":1},"rest":[{"kind":"circle","r":0}]}`, `/rest/0/r: got 0 (number). Want a whole number from 1 to 9.`, ``},
		{"rule below a pointer", `{"main":{"kind":"group","items":[],"self":null,"named":{"a.b":{"kind":"circle","r":0}}}}`, `/main/named/a.b/r: got 0`, ``},
		{"missing in a variant", `{"main":{"kind":"circle"}}`, `/main/r: missing. Want a whole number from 1 to 9.`, `{"main":{"kind":"circle","r":1}}`},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := p.Decode(t.Context(), []byte(tc.raw), reflect.New(p.Type()).Elem())
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("%v\nwant %s", err, tc.want)
			}
			if tc.try != "" && !strings.HasSuffix(err.Error(), "Try: "+tc.try) {
				t.Errorf("%v\nwant Try: %s", err, tc.try)
			}
		})
	}
}

func TestUnionRepairAndSecrets(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[uPicture](), binding.Input, binding.Options{Unions: unions()})
	var got uPicture
	report, err := p.Decode(t.Context(), []byte(`{"main":"{\"kind\":\"circle\",\"r\":\"3\"}"}`), reflect.ValueOf(&got).Elem())
	if err != nil || len(report.Repaired) != 2 || got.Main != (uCircle{R: 3, Note: "n"}) {
		t.Errorf("%+v, %v, %v", got, report, err)
	}
	_, err = p.Decode(t.Context(), []byte(`{"main":{"kind":"circle","r":1},"rest":[{"kind":"square","side":"x","pin":"hush"}]}`), reflect.ValueOf(&got).Elem())
	if err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("error %v", err)
	}
}

type uNumbered struct {
	Kind int `json:"kind"`
}

func (uNumbered) shape() {}

type uListed struct {
	Kind tColor `json:"kind"`
}

func (uListed) shape() {}

type uOwn struct{}

func (uOwn) shape()                       {}
func (uOwn) MarshalText() ([]byte, error) { return nil, nil }
func (*uOwn) UnmarshalText([]byte) error  { return nil }

type uText string

func (uText) shape() {}

type uChan struct{ C chan int }

func (uChan) shape() {}

func TestUnionFaults(t *testing.T) {
	t.Parallel()
	type in struct {
		S uShape `json:"s"`
	}
	shape := reflect.TypeFor[uShape]()
	circle := reflect.TypeFor[uCircle]()
	of := func(types ...reflect.Type) map[string]reflect.Type {
		out := map[string]reflect.Type{}
		for i, typ := range types {
			out[string(rune('a'+i))] = typ
		}
		return out
	}
	cases := []struct {
		name  string
		union binding.Union
		want  string
	}{
		{"no variants", binding.Union{Interface: shape, Discriminator: "kind"}, "in.S: OneOf: binding_test.uShape has no variants"},
		{"no name", binding.Union{Interface: shape, Variants: of(circle)}, `the discriminator "" is not a name`},
		{"nil", binding.Union{Interface: shape, Discriminator: "kind", Variants: of(nil)}, `variant "a" is nil`},
		{"text", binding.Union{Interface: shape, Discriminator: "kind", Variants: of(reflect.TypeFor[uText]())}, "want a struct or a pointer to a struct"},
		{"stranger", binding.Union{Interface: shape, Discriminator: "kind", Variants: of(reflect.TypeFor[tBase]())}, "does not implement"},
		{"two names", binding.Union{Interface: shape, Discriminator: "kind", Variants: of(circle, reflect.PointerTo(circle))}, `has two names, "a" and "b"`},
		{"clash", binding.Union{Interface: shape, Discriminator: "kind", Variants: of(reflect.TypeFor[uNumbered]())}, `in.S.(a): field Kind has the discriminator's name "kind" and type int`},
		{"enum", binding.Union{Interface: shape, Discriminator: "kind", Variants: of(reflect.TypeFor[uListed]())}, `"a" is not a value of field Kind`},
		{"own JSON", binding.Union{Interface: shape, Discriminator: "kind", Variants: of(reflect.TypeFor[uOwn]())}, "writes its own JSON"},
		{"inside", binding.Union{Interface: shape, Discriminator: "kind", Variants: of(reflect.TypeFor[uChan]())}, "in.S.(a).C: type chan int has no JSON form"},
		{"other", binding.Union{Interface: reflect.TypeFor[uFlat](), Discriminator: "kind", Variants: of(reflect.TypeFor[uLeft]())}, "interface binding_test.uShape cannot be decoded"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, faults := binding.Compile(reflect.TypeFor[in](), binding.Input, binding.Options{Unions: []binding.Union{tc.union}})
			if p != nil || len(faults) != 1 || !strings.Contains(faults[0].String(), tc.want) {
				t.Errorf("plan %v, faults %v; want %s", p != nil, faults, tc.want)
			}
		})
	}
	if problem := (binding.Union{Interface: circle}).Problem(); !strings.Contains(problem, "is not an interface") {
		t.Errorf("problem %q", problem)
	}
	if problem := (binding.Union{}).Problem(); problem == "" {
		t.Error("the zero union has no problem")
	}
}
