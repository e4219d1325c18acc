package binding_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// TestMain draws the same values in every run, because a random failure would not be related to the change under
// test. `.ci/run full` searches with its own seed and number of values.
func TestMain(m *testing.M) {
	flag.Parse()
	seeded := false
	flag.Visit(func(f *flag.Flag) { seeded = seeded || f.Name == "rapid.seed" })
	if !seeded {
		if err := flag.Set("rapid.seed", "1"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

type pDeep struct {
	A []map[string][]int8 `json:"a,omitempty" validate:"max=2,dive,min=1,dive,max=2,dive,gt=-3"`
	B *tDeepLeaf          `json:"b"`
	C [2]bool             `json:"c,omitzero"`
}

type tDeepLeaf struct {
	X uint16   `json:"x" validate:"lte=500"`
	Y []string `json:"y,omitempty" validate:"unique,dive,alpha"`
}

type pText struct {
	A string `json:"a" validate:"min=2,max=3"`
	B string `json:"b,omitempty" validate:"startswith=ab"`
	C string `json:"c,omitempty" validate:"contains=x,excludes=y"`
	D string `json:"d,omitempty" validate:"ne=no"`
	E string `json:"e,omitempty" validate:"eq=yes"`
	F string `json:"f,omitempty" validate:"noneof=p q"`
	G string `json:"g,omitempty" validate:"number|alpha"`
	H string `json:"h,omitempty" validate:"hexadecimal"`
	I string `json:"i,omitempty" validate:"datetime=2006-01-02"`
}

type pNumbers struct {
	A int     `json:"a" validate:"min=-2,max=7"`
	B uint8   `json:"b,omitempty" validate:"gt=3"`
	C float64 `json:"c,omitempty" validate:"lt=2.5"`
	D int     `json:"d,omitempty" validate:"oneof=1 5 9"`
	E int     `json:"e,omitempty" validate:"len=4"`
	F int     `json:"f,omitempty" validate:"ne=4"`
	G int64   `json:"g,omitempty"`
	H uint64  `json:"h,omitempty"`
	I float32 `json:"i,omitempty"`
	J *int    `json:"j" validate:"min=1"`
	K *uint   `json:"k" validate:"required"`
}

type pHeader struct {
	R int64  `json:"r,omitempty" header:"R"`
	S string `json:"s" header:"S" jsonschema:"pattern=^[a-z]*$"`
	M int    `json:"m,omitempty" jsonschema:"multipleOf=3"`
	U []int  `json:"u,omitempty" jsonschema:"uniqueItems=true,maxItems=2"`
}

type pMaps struct {
	I map[int]bool       `json:"i,omitempty"`
	U map[uint8]string   `json:"u,omitempty"`
	K map[string]float64 `json:"k,omitempty" validate:"max=1,dive,keys,min=2,endkeys,gte=0"`
	N map[string]*int8   `json:"n,omitempty"`
}

type pEnums struct {
	C tColor        `json:"c"`
	L tLevel        `json:"l,omitempty"`
	S *tSize        `json:"s"`
	M []tColor      `json:"m,omitempty"`
	Q int           `json:"q,string,omitempty"`
	D time.Duration `json:"d,omitempty"`
}

// propertyTypes are the types with schemas and plans that must agree on every value.
func propertyTypes() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[tBase](), reflect.TypeFor[*tBase](), reflect.TypeFor[tShadow](),
		reflect.TypeFor[tViaPtr](), reflect.TypeFor[tNode](), reflect.TypeFor[tPing](), reflect.TypeFor[tBoxList[tBase]](),
		reflect.TypeFor[map[string]tBase](), reflect.TypeFor[tAnyRoot](), reflect.TypeFor[tDefaults](), reflect.TypeFor[pDeep](),
		reflect.TypeFor[pText](), reflect.TypeFor[pNumbers](), reflect.TypeFor[pHeader](), reflect.TypeFor[pMaps](),
		reflect.TypeFor[pEnums](), reflect.TypeFor[struct{}](), reflect.TypeFor[uPicture](), reflect.TypeFor[uFlatIn](),
	}
}

// maker draws values that are valid by a schema, or nearly so.
type maker struct {
	t    *rapid.T
	defs map[string]any
	odds int // one value in odds is unrelated to the schema
}

// nearly draws a value that is valid by the schema, or nearly so.
func nearly(t *rapid.T, schema map[string]any) []byte {
	defs, _ := schema["$defs"].(map[string]any)
	return []byte(maker{t, defs, rapid.SampledFrom([]int{4, 12, 60}).Draw(t, "odds")}.value(schema, 4))
}

// parsed keeps the numbers of a schema as they are written.
func parsed(t *testing.T, schema []byte) (out map[string]any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	if err := dec.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func (m maker) dice(sides int, label string) int { return rapid.IntRange(0, sides-1).Draw(m.t, label) }

func (m maker) value(schema map[string]any, depth int) string {
	if ref, ok := schema["$ref"].(string); ok {
		schema = m.defs[ref[len("#/$defs/"):]].(map[string]any)
	}
	if m.dice(m.odds, "odd") == 0 {
		return m.odd()
	}
	if options, ok := schema["anyOf"].([]any); ok {
		merged := map[string]any{"type": schema["type"]}
		maps.Copy(merged, options[m.dice(len(options), "option")].(map[string]any))
		return m.value(merged, depth)
	}
	if options, ok := schema["oneOf"].([]any); ok {
		return m.value(options[m.dice(len(options), "variant")].(map[string]any), depth)
	}
	if value, ok := schema["const"]; ok {
		raw, _ := json.Marshal(value)
		return string(raw)
	}
	if enum, ok := schema["enum"].([]any); ok {
		raw, _ := json.Marshal(enum[m.dice(len(enum), "enum")])
		return string(raw)
	}
	typ, _ := schema["type"].(string)
	if types, ok := schema["type"].([]any); ok {
		typ = types[m.dice(len(types), "type")].(string)
	}
	switch typ {
	case "object":
		return m.object(schema, depth)
	case "array":
		items, _ := schema["items"].(map[string]any)
		out := "["
		for i := range m.dice(4, "items") * min(depth, 1) {
			if i > 0 {
				out += ","
			}
			out += m.value(items, depth-1)
		}
		return out + "]"
	case "integer", "number":
		return m.number(schema)
	case "boolean":
		return []string{"true", "false"}[m.dice(2, "bool")]
	case "null":
		return "null"
	case "string":
		return m.text()
	}
	return m.odd()
}

func (m maker) object(schema map[string]any, depth int) string {
	out := "{"
	add := func(name, value string) {
		if len(out) > 1 {
			out += ","
		}
		out += fmt.Sprintf("%q:%s", name, value)
	}
	properties, _ := schema["properties"].(map[string]any)
	required := map[string]bool{}
	list, _ := schema["required"].([]any)
	for _, r := range list {
		required[r.(string)] = true
	}
	lean := m.dice(2, "lean") == 0 // few optional members, so that some objects are valid
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if required[name] && m.dice(m.odds*2, "drop") == 0 || !required[name] && (lean || depth <= 0 || m.dice(3, "skip") > 0) {
			continue
		}
		add(name, m.value(properties[name].(map[string]any), depth-1))
	}
	if more, ok := schema["additionalProperties"].(map[string]any); ok && depth > 0 {
		for _, name := range []string{"a", "ab", "1", "-7", "01", "300"} {
			if m.dice(3, "more") == 0 {
				add(name, m.value(more, depth-1))
			}
		}
	}
	if m.dice(m.odds*2, "unknown") == 0 {
		add("zzz", "1")
	}
	return out + "}"
}

func (m maker) number(schema map[string]any) string {
	if m.dice(3, "bound") == 0 {
		for _, name := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} {
			if n, ok := schema[name].(json.Number); ok && m.dice(2, name) == 0 {
				return n.String()
			}
		}
	}
	return rapid.SampledFrom([]string{
		"0", "-0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "-1", "-2", "-3", "1.0", "1e1", "2.5", "10e-1", "0.1", "1.5",
		"127", "128", "255", "256", "500", "501", "65536", "9007199254740991", "9007199254740993", "-9007199254740992",
		"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
		"18446744073709551615", "18446744073709551616", "1e19", "1e20", "3e38", "1e39", "12345678901234567890123", "100000000000000000000e-2",
	}).Draw(m.t, "number")
}

