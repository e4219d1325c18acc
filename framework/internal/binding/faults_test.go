package binding_test

import (
	"context"
	"encoding/json"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/invopop/jsonschema"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

type fChan struct {
	Filter struct{ Ch chan int } `json:"filter"`
}

type fUnexportedEmbed struct {
	*tBase
}

type fIface interface{ M() }

type fPanicValues int

func (fPanicValues) Values() []fPanicValues { panic("no") }

type fNoValues int

func (fNoValues) Values() []fNoValues { return nil }

type fRef struct{}

func (fRef) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/$defs/x"} }

type fPanicHook struct{}

func (fPanicHook) JSONSchema() *jsonschema.Schema { panic("no") }

type (
	fBig  struct{ A, B fBig1 }
	fBig1 struct{ A, B, C, D fBig2 }
	fBig2 struct{ A, B, C, D fBig3 }
	fBig3 struct{ A, B, C, D fBig4 }
	fBig4 struct{ A, B, C, D fBig5 }
	fBig5 struct{ A, B, C, D fBig6 }
	fBig6 struct{ A, B, C, D fBig7 }
	fBig7 struct{ A, B, C, D string }
)

// FBase is embedded in structs with rules that name its field.
type FBase struct {
	P int `json:"p,omitempty"`
}

type (
	fTypo struct {
		Range struct{ From, To int } `json:"range"`
		V     int                    `json:"v" validate:"gtfield=Range.Typo"`
	}
	fMoment struct {
		At time.Time `json:"at"`
		V  int       `json:"v" validate:"gtfield=At.wall"`
	}
	fEmbedded struct {
		*FBase
		V int `json:"v" validate:"nefield=P"`
	}
	fWith struct {
		*FBase
		V int `json:"v,omitempty" validate:"required_with=P"`
	}
	fTwice struct {
		K string `json:"k"`
		L int    `json:"l"`
		V int    `json:"v,omitempty" validate:"required_if=K a L 1 K b"`
	}
	fGood struct {
		FBase
		K     string                  `json:"k"`
		Range *struct{ From, To int } `json:"range"`
		List  []int                   `json:"list"`
		A     int                     `json:"a" validate:"gtfield=Range.From,nefield=P,nefield=List[0]"`
		B     string                  `json:"b,omitempty" validate:"required_unless=K a K b"`
	}
)

// Pointers that do not lead to a value.
type (
	fSelf   *fSelf
	fThis   *fThat
	fThat   *fThis
	fToThis *fThis
)

// TestPathsOfRules checks that rules may name fields of embedded structs, fields inside other fields, and
// items.
func TestPathsOfRules(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"p":1,"k":"a","range":{"From":1,"To":2},"list":[3],"a":2}`: "",
		`{"p":2,"k":"a","range":{"From":1,"To":2},"list":[3],"a":2}`: "/a",
		`{"p":1,"k":"a","range":{"From":1,"To":2},"list":[2],"a":2}`: "/a",
		`{"p":1,"k":"c","range":{"From":1,"To":2},"list":[],"a":2}`:  "/b",
	} {
		if _, _, err := decodeTo[fGood](t, raw); paths(err) != want || (err == nil) != (want == "") {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	str, num, list := reflect.TypeFor[string](), reflect.TypeFor[int](), reflect.TypeFor[[]string]()
	twice := reflect.StructOf([]reflect.StructField{
		{Name: "From", Type: str, Tag: `json:"from"`},
		{Name: "To", Type: str, Tag: `json:"from"`},
	})
	cases := []struct {
		name string
		t    reflect.Type
		mode binding.Mode
		want string // in path: problem. fix
	}{
		{"nil", nil, binding.Input, "no type"},
		{"pointer to itself", structWith(reflect.TypeFor[fSelf](), `validate:"min=1"`), binding.Input, "In.V: type binding_test.fSelf is a pointer to nothing but pointers. Use another type"},
		{"pointer to itself as the root", reflect.TypeFor[*fSelf](), binding.Output, "type binding_test.fSelf is a pointer to nothing but pointers"},
		{"pointers to each other", reflect.TypeFor[[]fToThis](), binding.Output, "type binding_test.fToThis is a pointer to nothing but pointers"},
		{"chan", reflect.TypeFor[fChan](), binding.Input, "fChan.Filter.Ch: type chan int has no JSON form"},
		{"func", structWith(reflect.TypeFor[func()](), ""), binding.Input, "In.V: type func() has no JSON form"},
		{"complex", structWith(reflect.TypeFor[complex128](), ""), binding.Input, "type complex128 has no JSON form"},
		{"uintptr", structWith(reflect.TypeFor[uintptr](), ""), binding.Input, "type uintptr has no JSON form"},
		{"unsafe", structWith(reflect.TypeFor[unsafe.Pointer](), ""), binding.Input, "has no JSON form"},
		{"list of chan", structWith(reflect.TypeFor[[]chan int](), ""), binding.Input, "In.V.[]: type chan int"},
		{"map of func", structWith(reflect.TypeFor[map[string]func()](), ""), binding.Input, "In.V.[key]: type func()"},
		{"map key", structWith(reflect.TypeFor[map[float64]int](), ""), binding.Input, "map key type float64 has no text form"},
		{"struct key", structWith(reflect.TypeFor[map[struct{}]int](), ""), binding.Input, "map key type struct {}"},
		{"url", structWith(reflect.TypeFor[url.URL](), ""), binding.Input, "type url.URL has no text form"},
		{"url pointer", structWith(reflect.TypeFor[*url.URL](), ""), binding.Input, "type url.URL"},
		{"chan out", reflect.TypeFor[chan int](), binding.Output, "Out: type chan int has no JSON form. Use another type"},
		{"list of func out", reflect.TypeFor[[]func()](), binding.Output, "Out.[]: type func() has no JSON form. Use another type"},
		{"interface", structWith(reflect.TypeFor[fIface](), ""), binding.Input, "interface binding_test.fIface cannot be decoded. List its implementations with framework.OneOf"},
		{"unexported embedded pointer", reflect.TypeFor[fUnexportedEmbed](), binding.Input, "fUnexportedEmbed.tBase: embedded pointer"},
		{"scalar root", reflect.TypeFor[int](), binding.Input, "type int does not encode as a JSON object"},
		{"list root", reflect.TypeFor[[]int](), binding.Input, "type []int does not encode as a JSON object"},
		{"raw root", reflect.TypeFor[json.RawMessage](), binding.Input, "does not encode as a JSON object"},
		{"values panic", structWith(reflect.TypeFor[fPanicValues](), ""), binding.Input, "fPanicValues.Values panicked"},
		{"values empty", structWith(reflect.TypeFor[fNoValues](), ""), binding.Input, "fNoValues.Values returned no values"},
		{"hook ref", structWith(reflect.TypeFor[fRef](), ""), binding.Input, "it has a $ref"},
		{"hook panic", structWith(reflect.TypeFor[fPanicHook](), ""), binding.Input, "schema hook of binding_test.fPanicHook panicked"},
		{"too large", reflect.TypeFor[fBig](), binding.Input, "larger than 1 MiB"},
		{"unknown rule", structWith(str, `validate:"emial"`), binding.Input, `In.V: validate rule "emial" does not exist. Did you mean email?`},
		{"unknown bound", structWith(num, `validate:"mim=4"`), binding.Input, `validate rule "mim=4" does not exist. Did you mean min?`},
		{"unknown and unlike", structWith(num, `validate:"frobnicate"`), binding.Input, `validate rule "frobnicate" does not exist. Correct it, or add it with framework.Validation`},
		{"unknown rune", structWith(str, `validate:"prune"`), binding.Input, `validate rule "prune" does not exist. Correct it, or add it with framework.Validation`},
		{"unknown in part", structWith(str, `validate:"url|emial"`), binding.Input, `validate rule "emial" does not exist. Did you mean email?`},
		{"bad parameter", structWith(num, `validate:"min=abc"`), binding.Input, `In.V: validate rule "min=abc" does not work on type int: its parameter is wrong. Correct "abc"`},
		{"no parameter", structWith(num, `validate:"min"`), binding.Input, `validate rule "min" does not work on type int: its parameter is missing. Write min=…`},
		{"no layout", structWith(reflect.TypeFor[string](), `validate:"datetime="`), binding.Input, `does not work on type string: its parameter is missing. Write datetime=…`},
		{"no characters", structWith(str, `validate:"containsany"`), binding.Input, `validate rule "containsany" does not work on type string: its parameter is missing. Write containsany=…`},
		{"no excluded characters", structWith(str, `validate:"excludesall="`), binding.Input, `its parameter is missing. Write excludesall=…`},
		{"no excluded text", structWith(str, `validate:"email|excludes"`), binding.Input, `its parameter is missing. Write excludes=…`},
		{"no beginning", structWith(str, `validate:"startsnotwith"`), binding.Input, `its parameter is missing. Write startsnotwith=…`},
		{"no country", structWith(str, `validate:"postcode_iso3166_alpha2"`), binding.Input, `its parameter is missing. Write postcode_iso3166_alpha2=…`},
		{"layout of another language", structWith(str, `validate:"datetime=YYYY-MM-DD"`), binding.Input, `its parameter is wrong. Write a layout of Go's package time, such as datetime=2006-01-02`},
		{"layout of C", structWith(list, `validate:"dive,datetime=%Y-%m-%d|email"`), binding.Input, `"datetime=%Y-%m-%d" does not work on type string: its parameter is wrong`},
		{"name of a layout", structWith(str, `validate:"datetime=RFC3339"`), binding.Input, `"datetime=RFC3339" does not work on type string: its parameter is wrong. Write a layout`},
		{"name of a layout in Go", structWith(str, `validate:"datetime=time.RFC1123Z"`), binding.Input, `its parameter is wrong. Write a layout`},
		{"unknown country", structWith(str, `validate:"postcode_iso3166_alpha2=UK"`), binding.Input, `does not work on type string: its parameter is wrong. Correct "UK"`},
		{"country in small letters", structWith(str, `validate:"email|postcode_iso3166_alpha2=de"`), binding.Input, `its parameter is wrong. Correct "de"`},
		{"two characters", structWith(reflect.TypeFor[string](), `validate:"excludesrune=ab"`), binding.Input, `does not work on type string: its parameter is wrong. Correct "ab"`},
		{"bad duration", structWith(reflect.TypeFor[time.Duration](), `validate:"min=3x"`), binding.Input, `does not work on type time.Duration: its parameter is wrong. Correct "3x"`},
		{"bad bool", structWith(reflect.TypeFor[bool](), `validate:"eq=maybe"`), binding.Input, `does not work on type bool: its parameter is wrong. Correct "maybe"`},
		{"rule of another type", structWith(num, `validate:"url"`), binding.Input, `validate rule "url" does not work on type int. Use it on another type, or remove it`},
		{"length of a number", structWith(num, `validate:"ssn"`), binding.Input, `validate rule "ssn" does not work on type int. Use it`},
		{"min on bool", structWith(reflect.TypeFor[bool](), `validate:"min=1"`), binding.Input, `"min=1" does not work on type bool. Use it on another type, or remove it`},
		{"oneof on float", structWith(reflect.TypeFor[float64](), `validate:"oneof=1 2"`), binding.Input, `does not work on type float64`},
		{"after omitempty", structWith(num, `validate:"omitempty,min=abc"`), binding.Input, `"min=abc" does not work`},
		{"dive on text", structWith(str, `validate:"dive,min=1"`), binding.Input, "dive on type string"},
		{"keys on list", structWith(list, `validate:"dive,keys,min=1,endkeys"`), binding.Input, "keys on type []string"},
		{"keys without end", structWith(list, `validate:"dive,keys,min=1"`), binding.Input, "cannot be read"},
		{"empty rule", structWith(str, `validate:"min=1,,max=2"`), binding.Input, "cannot be read"},
		{"below a list", structWith(reflect.TypeFor[[]struct {
			X bool `validate:"min=1"`
		}](), ""), binding.Input, "In.V.[].X: validate rule"},
		{"no such field", structWith(num, `validate:"gtfield=Nope"`), binding.Input, "the struct has no field Nope. Use"},
		{"no such field inside", reflect.TypeFor[fTypo](), binding.Input, `fTypo.V: validate rule "gtfield=Range.Typo": fTypo has no field Range.Typo. Use the Go name`},
		{"no field of a number", structWith(num, `validate:"gtfield=V.X"`), binding.Input, "the struct has no field V.X"},
		{"no field of a time", reflect.TypeFor[fMoment](), binding.Input, "fMoment has no field At.wall"},
		{"field of an embedded pointer", reflect.TypeFor[fEmbedded](), binding.Input, `fEmbedded.V: validate rule "nefield=P": P is a field of an embedded pointer, and validator panics where that is nil. Embed`},
		{"presence of such a field", reflect.TypeFor[fWith](), binding.Input, "P is a field of an embedded pointer"},
		{"field twice", reflect.TypeFor[fTwice](), binding.Input, `fTwice.V: validate rule "required_if=K a L 1 K b" names K twice, and it cannot have both values. Name each field once`},
		{"parameter of required", structWith(str, `validate:"required=true"`), binding.Input, `In.V: validate rule "required=true" has a parameter. Write required`},
		{"parameter of a format", structWith(str, `validate:"omitempty,uuid=4"`), binding.Input, `In.V: validate rule "uuid=4" has a parameter. Write uuid`},
		{"parameter of an alternative", structWith(str, `validate:"boolean=3|ip"`), binding.Input, `In.V: validate rule "boolean=3" has a parameter. Write boolean`},
		{"required_if pairs", structWith(num, `validate:"required_if=V"`), binding.Input, "needs pairs"},
		{"required_with", structWith(num, `validate:"required_with=Nope"`), binding.Input, "the struct has no field Nope"},
		{"file", structWith(str, `validate:"file"`), binding.Input, "touches files or the network"},
		{"resolves", structWith(str, `validate:"tcp_addr"`), binding.Input, "touches files or the network"},
		{"default", structWith(num, `default:"x"`), binding.Input, `In.V: default "x" is not a whole number`},
		{"default range", structWith(reflect.TypeFor[uint8](), `default:"300"`), binding.Input, `default "300" is not`},
		{"default breaks rule", structWith(num, `default:"0" validate:"min=1"`), binding.Input, "breaks the field's own rules; wanted is a whole number of at least 1"},
		{"default of enum", structWith(reflect.TypeFor[tColor](), `default:"pink"`), binding.Input, `default "pink" is not one of "red"`},
		{"default and required", structWith(num, `default:"1" validate:"required"`), binding.Input, "it has a default and is required"},
		{"contradiction", structWith(num, `jsonschema:"minimum=1" validate:"min=5"`), binding.Input, "jsonschema minimum=1 but validate says 5. Keep one"},
		{"misspelled keyword", structWith(str, `jsonschema:"minLenght=3"`), binding.Input, `"minLenght" does not exist for this type. Did you mean minLength?`},
		{"wrong kind keyword", structWith(num, `jsonschema:"minLength=3"`), binding.Input, "does not exist for this type"},
		{"keyword of no type", structWith(reflect.TypeFor[tOpaque](), `jsonschema:"pattern=x"`), binding.Input, "Known for this type: title, description, type, oneof_type, anyof_type\n"},
		{"description", structWith(str, `jsonschema:"description=a"`), binding.Input, "ends at its first comma"},
		{"jsonschema required", structWith(str, `jsonschema:"required"`), binding.Input, `Use validate:"required"`},
		{"jsonschema default", structWith(str, `jsonschema:"default=a"`), binding.Input, "is not enforced"},
		{"bad number", structWith(num, `jsonschema:"minimum=abc"`), binding.Input, "minimum"},
		{"go pattern", structWith(str, `jsonschema:"pattern=(?i)x"`), binding.Input, "ECMA-262 has no group that begins with (?i"},
		{"bad pattern", structWith(str, `jsonschema:"pattern=["`), binding.Input, "jsonschema tag"},
		{"inline", reflect.StructOf([]reflect.StructField{{Name: "V", Type: reflect.TypeFor[tBase](), Tag: `json:",inline"`}}), binding.Input, `"inline" is ignored`},
		{"json option", reflect.StructOf([]reflect.StructField{{Name: "V", Type: num, Tag: `json:"v,omitemtpy"`}}), binding.Input, `json option "omitemtpy" does not exist`},
		{"json name", reflect.StructOf([]reflect.StructField{{Name: "V", Type: num, Tag: "json:\"v'`\""}}), binding.Input, "is not legal"},
		{"uri name", structWith(str, `uri:"v,omitempty"`), binding.Strings, `In.V: the uri tag has no option "omitempty". Write uri:"name" or uri:"name,slashes"`},
		{"uri name with a quote", structWith(str, `uri:"v'"`), binding.Strings, `In.V: name "v'" is not legal in a uri tag. Use letters, digits, _ and -`},
		{"json name twice", twice, binding.Input, `In.To: name "from" is also the name of From. Use different names`},
		{"json name twice, promoted", reflect.StructOf([]reflect.StructField{{Name: "E", Type: twice, Anonymous: true}}), binding.Input, `In.To: name "from" is also the name of From`},
		{"an error", structWith(reflect.TypeFor[error](), ""), binding.Input, "No caller can send one"},
		{"a context", structWith(reflect.TypeFor[context.Context](), ""), binding.Input, "No caller can send one"},
		{"an interface of the program's", structWith(reflect.TypeFor[fIface](), ""), binding.Input, "with framework.OneOf"},
		{"json name in two embedded structs", reflect.TypeFor[tAmbiguous](), binding.Input, `X: name "X" of binding_test.tRight is also the name of binding_test.tLeft.X, so neither would be read`},
		{"json name in two embedded structs of a form", reflect.TypeFor[tAmbiguous](), binding.Form, "neither would be read"},
		{"json name twice in a result", reflect.SliceOf(twice), binding.Output, `To: name "from" is also the name of From`},
		{"name twice without tags", reflect.TypeFor[struct{ ID, Id string }](), binding.Strings, `In.Id: name "id" is also the name of ID`}, //nolint:revive // two letters of one name are the fault
		{"tag without quotes", structWith(str, `doc:the name`), binding.Input, `In.V: the tag cannot be read from "doc:the name" on. Write key:"value" pairs with a space between them`},
		{"tag with a space", structWith(str, `doc: "the name"`), binding.Input, `cannot be read from "doc: \"the name\"" on`},
		{"tags with a comma", structWith(str, `title:"a",doc:"b"`), binding.Input, `cannot be read from ",doc:\"b\"" on`},
		{"tag without end", structWith(str, `title:"a" doc:"b`), binding.Output, `cannot be read from "doc:\"b" on`},
		{"not exported", hidden(`json:"name"`), binding.Input, "In.name: the field has a json tag and is not exported, so that nothing can read or set it. Begin its name with a capital letter"},
		{"not exported in a result", hidden(`doc:"x"`), binding.Output, "name: the field has a doc tag and is not exported"},
		{"commas between words", structWith(str, `validate:"oneof=a,b,c"`), binding.Input, `In.V: validate rule "b" does not exist. If it is a word of oneof: they are separated by spaces`},
		{"a comma in a word", structWith(str, `validate:"oneof='a, b' c"`), binding.Input, `In.V: validate rule " b' c" does not exist. Write 0x2C for a comma between quotes`},
		{"tag twice", structWith(num, `validate:"min=1" doc:"x" validate:"max=3"`), binding.Input, "In.V: the tag has validate twice, and only the first is read. Join them"},
		{"repetitions", structWith(list, `jsonschema:"uniqueItems=false"`), binding.Input, "In.V: jsonschema keyword uniqueItems has the value false. Leave it out"},
		{"root that reads itself", reflect.TypeFor[*tMoney](), binding.Input, "reads its own JSON by UnmarshalJSON, and arguments are read member by member. Remove the method, also from what it embeds"},
		{"bars between words", structWith(str, `validate:"oneof=a|b"`), binding.Input, `In.V: validate rule "b" does not exist. If it is a word of oneof: they are separated by spaces`},
		{"no words", structWith(str, `validate:"oneof="`), binding.Input, `In.V: validate rule "oneof" names no value. Write the values behind it, with spaces between them: oneof=a b`},
		{"words of a list", structWith(list, `validate:"oneof=a b"`), binding.Input, `In.V: validate rule "oneof=a b" does not work on type []string. Write dive before it to ask it of each element`},
		{"words of no list", structWith(reflect.TypeFor[[]bool](), `validate:"oneof=a b"`), binding.Input, `does not work on type []bool. Use it on another type, or remove it`},
		{"words of a map", structWith(reflect.TypeFor[map[string]int](), `validate:"oneof=1 2"`), binding.Input, `does not work on type map[string]int. Write dive before it`},
		{"semicolons between rules", structWith(str, `validate:"required;min=3"`), binding.Input, `In.V: validate rule "required;min=3" does not exist. Write rules as name or name=parameter, with commas between them`},
		{"colon before a parameter", structWith(str, `validate:"min:3"`), binding.Input, `with commas between them`},
		{"rule of elsewhere", structWith(str, `validate:"enum=a b"`), binding.Input, `In.V: validate rule "enum=a b" does not exist. Did you mean oneof?`},
		{"rule for patterns", structWith(str, `validate:"regexp=^a$"`), binding.Input, `In.V: validate rule "regexp=^a$" does not exist. Write jsonschema:"pattern=…", or add a rule with framework.Validation`},
		{"a space between rules", structWith(str, `validate:"min=1, max=3"`), binding.Input, `validate rule " max=3" does not exist. Write it without spaces: max=3`},
		{"jsonschema text", structWith(str, `jsonschema:"the name, in full"`), binding.Input, `the jsonschema tag is a text, not keyword=value. Use doc:"…" to describe a member`},
		{"secret", structWith(str, `secret:"yes"`), binding.Input, "neither true nor false"},
		{"header on float", structWith(reflect.TypeFor[float64](), `header:"X"`), binding.Input, "header on type float64"},
		{"header token", structWith(str, `header:"a b"`), binding.Input, "is not a token"},
		{"header twice", reflect.StructOf([]reflect.StructField{
			{Name: "A", Type: str, Tag: `json:"a" header:"X"`},
			{Name: "B", Type: str, Tag: `json:"b" header:"x"`},
		}), binding.Input, "is also the header of A"},
		{"strings struct", structWith(reflect.TypeFor[tBase](), ""), binding.Strings, "In.V: type binding_test.tBase has no text form"},
		{"strings list", structWith(list, ""), binding.Strings, "type []string has no text form"},
		{"strings map", reflect.TypeFor[map[string]string](), binding.Strings, "is not a struct"},
		{"form struct", structWith(reflect.TypeFor[tBase](), ""), binding.Form, "fits no field of a form"},
		{"form list", structWith(reflect.TypeFor[[]int](), ""), binding.Form, "fits no field of a form"},
		{"form array", structWith(reflect.TypeFor[[2]tColor](), ""), binding.Form, "fits no field of a form"},
		{"form list of numbers", structWith(reflect.TypeFor[[]tLevel](), ""), binding.Form, "fits no field of a form"},
		{"rules for bytes", structWith(reflect.TypeFor[[]uint8](), `validate:"dive,min=1,max=5"`), binding.Input, "In.V: validate dive on type []uint8: JSON has a text in base64. Use a list of another type of numbers, such as []int"},
		{"rules for bytes of bytes", structWith(reflect.TypeFor[[][]byte](), `validate:"min=1,dive,min=2,dive,min=3"`), binding.Input, "validate dive on type []uint8"},
		{"form secret", structWith(str, `secret:"true"`), binding.Form, "In.V: a form must not ask for a secret"},
		{"form map", reflect.TypeFor[map[string]string](), binding.Form, "fits no field of a form"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, faults := binding.Compile(tc.t, tc.mode, binding.Options{})
			if p != nil {
				t.Fatalf("compiled: %s", p.Schema())
			}
			var all []string
			for _, f := range faults {
				all = append(all, f.String())
			}
			if got := strings.Join(all, "\n"); !strings.Contains(got, tc.want) {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// TestAllFaultsAtOnce checks that one compile reports everything, but nothing about what it could not look at.
func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	type inner struct {
		E func() `json:"e"`
		F int    `json:"f" default:"y"`
	}
	type ruled struct {
		Rule string `json:"rule" validate:"nope"`
	}
	type in struct {
		A chan int           `json:"a" default:"x"`
		B string             `json:"b" validate:"nope"`
		C int                `json:"c" default:"x"`
		D inner              `json:"d"`
		G int                `json:"g" default:"0" validate:"min=1"`
		H int                `json:"h" default:"z" validate:"nope"`
		I inner              `json:"i" default:"{\"e\":1}"`
		J []ruled            `json:"j" default:"[{\"rule\":\"a\"}]" validate:"min=1"`
		K map[string][]inner `json:"k" default:"{\"a\":[{\"e\":1}]}"`
		L int                `json:"l" default:"2" validate:"min=1"`
	}
	_, faults := binding.Compile(reflect.TypeFor[in](), binding.Input, binding.Options{})
	var got []string
	for _, f := range faults {
		problem, _, _ := strings.Cut(f.Problem, " ")
		got = append(got, f.Path+" "+problem)
	}
	const want = "in.A type, in.B validate, in.D.E type, in.H validate, in.J.[].Rule validate, " +
		"in.C default, in.D.F default, in.G default, in.H default"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

// tMarker has no exported field.
type tMarker struct{ _ [0]func() }

func TestWarnings(t *testing.T) {
	t.Parallel()
	type in struct {
		A any             `json:"a"`
		R json.RawMessage `json:"r,omitempty"`
		O tOpaque         `json:"o"`
		M tMoney          `json:"m"`
		L []tOpaque       `json:"l"`
		S *strings.Reader `json:"s"`
		E tMarker         `json:"e,omitzero"`
		W []any           `json:"w"`
		T tOpaque         `json:"t" jsonschema:"type=string,pattern=^[a-z]*$"`
	}
	p, faults := binding.Compile(reflect.TypeFor[in](), binding.Input, binding.Options{})
	var got []string
	for _, f := range faults {
		if !f.Warning {
			t.Errorf("%s is no warning", f)
		}
		got = append(got, f.Path)
	}
	if p == nil || strings.Join(got, " ") != "in.S in.A in.R in.O in.L" {
		t.Errorf("got %v", faults)
	}
}

// fUpload reads its own JSON, and has a rule about the disk of the server.
type fUpload struct {
	Path string `json:"path" validate:"file"`
}

func (u fUpload) MarshalJSON() ([]byte, error)  { return json.Marshal(u.Path) }
func (u *fUpload) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &u.Path) }

// TestForbiddenRulesInside checks that a tag in a type that reads itself does not touch the disk either.
// Validator judges the other rules of the type.
func TestForbiddenRulesInside(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{t.TempDir(): "", t.TempDir() + "/none": ""} {
		if _, _, err := decodeTo[box[fUpload]](t, `{"v":`+strconv.Quote(path)+`}`); paths(err) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestErrorsInResults checks errors in results, because encoding/json writes most of them as {}.
func TestErrorsInResults(t *testing.T) {
	t.Parallel()
	for _, typ := range []reflect.Type{reflect.TypeFor[error](), reflect.TypeFor[[]error](), reflect.TypeFor[map[string]error]()} {
		p, faults := binding.Compile(structWith(typ, ""), binding.Output, binding.Options{})
		if p == nil || len(faults) != 1 || !faults[0].Warning || !strings.HasPrefix(faults[0].String(), "Out.V: the JSON of an error is an object of its exported fields, mostly {}. ") {
			t.Errorf("%v: %v", typ, faults)
		}
	}
	mustCompile(t, structWith(reflect.TypeFor[[]tSize](), ""), binding.Form, binding.Options{}) // a list of choices that are texts
}

// TestTagsThatAreNotRead checks that tags meant for models are not ignored silently.
func TestTagsThatAreNotRead(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{
		`description:"how many"`:                   `the tag description is not read. Use doc:"…"`,
		`desc:"how many"`:                          `the tag desc is not read. Use doc:"…"`,
		`Validate:"min=1"`:                         `the tag Validate is not read. Write validate:"…"`,
		`doc:"how many" description:"for swagger"`: "",
		`binding:"required,min=1"`:                 `the tag binding is not read, so that its rules are not asked. Use validate:"…"`,
		`binding:"min=1" validate:"min=1"`:         "",
		`binding:"required"`:                       "",
		`db:"v" form:"v" yaml:"v"`:                 "",
		`enum:"1,2"`:                               `the tag enum is not read. Write validate:"oneof=…"`,
		`required:"true"`:                          `the tag required is not read. Write validate:"required"`,
		`example:"3"`:                              `the tag example is not read. Write jsonschema:"example=…"`,
		`minimum:"3" validate:"min=3"`:             "",
		`descriptiom:"how many"`:                   `the tag descriptiom is not read. Write doc:"…", if that was meant`,
		`valdiate:"min=1"`:                         `the tag valdiate is not read. Write validate:"…", if that was meant`,
		`jsno:"n"`:                                 `the tag jsno is not read. Write json:"…", if that was meant`,
		`secert:"true"`:                            `the tag secert is not read. Write secret:"…", if that was meant`,
		`bson:"n"`:                                 "",
		`defaultt:"1"`:                             `the tag defaultt is not read. Write default:"…", if that was meant`,
	} {
		_, faults := binding.Compile(structWith(reflect.TypeFor[int](), tag), binding.Input, binding.Options{})
		var got string
		for _, f := range faults {
			if !f.Warning || f.Path != "In.V" {
				t.Errorf("%s: %+v", tag, f)
			}
			got += f.Problem + ". " + f.Fix
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", tag, got, want)
		}
	}
}

func hidden(tag reflect.StructTag) reflect.Type {
	return reflect.StructOf([]reflect.StructField{{Name: "name", PkgPath: "example.com/x", Type: reflect.TypeFor[string](), Tag: tag}})
}

// TestTagsOfOthers checks that unexported fields, and tags of other packages, are not faults.
func TestTagsOfOthers(t *testing.T) {
	t.Parallel()
	for _, typ := range []reflect.Type{
		hidden(""), hidden(`json:"-"`), hidden(`protogen:"open.v1"`),
		structWith(reflect.TypeFor[string](), `  db:"a b, c"doc:"\"x\" : y"   `),
	} {
		mustCompile(t, typ, binding.Input, binding.Options{})
		mustCompile(t, typ, binding.Output, binding.Options{})
	}
}

// TestFindingsAreBounded checks that reading stops after 64 faults, and that the error reports this and has 20
// of them.
func TestFindingsAreBounded(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[struct {
		N []int    `json:"n,omitempty"`
		W []string `json:"w,omitempty" validate:"dive,min=3"`
	}](), binding.Input, binding.Options{})
	const many = 20_000
	for name, item := range map[string]string{"n": "true", "w": `"x"`} {
		call := `{"` + name + `":[` + strings.TrimSuffix(strings.Repeat(item+",", many), ",") + `]}`
		got, kept := refusal(t, p, call), binding.Kept(p, []byte(call))
		if got.Total != 64 || !got.Stopped || len(got.Issues) != 20 || kept != 64 {
			t.Errorf("%s: %d in total, %d in the error, %d kept", name, got.Total, len(got.Issues), kept)
		}
		if text := got.Error(); !strings.HasPrefix(text, "At least 64 problems.\n") || !strings.HasSuffix(text, "\nAnd at least 44 more.") {
			t.Errorf("%s: %s", name, text)
		}
	}
}
