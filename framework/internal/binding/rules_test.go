package binding_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/framework/internal/binding/internal/bindingtest"
)

var (
	structWith = bindingtest.StructWith
	quoteTag   = bindingtest.QuoteTag
	jsonTexts  = bindingtest.JSONTexts
	texts      = bindingtest.Texts
)

// TestTextRulesAgree checks, for every rule that keywords of the schema express, that the schema and validator
// judge every text alike.
func TestTextRulesAgree(t *testing.T) {
	t.Parallel()
	rules := []string{
		"min=2", "max=2", "len=2", "gt=2", "lt=2", "gte=2", "lte=2", "min=010", "eq=yes", "ne=no", "oneof=a ab 'in progress'", "noneof=a ab",
		"alpha", "alphaspace", "alphanum", "alphanumspace", "alphaunicode", "alphanumunicode", "numeric", "number", "hexadecimal", "hexcolor",
		"e164", "ascii", "printascii", "semver", "uuid3", "uuid4", "uuid5", "uuid7", "ulid", "md4", "md5", "sha256", "mongodb", "ein",
		"startswith=a.", "endswith=-", "contains=.", "containsany=$[]^-\\/", "excludes=b", "excludesall=.-0x7C", "startsnotwith=a", "endsnotwith=x",
		"boolean", "ip", "uuid", "datetime=2006-01-02", "min=1,max=3,alpha", "alpha|numeric", "len=2|len=4", "ne=a,ne=ab", "excludes=a,excludes=b",
		"startswith=a,endswith=b", "hexcolor|ip", "required", "min=1,ne=a,contains=b",
	}
	for _, rule := range rules {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			typ := structWith(reflect.TypeFor[string](), quoteTag("validate", rule))
			agree(t, typ, jsonTexts(texts))
		})
	}
}

func agree(t *testing.T, typ reflect.Type, values []string) {
	t.Helper()
	p := mustCompile(t, typ, binding.Input, binding.Options{NoRepair: true})
	judge := judgeOf(t, p.Schema())
	yes := 0
	for _, v := range values {
		raw := []byte(`{"v":` + v + `}`)
		_, err := p.Decode(context.Background(), raw, reflect.New(typ).Elem())
		if legal := accepts(t, judge, raw); !agreeOn(raw, legal, err) {
			t.Errorf("%s: schema says %v, plan says %v\n%s", raw, legal, err, p.Schema())
		}
		if err == nil {
			yes++
		}
	}
	if yes == 0 {
		t.Errorf("no value passes %s", p.Schema())
	}
}

func TestNumberRulesAgree(t *testing.T) {
	t.Parallel()
	values := []string{
		"-129", "-128", "-4", "-3", "-2", "-1", "-0.5", "0", "0.5", "1", "1.0", "1e0", "1.5", "2", "3", "4", "5", "8", "9", "127", "128", "255", "256",
		"null", `"1"`, "9223372036854775807", "9223372036854775808", "18446744073709551615",
	}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[uint8](), reflect.TypeFor[uint64](),
		reflect.TypeFor[float64](), reflect.TypeFor[*int](), reflect.TypeFor[*float64](),
	} {
		for _, rule := range []string{
			"min=2", "max=4", "gt=2", "lt=4", "gte=0", "lte=010", "len=3", "eq=3", "ne=3", "oneof=1 3 5", "noneof=1 3", "min=1,max=4,ne=2",
			"eq=1|eq=3", "required", "gt=0,lte=5", "number", "min=0x1",
		} {
			if strings.HasSuffix(typ.String(), "float64") && (strings.Contains(rule, "oneof") || strings.Contains(rule, "0x")) {
				continue
			}
			t.Run(typ.String()+" "+rule, func(t *testing.T) {
				t.Parallel()
				agree(t, structWith(typ, quoteTag("validate", rule)), values)
			})
		}
	}
}

