package binding_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// TestRandomTypesAgree checks, whatever the type and its rules, that schema and plan agree on every value, and
// that the corrected call in an error passes.
func TestRandomTypesAgree(t *testing.T) {
	t.Parallel()
	accepted, tried := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		typ := drawer{rt}.object(4)
		p, faults := binding.Compile(typ, binding.Input, binding.Options{NoRepair: true})
		if p == nil {
			if len(faults) == 0 {
				rt.Fatalf("%s: neither a plan nor a fault", typ)
			}
			return
		}
		judge, schema := judgeOf(t, p.Schema()), parsed(t, p.Schema())
		for range 8 {
			raw := nearly(rt, schema)
			_, err := p.Decode(t.Context(), raw, reflect.New(typ).Elem())
			if legal := accepts(t, judge, raw); !agreeOn(raw, legal, err) {
				rt.Fatalf("%s\n%s\nschema says %v, plan says %v\nschema %s", typ, raw, legal, err, p.Schema())
			}
			if err == nil {
				accepted++
				continue
			}
			invalid, _ := errors.AsType[*binding.Invalid](err)
			if invalid.Try == "" {
				continue
			}
			tried++
			if _, err := p.Decode(t.Context(), []byte(invalid.Try), reflect.New(typ).Elem()); err != nil {
				rt.Fatalf("%s\n%s\nTry %s: %v", typ, raw, invalid.Try, err)
			}
		}
	})
	if accepted == 0 || tried == 0 {
		t.Errorf("%d values accepted, %d corrected: the generator proves nothing", accepted, tried)
	}
}

// TestRandomOutputIsValid is TestOutputIsValid for any type.
func TestRandomOutputIsValid(t *testing.T) {
	t.Parallel()
	encoded := 0
	rapid.Check(t, func(rt *rapid.T) {
		typ := drawer{rt}.object(4)
		p, _ := binding.Compile(typ, binding.Output, binding.Options{})
		if p == nil {
			return
		}
		v := reflect.New(typ).Elem()
		fill(rt, v, 4)
		out, err := p.Append(nil, v)
		if err != nil {
			return // such as the zero value of an enum
		}
		encoded++
		if !json.Valid(out) || !accepts(t, judgeOf(t, p.Schema()), out) {
			rt.Fatalf("%s\n%s is not valid by %s", typ, out, p.Schema())
		}
	})
	if encoded == 0 {
		t.Error("nothing was encoded")
	}
}

// drawer draws types with rules that a schema can express completely.
type drawer struct{ t *rapid.T }

func (d drawer) one(label string, of ...string) string {
	return rapid.SampledFrom(of).Draw(d.t, label)
}

func (d drawer) object(depth int) reflect.Type {
	var fields []reflect.StructField
	for i := range rapid.IntRange(1, 3).Draw(d.t, "fields") {
		t := d.typ(depth - 1)
		fields = append(fields, reflect.StructField{
			Name: string(rune('A' + i)), Type: t, Tag: reflect.StructTag(d.tag(string(rune('a'+i)), base(t))),
		})
	}
	return reflect.StructOf(fields)
}

func (d drawer) typ(depth int) reflect.Type {
	shape := rapid.IntRange(0, 5).Draw(d.t, "shape")
	switch {
	case depth == 0 || shape == 0:
		return rapid.SampledFrom(drawnLeaves).Draw(d.t, "leaf")
	case shape == 1:
		return reflect.PointerTo(d.typ(depth - 1))
	case shape == 2:
		return reflect.SliceOf(d.typ(depth - 1))
	case shape == 3:
		return reflect.MapOf(rapid.SampledFrom(drawnLeaves[:2]).Draw(d.t, "key"), d.typ(depth-1))
	case shape == 4:
		return reflect.ArrayOf(rapid.IntRange(1, 2).Draw(d.t, "len"), d.typ(depth-1))
	}
	return d.object(depth)
}

