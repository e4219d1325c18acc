package binding_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// kinds are types of the fields that a rule compares. comparable reports that validator orders their values,
// and equal that it distinguishes equal values from others.
var relationKinds = []struct {
	t              reflect.Type
	ordered, equal bool
}{
	{reflect.TypeFor[int](), true, true},
	{reflect.TypeFor[int8](), true, true},
	{reflect.TypeFor[int64](), true, true},
	{reflect.TypeFor[uint](), true, true},
	{reflect.TypeFor[uint16](), true, true},
	{reflect.TypeFor[float32](), true, true},
	{reflect.TypeFor[float64](), true, true},
	{reflect.TypeFor[string](), true, true},
	{reflect.TypeFor[bool](), false, true},
	{reflect.TypeFor[time.Time](), true, true},
	{reflect.TypeFor[time.Duration](), true, true},
	{reflect.TypeFor[*int](), true, true},
	{reflect.TypeFor[[]string](), false, false},
	{reflect.TypeFor[[2]int](), false, false},
	{reflect.TypeFor[map[string]int](), false, false},
	{reflect.TypeFor[struct{ X int }](), false, false},
	{reflect.TypeFor[json.Number](), false, false},
}

// TestRelationsBetweenKinds checks that a rule between two fields either builds and distinguishes their
// values, or is refused at Build, whatever stands before it in the tag.
func TestRelationsBetweenKinds(t *testing.T) {
	t.Parallel()
	rules := []string{"eqfield", "nefield", "gtfield", "gtefield", "ltfield", "ltefield", "fieldcontains", "fieldexcludes", "postcode_iso3166_alpha2_field"}
	for _, rule := range rules {
		for _, a := range relationKinds {
			for _, b := range relationKinds {
				want := strings.TrimPrefix(a.t.String(), "*") == strings.TrimPrefix(b.t.String(), "*") && a.equal
				if a.t.Kind() == reflect.Int64 && b.t.Kind() == reflect.Int64 {
					want = true // a duration is an int64
				}
				switch {
				case strings.HasPrefix(rule, "gt"), strings.HasPrefix(rule, "lt"):
					want = want && a.ordered
				case !strings.HasSuffix(rule, "eqfield") && rule != "nefield":
					want = a.t.Kind() == reflect.String && b.t.Kind() == reflect.String
				}
				for _, tag := range []string{rule + "=B", "required," + rule + "=B"} {
					owner := reflect.StructOf([]reflect.StructField{
						{Name: "A", Type: a.t, Tag: reflect.StructTag(fmt.Sprintf(`json:"a" validate:%q`, tag))},
						{Name: "B", Type: b.t, Tag: `json:"b"`},
					})
					plan, faults := binding.Compile(owner, binding.Input, binding.Options{})
					if built := plan != nil; built != want {
						t.Errorf("%s of %s and %s: built %v, want %v: %v", tag, a.t, b.t, built, want, faults)
					}
				}
			}
		}
	}
}

// TestOrderOfTexts checks that Build warns of rules that compare texts, because validator compares their
// lengths. For dates, that is surprising.
func TestOrderOfTexts(t *testing.T) {
	t.Parallel()
	type in struct {
		From string `json:"from"`
		To   string `json:"to" validate:"gtfield=From"`
		Same string `json:"same" validate:"eqfield=From"`
	}
	plan, faults := binding.Compile(reflect.TypeFor[in](), binding.Input, binding.Options{})
	if plan == nil || len(faults) != 1 || !faults[0].Warning || faults[0].Path != "in.To" || !strings.Contains(faults[0].Problem, `"gtfield=From" compares the lengths of the texts`) {
		t.Errorf("%v", faults)
	}
}