func TestContainerRulesAgree(t *testing.T) {
	t.Parallel()
	lists := []string{
		"[]", "[1]", "[1,1]", "[1,2]", "[1,2,3]", "[1,2,3,4]", "[5,5,5]", "[-1]", "null", "{}", "[null]", `["a"]`, "[1.0,1]",
	}
	for _, rule := range []string{
		"min=1", "max=2", "len=2", "gt=1", "lt=3", "eq=2", "unique", "dive,min=1", "dive,required", "min=1,dive,gt=0,lt=5", "unique,max=3,dive,oneof=1 2", "required",
	} {
		t.Run("list "+rule, func(t *testing.T) {
			t.Parallel()
			agree(t, structWith(reflect.TypeFor[[]int](), quoteTag("validate", rule)), lists)
		})
	}
	maps := []string{`{}`, `{"a":1}`, `{"ab":1}`, `{"a":1,"ab":2}`, `{"a":0}`, `{"1":5}`, `{"a":1,"b":2,"c":3}`, "null", "[]", `{"a":null}`, `{"":1}`}
	for _, rule := range []string{"min=1", "max=1", "len=2", "dive,min=1", "dive,keys,alpha,endkeys,min=1", "dive,keys,len=2,endkeys", "min=1,dive,keys,oneof=a ab,endkeys,lt=5", "dive,keys,required,endkeys"} {
		t.Run("map "+rule, func(t *testing.T) {
			t.Parallel()
			agree(t, structWith(reflect.TypeFor[map[string]int](), quoteTag("validate", rule)), maps)
		})
	}
	t.Run("elements of texts", func(t *testing.T) {
		t.Parallel()
		agree(t, structWith(reflect.TypeFor[[]string](), `validate:"dive,required"`), []string{`[]`, `[""]`, `["a"]`, `["a",""]`, "[null]"})
	})
	t.Run("lists of lists", func(t *testing.T) {
		t.Parallel()
		agree(t, structWith(reflect.TypeFor[[][]string](), `validate:"dive,min=1,dive,len=1"`), []string{`[]`, `[[]]`, `[["a"]]`, `[["ab"]]`, `[["a"],[]]`})
	})
}

// TestPresence checks that 0, false and "" are values: absence is judged on the text.
func TestPresence(t *testing.T) {
	t.Parallel()
	type in struct {
		S string  `json:"s" validate:"required"`
		I int     `json:"i" validate:"required"`
		B bool    `json:"b" validate:"required"`
		F float64 `json:"f,omitempty" validate:"min=1"`
		P *string `json:"p" validate:"min=2"`
		N struct {
			X int `json:"x" validate:"min=1"`
		} `json:"n,omitempty"` //nolint:modernize // presence of a struct that says omitempty is tested
		L []struct {
			Y string `json:"y" validate:"min=1"`
		} `json:"l,omitempty"`
	}
	p := mustCompile(t, reflect.TypeFor[in](), binding.Input, binding.Options{})
	for raw, want := range map[string]string{
		`{"s":"","i":0,"b":false}`:                            "",
		`{"s":"","i":0}`:                                      "/b",
		`{"s":null,"i":0,"b":false}`:                          "/s",
		`{"s":"","i":0,"b":false,"f":0}`:                      "/f",
		`{"s":"","i":0,"b":false,"p":null}`:                   "",
		`{"s":"","i":0,"b":false,"p":"x"}`:                    "/p",
		`{"s":"","i":0,"b":false,"n":{"x":0}}`:                "/n/x",
		`{"s":"","i":0,"b":false,"n":{}}`:                     "/n/x",
		`{"s":"","i":0,"b":false,"l":[{"y":"a"},{"y":""}]}`:   "/l/1/y",
		`{"s":"","i":0,"b":false,"l":"[{\"y\":\"\"}]"}`:       "/l",
		`{"s":"","i":0,"b":false,"l":"[{\"y\":\"a\"}]"}`:      "",
		`{"s":"","i":"0","b":"false","f":"1.5","n":{"x":1}}`:  "",
		`{"s":"","i":0,"b":false,"l":[{"y":""},{"y":""},{}]}`: "/l/0/y /l/1/y /l/2/y",
	} {
		_, err := p.Decode(t.Context(), []byte(raw), reflect.New(reflect.TypeFor[in]()).Elem())
		if got := paths(err); got != want {
			t.Errorf("%s: faults at %q, want %q (%v)", raw, got, want, err)
		}
	}
}

