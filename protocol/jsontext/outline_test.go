package jsontext_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

func TestOutline(t *testing.T) {
	t.Parallel()
	many := make([]string, 70)
	for i := range many {
		many[i] = fmt.Sprintf(`"m%d":{"x":%d}`, i, i)
	}
	tests := map[string]string{
		"frame":                `{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"n","arguments":{"a":{"b":{"c":1}}},"_meta":{"k":{"v":[]}}}}`,
		"space everywhere":     " { \"a\" : { \"b\" : [ 1 , { \"c\" : 2 } ] , \"d\" : { } } , \"e\" :\t1 }\n",
		"arrays of objects":    `{"a":[{"b":{"c":1}},{"b":2}],"d":[[{"e":1}]],"f":{"g":[{"h":{"i":1}}],"j":2}}`,
		"arrays after objects": `{"params":{"_meta":{"z":1}},"w":[{"q":2}],"x":[[],{"r":{}}]}`,
		"an array":             `[{"a":1},{"b":{"c":2}}]`,
		"a scalar":             ` "x" `,
		"nothing in it":        `{}`,
		"repeated names":       `{"a":{"x":1},"a":{"y":2},"a":3}`,
		"escaped names":        `{"\u0061":{"\u0062":{"\u0063":{"\u0064":1}}}}`,
		"too many":             "{" + strings.Join(many, ",") + "}",
		"too many at the end":  `{"a":{"b":1},"c":{` + strings.Join(many, ",") + "}}",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o jsontext.Outline
			agrees(t, &o, []byte(text))
			agrees(t, &o, []byte(`{"again":{"with":{"another":{"text":1}}}}`))
		})
	}
}

// An object has its own members, and no others, whatever was before it.
func TestOutlineProperty(t *testing.T) {
	t.Parallel()
	var o jsontext.Outline
	rapid.Check(t, func(rt *rapid.T) {
		agrees(rt, &o, []byte(drawValue(rt, 5)))
	})
}

// drawValue draws more objects and arrays than anything else, of few members each.
func drawValue(t *rapid.T, depth int) string {
	kind := rapid.SampledFrom([]string{"object", "object", "array", "number"}).Draw(t, "kind")
	if depth == 0 || kind == "number" {
		return strconv.Itoa(rapid.IntRange(0, 99).Draw(t, "number"))
	}
	inner := make([]string, rapid.IntRange(0, 3).Draw(t, "size"))
	for i := range inner {
		inner[i] = drawValue(t, depth-1)
		if kind == "object" {
			inner[i] = fmt.Sprintf(`"k%d":%s`, rapid.IntRange(0, 5).Draw(t, "name"), inner[i])
		}
	}
	if kind == "object" {
		return "{" + strings.Join(inner, ",") + "}"
	}
	return "[" + strings.Join(inner, ",") + "]"
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// agrees fails unless the outline contains for each object what a second read of the object finds.
func agrees(t failer, o *jsontext.Outline, text []byte) {
	t.Helper()
	err, plain := o.Check(text, jsontext.DefaultLimits()), jsontext.Check(text, jsontext.DefaultLimits())
	if fmt.Sprint(err) != fmt.Sprint(plain) {
		t.Fatalf("%s: %v, without an outline %v", text, err, plain)
	}
	if err != nil {
		return
	}
	compare(t, o.Object(), text, 5)
}

func compare(t failer, o jsontext.Object, raw []byte, depth int) {
	t.Helper()
	if string(o.Raw()) != string(raw) {
		t.Fatalf("raw is %s, want %s", o.Raw(), raw)
	}
	var got, want []string
	for key, value := range o.Members() {
		got = append(got, string(key.Raw())+":"+string(value))
	}
	for key, value := range jsontext.Members(raw) {
		want = append(want, string(key.Raw())+":"+string(value))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("members of %s are\n%s", raw, strings.Join(got, "\n"))
	}
	for key := range jsontext.Members(raw) {
		name := key.String()
		value, ok := jsontext.Member(raw, name)
		same, there := o.Member(name)
		inner, known := o.Inner(name)
		if string(same) != string(value) || there != ok || known != ok {
			t.Fatalf("%s of %s is %s", name, raw, same)
		}
		if depth > 0 {
			compare(t, inner, value, depth-1)
		}
	}
	if _, ok := o.Inner("no such name"); ok {
		t.Fatalf("a member is there that is not: %s", raw)
	}
}

func TestOutlineOfNothing(t *testing.T) {
	t.Parallel()
	var o jsontext.Outline
	if err := o.Check([]byte(`{"a":{"b":1`), jsontext.Limits{}); err == nil {
		t.Fatal("accepted")
	}
	for range o.Object().Members() {
		t.Fatal("a member of what is not JSON")
	}
	for range (jsontext.Object{}).Members() {
		t.Fatal("a member of nothing")
	}
	if _, ok := (jsontext.Object{}).Inner("a"); ok {
		t.Fatal("a member of nothing")
	}
}

// An outline costs no memory, and no pass over the text.
func TestOutlineAllocations(t *testing.T) {
	text := []byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"n","_meta":{"k":1}}}`)
	var o jsontext.Outline
	if n := testing.AllocsPerRun(100, func() {
		if o.Check(text, jsontext.DefaultLimits()) != nil {
			t.Fatal("refused")
		}
		params, _ := o.Object().Inner("params")
		meta, _ := params.Inner("_meta")
		if _, ok := meta.Member("k"); !ok {
			t.Fatal("not found")
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func FuzzOutline(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1,{"c":2}],"d":{}},"e":[[{"f":{"g":{}}}]],"a":""}`))
	f.Add([]byte(` { "a" : { "b" : { "c" : { "d" : 1 } } } , "x" : null } `))
	f.Add([]byte(`{"a":{"b":{"c":1}},"d":[{"e":2}],"f":{"g":{"h":3},"i":[{"j":4}]}}`))
	f.Add([]byte(`[{"a":1},[],{"b":{"c":[{"d":1}]}}]`))
	f.Add([]byte(`{"a":{"b":1`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var o jsontext.Outline
		agrees(t, &o, text)
	})
}

func BenchmarkOutline(b *testing.B) {
	text := []byte(`{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"search","arguments":{"q":"x","n":[1,2,3]}}}`)
	b.Run("Check", func(b *testing.B) {
		for b.Loop() {
			_ = jsontext.Check(text, jsontext.DefaultLimits())
		}
	})
	b.Run("Outline", func(b *testing.B) {
		var o jsontext.Outline
		for b.Loop() {
			_ = o.Check(text, jsontext.DefaultLimits())
		}
	})
	b.Run("Members", func(b *testing.B) {
		for b.Loop() {
			for key, params := range jsontext.Members(text) {
				if key.Is("params") {
					for range jsontext.Members(params) {
					}
				}
			}
		}
	})
	b.Run("Object.Members", func(b *testing.B) {
		var o jsontext.Outline
		_ = o.Check(text, jsontext.DefaultLimits())
		for b.Loop() {
			for range o.Object().Members() {
			}
			params, _ := o.Object().Inner("params")
			for range params.Members() {
			}
		}
	})
}
