package binding_test

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

func encode[T any](t *testing.T, v T) (string, error) {
	t.Helper()
	p := mustCompile(t, reflect.TypeFor[T](), binding.Output, binding.Options{})
	out, err := p.Append([]byte("x"), reflect.ValueOf(&v).Elem())
	if err == nil && (len(out) == 0 || out[0] != 'x') {
		t.Errorf("%s does not append", out)
	}
	return strings.TrimPrefix(string(out), "x"), err
}

func writes[T any](t *testing.T, v T, want string) {
	t.Helper()
	got, err := encode(t, v)
	if err != nil || got != want {
		t.Errorf("%T: got %s %v, want %s", v, got, err, want)
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	writes(t, []int(nil), "[]")
	writes(t, map[string]int(nil), "{}")
	writes(t, box[[][]string]{[][]string{nil}}, `{"v":[[]]}`)
	writes(t, (*tBase)(nil), "null")
	writes(t, "<a&b>\u2028\x01\xff", `"<a&b>\u2028\u0001\ufffd"`)
	writes(t, map[string]int{"b": 1, "a": 2, "<": 3}, `{"<":3,"a":2,"b":1}`)
	writes(t, map[int]string{10: "x", 9: "y", -1: "z"}, `{"-1":"z","10":"x","9":"y"}`)
	writes(t, int64(math.MinInt64), "-9223372036854775808")
	writes(t, uint64(math.MaxUint64), "18446744073709551615")
	writes(t, 1e21, "1e+21")
	writes(t, 1e-7, "1e-7")
	writes(t, float32(0.1), "0.1")
	writes(t, []byte(nil), `""`)
	writes(t, []byte("hi"), `"aGk="`)
	writes(t, 90*time.Minute, `"1h30m"`)
	writes(t, time.Hour, `"1h"`)
	writes(t, 90*time.Second, `"1m30s"`)
	writes(t, time.Duration(0), `"0s"`)
	writes(t, time.Date(2026, 1, 31, 1, 2, 3, 4000, time.UTC), `"2026-01-31T01:02:03.000004Z"`)
	writes(t, json.RawMessage(" {\"a\" :\n1} "), `{"a":1}`)
	writes(t, json.RawMessage(nil), "null")
	writes(t, json.Number(""), "0")
	writes(t, json.Number("12345678901234567890"), "12345678901234567890")
	writes(t, box[any]{map[string]any{"b": []any{1, "<", nil, 1.5, true}, "a": struct{ X *int }{}}}, `{"v":{"a":{"X":null},"b":[1,"<",null,1.5,true]}}`)
	writes(t, tPoint{1, 2}, `"[1,2]"`)
	writes(t, []tPoint{{1, 2}}, `["[1,2]"]`)
	writes(t, map[string]tPoint{"a": {1, 2}}, `{"a":"[1,2]"}`)
	writes(t, tMoney{150}, "1.5")
	writes(t, tWriteOnly{}, `"w"`)
	writes(t, tViaPtr{Q: "q"}, `{"q":"q"}`)
	writes(t, tShadow{tBase: tBase{ID: 1}}, `{}`)
	writes(t, tNames{Quoted: 3, QS: "x"}, `{"Plain":0,"-":0,"quoted":"3","qb":"false","qf":"0","qu":"0","qs":"\"x\"","qp":null}`)
	writes(t, box[tColor]{"red"}, `{"v":"red"}`)
	writes(t, box[tSize]{1}, `{"v":"small"}`)
	writes(t, [2]*int{}, `[null,null]`)
	type zero struct {
		T time.Time `json:"t,omitzero"`
		S struct{}  `json:"s,omitempty"` //nolint:modernize // that it has no effect is tested
		I int       `json:"i,omitempty"`
	}
	writes(t, zero{}, `{"s":{}}`)
}

func TestEncodeFaults(t *testing.T) {
	t.Parallel()
	fails := func(_ string, err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	out, err := encode(t, box[[]float64]{[]float64{1, math.NaN()}})
	fails(out, err, "/v/1: NaN cannot be represented as a JSON number")
	out, err = encode(t, map[string]float64{"a/b": math.Inf(1)})
	fails(out, err, "/a~1b: +Inf")
	out, err = encode(t, box[map[string][]box[any]]{map[string][]box[any]{"k": {{1}, {map[string]any{"deep": math.NaN()}}, {math.NaN()}}}})
	fails(out, err, "/v/k/1/v/deep: NaN cannot be represented as a JSON number")
	out, err = encode(t, box[any]{[]any{math.NaN()}})
	fails(out, err, "/v/0: NaN")
	out, err = encode(t, json.Number("1x"))
	fails(out, err, "is not a number")
	out, err = encode(t, json.RawMessage("{"))
	fails(out, err, "encoding json.RawMessage")
	deep := json.RawMessage(strings.Repeat("[", 2000) + strings.Repeat("]", 2000))
	for want, raw := range map[string]json.RawMessage{"UTF-8": json.RawMessage("\"\xff\""), "surrogate": json.RawMessage(`"\ud800"`), "deep": deep} {
		out, err = encode(t, box[any]{raw})
		fails(out, err, want)
		out, err = encode(t, box[any]{map[string]any{"x": struct{ R json.RawMessage }{raw}}})
		fails(out, err, want)
	}
	out, err = encode(t, box[tColor]{"pink"})
	fails(out, err, "/v: pink is not one of the values")
	out, err = encode(t, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC))
	fails(out, err, "year")
	loop := &tNode{Name: "a"}
	loop.Parent = loop
	out, err = encode(t, loop)
	fails(out, err, strings.Repeat("/parent", 20)+"/...: the value is nested more than 1000 deep or contains itself")
	type self []any
	cycle := self{nil}
	cycle[0] = []any(cycle)
	cycle[0].([]any)[0] = cycle[0]
	out, err = encode(t, box[any]{cycle[0]})
	fails(out, err, "contains itself")
}

func TestStrings(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[tStrings](), binding.Strings, binding.Options{})
	var v tStrings
	into := reflect.ValueOf(&v).Elem()
	in := map[string]string{"user": "10", "year": "2026", "kind": "", "flag": "true", "wait": ""}
	if err := p.DecodeStrings(t.Context(), in, into); err != nil || v.Kind != "" {
		t.Errorf("an empty text for an enum, which is not given then: %v %q", err, v.Kind)
	}
	in["kind"] = "pink"
	if err := p.DecodeStrings(t.Context(), in, into); paths(err) != "/kind" {
		t.Errorf("a wrong text for an enum: %v", err)
	}
	delete(in, "kind")
	if err := p.DecodeStrings(t.Context(), in, into); err != nil {
		t.Fatal(err)
	}
	if v.User != "10" || v.Year != 2026 || !*v.Flag || v.Wait != 5*time.Second {
		t.Errorf("%+v", v)
	}
	v.Kind = "red"
	out, err := p.Strings(reflect.ValueOf(v))
	want := map[string]string{"user": "10", "year": "2026", "kind": "red", "flag": "true", "wait": "5s"}
	if err != nil || !reflect.DeepEqual(out, want) {
		t.Errorf("got %v %v", out, err)
	}
	for in, want := range map[string]string{
		"year=ten": "/year", "year=1999": "/year", "years=2026": "/years /year", "kind=pink": "/kind /year", "flag=yes": "/flag /year",
		"year=2026.5": "/year", "year= 2026": "", "year=2e3": "",
	} {
		key, value, _ := strings.Cut(in, "=")
		if err := p.DecodeStrings(t.Context(), map[string]string{"user": "u", key: value}, into); paths(err) != want {
			t.Errorf("%s: %v", in, err)
		}
	}
	err = p.DecodeStrings(t.Context(), map[string]string{"user": "7", "years": "2026", "flag": "maybe"}, into)
	if err == nil || !strings.HasSuffix(err.Error(), `Try: {"user":"7","year":"2026"}`) {
		t.Errorf("got %v", err)
	}
	names := ""
	for _, f := range p.Fields() {
		names += f.Name
		if f.Required {
			names += "!"
		}
		names += strings.Join(f.Enum, "|") + " "
	}
	if names != `user! year! kindred|green|blue flag when wait ` {
		t.Errorf("fields %s", names)
	}
}

