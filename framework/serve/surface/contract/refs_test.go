package contract_test

import (
	"fmt"
	"testing"

	"github.com/kagami-mcp/kagami/framework/serve/surface/contract"
)

// What a schema refers to may change while its own words stay: wherever the reference is,
// that is seen.
func TestDefinitionChanges(t *testing.T) {
	t.Parallel()
	const longer = "minLength raised from nothing to 3"
	for _, tt := range []struct {
		name, v       string
		input, output contract.Level
		words         string
	}{
		{"itself", `"$ref":"#/$defs/a"`, breaking, additive, "/v: " + longer},
		{"member", `"properties":{"m":{"$ref":"#/$defs/a"}}`, breaking, additive, "/v/m: " + longer},
		{"items", `"items":{"$ref":"#/$defs/a"}`, breaking, additive, "/v/*: " + longer},
		{"items of items", `"items":{"items":{"$ref":"#/$defs/a"}}`, breaking, additive, "/v/*/*: " + longer},
		{"items of an earlier draft", `"items":[{"$ref":"#/$defs/a"}]`, breaking, additive, "/v/*: " + longer},
		{"tuple", `"prefixItems":[{"$ref":"#/$defs/a"}]`, breaking, additive, "/v/*: " + longer},
		{"values of a map", `"additionalProperties":{"$ref":"#/$defs/a"}`, breaking, additive, "/v/*: " + longer},
		{"keys of a map", `"propertyNames":{"$ref":"#/$defs/a"}`, breaking, additive, "(names): " + longer},
		{"pattern of members", `"patternProperties":{"^x":{"$ref":"#/$defs/a"}}`, breaking, additive, "/v/^x: " + longer},
		{"one of two", `"oneOf":[{"$ref":"#/$defs/a"},{"type":"null"}]`, breaking, additive, "/v: " + longer},
		{"one of two that overlap", `"oneOf":[{"$ref":"#/$defs/a"},{"type":"string","maxLength":5}]`, breaking, breaking, "/v: " + longer},
		{"one of two that overlap, and elsewhere", `"properties":{"u":{"$ref":"#/$defs/a"},"v":{"oneOf":[{"$ref":"#/$defs/a"},{"type":"string","maxLength":5}]}}`, breaking, breaking, "/v/v: " + longer},
		{"counted items", `"contains":{"$ref":"#/$defs/a"},"maxContains":1`, breaking, breaking, "what contains refers to has changed"},
		{"any of two", `"anyOf":[{"type":"null"},{"$ref":"#/$defs/a"}]`, breaking, additive, "/v: " + longer},
		{"all", `"allOf":[{"$ref":"#/$defs/a"},{"maxLength":9}]`, breaking, additive, "/v: " + longer},
		{"in a list", `"$ref":"#/$defs/list/oneOf/0"`, breaking, additive, "/v: " + longer},
		{"by an encoded pointer", `"$ref":"#/$defs/an%20a"`, breaking, additive, "/v: " + longer},
		{"by way of another", `"items":{"$ref":"#/$defs/way"}`, breaking, additive, "/v/*: " + longer},
		{"beside the same keyword", `"$ref":"#/$defs/a","minLength":1`, breaking, additive, "/v: must also be"},
		{"not", `"not":{"$ref":"#/$defs/a"}`, breaking, breaking, "what not refers to has changed"},
		{"a second list", `"oneOf":[{"type":"string","format":"a"},{"type":"string","format":"b"}],"anyOf":[{"$ref":"#/$defs/a"}]`, breaking, breaking, "what anyOf refers to has changed"},
		{"if", `"if":{"$ref":"#/$defs/a"},"then":{"maxLength":9}`, breaking, breaking, "what if refers to has changed"},
		{"an anchor", `"$ref":"#a"`, breaking, breaking, "cannot be followed"},
		{"none", `"type":"string"`, text, text, "another way"},
		{"another", `"items":{"$ref":"#/$defs/other"},"not":{"$ref":"#/$defs/other"}`, text, text, "another way"},
		{"a value that looks like one", `"default":{"$ref":"#/$defs/a"}`, text, text, "another way"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			const definitions = `"list":{"oneOf":[{"$ref":"#/$defs/a"}]},"an a":{"$ref":"#/$defs/a"},"way":{"$ref":"#/$defs/a"},"other":{"type":"string"}`
			tool := func(side, a string) string {
				schema := fmt.Sprintf(`{"type":"object","properties":{"v":{%s}},"$defs":{"a":{"$anchor":"a","type":"string"%s},%s}}`, tt.v, a, definitions)
				if side == "inputSchema" {
					return fmt.Sprintf(`{"name":"t","inputSchema":%s}`, schema)
				}
				return fmt.Sprintf(`{"name":"t","inputSchema":{"type":"object"},"outputSchema":%s}`, schema)
			}
			judge(t, "tools", tool("inputSchema", ""), tool("inputSchema", `,"minLength":3`), tt.input, tt.words)
			judge(t, "tools", tool("outputSchema", ""), tool("outputSchema", `,"minLength":3`), tt.output, tt.words)
		})
	}
}
