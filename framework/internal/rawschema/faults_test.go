package rawschema_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/internal/rawschema"
)

// told returns a fault in short form: keyword, path, want, names, known names.
func told(f rawschema.Failure) string {
	return strings.TrimSpace(strings.Join([]string{f.Keyword, f.Path, string(f.Want), strings.Join(f.Names, " "), strings.Join(f.Known, " ")}, "|"))
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		schema, value string
		want          []string
	}{
		{`{"type":"object","required":["a","b"],"minProperties":3}`, `{"a":1}`, []string{"required|||b|", "minProperties||3||"}},
		// A value of another type has one fault.
		{`{"type":["string","null"],"minLength":3,"pattern":"x"}`, `7`, []string{`type||["string","null"]||`}},
		{`{"type":"string","minLength":3,"pattern":"x"}`, `"y"`, []string{`pattern||"x"||`, "minLength||3||"}},
		{`{"properties":{"a/b":{"items":{"minimum":2}}}}`, `{"a/b":[2,1,0]}`, []string{"minimum|/a~1b/1|2||", "minimum|/a~1b/2|2||"}},
		{`{"properties":{"b":{},"a":{}},"additionalProperties":false}`, `{"x":1,"a":1,"y":1}`, []string{"additionalProperties|||x y|b a"}},
		{`{"properties":{"a":false},"items":false}`, `{"a":1}`, []string{"false|/a|false||"}},
		{`{"allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false}`, `{"a":1,"b":2}`, []string{"unevaluatedProperties|||b|"}},
		{`{"prefixItems":[{}],"unevaluatedItems":false}`, `[1,2]`, []string{"false|/1|false||"}},
		{`{"dependentRequired":{"a":["b"]},"dependentSchemas":{"a":{"required":["c"]}}}`, `{"a":1}`, []string{"dependentRequired|||b|", "required|||c|"}},
		{`{"propertyNames":{"maxLength":1}}`, `{"a":1,"bb":2}`, []string{`propertyNames||{"maxLength":1}|bb|`}},
		{`{"contains":{"type":"string"},"minContains":2,"uniqueItems":true}`, `[1,1,"a"]`, []string{"minContains||2||", "uniqueItems||true||"}},
		{`{"anyOf":[{"type":"string"},{"minimum":5}]}`, `1`, []string{`anyOf||[{"type":"string"},{"minimum":5}]||`}},
		{`{"not":{"const":1},"if":{"minimum":1},"then":{"multipleOf":2}}`, `1`, []string{`not||{"const":1}||`, "multipleOf||2||"}},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, `1`, []string{`$ref||{"$ref":"#/$defs/b"}||`}},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","format":"email"}`, `"nobody"`, []string{`format||"email"||`}},
		{`{"format":"email"}`, `"nobody"`, nil},
		{`{"maximum":1}`, `1e9999999`, []string{"maximum||1||"}},
		// A member without a name is no keyword.
		{`{"$schema":"http://json-schema.org/draft-07/schema#","":[false]}`, `[1]`, nil},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","":[7]}`, `[1]`, nil},
	} {
		s, err := rawschema.Compile([]byte(tc.schema))
		if err != nil {
			t.Errorf("%s: %v", tc.schema, err)
			continue
		}
		faults, _ := s.Check([]byte(tc.value), 20)
		var got []string
		for _, f := range faults {
			got = append(got, told(f))
		}
		if fmt.Sprint(sorted(got)) != fmt.Sprint(sorted(tc.want)) {
			t.Errorf("%s of %s: got %q, want %q", tc.value, tc.schema, got, tc.want)
		}
	}
}

func TestFaultsAreBounded(t *testing.T) {
	t.Parallel()
	s, err := rawschema.Compile([]byte(`{"items":{"type":"string"}}`))
	if err != nil {
		t.Fatal(err)
	}
	faults, total := s.Check([]byte("["+strings.Repeat("1,", 9999)+"1]"), 5)
	if len(faults) != 5 || total != 10000 {
		t.Errorf("%d of %d faults", len(faults), total)
	}
}

// A union that recurs in each of its branches: every level of a value is judged
// once, whatever stands before the member that tells the branches apart.
func TestRecursionIsNotExponential(t *testing.T) {
	t.Parallel()
	for _, how := range [][2]string{
		{"", `"$ref":"#"`},
		{`"$dynamicAnchor":"n",`, `"$dynamicRef":"#n"`},
		{`"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,`, `"$recursiveRef":"#"`},
	} {
		recursion(t, how[0], how[1])
	}
}