func (m maker) text() string {
	return rapid.SampledFrom([]string{
		`""`, `"a"`, `"ab"`, `"abc"`, `"abcd"`, `"x"`, `"xy"`, `"é"`, `"ééé"`, `"\u00e9x"`, `"no"`, `"yes"`, `"p"`, `"12"`, `"0xF"`, `"red"`,
		`"2026-01-31"`, `"2026-02-31"`, `"5s"`, `"1h30m"`, `"5"`, `"-5"`, `"5 s"`, `"0"`, `".5s"`, `"😀😀"`, `"true"`, `"small"`,
	}).Draw(m.t, "text")
}

func (m maker) odd() string {
	return rapid.SampledFrom([]string{
		"null", "true", "0", "-1", `""`, `"a"`, "[]", "{}", "[1]", `{"a":1}`, "1.5", `[null]`, `"[1]"`, "300",
	}).Draw(m.t, "odd value")
}

// TestSchemaAndPlanAgree checks that what the schema accepts decodes, and that the schema accepts what
// decodes.
func TestSchemaAndPlanAgree(t *testing.T) {
	t.Parallel()
	for _, typ := range propertyTypes() {
		t.Run(typ.String(), func(t *testing.T) {
			t.Parallel()
			p := mustCompile(t, typ, binding.Input, binding.Options{NoRepair: true, Unions: unions()})
			judge := judgeOf(t, p.Schema())
			schema := parsed(t, p.Schema())
			accepted := 0
			rapid.Check(t, func(rt *rapid.T) {
				raw := nearly(rt, schema)
				into := reflect.New(typ).Elem()
				_, err := p.Decode(t.Context(), raw, into)
				if legal := accepts(t, judge, raw); !agreeOn(raw, legal, err) {
					rt.Fatalf("%s\nschema says %v, plan says %v\nschema %s", raw, legal, err, p.Schema())
				}
				if err != nil {
					return
				}
				accepted++
				roundTrip(rt, p, typ, into)
			})
			if accepted == 0 {
				t.Error("no value was accepted: the generator proves nothing")
			}
		})
	}
}

