package plan_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/binding/internal/bindingtest"
	"github.com/kagami-mcp/kagami/framework/internal/binding/plan"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// sameVerdict: of every value, the fast checks say what validator says. It returns
// how many they accept.
func sameVerdict(t *testing.T, typ reflect.Type, values []string) (accepted int) {
	t.Helper()
	p := mustCompile(t, typ, plan.Input, plan.Options{NoRepair: true})
	if !plan.Quick(p) {
		t.Fatalf("%s is judged by validator alone", typ)
	}
	for _, value := range values {
		raw := []byte(`{"v":` + value + `}`)
		decodes, sure, valid := plan.Verdicts(p, raw)
		if decodes && sure != valid {
			t.Errorf("%s of %s: the fast checks say %v, validator says %v", raw, typ, sure, valid)
		}
		sameFaults(t, p, raw)
		if sure {
			accepted++
		}
	}
	return accepted
}

// sameFaults: validator names the same faults, in the same words, if it is asked about the values that a fast
// check has not accepted, and if it is asked about the whole value.
func sameFaults(t *testing.T, p *plan.Plan, raw []byte) {
	t.Helper()
	_, _, quick := p.Decode(t.Context(), raw, reflect.New(p.Type()).Elem())
	_, _, slow := plan.Slow(p).Decode(t.Context(), raw, reflect.New(p.Type()).Elem())
	if fmt.Sprint(quick) != fmt.Sprint(slow) {
		t.Errorf("%s\none by one: %v\nas a whole: %v", raw, quick, slow)
	}
}

// TestFaultsInside: the same for values in values, where validator passes over some of them.
func TestFaultsInside(t *testing.T) {
	t.Parallel()
	type inner struct {
		X int      `json:"x" validate:"min=1"`
		L []string `json:"l,omitempty" validate:"max=2,dive,min=2"`
	}
	type in struct {
		Plain   inner            `json:"plain"`
		Zero    inner            `json:"zero,omitzero" validate:"omitempty"`
		Unruled inner            `json:"unruled,omitzero" validate:"-"`
		Pair    [2]inner         `json:"pair,omitzero" validate:"omitempty"`
		List    []inner          `json:"list,omitempty" validate:"max=2,dive,omitempty"`
		Map     map[string]inner `json:"map,omitempty" validate:"dive,keys,alpha,endkeys"`
		Deep    []map[int][]int  `json:"deep,omitempty" validate:"dive,max=1,dive,keys,min=5,endkeys,max=2,dive,min=3"`
		Secret  []string         `json:"secret,omitempty" validate:"dive,len=2" secret:"true"`
		Color   string           `json:"color,omitempty" validate:"oneof=red blue" default:"red"`
		Point   *[]int           `json:"point" validate:"min=2,dive,lt=9"`
	}
	p := mustCompile(t, reflect.TypeFor[in](), plan.Input, plan.Options{})
	if !plan.Quick(p) {
		t.Fatal("validator judges all of it")
	}
	const zero, wrong = `{"x":0}`, `{"x":0,"l":["a","bb","ccc"]}`
	for _, member := range []string{
		`"zero":` + zero, `"zero":` + wrong, `"unruled":` + wrong, `"pair":[` + zero + `,` + zero + `]`, `"pair":[` + zero + `,` + wrong + `]`,
		`"list":[` + zero + `,` + wrong + `,{"x":1}]`, `"list":[{"x":true},` + wrong + `]`, `"map":{"a":` + zero + `,"1":` + wrong + `,"2":{}}`,
		`"deep":[{"5":[3,3,3],"1":[1]},{"1":[1,2,"3"]},{"x":[1]}]`, `"deep":["{\"1\":[1]}"]`, `"secret":["abc","ab",1]`, `"color":"rod"`, `"color":""`,
		`"point":[9]`, `"point":[1,"10"]`, `"point":null`, `"plain":` + wrong + `,"plain":` + wrong,
	} {
		sameFaults(t, p, []byte(`{"plain":{"x":1},`+member+`}`))
		sameFaults(t, p, []byte(`{"plain":`+wrong+`,`+member+`}`))
	}
}