// recursion checks unions of three branches that refer to the whole schema.
func recursion(t *testing.T, anchor, reference string) {
	t.Helper()
	branch := `{"properties":{"child":{` + reference + `},"kind":{"const":"%s"}},"required":["kind"]}`
	for union, kinds := range map[string][3]any{"anyOf": {"a", "b", "c"}, "oneOf": {"a", "b", "c"}, "allOf": {"c", "c", "c"}} {
		s, err := rawschema.Compile([]byte(`{` + anchor + `"` + union + `":[` + fmt.Sprintf(branch+","+branch+","+branch, kinds[:]...) + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		good, bad := `{"kind":"c"}`, `{"kind":"d"}`
		for range 60 {
			good, bad = `{"child":`+good+`,"kind":"c"}`, `{"child":`+bad+`,"kind":"c"}`
		}
		if faults, total := s.Check([]byte(good), 5); total != 0 {
			t.Errorf("%s: %+v", union, faults)
		}
		if _, total := s.Check([]byte(bad), 5); total == 0 || s.Accepts([]byte(bad)) {
			t.Errorf("%s accepts %s", union, bad)
		}
	}
}

// TestDeepValues: what an item costs does not depend on its depth.
func TestDeepValues(t *testing.T) {
	t.Parallel()
	const depth, nested = 1000, 20
	s, err := rawschema.Compile([]byte(strings.Repeat(`{"allOf":[`, nested) + `{"items":{"$ref":"#"}}` + strings.Repeat(`]}`, nested)))
	if err != nil {
		t.Fatal(err)
	}
	text := []byte(strings.Repeat("[", depth) + strings.Repeat("1,", 20_000) + "1" + strings.Repeat("]", depth))
	took := time.Hour
	for range 3 { // a busy machine interrupts some
		began := time.Now()
		if !s.Accepts(text) {
			t.Error("a deep value is refused")
		}
		took = min(took, time.Since(began))
	}
	if took > 2*time.Second {
		t.Errorf("a deep value took %v", took)
	}
}

// What recurs in 2019-09 is the outermost schema that allows it.
func TestRecursiveReferences(t *testing.T) {
	t.Parallel()
	tree := `{"$id":"tree","$recursiveAnchor":%v,"type":"object","properties":{"data":true,"children":{"type":"array","items":{"$recursiveRef":"#"}}}}`
	for _, anchored := range []bool{true, false} {
		schema := `{"$schema":"https://json-schema.org/draft/2019-09/schema","$id":"https://example.com/strict","$recursiveAnchor":true,` +
			`"$ref":"tree","unevaluatedProperties":false,"$defs":{"tree":` + fmt.Sprintf(tree, anchored) + `}}`
		for _, value := range []string{`{"children":[{"data":1}]}`, `{"children":[{"daat":1}]}`, `{"daat":1}`, `{"children":[{"children":[{"daat":1}]}]}`} {
			compareJudges(t, "tree", []byte(schema), []byte(value))
		}
		s, err := rawschema.Compile([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		if s.Accepts([]byte(`{"children":[{"daat":1}]}`)) == anchored {
			t.Errorf("with $recursiveAnchor %v, a child may have any member: %v", anchored, anchored)
		}
	}
}

func TestWhatIsNoSchema(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`7`:                                     `the root: 7 is not what JSON Schema 2020-12 has there`,
		`{"type":"nope"}`:                       `/type: "nope" is not what JSON Schema 2020-12 has there`,
		`{"properties":{"a":{"minLength":-1}}}`: `/properties/a/minLength: -1 is not`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","items":true}`: `JSON Schema draft 4 has`,
		`{"$schema":"https://example.com/mine"}`:                             `not a known dialect`,
		`{"pattern":"(?=x)"}`:                                                "pattern \"(?=x)\": (?= looks ahead",
		`{"patternProperties":{"(":true}}`:                                   "error parsing regexp",
		`{"$ref":"https://example.com/x"}`:                                   "only references within the schema are allowed",
		`{"$ref":"other.json"}`:                                              "only references within the schema are allowed",
		`{"$ref":"#/$defs/none"}`:                                            "there is nothing",
		`{"$ref":"#/allOf/01","allOf":[true,true]}`:                          "there is nothing",
		`{"$ref":"#none"}`:                                                   "there is nothing",
		`{"$dynamicRef":"#none"}`:                                            "there is nothing",
		`{"$ref":"#/x","x":{"type":1}}`:                                      `/type: 1 is not what`,
		`{"$ref":"#/x","x":7}`:                                               `the root: 7 is not what`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","$ref":7}`:     "/$ref: 7 is not what JSON Schema draft 4 has there",
		`{"$ref":"%zz"}`:                                                     "it is not a URI",
		`{"$id":"%zz"}`:                                                      "is not a URI",
		`{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}`:                `two schemas have the anchor "x"`,
		`{"$defs":{"a":{"$id":"x"},"b":{"$id":"x"}}}`:                        "two schemas have the address",
		`{"$defs":{"a":{"$id":"x","$schema":"http://json-schema.org/draft-07/schema#"}}}`: "one document has one dialect",
		`{"minimum":1e9999999}`: "beyond what can be compared",
	} {
		if _, err := rawschema.Compile([]byte(schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", schema, err, want)
		}
	}
}

// Schemas may ask for schemas.
func TestMetaschemasCanBeReferredTo(t *testing.T) {
	t.Parallel()
	for _, meta := range []string{
		"http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#",
		"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema",
	} {
		s, err := rawschema.Compile([]byte(`{"properties":{"schema":{"$ref":"` + meta + `"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		deep := `{"schema":{"properties":{"a":{"allOf":[{"type":"%s"}]}}}}`
		if !s.Accepts(fmt.Appendf(nil, deep, "array")) || s.Accepts(fmt.Appendf(nil, deep, "list")) {
			t.Errorf("%s does not judge schemas", meta)
		}
	}
}