func paths(err error) string {
	invalid, ok := errors.AsType[*binding.Invalid](err)
	if !ok {
		return ""
	}
	var out []string
	for _, issue := range invalid.Issues {
		out = append(out, issue.Path)
	}
	return strings.Join(out, " ")
}

// TestNamespaces checks that validator's paths survive generics, embedding, shadowing and hostile map keys.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	type inner struct {
		V string `json:"v.w" validate:"min=2"`
	}
	type Emb struct {
		E int `json:"e" validate:"min=1"`
		S int `json:"s" validate:"min=100"`
	}
	type in struct {
		Emb
		S int                         `json:"s"`
		M map[string]map[string]inner `json:"m,omitempty"`
		B tBox[inner]                 `json:"b/c"`
		A [1]*inner                   `json:"a,omitzero"`
	}
	p := mustCompile(t, reflect.TypeFor[in](), binding.Input, binding.Options{})
	for raw, want := range map[string]string{
		`{"e":1,"s":1,"b/c":{"v":{"v.w":"ab"}}}`:                                    "",
		`{"e":0,"s":1,"b/c":{"v":{"v.w":"a"}}}`:                                     "/e /b~1c/v/v.w",
		`{"e":1,"s":1,"b/c":{"v":{"v.w":"ab"}},"m":{"a].x[b":{"].V":{"v.w":"a"}}}}`: "/m/a].x[b/].V/v.w",
		`{"e":1,"s":1,"b/c":{"v":{"v.w":"ab"}},"a":[{"v.w":"a"}]}`:                  "/a/0/v.w",
	} {
		_, err := p.Decode(t.Context(), []byte(raw), reflect.New(reflect.TypeFor[in]()).Elem())
		if got := paths(err); got != want {
			t.Errorf("%s: faults at %q, want %q (%v)", raw, got, want, err)
		}
	}
}

// TestMapRoot checks that rules apply below a root that is not a struct.
func TestMapRoot(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[map[string][]*tTag](), binding.Input, binding.Options{})
	for raw, want := range map[string]string{
		`{}`: "", `{"a":[{"name":"x"},null]}`: "", `{"a":[null,{"name":""}],"a]":[{"name":""}]}`: "/a/1/name /a]/0/name", `{"a":[{}]}`: "/a/0/name",
	} {
		_, err := p.Decode(t.Context(), []byte(raw), reflect.New(p.Type()).Elem())
		if got := paths(err); got != want {
			t.Errorf("%s: faults at %q, want %q (%v)", raw, got, want, err)
		}
	}
}

// TestRelations checks rules that look at other members, with members that were sent and members that were
// not.
func TestRelations(t *testing.T) {
	t.Parallel()
	type in struct {
		A string `json:"a,omitempty"`
		B string `json:"b,omitempty" validate:"required_with=A,max=3"`
		C int    `json:"c,omitempty" validate:"gtfield=D"`
		D int    `json:"d,omitempty"`
		E string `json:"e,omitempty" validate:"excluded_with=A"`
		F *int   `json:"f" validate:"required_if=A x"`
	}
	p := mustCompile(t, reflect.TypeFor[in](), binding.Input, binding.Options{})
	for raw, want := range map[string]string{
		`{}`: "", `{"a":"1"}`: "/b", `{"a":"1","b":""}`: "", `{"a":"1","b":"long"}`: "/b", `{"d":5}`: "", `{"c":5,"d":5}`: "/c",
		`{"c":0}`: "/c", `{"c":6,"d":5}`: "", `{"e":"x"}`: "", `{"e":"x","a":"1","b":"2"}`: "/e", `{"a":"x","b":"1"}`: "/f",
		`{"a":"x","b":"1","f":null}`: "/f", `{"a":"x","b":"1","f":0}`: "",
	} {
		_, err := p.Decode(t.Context(), []byte(raw), reflect.New(p.Type()).Elem())
		if got := paths(err); got != want {
			t.Errorf("%s: faults at %q, want %q (%v)", raw, got, want, err)
		}
	}
}

