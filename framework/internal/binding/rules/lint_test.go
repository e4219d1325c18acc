package rules_test

import (
	"encoding/hex"
	"encoding/json"
	"math/big"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-playground/validator/v10"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/framework/internal/binding/internal/bindingtest"
)

// TestTextRulesOnOtherTypes checks that a rule that no value of a type passes is a fault, and that a rule that
// some values pass is not. Validator decides, on more values than Compile tries.
func TestTextRulesOnOtherTypes(t *testing.T) {
	t.Parallel()
	judge := validator.New(validator.WithRequiredStructEnabled())
	types := []reflect.Type{
		reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[uint](), reflect.TypeFor[uint8](), reflect.TypeFor[float64](),
		reflect.TypeFor[bool](), reflect.TypeFor[time.Duration](), reflect.TypeFor[[]string](), reflect.TypeFor[[]byte](), reflect.TypeFor[map[string]int](),
	}
	refused := 0
	for _, g := range pageGroups {
		if strings.HasSuffix(g.title, " members") {
			continue // rules that look at other members
		}
		for tag := range strings.FieldsSeq(g.tags + " country_code|iso4217 email|numeric email|uuid omitempty,alpha") {
			name, param, some := strings.Cut(tag, "=")
			if param = strings.ReplaceAll(param, "_", " "); some {
				tag = name + "=" + param
			}
			for _, typ := range types {
				yes, no, panics := verdicts(judge, typ, tag)
				p, faults := binding.Compile(bindingtest.StructWith(typ, bindingtest.QuoteTag("validate", tag)), binding.Input, binding.Options{})
				switch {
				case panics:
				case yes == 0 && p != nil:
					t.Errorf("%s on %s compiles, and no value passes", tag, typ)
				case yes > 0 && no > 0 && p == nil && tag != "omitempty,alpha":
					t.Errorf("%s on %s: %v, and %d values pass, %d do not", tag, typ, faults, yes, no)
				case p == nil:
					refused++
				}
			}
		}
	}
	if refused < 500 {
		t.Errorf("only %d refused", refused)
	}
}

// verdicts are the results of validator for many values.
func verdicts(judge *validator.Validate, typ reflect.Type, tag string) (yes, no int, panics bool) {
	defer func() { panics = recover() != nil }()
	for i := range 400 {
		if judge.Var(valueOf(typ, i).Interface(), tag) == nil {
			yes++
		} else {
			no++
		}
	}
	return yes, no, false
}

func valueOf(typ reflect.Type, i int) reflect.Value {
	v := reflect.New(typ).Elem()
	switch {
	case i == 0:
	case v.CanInt():
		v.SetInt(int64(i))
		if typ == reflect.TypeFor[time.Duration]() && i >= 200 {
			v.SetInt(int64(i-200) * int64(time.Second) / 8)
		}
	case v.CanUint():
		v.SetUint(uint64(i))
	case v.CanFloat():
		v.SetFloat(float64(i) / 2)
	case typ.Kind() == reflect.Bool:
		v.SetBool(i%2 == 0)
	case typ.Kind() == reflect.Map:
		v.Set(reflect.MakeMap(typ))
		for key := range i % 5 {
			v.SetMapIndex(reflect.ValueOf(strconv.Itoa(key)), reflect.ValueOf(key))
		}
	case typ.Elem().Kind() == reflect.String:
		v.Set(reflect.ValueOf([]string{"1", "2", "3", "4"}[:i%5]))
	default:
		v.SetBytes([]byte("1234"[:i%5]))
	}
	return v
}

type (
	lNamed int
	lBox   struct {
		N int `validate:"gt=5"`
	}
	lShown  int
	lChecks int
)

// lUUID is a type like the one in package uuid.
type lUUID [16]byte

func (u *lUUID) UnmarshalText(text []byte) error {
	_, err := hex.Decode(u[:], text)
	return err
}

func (lShown) String() string { return "123e4567-e89b-42d3-a456-426614174000" }

func (n lChecks) Validate() error { return nil }
func (n *lChecks) Even() bool     { return *n%2 == 0 }