// roundTrip checks that a decoded value encodes, is valid, and decodes to the same value. A field with both
// omitempty and a default cannot express its zero: the first turn replaces the zero by the default, so only
// the second turn must change nothing.
func roundTrip(t *rapid.T, p *binding.Plan, typ reflect.Type, v reflect.Value) {
	first := turn(t, p, typ, v)
	if typ != reflect.TypeFor[uPicture]() {
		if out, err := p.Append(nil, v); err != nil || !bytes.Equal(out, first) {
			t.Fatalf("unstable: %s then %s (%v)", out, first, err)
		}
		return
	}
	again := reflect.New(typ).Elem()
	if _, err := p.Decode(context.Background(), first, again); err != nil {
		t.Fatalf("%s does not decode again: %v", first, err)
	}
	if second := turn(t, p, typ, again); !bytes.Equal(first, second) {
		t.Fatalf("unstable: %s then %s", first, second)
	}
}

// turn encodes v, decodes the result, and encodes the decoded value.
func turn(t *rapid.T, p *binding.Plan, typ reflect.Type, v reflect.Value) []byte {
	out, err := p.Append(nil, v)
	if err != nil {
		t.Fatalf("encoding %+v: %v", v, err)
	}
	again := reflect.New(typ).Elem()
	if _, err := p.Decode(context.Background(), out, again); err != nil {
		t.Fatalf("%s does not decode again: %v", out, err)
	}
	back, err := p.Append(nil, again)
	if err != nil {
		t.Fatalf("encoding %+v: %v", again, err)
	}
	return back
}