// hRate has both forms: in JSON a number, and as a text a number with a percent sign.
type hRate float64

func (r hRate) MarshalJSON() ([]byte, error)  { return json.Marshal(float64(r)) }
func (r *hRate) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, (*float64)(r)) }
func (r hRate) MarshalText() ([]byte, error)  { return fmt.Appendf(nil, "%v%%", float64(r)*100), nil }
func (hRate) JSONSchema() *jsonschema.Schema  { return &jsonschema.Schema{Type: "number"} }
func (r *hRate) UnmarshalText(b []byte) error {
	percent, err := strconv.ParseFloat(strings.TrimSuffix(string(b), "%"), 64)
	*r = hRate(percent / 100)
	return err
}

// TestStringsPreferText checks that a text uses the text form of a type, also if the type has a JSON form.
func TestStringsPreferText(t *testing.T) {
	t.Parallel()
	type in struct {
		Rate  hRate      `json:"rate"`
		Level slog.Level `json:"level"`
	}
	p := mustCompile(t, reflect.TypeFor[in](), binding.Strings, binding.Options{})
	texts := map[string]string{"rate": "25%", "level": "WARN"}
	var v in
	if err := p.DecodeStrings(t.Context(), texts, reflect.ValueOf(&v).Elem()); err != nil || v != (in{0.25, slog.LevelWarn}) {
		t.Errorf("%+v %v", v, err)
	}
	if out, err := p.Strings(reflect.ValueOf(v)); err != nil || !maps.Equal(out, texts) {
		t.Errorf("%v %v", out, err)
	}
	if got, _, err := decodeTo[in](t, `{"rate":0.25,"level":"WARN"}`); err != nil || got != v {
		t.Errorf("%+v %v", got, err)
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[[]tColor](), binding.Form, binding.Options{})
	var v []tColor
	if _, err := p.Decode(t.Context(), []byte(`{"value":["red","blue"]}`), reflect.ValueOf(&v).Elem()); err != nil || len(v) != 2 {
		t.Errorf("%v %v", v, err)
	}
	if out, err := p.Append(nil, reflect.ValueOf(v)); err != nil || string(out) != `{"value":["red","blue"]}` {
		t.Errorf("%s %v", out, err)
	}
	if _, err := p.Decode(t.Context(), []byte(`{"value":["pink"]}`), reflect.ValueOf(&v).Elem()); paths(err) != "/value/0" || v != nil {
		t.Errorf("%v %v", v, err)
	}
	form := mustCompile(t, reflect.TypeFor[tForm](), binding.Form, binding.Options{})
	var f tForm
	_, err := form.Decode(t.Context(), []byte(`{"name":"n","mail":"a@b.co","age":17,"color":"red","zip":"x"}`), reflect.ValueOf(&f).Elem())
	if paths(err) != "/age /zip" {
		t.Errorf("what the form cannot say is still enforced: %v", err)
	}
	addr := mustCompile(t, reflect.TypeFor[netip.Addr](), binding.Form, binding.Options{})
	if n := strings.Count(string(addr.Schema()), "An IP address."); n != 1 {
		t.Errorf("said %d times: %s", n, addr.Schema())
	}
}