type pSpan struct {
	From int `json:"from" validate:"min=1"`
	Till int `json:"till,omitempty" validate:"required_without=From"`
}

// TestPresenceInAnyOrder checks that a rule about presence is judged at any place in its tag, and that a zero
// that was sent must satisfy all other rules.
func TestPresenceInAnyOrder(t *testing.T) {
	t.Parallel()
	type zeros struct {
		From int      `json:"from,omitempty"`
		To   int      `json:"to,omitempty" validate:"required_with=From,gtfield=From"`
		A    string   `json:"a,omitempty"`
		R    pSpan    `json:"r,omitzero" validate:"required_with=A"`
		L    [1]pSpan `json:"l,omitzero" validate:"required_with=A"`
		P    *int     `json:"p" validate:"min=1,required_with=To"`
	}
	type unwanted struct {
		A string `json:"a,omitempty"`
		R pSpan  `json:"r,omitzero" validate:"excluded_with=A"`
	}
	const a = `"a":"x","r":{"from":1},"l":[{"from":1}]`
	cases := map[reflect.Type]map[string]string{
		reflect.TypeFor[zeros](): {
			`{"from":5,"to":0}`: "/to", `{"from":5}`: "/to", `{"to":1}`: "/p", `{"to":1,"p":0}`: "/p", `{"to":1,"p":1}`: "", `{"a":"x"}`: "/r /l", `{` + a + `}`: "",
			`{"a":"x","r":{"from":0},"l":[{"from":1}]}`: "/r/from /r/till", `{"a":"x","r":{"from":1},"l":[{"from":0}]}`: "/l/0/from /l/0/till",
		},
	}
	cases[reflect.TypeFor[unwanted]()] = map[string]string{`{"a":"x","r":{"from":0,"till":3}}`: "/r", `{"r":{"from":0,"till":3}}`: "/r/from", `{"a":"x"}`: ""}
	for _, word := range []string{"structonly", "nostructlevel"} {
		for _, tag := range []string{word + ",required_with=A", "required_with=A," + word} {
			cases[reflect.StructOf([]reflect.StructField{
				{Name: "A", Type: reflect.TypeFor[string](), Tag: `json:"a,omitempty"`},
				{Name: "R", Type: reflect.TypeFor[pSpan](), Tag: reflect.StructTag(fmt.Sprintf(`json:"r,omitzero" validate:%q`, tag))},
			})] = map[string]string{`{"a":"x"}`: "/r", `{}`: "", `{"a":"x","r":{"from":0}}`: "", `{"a":"x","r":{"from":0,"till":1}}`: ""}
		}
	}
	for _, tag := range []string{"email,required_without=Phone", "required_without=Phone,email", "omitempty,required_without=Phone,email"} {
		cases[reflect.StructOf([]reflect.StructField{
			{Name: "Phone", Type: reflect.TypeFor[string](), Tag: `json:"phone,omitempty"`},
			{Name: "Email", Type: reflect.TypeFor[string](), Tag: reflect.StructTag(fmt.Sprintf(`json:"email,omitempty" validate:%q`, tag))},
		})] = map[string]string{`{}`: "/email", `{"phone":"1"}`: "", `{"email":"a@b.org"}`: "", `{"email":"a"}`: "/email"}
	}
	for typ, calls := range cases {
		p := mustCompile(t, typ, binding.Input, binding.Options{})
		for raw, want := range calls {
			_, err := p.Decode(t.Context(), []byte(raw), reflect.New(p.Type()).Elem())
			if got := paths(err); got != want {
				t.Errorf("%v: %s: faults at %q, want %q (%v)", typ, raw, got, want, err)
			}
		}
	}
}

