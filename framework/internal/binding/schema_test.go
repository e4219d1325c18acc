package binding_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var modes = map[string]binding.Mode{"i": binding.Input, "o": binding.Output, "s": binding.Strings, "f": binding.Form}

func mustCompile(t testing.TB, typ reflect.Type, mode binding.Mode, opts binding.Options) *binding.Plan {
	t.Helper()
	p, faults := binding.Compile(typ, mode, opts)
	for _, f := range faults {
		if !f.Warning {
			t.Errorf("%s: %s", typ, f)
		}
	}
	if p == nil {
		t.Fatalf("%s does not compile", typ)
	}
	return p
}

// judgeOf compiles a schema as a strict client would: formats and contents asserted.
func judgeOf(t testing.TB, schema []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatalf("schema %s: %v", schema, err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.AssertContent()
	if err := c.AddResource("test:schema", doc); err != nil {
		t.Fatalf("schema %s: %v", schema, err)
	}
	s, err := c.Compile("test:schema")
	if err != nil {
		t.Fatalf("schema %s: %v", schema, err)
	}
	return s
}

func accepts(t testing.TB, s *jsonschema.Schema, raw []byte) bool {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatalf("value %s: %v", raw, err)
	}
	return s.Validate(doc) == nil
}

// agreeOn reports whether schema and plan judge alike. Only the plan has the bounds of 64 bits. A pointer accepts
// null, although no schema of arguments does.
func agreeOn(raw []byte, legal bool, err error) bool {
	if legal == (err == nil) || err == nil && bytes.Contains(raw, []byte("null")) {
		return true
	}
	var invalid *binding.Invalid
	return legal && errors.As(err, &invalid) && !slices.ContainsFunc(invalid.Issues, func(i binding.Issue) bool {
		return !strings.Contains(i.Hint, "of 64 bits")
	})
}

// TestArgumentsHaveProperties checks that schemas of arguments have properties, because APIs of models refuse
// a function without parameters otherwise.
func TestArgumentsHaveProperties(t *testing.T) {
	t.Parallel()
	for typ, want := range map[reflect.Type]string{
		reflect.TypeFor[struct{}]():        `{"type":"object","properties":{},"additionalProperties":false}`,
		reflect.TypeFor[*struct{}]():       `{"type":"object","properties":{},"additionalProperties":false}`,
		reflect.TypeFor[map[string]bool](): `{"type":"object","properties":{},"additionalProperties":{"type":"boolean"}}`,
	} {
		if got := string(mustCompile(t, typ, binding.Input, binding.Options{}).Schema()); got != want {
			t.Errorf("%s: got %s, want %s", typ, got, want)
		}
	}
}

// TestNumbersSurviveDoubles checks that a schema does not have a bound that a client cannot keep exactly. The
// client may round it to a number of more than 64 bits, and APIs of models then refuse the whole request.
func TestNumbersSurviveDoubles(t *testing.T) {
	t.Parallel()
	whole := regexp.MustCompile(`[:,\[](-?[0-9]+)[,}\]]`)
	seen := 0
	for _, c := range typeCases() {
		p := mustCompile(t, c.t, modes[c.mode], binding.Options{})
		for _, found := range whole.FindAllSubmatch(p.Schema(), -1) {
			seen++
			if n, err := strconv.ParseInt(string(found[1]), 10, 64); err != nil || n > 1<<53 || n < -1<<53 {
				t.Errorf("%s has the number %s\n%s", c.name, found[1], p.Schema())
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d numbers: this proves nothing", seen)
	}
}

func TestSchemasAreGolden(t *testing.T) {
	t.Parallel()
	const file = "testdata/schemas.golden"
	var got strings.Builder
	cases := typeCases()
	if len(cases) < 60 {
		t.Fatalf("only %d types", len(cases))
	}
	for _, tc := range cases {
		p := mustCompile(t, tc.t, modes[tc.mode], binding.Options{})
		got.WriteString(tc.name + "\t" + string(p.Schema()) + "\n")
	}
	golden(t, file, got.String())
}

// TestDescriptionsAreSentences checks that a sentence of the doc tag ends before the sentences of the rules.
func TestDescriptionsAreSentences(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		in   any
		want string
	}{
		"no full stop": {struct {
			A time.Time `json:"a" doc:"when it is due" validate:"gt"`
		}{}, "when it is due. In the future."},
		"two sentences": {struct {
			A time.Duration `json:"a" doc:"how long" validate:"min=1m"`
		}{}, "how long. A duration such as 90s, 5m or 1h30m. At least 1m."},
		"a duration in nanoseconds": {struct {
			A time.Duration `json:"a" doc:"how long" validate:"min=5,max=90000000000"`
		}{}, "how long. A duration such as 90s, 5m or 1h30m. At least 5ns. At most 1m30s."},
		"a full stop and a space": {struct {
			A time.Time `json:"a" doc:"When it is due. " validate:"gt"`
		}{}, "When it is due. In the future."},
		"a question": {struct {
			A time.Time `json:"a" doc:"When?" validate:"gt"`
		}{}, "When? In the future."},
		"in brackets": {struct {
			A time.Time `json:"a" doc:"the end (if any)" validate:"gt"`
		}{}, "the end (if any). In the future."},
		"another script": {struct {
			A time.Time `json:"a" doc:"締め切り。" validate:"gt"`
		}{}, "締め切り。 In the future."},
		"alone": {struct {
			A time.Time `json:"a" validate:"gt"`
		}{}, "In the future."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := mustCompile(t, reflect.TypeOf(tt.in), binding.Input, binding.Options{})
			if got := string(p.Schema()); !strings.Contains(got, `"description":"`+tt.want+`"`) {
				t.Errorf("want %q in %s", tt.want, got)
			}
		})
	}
}

