package rawschema_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// texts and names are few, so that schemas and values meet.
var (
	names   = rapid.SampledFrom([]string{"a", "b", "ab", ""})
	scalars = rapid.SampledFrom([]any{nil, true, false, 0, 1, json.Number("1.0"), json.Number("1e0"), 2, 3.5, -1, json.Number("0.1"), "", "a", "ab", "é", "1"})
	small   = rapid.IntRange(0, 3)
)

func drawValue(t *rapid.T, depth int) any {
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		if depth > 0 {
			return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) any { return drawValue(t, depth-1) }), 0, 3).Draw(t, "array")
		}
	case 1:
		if depth > 0 {
			return rapid.MapOfN(names, rapid.Custom(func(t *rapid.T) any { return drawValue(t, depth-1) }), 0, 3).Draw(t, "object")
		}
	}
	return scalars.Draw(t, "scalar")
}

// draws draw the values of all keywords.
func draws() map[string]func(*rapid.T, int) any {
	return map[string]func(*rapid.T, int) any{
		"type": func(t *rapid.T, _ int) any {
			return rapid.SampledFrom([]any{"integer", "number", "string", "object", "array", []string{"null", "boolean"}, []string{"object", "array", "integer"}}).Draw(t, "type")
		},
		"enum":  func(t *rapid.T, _ int) any { return []any{drawValue(t, 1), "x", []any{1}} },
		"const": func(t *rapid.T, _ int) any { return drawValue(t, 2) },

		"minimum": drawNumber, "maximum": drawNumber, "exclusiveMinimum": drawNumber, "exclusiveMaximum": drawNumber,
		"multipleOf": func(t *rapid.T, _ int) any {
			return rapid.SampledFrom([]json.Number{"1", "0.1", "2", "0.7", "1e-3"}).Draw(t, "unit")
		},
		"minLength": drawCount, "maxLength": drawCount, "minItems": drawCount, "maxItems": drawCount,
		"minProperties": drawCount, "maxProperties": drawCount, "minContains": drawCount, "maxContains": drawCount,
		"pattern":     func(t *rapid.T, _ int) any { return rapid.SampledFrom([]string{"^a", "b$", "."}).Draw(t, "pattern") },
		"uniqueItems": func(t *rapid.T, _ int) any { return rapid.Bool().Draw(t, "unique") },
		"required":    drawNames,

		"properties": drawSchemasByName, "dependentSchemas": drawSchemasByName,
		"patternProperties": func(t *rapid.T, depth int) any { return map[string]any{"^a": drawSchema(t, depth)} },
		"dependentRequired": func(t *rapid.T, depth int) any { return map[string]any{names.Draw(t, "on"): drawNames(t, depth)} },

		"additionalProperties": drawSchema, "unevaluatedProperties": drawSchema,
		// The other one forgets the dynamic scope here, so that there are no references.
		"propertyNames": func(t *rapid.T, _ int) any {
			return map[string]any{"maxLength": small.Draw(t, "length"), "not": map[string]any{"const": names.Draw(t, "name")}}
		},
		"items": drawSchema, "contains": drawSchema, "unevaluatedItems": drawSchema,
		"prefixItems": drawSchemas, "allOf": drawSchemas, "anyOf": drawSchemas, "oneOf": drawSchemas,
		"not": drawSchema, "if": drawSchema, "then": drawSchema, "else": drawSchema,
		"$ref": func(t *rapid.T, _ int) any {
			return rapid.SampledFrom([]string{"#", "#/$defs/one", "#/$defs/two", "two", "#mark", "two#mark"}).Draw(t, "ref")
		},
		"$dynamicRef": func(t *rapid.T, _ int) any {
			return rapid.SampledFrom([]string{"#mark", "two#mark", "#/$defs/one"}).Draw(t, "dynamic")
		},
	}
}

func drawNumber(t *rapid.T, _ int) any {
	return rapid.SampledFrom([]json.Number{"0", "1", "1.5", "-1", "2e0"}).Draw(t, "bound")
}

func drawCount(t *rapid.T, _ int) any { return small.Draw(t, "count") }

func drawNames(t *rapid.T, _ int) any {
	return rapid.SliceOfNDistinct(names, 0, 2, rapid.ID).Draw(t, "names")
}

func drawSchemas(t *rapid.T, depth int) any {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) any { return drawSchema(t, depth) }), 1, 3).Draw(t, "schemas")
}

func drawSchemasByName(t *rapid.T, depth int) any {
	return rapid.MapOfN(names, rapid.Custom(func(t *rapid.T) any { return drawSchema(t, depth) }), 0, 3).Draw(t, "schemas")
}

func drawSchema(t *rapid.T, depth int) any {
	if depth == 0 || rapid.IntRange(0, 9).Draw(t, "kind") == 0 {
		return rapid.Bool().Draw(t, "boolean")
	}
	drawn := draws()
	keywords := rapid.SampledFrom(slices.Sorted(maps.Keys(drawn)))
	schema := map[string]any{}
	for range rapid.IntRange(1, 4).Draw(t, "keywords") {
		name := keywords.Draw(t, "keyword")
		schema[name] = drawn[name](t, depth-1)
	}
	return schema
}

// Any schema and any value: another implementation judges alike.
func TestAnySchemaIsJudgedAlike(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		root := map[string]any{}
		if schema, ok := drawSchema(r, 3).(map[string]any); ok {
			root = schema
		}
		two := map[string]any{"$id": "two", "$defs": map[string]any{
			"one": drawSchema(r, 2), "two": true, "m": map[string]any{"$dynamicAnchor": "mark", "anyOf": []any{drawSchema(r, 1)}},
		}}
		if schema, ok := drawSchema(r, 2).(map[string]any); ok {
			maps.Copy(two, schema)
		}
		root["$defs"] = map[string]any{"one": drawSchema(r, 2), "two": two, "m": map[string]any{"$dynamicAnchor": "mark", "allOf": []any{drawSchema(r, 1)}}}
		schema, err := json.Marshal(root)
		if err != nil {
			r.Fatal(err)
		}
		for range 4 {
			data, err := json.Marshal(drawValue(r, 3))
			if err != nil {
				r.Fatal(err)
			}
			compareJudges(r, "drawn", schema, data)
		}
	})
}

// Any bytes as schema and value: nothing panics, and another implementation
// judges alike where formats and addresses, which it reads in its own way, have
// no part in it.
func FuzzJudge(f *testing.F) {
	for _, groups := range groups(f, "testdata/suite/*/*.json") {
		for _, g := range groups {
			f.Add([]byte(g.Schema), []byte(g.Tests[0].Data))
		}
	}
	f.Add([]byte(`{"const":2}`), []byte("2 "))
	absurd := regexp.MustCompile(`[eE][+-]?[0-9]{6}`) // which it takes for no number, or expands
	f.Fuzz(func(t *testing.T, schema, data []byte) {
		for _, text := range [][]byte{schema, data} {
			if jsontext.Check(text, jsontext.DefaultLimits()) != nil || jsontext.Unique(text) != nil {
				return
			}
			if absurd.Match(text) {
				return
			}
		}
		for _, own := range []string{"format", "$id", `"id"`, "$schema", "http", `\u`} {
			if bytes.Contains(schema, []byte(own)) {
				return
			}
		}
		compareJudges(t, "fuzzed", schema, data)
	})
}