// TestFastChecks: for every kind and rule, on values on both sides of the rule.
func TestFastChecks(t *testing.T) {
	t.Parallel()
	sizes := []string{"min=2", "max=2", "len=2", "gt=2", "lt=2", "gte=2", "lte=2", "eq=2", "ne=2", "min=02", "min=1,max=3", "omitempty,min=2", "omitnil,min=2", "required,max=2"}
	numbers := []string{"-4", "-1", "0", "-0", "1", "1.5", "2", "2.0", "3", "4", "8", "9", "100", "null"}
	words := append(bindingtest.JSONTexts(bindingtest.Texts), `"a@b.co"`, `"2"`, `"22"`, `"a, b"`, `"ä"`)
	lists := []string{"[]", "[1]", "[1,2]", "[1,2,3]", "[0]", "[2,2]", "[null]", "null"}
	maps := []string{"{}", `{"a":1}`, `{"a":1,"bb":2}`, `{"a":0,"b":2,"c":3}`, `{"":1}`, "null"}
	for _, group := range []struct {
		types  []reflect.Type
		rules  []string
		values []string
	}{
		{
			[]reflect.Type{reflect.TypeFor[string](), reflect.TypeFor[*string](), reflect.TypeFor[acWord]()},
			append(sizes, "min=010", "max=0x2", "oneof=a ab 'in progress'", "eq=yes", "ne=no", "email", "uuid4|eq=a", "alpha,max=3", "startswith=a", "contains=0x2C", "omitempty,oneof=a"), words,
		},
		{[]reflect.Type{reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[uint16](), reflect.TypeFor[*int64]()}, append(sizes, "min=010", "max=0x2", "oneof=1 2 8"), numbers},
		{[]reflect.Type{reflect.TypeFor[float64](), reflect.TypeFor[float32](), reflect.TypeFor[*float64]()}, append(sizes, "min=1.5", "lt=0.1", "gte=-1e0"), numbers},
		{[]reflect.Type{reflect.TypeFor[time.Duration]()}, []string{"min=2s", "lt=90s", "eq=2000000000", "omitempty,gt=1s"}, []string{`"0"`, `"1s"`, `"2s"`, `"90s"`}},
		{[]reflect.Type{reflect.TypeFor[time.Time]()}, []string{"gt", "lt", "omitempty,gte"}, []string{`"2001-01-31T15:04:05Z"`, `"2998-01-31T15:04:05Z"`, `"0001-01-01T00:00:00Z"`}},
		{[]reflect.Type{reflect.TypeFor[bool]()}, []string{"eq=true", "ne=true", "required"}, []string{"true", "false"}},
		{[]reflect.Type{reflect.TypeFor[[]int](), reflect.TypeFor[[]*int]()}, append(sizes, "dive,min=1", "max=2,dive,gt=0,lt=3", "unique", "dive,omitempty,min=2", "dive,required"), lists},
		{[]reflect.Type{reflect.TypeFor[[2]int]()}, []string{"dive,min=2", "unique", "omitempty,dive,min=1"}, lists},
		{[]reflect.Type{reflect.TypeFor[[]string]()}, []string{"dive,required", "dive,min=2", "max=1,dive,oneof=a b"}, []string{"[]", `[""]`, `["a"]`, `["ab","b"]`}},
		{[]reflect.Type{reflect.TypeFor[map[string]int]()}, append(sizes, "dive,min=1", "dive,keys,len=1,endkeys", "dive,keys,required,endkeys,min=1", "min=1,dive,keys,alpha,endkeys,lt=3"), maps},
		{[]reflect.Type{reflect.TypeFor[[][]string]()}, []string{"dive,min=1,dive,len=1"}, []string{"[]", "[[]]", `[["a"]]`, `[["ab"]]`, `[["a"],[]]`}},
	} {
		for _, typ := range group.types {
			for _, rule := range group.rules {
				t.Run(typ.String()+" "+rule, func(t *testing.T) {
					t.Parallel()
					tag := bindingtest.QuoteTag("validate", rule)
					if accepted := sameVerdict(t, bindingtest.StructWith(typ, tag), group.values); accepted == 0 {
						t.Error("no value is accepted")
					}
				})
			}
		}
	}
}