func TestTextRulesLintedByUse(t *testing.T) {
	t.Parallel()
	const fault, dive = "no value passes it. Use a string", "no value passes it. Write dive before it"
	checks := []binding.Check{{
		Tag: "even", Type: reflect.TypeFor[int](), Want: "an even number",
		Holds: func(v reflect.Value) bool { return v.Int() > 1000 && v.Int()%2 == 0 },
	}}
	for name, tt := range map[string]struct {
		t    reflect.Type
		tag  string
		want string // "": it compiles
	}{
		"email":            {reflect.TypeFor[int](), "email", fault},
		"uuid4":            {reflect.TypeFor[bool](), "uuid4", fault},
		"alpha":            {reflect.TypeFor[float64](), "alpha", fault},
		"startswith":       {reflect.TypeFor[int](), "startswith=ab", fault},
		"ascii":            {reflect.TypeFor[int](), "ascii", fault},
		"time":             {reflect.TypeFor[time.Time](), "email", fault},
		"moment":           {reflect.TypeFor[time.Time](), "gt", ""},
		"none of":          {reflect.TypeFor[int](), "noneof=3 5", ""},
		"pointer":          {reflect.TypeFor[*int](), "email", fault},
		"named":            {reflect.TypeFor[lNamed](), "email", fault},
		"optional":         {reflect.TypeFor[int](), "omitempty,email", fault},
		"list":             {reflect.TypeFor[[]string](), "email", dive},
		"map":              {reflect.TypeFor[map[string]string](), "alpha", dive},
		"elements":         {reflect.TypeFor[[]int](), "dive,email", fault},
		"keys":             {reflect.TypeFor[map[int]string](), "dive,keys,email,endkeys", fault},
		"elements fit":     {reflect.TypeFor[[]string](), "dive,email", ""},
		"either":           {reflect.TypeFor[int](), "email|uuid", fault},
		"one of them":      {reflect.TypeFor[int](), "email|eq=77777", ""},
		"alias":            {reflect.TypeFor[int](), "country_code", ""},
		"number":           {reflect.TypeFor[float64](), "numeric", ""},
		"boolean":          {reflect.TypeFor[bool](), "boolean", ""},
		"port":             {reflect.TypeFor[uint16](), "port", ""},
		"latitude":         {reflect.TypeFor[float64](), "latitude", ""},
		"one's own":        {reflect.TypeFor[int](), "even", ""},
		"one's own or":     {reflect.TypeFor[int](), "email|even", ""},
		"any":              {reflect.TypeFor[any](), "email", ""},
		"text of a type":   {reflect.TypeFor[lShown](), "uuid", ""},
		"method of a type": {reflect.TypeFor[lChecks](), "validateFn", ""},
		"method by name":   {reflect.TypeFor[lChecks](), "validateFn=Even", ""},
		"method of any":    {reflect.TypeFor[any](), "validateFn", ""},
		"method of none":   {reflect.TypeFor[string](), "validateFn", "Give the type a method Validate() error"},
		"method not there": {reflect.TypeFor[[]lChecks](), "dive,validateFn=Odd", "Give the type a method Odd() error"},
		"method of a text": {reflect.TypeFor[lShown](), "validateFn=String", "Give the type a method String() error"},
		"bytes of JSON":    {reflect.TypeFor[[]byte](), "json", ""},
		"struct":           {reflect.TypeFor[lBox](), "required", ""},
		"bytes":            {reflect.TypeFor[[]byte](), "base64", "no value passes it. Remove it"},
		"address":          {reflect.TypeFor[netip.Addr](), "ip", fault},
		"address or none":  {reflect.TypeFor[*netip.Addr](), "omitempty,ipv4", fault},
		"address there":    {reflect.TypeFor[netip.Addr](), "required", ""},
		"big":              {reflect.TypeFor[*big.Int](), "min=3", "does not work on type big.Int"},
		"digits":           {reflect.TypeFor[json.Number](), "min=3", "would measure the characters of a json.Number"},
		"digits or":        {reflect.TypeFor[json.Number](), "gt=3|eq=1", "would measure the characters of a json.Number"},
		"characters":       {reflect.TypeFor[lUUID](), "len=36", "no value passes it. Remove it: the rule counts elements, and all values have 16"},
		"bytes of an id":   {reflect.TypeFor[lUUID](), "len=16", ""},
		"other length":     {reflect.TypeFor[[]lUUID](), "dive,ne=16", "Remove it: the rule counts elements"},
		"short array":      {reflect.TypeFor[[2]int](), "omitempty,min=3", "Remove it: the rule counts elements"},
		"array":            {reflect.TypeFor[[2]int](), "min=1,max=2", ""},
		"array or":         {reflect.TypeFor[[2]int](), "len=3|len=2", ""},
		"date":             {reflect.TypeFor[time.Time](), "gt=2026-01-01", "would compare the time with the moment of the call"},
		"date or":          {reflect.TypeFor[*time.Time](), "omitempty,lte|gte=2026-01-01", "would compare the time with the moment of the call"},
		"moments":          {reflect.TypeFor[[]time.Time](), "dive,lte", ""},
		"digits as such":   {reflect.TypeFor[json.Number](), "number", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, faults := binding.Compile(bindingtest.StructWith(tt.t, bindingtest.QuoteTag("validate", tt.tag)), binding.Input, binding.Options{Checks: checks})
			if p == nil != (tt.want != "") {
				t.Fatalf("compiled: %v, %v", p != nil, faults)
			}
			if p == nil && !strings.Contains(faults[0].String(), tt.want) {
				t.Errorf("got %s, want %s", faults[0], tt.want)
			}
		})
	}
}
