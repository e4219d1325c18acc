package schema_test

import (
	"errors"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/binding/report"
	"github.com/kagami-mcp/kagami/framework/internal/binding/schema"
)

// TestDescribe checks the words that an error has for a schema.
func TestDescribe(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{}`:                 schema.AnyValue,
		`{"type":"integer"}`: "a whole number",
		`{"type":"integer","minimum":1,"maximum":9}`:               "a whole number from 1 to 9",
		`{"type":"number","exclusiveMinimum":0}`:                   "a number above 0",
		`{"type":"string","minLength":2}`:                          "text of at least 2 characters",
		`{"enum":["a","b"]}`:                                       `one of "a", "b"`,
		`{"enum":["a"]}`:                                           `"a"`,
		`{"type":["string","null"]}`:                               "text or null",
		`{"type":"array","items":{"type":"boolean"},"maxItems":3}`: "a list of at most 3 items, each true or false",
		`{"type":"array","items":{"type":"string"},"anyOf":[{"maxItems":1},{"minItems":3,"maxItems":3}]}`:              "a list of at most 1 item or of exactly 3 items, each text",
		`{"type":"array","items":{"type":"string"},"minItems":1,"anyOf":[{"maxItems":1},{"minItems":3,"maxItems":3}]}`: "a list of at least 1 item and of at most 1 item or of exactly 3 items, each text",
		`{"type":"array","items":{"type":"string"},"enum":[["a"],["b"]]}`:                                              `one of ["a"], ["b"]`,
		`{"type":"string","description":"A duration such as 90s."}`:                                                    "a duration such as 90s",
	} {
		if got := schema.Describe(schema.Parse([]byte(text))); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestClamp checks that Clamp returns the nearest allowed number, and nil for a number within the bounds.
func TestClamp(t *testing.T) {
	t.Parallel()
	k := schema.Parse([]byte(`{"type":"integer","minimum":1,"exclusiveMaximum":10}`))
	for value, want := range map[string]string{"0": "1", "-1e9": "1", "10": "9", "5": ""} {
		if got := schema.Clamp(k, []byte(value)); string(got) != want {
			t.Errorf("%s: %s, want %q", value, got, want)
		}
	}
}

// TestCompareNumbers checks that numbers in any notation compare exactly by their value.
func TestCompareNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"1", "1.0", 0}, {"1e2", "100", 0}, {"9007199254740993", "9007199254740992", 1}, {"-1", "0", -1}} {
		if got := schema.CompareNumbers([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%s and %s: %d", c.a, c.b, got)
		}
	}
	if !schema.SameJSON([]byte(`{"a":1,"b":[2]}`), []byte(`{ "b":[2.0], "a":1 }`)) || schema.SameJSON([]byte("1"), []byte(`"1"`)) {
		t.Error("equal values are of any notation, and of one kind")
	}
}

// TestKeywords checks that the order of keywords does not matter, and that a bound only becomes narrower.
func TestKeywords(t *testing.T) {
	t.Parallel()
	k := schema.Typed("integer")
	k.Raise("minimum", []byte("3"))
	k.Raise("minimum", []byte("1"))
	k.Lower("maximum", []byte("7"))
	k.Lower("maximum", []byte("9"))
	k.Note("One.")
	k.Note("Two.")
	const want = `{"type":"integer","description":"One. Two.","minimum":3,"maximum":7}`
	if got := k.Render(); string(got) != want {
		t.Errorf("got %s", got)
	}
	if got := schema.Nullable(k); string(schema.Value(got, "type")) != `["integer","null"]` {
		t.Errorf("got %s", got.Render())
	}
}

// TestRaw checks that a schema written by hand judges values, and describes what is wrong.
func TestRaw(t *testing.T) {
	t.Parallel()
	raw, err := schema.CompileRaw([]byte(`{"type":"object","properties":{"n":{"type":"integer","minimum":1},"l":{"minItems":1,"maxItems":2}},"required":["n"],"additionalProperties":false}`))
	if err != nil {
		t.Fatal(err)
	}
	for call, want := range map[string]string{
		`{"n":1}`: "", `{"n":0}`: "/n: got 0 (number). Want at least 1.", `{}`: "/n: missing. Want a whole number.", ``: "/n: missing. Want a whole number.",
		`{"n":1,"l":[]}`: "/l: got [] (list). Want at least 1 item.", `{"n":1,"l":[[],[],[]]}`: "/l: got [[],[],[]] (list). Want at most 2 items.",
		`{"n":1,"m":2}`: "/m: no such argument. Arguments: n, l.", `{"n":1,"n":2}`: "/n: given twice.",
	} {
		var got string
		if invalid, ok := errors.AsType[*report.Invalid](raw.Check([]byte(call))); ok {
			got = invalid.Issues[0].String()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", call, got, want)
		}
	}
	if _, err := schema.CompileRaw([]byte(`{"type":"nothing"}`)); err == nil {
		t.Error("a type that does not exist is accepted")
	}
}