// TestEnumsHaveNoValueTwice checks that an enum has each value once, because some readers refuse others.
func TestEnumsHaveNoValueTwice(t *testing.T) {
	t.Parallel()
	type in struct {
		Listed tTwice         `json:"listed"`
		Keyed  map[tTwice]int `json:"keyed"`
		Ruled  string         `json:"ruled" validate:"oneof=a b a"`
	}
	p := mustCompile(t, reflect.TypeFor[in](), binding.Input, binding.Options{})
	if got := string(p.Schema()); strings.Count(got, `"enum":["a","b"]`) != 3 {
		t.Error(got)
	}
}

var defName = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

func TestSchemasAreLegal(t *testing.T) {
	t.Parallel()
	for _, tc := range typeCases() {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := mustCompile(t, tc.t, modes[tc.mode], binding.Options{})
			again := mustCompile(t, tc.t, modes[tc.mode], binding.Options{})
			if !bytes.Equal(p.Schema(), again.Schema()) {
				t.Errorf("not deterministic:\n%s\n%s", p.Schema(), again.Schema())
			}
			judgeOf(t, p.Schema())
			var doc map[string]any
			if err := json.Unmarshal(p.Schema(), &doc); err != nil {
				t.Fatal(err)
			}
			if tc.mode != "o" && doc["type"] != "object" {
				t.Errorf("root is %v", doc["type"])
			}
			if defs, ok := doc["$defs"].(map[string]any); ok {
				for name := range defs {
					if !defName.MatchString(name) {
						t.Errorf("illegal name %q in $defs", name)
					}
				}
			}
			for _, noise := range []string{`"$schema"`, `"$id"`, `:true,"`, `:{"type":"object","properties":{}`} {
				if strings.Contains(strings.ReplaceAll(string(p.Schema()), `"uniqueItems":true`, ""), noise) && !strings.Contains(string(p.Schema()), `"default":true`) && !strings.Contains(string(p.Schema()), "readOnly") {
					t.Errorf("schema has %s: %s", noise, p.Schema())
				}
			}
		})
	}
}

// TestRulesInRecursiveList checks that the schema has the rules of elements, also if a list that contains
// itself only writes its own JSON.
func TestRulesInRecursiveList(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[tWrittenIn](), binding.Input, binding.Options{NoRepair: true})
	for raw, legal := range map[string]bool{`{"t":[[[]],[]]}`: true, `{"t":[[[],[]]]}`: false, `{"t":[[],[],[]]}`: false} {
		_, err := p.Decode(t.Context(), []byte(raw), reflect.New(p.Type()).Elem())
		if accepts(t, judgeOf(t, p.Schema()), []byte(raw)) != legal || (err == nil) != legal {
			t.Errorf("%s: schema %s, plan %v", raw, p.Schema(), err)
		}
	}
}