type (
	acWord  string
	acInner struct {
		X int `json:"x" validate:"min=1"`
	}
	acHidden struct { // reads itself: its rules are not met on the way
		X acInner `json:"x"`
	}
	acOther string // another value is judged in its place
	acBase  struct {
		X int `json:"x,omitempty" validate:"min=1"`
	}
)

func (h *acHidden) UnmarshalJSON(raw []byte) error { return json.Unmarshal(raw, &h.X) }

func (o acOther) ValidatorValue() any { return len(o) - 2 }

// TestValidatorStaysTheJudge of what the fast checks cannot see: what it refuses is
// refused, and the plan knows.
func TestValidatorStaysTheJudge(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		t          reflect.Type
		wrong, raw string
		quick      bool
	}{
		"nested":          {reflect.TypeFor[struct{ V acInner }](), `{"V":{"x":0}}`, `{"V":{"x":1}}`, true},
		"list of structs": {reflect.TypeFor[struct{ V []acInner }](), `{"V":[{"x":0}]}`, `{"V":[{"x":1}]}`, true},
		"embedded":        {reflect.TypeFor[struct{ acBase }](), `{"x":0}`, `{}`, true},
		"embedded, deep":  {reflect.TypeFor[struct{ V *struct{ acBase } }](), `{"V":{"x":0}}`, `{"V":{}}`, true},
		"map of structs":  {reflect.TypeFor[map[string]acInner](), `{"a":{"x":0}}`, `{"a":{"x":1}}`, true},
		"own method":      {reflect.TypeFor[struct{ V acHidden }](), `{"V":{"x":0}}`, `{"V":{"x":1}}`, false},
		"both": {reflect.TypeFor[struct {
			V acHidden
			W acInner
		}](), `{"V":{"x":0},"W":{"x":1}}`, `{"V":{"x":1},"W":{"x":1}}`, false},
		"valuer": {reflect.TypeFor[struct {
			V acOther `validate:"eq=1"`
		}](), `{"V":"ab"}`, `{"V":"abc"}`, false},
		"between members": {reflect.TypeFor[struct {
			A int
			B int `validate:"gtfield=A"`
		}](), `{"A":2,"B":1}`, `{"A":1,"B":2}`, false},
		"presence": {reflect.TypeFor[struct {
			A *int
			B *int `validate:"required_with=A"`
		}](), `{"A":2}`, `{"A":1,"B":2}`, false},
		"between, as an alternative": {reflect.TypeFor[struct {
			A int
			B int `validate:"eq=7|gtfield=A"`
		}](), `{"A":2,"B":1}`, `{"A":9,"B":7}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := mustCompile(t, tt.t, plan.Input, plan.Options{})
			if plan.Quick(p) != tt.quick {
				t.Errorf("quick = %v", !tt.quick)
			}
			v := reflect.New(tt.t).Elem()
			if _, _, err := p.Decode(t.Context(), []byte(tt.wrong), v); err == nil {
				t.Errorf("%s is accepted", tt.wrong)
			}
			if _, _, err := p.Decode(t.Context(), []byte(tt.raw), v); err != nil {
				t.Errorf("%s: %v", tt.raw, err)
			}
		})
	}
}

// FuzzFastChecks: whatever the text, the fast checks accept nothing that validator
// refuses, and refuse nothing that it accepts.
func FuzzFastChecks(f *testing.F) {
	f.Add([]byte(bindingtest.SearchCall))
	for _, cut := range []string{"relevance", `"tags":[`, "0.75", `"en"`} {
		f.Add([]byte(strings.Replace(bindingtest.SearchCall, cut, "", 1)))
	}
	p, _ := plan.Compile(reflect.TypeFor[bindingtest.Search](), plan.Input, plan.Options{NoRepair: true})
	f.Fuzz(func(t *testing.T, raw []byte) {
		if jsontext.Check(raw, jsontext.DefaultLimits()) != nil {
			return
		}
		sameFaults(t, p, raw)
		if decodes, accepted, valid := plan.Verdicts(p, raw); decodes && accepted != valid {
			t.Errorf("%s: the fast checks say %v, validator says %v", raw, accepted, valid)
		}
	})
}