// TestRelationsAreJudged checks that rules that build are enforced.
func TestRelationsAreJudged(t *testing.T) {
	t.Parallel()
	type numbers struct {
		A int64 `json:"a" validate:"gtfield=B"`
		B int64 `json:"b"`
	}
	type differ struct {
		A *uint8 `json:"a" validate:"required,nefield=B"`
		B uint8  `json:"b"`
	}
	type times struct {
		A time.Time `json:"a" validate:"gtefield=B"`
		B time.Time `json:"b"`
	}
	for _, err := range []error{
		second(decodeTo[numbers](t, `{"a":5,"b":3}`)), second(decodeTo[differ](t, `{"a":5,"b":3}`)),
		second(decodeTo[times](t, `{"a":"2026-01-02T00:00:00Z","b":"2026-01-01T00:00:00Z"}`)),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	for _, err := range []error{
		second(decodeTo[numbers](t, `{"a":3,"b":3}`)), second(decodeTo[differ](t, `{"a":3,"b":3}`)),
		second(decodeTo[times](t, `{"a":"2026-01-01T00:00:00Z","b":"2026-01-02T00:00:00Z"}`)),
	} {
		if err == nil {
			t.Error("accepted")
		}
	}
}

func second[T, R any](_ T, _ R, err error) error { return err }

// TestPresenceValues checks that a presence rule compares with a value of the field's kind.
func TestPresenceValues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind        reflect.Type
		good, wrong string
	}{
		{reflect.TypeFor[int](), "7", "x"},
		{reflect.TypeFor[uint8](), "7", "-1"},
		{reflect.TypeFor[*float64](), "7.5", "x"},
		{reflect.TypeFor[bool](), "true", "yes"},
		{reflect.TypeFor[[]string](), "2", "x"},
		{reflect.TypeFor[time.Duration](), "1000", "1s"},
		{reflect.TypeFor[string](), "x", ""},
		{reflect.TypeFor[time.Time](), "", "2026-01-01"},
	} {
		for _, rule := range []string{"required_if", "required_unless", "excluded_if", "excluded_unless", "skip_unless"} {
			for value, want := range map[string]bool{tt.good: true, tt.wrong: false} {
				for _, before := range []string{"", "omitempty,", "min=4,"} {
					if value == "" {
						continue
					}
					owner := reflect.StructOf([]reflect.StructField{
						{Name: "A", Type: reflect.TypeFor[string](), Tag: reflect.StructTag(fmt.Sprintf(`json:"a,omitempty" validate:"%s%s=B %s"`, before, rule, value))},
						{Name: "B", Type: tt.kind, Tag: `json:"b,omitempty"`},
					})
					plan, faults := binding.Compile(owner, binding.Input, binding.Options{})
					if built := plan != nil; built != want {
						t.Errorf("%s%s=B %s with B %s: built %v, want %v: %v", before, rule, value, tt.kind, built, want, faults)
					}
				}
			}
		}
	}
}