func TestRaw(t *testing.T) {
	t.Parallel()
	schema := "{ \"type\" : \"object\",\n \"required\":[\"b\",\"a\"],\"properties\":{\"a\":{\"$ref\":\"#/$defs/n\"},\"c\":{\"enum\":[\"x\",1]}},\"additionalProperties\":false,\"$defs\":{\"n\":{\"type\":\"integer\",\"minimum\":3}}}"
	raw, err := binding.CompileRaw([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"object","required":["b","a"],"properties":{"a":{"$ref":"#/$defs/n"},"c":{"enum":["x",1]}},"additionalProperties":false,"$defs":{"n":{"type":"integer","minimum":3}}}`
	if string(raw.Schema()) != want {
		t.Errorf("got %s", raw.Schema())
	}
	for value, want := range map[string]string{
		`{"a":2,"c":"y","d":1}`: "/a /b /c /d", `{"a":"x","a":1}`: "/a", `[]`: "", `{}`: "/a /b", ``: "/a /b",
	} {
		err := raw.Check([]byte(value))
		invalid, ok := errors.AsType[*binding.Invalid](err)
		if !ok {
			t.Errorf("%s: %v", value, err)
			continue
		}
		found := map[string]bool{}
		for _, issue := range invalid.Issues {
			found[issue.Path] = true
		}
		for path := range strings.FieldsSeq(want) {
			if !found[path] {
				t.Errorf("%s: no fault at %s: %v", value, path, err)
			}
		}
	}
	for _, bad := range []string{
		`{`, `{"type":"nope"}`, `{"$ref":"https://example.com/x.json"}`, `{"$ref":"other.json"}`, `{"type":"object","type":"object"}`, `{"$ref":"#/$defs/none"}`,
		`{"$ref":"file:///etc/passwd"}`,
	} {
		if _, err := binding.CompileRaw([]byte(bad)); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

// TestRawNames checks that the error for an unknown name lists the names of a schema that was written by hand.
func TestRawNames(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]map[string]string{
		`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"additionalProperties":false}`: {
			`{"cty":"x"}`:            `Did you mean "city"? Arguments: city, days.`,
			`{"cty":"x","city":"y"}`: `Arguments: city, days.`,
		},
		`{"properties":{"a b%/~é":{"properties":{"name":{}},"additionalProperties":false}},"additionalProperties":false}`: {
			`{"a b%/~é":{"names":1}}`: `Did you mean "name"? Members: name.`,
		},
		`{"$ref":"#/$defs/n","$defs":{"n":{"properties":{"size":{}},"additionalProperties":false}}}`:              {`{"sizes":1}`: `Did you mean "size"? Arguments: size.`},
		`{"allOf":[{"additionalProperties":false}]}`:                                                              {`{"a":1}`: `There are none here.`},
		`{"properties":{"x":{"$id":"https://example.com/x","properties":{"a":{}},"additionalProperties":false}}}`: {`{"x":{"b":1}}`: `Members: a.`},
	} {
		raw, err := binding.CompileRaw([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		for value, hint := range want {
			invalid, ok := errors.AsType[*binding.Invalid](raw.Check([]byte(value)))
			if !ok || len(invalid.Issues) != 1 || invalid.Issues[0].Hint != hint {
				t.Errorf("%s of %s: %+v", value, schema, invalid)
			}
		}
	}
}

// TestRawWords checks that faults of a schema written by hand have the same words as faults of a Go type.
func TestRawWords(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ schema, value, want string }{
		{`{"type":["integer","null"]}`, `"x"`, `got "x" (text). Want a whole number or null.`},
		{`{"enum":["a",1]}`, `2`, `Want one of "a", 1.`},
		{`{"const":{"a":1}}`, `2`, `Want exactly {"a":1}.`},
		{`{"minimum":0.5}`, `0.25`, `Want at least 0.5.`},
		{`{"exclusiveMaximum":10}`, `12`, `Want less than 10.`},
		{`{"multipleOf":3}`, `4`, `Want a multiple of 3.`},
		{`{"minLength":2}`, `"a"`, `Want at least 2 characters.`},
		{`{"pattern":"^a"}`, `"bb"`, `Want text that matches ^a.`},
		{`{"maxItems":1}`, `[1,2]`, `Want at most 1 item.`},
		{`{"uniqueItems":true}`, `[1,1.0]`, `Want a list without repetitions.`},
		{`{"minProperties":1}`, `{}`, `Want at least 1 member.`},
		{`{"properties":{"x":false}}`, `{"x":1}`, `/x: got 1 (number). Want nothing here.`},
		{`{"oneOf":[{"minimum":1},{"minimum":2}]}`, `3`, `Want one of the shapes in the schema.`},
		{`{"contains":{"const":1}}`, `[2]`, `Want a value that satisfies contains {"const":1}.`},
		{`{"propertyNames":{"maxLength":1}}`, `{"bb":1}`, `got the key "bb". Want a key that satisfies {"maxLength":1}.`},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `/b: missing.`},
		{`{"required":["a","b"],"properties":{"a":{"type":["integer","null"]}}}`, `{}`, "1. /a: missing. Want a whole number or null.\n2. /b: missing."},
		{`{"required":["a"],"properties":{"a":{"type":"string","enum":["x","y"]}}}`, `{}`, `/a: missing. Want one of "x", "y".`},
		{`{"required":["a"],"properties":{"a":true}}`, `{}`, `/a: missing.`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","format":"ipv4"}`, `"x"`, `Want text in the format ipv4.`},
	} {
		raw, err := binding.CompileRaw([]byte(tc.schema))
		if err != nil {
			t.Fatal(err)
		}
		invalid, ok := errors.AsType[*binding.Invalid](raw.Check([]byte(tc.value)))
		if !ok || !strings.Contains(invalid.Text("tool"), tc.want) {
			t.Errorf("%s of %s: %+v, want %s", tc.value, tc.schema, invalid, tc.want)
		}
	}
}

func TestInvalid(t *testing.T) {
	t.Parallel()
	err := binding.NewInvalid(binding.Issue{Path: "/a", Want: "a date in the past", Got: "tomorrow"}, binding.Issue{Hint: "Both are taken."})
	want := "book: 2 problems.\n1. /a: got tomorrow. Want a date in the past.\n2. Both are taken."
	if got := err.Text("book"); got != want {
		t.Errorf("got %s", got)
	}
}

// TestKeysBehindPointers checks that a key that is a pointer or an interface is written by its own method.
func TestKeysBehindPointers(t *testing.T) {
	t.Parallel()
	addr := netip.MustParseAddr("192.0.2.1")
	writes(t, map[*netip.Addr]int{&addr: 1}, `{"192.0.2.1":1}`)
	writes(t, map[*netip.Addr]int{nil: 1}, `{"":1}`)
	writes(t, map[encoding.TextMarshaler]int{addr: 1}, `{"192.0.2.1":1}`)
}