// TestOutputIsValid checks that any value that encodes satisfies the output schema.
func TestOutputIsValid(t *testing.T) {
	t.Parallel()
	for _, typ := range append(propertyTypes(), reflect.TypeFor[tRules](), reflect.TypeFor[tNames](), reflect.TypeFor[[]tNode](), reflect.TypeFor[tNest]()) {
		t.Run(typ.String(), func(t *testing.T) {
			t.Parallel()
			p := mustCompile(t, typ, binding.Output, binding.Options{Unions: unions()})
			judge := judgeOf(t, p.Schema())
			encoded := 0
			rapid.Check(t, func(rt *rapid.T) {
				v := reflect.New(typ).Elem()
				fill(rt, v, 4)
				out, err := p.Append(nil, v)
				if err != nil {
					return // such as the zero value of an enum
				}
				encoded++
				if !json.Valid(out) || !accepts(t, judge, out) {
					rt.Fatalf("%s is not valid by %s", out, p.Schema())
				}
			})
			if encoded == 0 {
				t.Error("nothing was encoded")
			}
		})
	}
}

// fillUnion stores a random variant, or leaves v nil.
func fillUnion(t *rapid.T, v reflect.Value, depth int) {
	for _, u := range unions() {
		if u.Interface != v.Type() || rapid.IntRange(0, 4).Draw(t, "nil") == 0 {
			continue
		}
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(u.Variants))).Draw(t, "variant")
		value := reflect.New(u.Variants[name]).Elem()
		fill(t, value, depth)
		v.Set(value)
	}
}

// fill stores a random value.
func fill(t *rapid.T, v reflect.Value, depth int) {
	if depth == 0 {
		return
	}
	if values := v.Addr().MethodByName("Values"); values.IsValid() {
		list := values.Call(nil)[0]
		v.Set(list.Index(rapid.IntRange(0, list.Len()-1).Draw(t, "value")))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		x := rapid.Int64().Draw(t, "int")
		if !v.OverflowInt(x) {
			v.SetInt(x)
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		x := rapid.Uint64().Draw(t, "uint")
		if !v.OverflowUint(x) {
			v.SetUint(x)
		}
	case reflect.Float32, reflect.Float64:
		x := rapid.Float64Range(-1e30, 1e30).Draw(t, "float")
		v.SetFloat(x)
	case reflect.String:
		v.SetString(rapid.String().Draw(t, "string"))
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), depth-1)
		}
	case reflect.Slice:
		if rapid.Bool().Draw(t, "nil") {
			return
		}
		n := rapid.IntRange(0, 3).Draw(t, "len")
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(` {"a": [1, "<"]} `))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, v.Index(i), depth-1)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i), depth-1)
		}
	case reflect.Map:
		if rapid.Bool().Draw(t, "nil") {
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		for range rapid.IntRange(0, 3).Draw(t, "len") {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(t, key, depth-1)
			fill(t, value, depth-1)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(rapid.Int64Range(0, 1e10).Draw(t, "time"), 0)))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() || v.Type().Field(i).Anonymous && v.Field(i).Kind() == reflect.Struct {
				if v.Field(i).CanSet() {
					fill(t, v.Field(i), depth-1)
				}
			}
		}
	case reflect.Interface:
		if v.NumMethod() > 0 {
			fillUnion(t, v, depth)
			return
		}
		v.Set(reflect.ValueOf(rapid.SampledFrom([]any{1, "x", 1.5, true, []any{nil}, map[string]any{"k": "<"}, []int(nil)}).Draw(t, "any")))
	}
}