// TestRelationsOfChoices checks that a fault of a list of choices also has the words of a rule that looks at
// other members.
func TestRelationsOfChoices(t *testing.T) {
	t.Parallel()
	type in struct {
		A string  `json:"a,omitempty"`
		B string  `json:"b,omitempty" validate:"excluded_with=A,oneof=x y"`
		C *tColor `json:"c" validate:"required_without=A"`
	}
	p := mustCompile(t, reflect.TypeFor[in](), binding.Input, binding.Options{})
	for raw, want := range map[string]string{
		`{}`:                `/c: missing. Want one of "red", "green", "blue". Required if a is missing.`,
		`{"a":"1","b":"x"}`: `/b: got "x" (text). Want one of "x", "y". Not allowed if a is given.`,
		`{"a":"1","b":"z"}`: `/b: got "z" (text). Want one of "x", "y". Not allowed if a is given.`,
		`{"c":"mid"}`:       `/c: got "mid" (text). Want one of "red", "green", "blue".`,
	} {
		_, err := p.Decode(t.Context(), []byte(raw), reflect.New(p.Type()).Elem())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\ngot  %v\nwant %s", raw, err, want)
		}
	}
}

// TestRange checks the statements of the page about bounds that may be left out.
func TestRange(t *testing.T) {
	t.Parallel()
	type values struct {
		Since time.Time `json:"since,omitzero"`
		Until time.Time `json:"until,omitzero" validate:"gtfield=Since"`
	}
	type pointers struct {
		Since *time.Time `json:"since"`
		Until *time.Time `json:"until" validate:"gtfield=Since"`
	}
	const since, until = `"since":"2026-01-01T00:00:00Z"`, `"until":"2026-01-02T00:00:00Z"`
	for _, tt := range []struct {
		in        any
		raw, want string
	}{
		{values{}, `{}`, ""},
		{values{}, `{` + since + `}`, ""},
		{values{}, `{` + until + `}`, ""},
		{values{}, `{` + since + `,` + until + `}`, ""},
		{pointers{}, `{}`, ""},
		{pointers{}, `{` + since + `}`, ""},
		{pointers{}, `{` + until + `}`, "/until"},
		{pointers{}, `{` + since + `,` + until + `}`, ""},
	} {
		p := mustCompile(t, reflect.TypeOf(tt.in), binding.Input, binding.Options{})
		_, err := p.Decode(t.Context(), []byte(tt.raw), reflect.New(p.Type()).Elem())
		if got := paths(err); got != tt.want {
			t.Errorf("%T %s: faults at %q, want %q (%v)", tt.in, tt.raw, got, tt.want, err)
		}
	}
}

// TestCostIsLinear checks that the cost grows with the length of what a caller can choose, and not with its
// square.
func TestCostIsLinear(t *testing.T) {
	t.Parallel()
	type item struct {
		Name string `json:"name"`
		Size int    `json:"size,omitempty" validate:"min=1"`
	}
	type in struct {
		L []item          `json:"l,omitempty"`
		M map[string]item `json:"m,omitempty"`
	}
	const n = 20_000
	var many, entries, unknown, wrong strings.Builder
	for i := range n {
		sep := ","
		if i == 0 {
			sep = ""
		}
		fmt.Fprintf(&many, `%s{"name":"x"}`, sep)
		fmt.Fprintf(&entries, `%s"k]%d":{"name":"x"}`, sep, i)
		fmt.Fprintf(&unknown, `%s"k%d":1`, sep, i)
		fmt.Fprintf(&wrong, `%s{"name":"x","size":0}`, sep)
	}
	p := mustCompile(t, reflect.TypeFor[in](), binding.Input, binding.Options{})
	for name, tc := range map[string]struct {
		raw  string
		want int
	}{
		"absent in a list": {`{"l":[` + many.String() + `]}`, 0},
		"absent in a map":  {`{"m":{` + entries.String() + `}}`, 0},
		"unknown":          {`{` + unknown.String() + `}`, 64},
		"wrong":            {`{"l":[` + wrong.String() + `]}`, 64},
	} {
		_, err := p.Decode(t.Context(), []byte(tc.raw), reflect.New(p.Type()).Elem())
		total := 0
		if invalid, ok := errors.AsType[*binding.Invalid](err); ok {
			total = invalid.Total
		}
		if total != tc.want {
			t.Errorf("%s: %d faults, want %d", name, total, tc.want)
		}
	}
}