var drawnLeaves = []reflect.Type{
	reflect.TypeFor[string](), reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[uint8](), reflect.TypeFor[int64](),
	reflect.TypeFor[float64](), reflect.TypeFor[float32](), reflect.TypeFor[bool](), reflect.TypeFor[tColor](), reflect.TypeFor[tSize](),
	reflect.TypeFor[tLevel](), reflect.TypeFor[time.Duration](), reflect.TypeFor[big.Int](), reflect.TypeFor[json.Number](), reflect.TypeFor[tNode](),
}

func base(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// tag draws the tags of a member of type t.
func (d drawer) tag(name string, t reflect.Type) string {
	text := t.Kind() == reflect.String
	if !text && t.Kind() != reflect.Struct && rapid.IntRange(0, 5).Draw(d.t, "quoted") == 0 {
		return fmt.Sprintf(`json:"%s,string"`, name) // the schema has rules for it only in words
	}
	tag := fmt.Sprintf(`json:"%s%s"`, name, d.one("json", "", "", ",omitempty", ",omitzero"))
	if text || t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64 {
		tag += d.one("default", "", "", "", ` default:"5"`, ` default:"ab"`, ` default:""`)
	}
	rules := d.rules(t)
	if d.one("required", "no", "no", "yes") == "yes" {
		rules = strings.TrimSuffix("required,"+rules, ",")
	}
	if rules != "" {
		tag += fmt.Sprintf(` validate:"%s"`, rules)
	}
	return tag
}

// rules draws the rules of a value of type t and of the values inside it. It may return "".
func (d drawer) rules(t reflect.Type) string {
	var out []string
	pool := rulesOf(t)
	if pool == nil {
		return ""
	}
	for range rapid.IntRange(0, 2).Draw(d.t, "count") {
		out = append(out, d.one("rule", pool...))
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		keys := t.Kind() == reflect.Map && t.Key().Kind() == reflect.String && d.one("keys", "no", "yes") == "yes"
		inner := d.rules(base(t.Elem()))
		if keys || inner != "" {
			out = append(out, "dive")
		}
		if keys {
			out = append(out, "keys", d.one("key rule", "min=1", "max=2", "alpha", "ne=a"), "endkeys")
		}
		if inner != "" {
			out = append(out, inner)
		}
	}
	return strings.Join(out, ",")
}

// rulesOf returns rules with keywords for values of type t, or nil.
func rulesOf(t reflect.Type) []string {
	if t == reflect.TypeFor[[]byte]() || t.PkgPath() != "" {
		return nil
	}
	switch t.Kind() {
	case reflect.String:
		return strings.Split("min=1;min=2;max=3;len=2;gt=1;lt=4;gte=0;lte=5;eq=ab;ne=ab;oneof=a ab 'x y';noneof=a x;startswith=a;endswith=b;"+
			"contains=x;excludes=b;alpha;alphanum;number;number|alpha;eq=a|eq=12;containsrune=a;excludesall=xy;startsnotwith=a", ";")
	case reflect.Slice, reflect.Array:
		pool := []string{"min=1", "max=2", "len=1", "gt=0", "lt=3", "eq=2", "min=1|max=0"}
		if k := t.Elem().Kind(); t.Elem().PkgPath() == "" && (k == reflect.String || k == reflect.Int || k == reflect.Bool) {
			pool = append(pool, "unique")
		}
		return pool
	case reflect.Map:
		return []string{"min=1", "max=2", "len=1", "gt=0", "lt=3"}
	case reflect.Bool:
		return []string{"eq=true", "ne=true"}
	case reflect.Float64, reflect.Float32:
		return []string{"min=1", "max=7.5", "gt=2", "lt=9", "gte=-1.5", "lte=100", "eq=5", "ne=2.5", "min=8|max=2"}
	case reflect.Int, reflect.Int8, reflect.Uint8, reflect.Int64:
		return []string{"min=1", "max=7", "gt=2", "lt=9", "gte=0", "lte=100", "eq=5", "ne=5", "oneof=1 5 9", "noneof=2 3", "len=4", "min=8|max=2"}
	}
	return nil
}