// TestPresenceAndDefaults checks that a value that comes from a default is not excluded, and that a member
// with a default counts as always given.
func TestPresenceAndDefaults(t *testing.T) {
	t.Parallel()
	type shape struct {
		Shape  string `json:"shape" validate:"oneof=circle square"`
		Radius int    `json:"radius" default:"5" validate:"excluded_unless=Shape circle"`
	}
	for raw, want := range map[string]string{`{"shape":"square"}`: "", `{"shape":"circle"}`: "", `{"shape":"square","radius":5}`: "/radius"} {
		if _, _, err := decodeTo[shape](t, raw); paths(err) != want || (err == nil) != (want == "") {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
	}
	type zeros struct {
		Ratio float64       `json:"ratio" default:"0.0"`
		Wait  time.Duration `json:"wait" default:"0m"`
		Less  int           `json:"less" default:"-0"`
		A     string        `json:"a,omitempty" validate:"excluded_with=Ratio Wait Less"`
	}
	if _, _, err := decodeTo[zeros](t, `{"a":"x"}`); err != nil {
		t.Error(err)
	}
	for _, rule := range []string{"excluded_with=A Page", "required_without=Page", "required_with_all=Page"} {
		owner := reflect.StructOf([]reflect.StructField{
			{Name: "A", Type: reflect.TypeFor[int](), Tag: `json:"a,omitempty"`},
			{Name: "Page", Type: reflect.TypeFor[int](), Tag: `json:"page" default:"1"`},
			{Name: "Cursor", Type: reflect.TypeFor[string](), Tag: reflect.StructTag(fmt.Sprintf(`json:"cursor,omitempty" validate:%q`, rule))},
		})
		if plan, faults := binding.Compile(owner, binding.Input, binding.Options{}); plan != nil || !strings.Contains(fmt.Sprint(faults), "Page has a default") {
			t.Errorf("%s: %v", rule, faults)
		}
	}
}

// TestSkipUnless checks that validator demands the member if all of the others have the values.
func TestSkipUnless(t *testing.T) {
	t.Parallel()
	type in struct {
		A int `json:"a,omitempty" validate:"skip_unless=B 1,max=5"`
		B int `json:"b"`
	}
	for raw, want := range map[string]string{`{"b":1}`: "/a", `{"b":2}`: "", `{"a":0,"b":1}`: "", `{"a":6,"b":1}`: "/a", `{"a":3,"b":1}`: ""} {
		if _, _, err := decodeTo[in](t, raw); paths(err) != want || (err == nil) != (want == "") {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
	}
}

// TestUniqueNeedsComparable checks unique on elements that are not keys of a map, because validator panics on
// them.
func TestUniqueNeedsComparable(t *testing.T) {
	t.Parallel()
	for kind, want := range map[reflect.Type]bool{
		reflect.TypeFor[[]string](): true, reflect.TypeFor[[]*int](): true, reflect.TypeFor[[]struct{ X int }](): true,
		reflect.TypeFor[[]any](): false, reflect.TypeFor[[][]int](): false, reflect.TypeFor[[]map[string]int](): false,
		reflect.TypeFor[[]struct{ X []int }](): false, reflect.TypeFor[map[string]any](): false,
		reflect.TypeFor[[]**int](): false, reflect.TypeFor[[]struct{ X *string }](): false, reflect.TypeFor[[]*struct{ X struct{ Y *int } }](): false,
		reflect.TypeFor[[][2]*int](): false, reflect.TypeFor[map[string]struct{ X *int }](): false, reflect.TypeFor[[]struct{ X any }](): false,
		reflect.TypeFor[[]time.Time](): true, reflect.TypeFor[[]netip.Addr](): true, reflect.TypeFor[[]*netip.Prefix](): true, reflect.TypeFor[[][2]int](): true,
		reflect.TypeFor[[]struct{ At time.Time }](): true,
		reflect.TypeFor[[]struct {
			ID string
			P  *int `json:"-"`
			A  any  `json:"-"`
		}](): true,
	} {
		for _, tag := range []string{"unique", "min=1,unique", "unique,min=1"} {
			owner := reflect.StructOf([]reflect.StructField{{Name: "A", Type: kind, Tag: reflect.StructTag(fmt.Sprintf(`json:"a" validate:%q`, tag))}})
			plan, faults := binding.Compile(owner, binding.Input, binding.Options{})
			if built := plan != nil; built != want {
				t.Errorf("%s on %s: built %v, want %v: %v", tag, kind, built, want, faults)
			}
		}
	}
}

// RBase is embedded in elements of lists.
type RBase struct{ E int }

// TestUniqueFields is like TestUniqueNeedsComparable, for a field of the elements.
func TestUniqueFields(t *testing.T) {
	t.Parallel()
	type item struct {
		A any
		P *int
		Q **int
		L []int
		N int
		S struct{ P *int }
	}
	type outer struct {
		*RBase
		N int
	}
	for _, tt := range []struct {
		t    reflect.Type
		tag  string
		want bool
	}{
		{reflect.TypeFor[[]item](), "unique=A", false},
		{reflect.TypeFor[[]item](), "unique=P", true},
		{reflect.TypeFor[[]item](), "unique=Q", false},
		{reflect.TypeFor[[]*item](), "unique=L", false},
		{reflect.TypeFor[[]*item](), "unique=N", true},
		{reflect.TypeFor[[]item](), "unique=S", false},
		{reflect.TypeFor[[]item](), "unique=Nope", false},
		{reflect.TypeFor[[]int](), "unique=N", false},
		{reflect.TypeFor[[]outer](), "unique=E", false},
		{reflect.TypeFor[[]outer](), "unique=N", true},
	} {
		plan, faults := binding.Compile(structWith(tt.t, quoteTag("validate", tt.tag)), binding.Input, binding.Options{})
		if built := plan != nil; built != tt.want {
			t.Errorf("%s on %s: built %v, want %v: %v", tt.tag, tt.t, built, tt.want, faults)
		}
	}
}

// TestMistakesBesideRelations checks that the handling of a wrong call never panics, whatever values the rules
// look at.
func TestMistakesBesideRelations(t *testing.T) {
	t.Parallel()
	type optional struct {
		Min *int `json:"min"`
		Max int  `json:"max" validate:"gtfield=Min"`
	}
	type small struct {
		V int8 `json:"v"`
	}
	type large struct {
		V big.Int `json:"v"`
	}
	type texts struct {
		A string `json:"a" validate:"gtefield=B"`
		B string `json:"b"`
	}
	for _, value := range []string{
		`null`, `" 300"`, `" 7"`, `"7 "`, `"x"`, `""`, `"+7"`, `"1e5"`, `"1e999999999"`, `"0x10"`, `"-"`, `"NaN"`, `true`, `[]`, `[1]`, `{}`, `{"a":1}`, `1e5`, `1e400`, `-0`, `0.5`,
	} {
		for _, other := range []string{`11`, `null`, `"11"`, `" 11"`, `[]`, `-11`} {
			_, _, _ = decodeTo[optional](t, `{"min":`+value+`,"max":`+other+`}`)
			_, _, _ = decodeTo[small](t, `{"v":`+value+`,"w":`+other+`}`)
			_, _, _ = decodeTo[large](t, `{"v":`+value+`,"w":`+other+`}`)
			_, _, _ = decodeTo[texts](t, `{"a":`+value+`,"b":`+other+`}`)
		}
	}
}