// TestRulesBehindPointers checks that pointers before a value do not change any verdict about it.
func TestRulesBehindPointers(t *testing.T) {
	t.Parallel()
	type inner struct {
		N int `json:"n" validate:"min=1"`
	}
	for _, tt := range []struct {
		value reflect.Type
		tag   string
		calls []string
	}{
		{reflect.TypeFor[map[string]int](), "min=1,dive,keys,min=1,endkeys,min=1", []string{`{"":1}`, `{"a":0}`, `{}`, `{"":0,"a":1}`, `{"a":null}`, `null`}},
		{reflect.TypeFor[[]string](), "min=1,dive,min=1", []string{`[""]`, `["a",""]`, `[]`, `[null]`, `null`}},
		{reflect.TypeFor[[2]string](), "dive,min=1", []string{`["","a"]`, `["a",""]`, `["a"]`, `null`}},
		{reflect.TypeFor[inner](), "required", []string{`{"n":0}`, `{}`, `null`}},
		{reflect.TypeFor[[]map[string]int](), "dive,min=1,dive,min=1", []string{`[{"a":0}]`, `[{}]`, `[null]`}},
		{reflect.TypeFor[string](), "min=2", []string{`"a"`, `null`}},
	} {
		for _, call := range tt.calls {
			var want string
			value := tt.value
			for depth := range 4 {
				s := reflect.StructOf([]reflect.StructField{{Name: "V", Type: value, Tag: reflect.StructTag(`json:"v" validate:"` + tt.tag + `"`)}})
				p := mustCompile(t, s, binding.Input, binding.Options{})
				got := fmt.Sprint(p.Decode(t.Context(), []byte(`{"v":`+call+`}`), reflect.New(s).Elem()))
				switch depth {
				case 1: // null is allowed from here on
					want = got
				case 2, 3:
					if got != want {
						t.Errorf("%v with %s: %s\nwant\n%s", value, call, got, want)
					}
				}
				value = reflect.PointerTo(value)
			}
		}
	}
}

// TestRequiredKeys checks that a rule that demands nothing of a key leaves nothing in the tag for validator,
// also beside rules that validator must judge.
func TestRequiredKeys(t *testing.T) {
	t.Parallel()
	type in struct {
		A int            `json:"a,omitempty"`
		B int            `json:"b,omitempty" validate:"gtefield=A"`
		M map[int]string `json:"m" validate:"dive,keys,required,endkeys,min=1"`
	}
	for raw, want := range map[string]string{`{"m":{"1":""}}`: "/m/1", `{"m":{"0":"a"}}`: ""} {
		if _, _, err := decodeTo[in](t, raw); paths(err) != want || (err == nil) != (want == "") {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// TestRulesOfIntegerKeys checks that rules judge such a key as a number, and that the schema does not measure
// its text.
func TestRulesOfIntegerKeys(t *testing.T) {
	t.Parallel()
	for rule, c := range map[string]struct{ good, wrong, words string }{
		"min=5":   {"7", "4", "a whole number of at least 5"},
		"max=100": {"99", "101", "a whole number of at most 100"},
		"lt=0":    {"-7", "7", "a whole number below 0"},
	} {
		p := mustCompile(t, structWith(reflect.TypeFor[map[int]int](), quoteTag("validate", "dive,keys,"+rule+",endkeys")), binding.Input, binding.Options{})
		call := []byte(`{"v":{"` + c.good + `":1}}`)
		_, err := p.Decode(t.Context(), call, reflect.New(p.Type()).Elem())
		if err != nil || !accepts(t, judgeOf(t, p.Schema()), call) || !strings.Contains(string(p.Schema()), "Must be "+c.words+".") {
			t.Errorf("%s: %v\n%s", rule, err, p.Schema())
		}
		if got := refusal(t, p, `{"v":{"`+c.wrong+`":1}}`).Error(); !strings.Contains(got, "Want keys that are "+c.words+".") {
			t.Error(got)
		}
	}
}
