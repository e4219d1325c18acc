package contract_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/serve/surface/contract"
)

// change is a change of an API description, written by hand, with its expected meaning.
type change struct {
	name          string
	before, after string
	want          contract.Level
	words         string // of the report
}

// members of the schema of /v, as input and as output.
type schemaChange struct {
	name          string
	before, after string
	input, output contract.Level
	words         string
}

const (
	same     = contract.Same
	text     = contract.Text
	additive = contract.Additive
	breaking = contract.Breaking
)

func schemaChanges() []schemaChange {
	return []schemaChange{
		{"type widened", `"type":"integer"`, `"type":"number"`, additive, breaking, "widened from integer to number"},
		{"type narrowed", `"type":"number"`, `"type":"integer"`, breaking, additive, "narrowed from number to integer"},
		{"type changed", `"type":"string"`, `"type":"integer"`, breaking, breaking, "changed from string to integer"},
		{"null allowed", `"type":"string"`, `"type":["string","null"]`, additive, breaking, "null"},
		{"null allowed beside examples", `"type":"string","examples":["a"]`, `"anyOf":[{"type":"string"},{"type":"null"}],"examples":["a"]`, additive, breaking, "alternative null added"},
		{"null refused", `"type":["null","string"]`, `"type":"string"`, breaking, additive, "narrowed"},
		{"null allowed by an alternative", `"type":"string","minLength":1`, `"anyOf":[{"type":"string","minLength":1},{"type":"null"}]`, additive, breaking, "alternative null added"},
		{"types in another order", `"type":["null","string"]`, `"type":["string","null"]`, text, text, "another way"},
		{"type dropped", `"type":"string"`, `"title":"x"`, additive, breaking, "anything"},
		{"type named", `"title":"x"`, `"type":"string","title":"x"`, breaking, additive, "narrowed from anything"},
		{"enum value removed", `"enum":["a","b"]`, `"enum":["a"]`, breaking, additive, `value "b" removed`},
		{"enum value added", `"enum":["a"]`, `"enum":["a","b"]`, additive, breaking, `value "b" added`},
		{"enum reordered", `"enum":["a","b"]`, `"enum":["b","a"]`, text, text, "another way"},
		{"enum introduced", `"type":"string"`, `"type":"string","enum":["a"]`, breaking, additive, "restricted to"},
		{"enum dropped", `"type":"string","enum":["a"]`, `"type":"string"`, additive, breaking, "no longer restricted"},
		{"type of the values named", `"enum":["a"]`, `"type":"string","enum":["a"]`, text, text, "another way"},
		{"type of a constant dropped", `"type":"null","const":null`, `"const":null`, text, text, "another way"},
		{"const beside enum", `"const":"a","enum":["a"]`, `"const":"a","enum":["b"]`, breaking, breaking, "enum changed beside"},
		{
			"anyOf beside oneOf", `"oneOf":[{"type":"string"},{"type":"array"}],"anyOf":[{"minLength":1},{"minItems":1}]`,
			`"oneOf":[{"type":"string"},{"type":"array"}],"anyOf":[{"minLength":2},{"minItems":1}]`, breaking, breaking, "anyOf changed beside",
		},
		{
			"beside a reference", `"properties":{"a":{"$ref":"#/$defs/small"},"b":{"$ref":"#/$defs/small"}}`,
			`"properties":{"a":{"$ref":"#/$defs/small"},"b":{"$ref":"#/$defs/small","minimum":1}}`, breaking, additive, "/v/b: minimum 1 added",
		},
		{"const becomes enum", `"const":"a"`, `"enum":["a","b"]`, additive, breaking, `value "b" added`},
		{"titled value added", `"oneOf":[{"const":1,"title":"One"}]`, `"oneOf":[{"const":1,"title":"One"},{"const":2,"title":"Two"}]`, additive, breaking, "value 2 added"},
		{"titled value renamed", `"oneOf":[{"const":1,"title":"One"}]`, `"oneOf":[{"const":1,"title":"Eins"}]`, text, text, "another way"},
		{"maximum lowered", `"maximum":100`, `"maximum":50`, breaking, additive, "maximum lowered from 100 to 50"},
		{"maximum raised", `"maximum":100`, `"maximum":1e3`, additive, breaking, "maximum raised from 100 to 1e3"},
		{"maximum added", `"type":"integer"`, `"type":"integer","maximum":5`, breaking, additive, "maximum 5 added"},
		{"minimum removed", `"minimum":0.5`, `"title":"x"`, additive, breaking, "minimum 0.5 removed"},
		{"minimum raised by a hair", `"minimum":9007199254740992`, `"minimum":9007199254740993`, breaking, additive, "raised"},
		{"minimum excluded", `"type":"number","minimum":0`, `"type":"number","exclusiveMinimum":0`, breaking, additive, "0 itself is not allowed"},
		{"minimum excluded, in draft 4", `"type":"number","minimum":0`, `"type":"number","minimum":0,"exclusiveMinimum":true`, breaking, additive, "0 itself is not allowed"},
		{"maximum excluded, in draft 4", `"maximum":9,"exclusiveMaximum":true`, `"maximum":9,"exclusiveMaximum":false`, additive, breaking, "9 itself is allowed now"},
		{"integer bound said otherwise", `"type":"integer","exclusiveMinimum":0`, `"type":"integer","minimum":1`, text, text, "another way"},
		{"number said otherwise", `"maximum":100`, `"maximum":1e2`, text, text, "another way"},
		{"minLength added", `"type":"string"`, `"type":"string","minLength":2`, breaking, additive, "minLength"},
		{"minLength of nothing", `"type":"string"`, `"type":"string","minLength":0`, text, text, "another way"},
		{"maxLength raised", `"maxLength":5`, `"maxLength":6`, additive, breaking, "maxLength raised"},
		{"maxItems lowered", `"maxItems":5`, `"maxItems":4`, breaking, additive, "maxItems lowered"},
		{"items must differ", `"type":"array"`, `"type":"array","uniqueItems":true`, breaking, additive, "must differ"},
		{"multipleOf raised", `"multipleOf":5`, `"multipleOf":10`, breaking, additive, "multipleOf raised"},
		{"multipleOf lowered", `"multipleOf":10`, `"multipleOf":5`, additive, breaking, "multipleOf lowered"},
		{"multipleOf changed", `"multipleOf":2`, `"multipleOf":3`, breaking, breaking, "multipleOf changed"},
		{"pattern added", `"type":"string"`, `"type":"string","pattern":"^a"`, breaking, additive, "pattern"},
		{"pattern changed", `"pattern":"^a"`, `"pattern":"^b"`, breaking, breaking, "pattern changed"},
		{"format added", `"type":"string"`, `"type":"string","format":"email"`, breaking, additive, "format"},
		{"format removed", `"format":"email"`, `"title":"x"`, additive, breaking, "format"},
		{"format changed", `"format":"date"`, `"format":"date-time"`, breaking, breaking, "format changed"},
		{"default changed", `"default":10`, `"default":20`, breaking, text, "default changed from 10 to 20"},
		{"default removed", `"default":10`, `"title":"x"`, breaking, text, "default"},
		{"default of null changed", `"default":null`, `"default":10`, breaking, text, "default changed from"},
		{"default of null removed", `"default":null`, `"title":"x"`, breaking, text, "default"},
		{"default becomes null", `"default":10`, `"default":null`, breaking, text, "default changed from 10 to"},
		{"default added", `"type":"integer"`, `"type":"integer","default":1`, additive, text, "default"},
		{"description", `"description":"a"`, `"description":"b"`, text, text, "description changed"},
		{"examples", `"examples":[1]`, `"examples":[2]`, text, text, "examples changed"},
		{"extension", `"x-order":1`, `"x-order":2`, text, text, "x-order"},
		{"member added", `"properties":{"a":{}}`, `"properties":{"a":{},"b":{}}`, additive, additive, "/v/b: added"},
		{"required member added", `"properties":{"a":{}}`, `"properties":{"a":{},"b":{}},"required":["b"]`, breaking, additive, "/v/b: added"},
		{"member removed", `"properties":{"a":{},"b":{}},"required":["b"]`, `"properties":{"a":{}}`, breaking, breaking, "/v/b: removed"},
		{"member required", `"properties":{"a":{}}`, `"properties":{"a":{}},"required":["a"]`, breaking, additive, "/v/a: required now"},
		{"member optional", `"properties":{"a":{}},"required":["a"]`, `"properties":{"a":{}}`, additive, breaking, "/v/a: "},
		{"members in another order", `"properties":{"a":{},"b":{}}`, `"properties":{"b":{},"a":{}}`, text, text, "another order"},
		{"member of a map declared", `"additionalProperties":{"type":"string"}`, `"properties":{"n":{"type":"integer"}},"additionalProperties":{"type":"string"}`, breaking, breaking, "/v/n: type changed"},
		{
			"member of a pattern declared", `"patternProperties":{"^x-":{"type":"integer"}},"additionalProperties":{"type":"string"}`,
			`"properties":{"x-a":{"type":"integer"}},"patternProperties":{"^x-":{"type":"integer"}},"additionalProperties":{"type":"string"}`, additive, additive, "/v/x-a: added",
		},
		{
			"member declared beside a pattern", `"patternProperties":{"^x-":{}},"additionalProperties":{"type":"string"}`,
			`"properties":{"n":{"type":"integer"}},"patternProperties":{"^x-":{}},"additionalProperties":{"type":"string"}`, breaking, breaking, "/v/n: type changed",
		},
		{"member declared where none was allowed", `"additionalProperties":{"not":{}}`, `"additionalProperties":{"not":{}},"properties":{"n":{}}`, additive, additive, "/v/n: added"},
		{"long default changed", `"default":"` + strings.Repeat("a", 99) + `"`, `"default":"` + strings.Repeat("b", 99) + `"`, breaking, text, "a… to"},
		{"nested bound", `"properties":{"a/b":{"maximum":2}}`, `"properties":{"a/b":{"maximum":1}}`, breaking, additive, "/v/a~1b: maximum"},
		{"other members refused", `"type":"object"`, `"type":"object","additionalProperties":false`, breaking, additive, "refused now"},
		{"other members allowed", `"additionalProperties":false`, `"title":"x"`, additive, breaking, "allowed now"},
		{"values of a map", `"additionalProperties":{"type":"integer"}`, `"additionalProperties":{"type":"string"}`, breaking, breaking, "/v/*: type changed"},
		{"keys of a map", `"propertyNames":{"maxLength":3}`, `"propertyNames":{"maxLength":2}`, breaking, additive, "(names): maxLength"},
		{"pattern of members", `"type":"object"`, `"type":"object","patternProperties":{"^x":{"type":"string"}}`, breaking, additive, `"^x"`},
		{
			"pattern of the only members removed", `"patternProperties":{"^x":{"type":"string"}},"additionalProperties":false`, `"additionalProperties":false`,
			breaking, additive, "/v/^x: nothing is allowed any more",
		},
		{
			"pattern of the only members added", `"additionalProperties":false`, `"patternProperties":{"^x":{"type":"string"}},"additionalProperties":false`,
			additive, breaking, "/v/^x: values are allowed now",
		},
		{
			"pattern of members like all others", `"additionalProperties":{"type":"string"}`,
			`"patternProperties":{"^x":{"type":"string"}},"additionalProperties":{"type":"string"}`, text, text, "another way",
		},
		{"items widened", `"items":{"type":"integer"}`, `"items":{"type":"number"}`, additive, breaking, "/v/*: type widened"},
		{"item forbidden", `"items":{"type":"integer"}`, `"items":false`, breaking, additive, "nothing is allowed"},
		{"tuple of an earlier draft", `"items":[{"type":"integer"}]`, `"items":[{"type":"number"}]`, additive, breaking, "/v/*: type widened"},
		{"tuple grown", `"prefixItems":[{}]`, `"prefixItems":[{},{}]`, breaking, breaking, "prefixItems"},
		{"alternative added", `"anyOf":[{"type":"string"},{"type":"array"}]`, `"anyOf":[{"type":"string"},{"type":"array"},{"type":"null"}]`, additive, breaking, "alternative null added"},
		{"alternative removed", `"oneOf":[{"type":"string"},{"type":"array"}]`, `"oneOf":[{"type":"string"}]`, breaking, additive, "alternative array removed"},
		{
			"inside a tagged alternative",
			`"oneOf":[{"properties":{"kind":{"const":"a"},"n":{"maximum":2}}},{"properties":{"kind":{"const":"b"}}}]`,
			`"oneOf":[{"properties":{"kind":{"const":"b"}}},{"properties":{"kind":{"const":"a"},"n":{"maximum":1}}}]`,
			breaking, additive, "/v/n: maximum lowered",
		},
		{
			"alternatives exclude each other now", `"anyOf":[{"required":["a"]},{"required":["b"]}]`, `"oneOf":[{"required":["a"]},{"required":["b"]}]`,
			breaking, additive, "only one alternative may fit now",
		},
		{
			"alternatives may both fit now", `"oneOf":[{"type":"integer"},{"type":"number"}]`, `"anyOf":[{"type":"integer"},{"type":"number"}]`,
			additive, breaking, "several alternatives may fit now",
		},
		{"alternatives of other types said otherwise", `"anyOf":[{"type":"string"},{"type":"null"}]`, `"oneOf":[{"type":"string"},{"type":"null"}]`, text, text, "another way"},
		{
			"tagged alternatives said otherwise", `"oneOf":[{"properties":{"k":{"const":1}},"required":["k"]},{"properties":{"k":{"const":2}},"required":["k"]}]`,
			`"anyOf":[{"properties":{"k":{"const":1}},"required":["k"]},{"properties":{"k":{"const":2}},"required":["k"]}]`, text, text, "another way",
		},
		{
			"overlapping alternative widened", `"oneOf":[{"type":"integer","maximum":2},{"type":"integer","minimum":9}]`,
			`"oneOf":[{"type":"integer","maximum":20},{"type":"integer","minimum":9}]`, breaking, breaking, "maximum raised",
		},
		{
			"overlapping alternative narrowed", `"anyOf":[{"type":"object","oneOf":[{"properties":{"a":{}}},{"properties":{"b":{"maximum":20}}}]}]`,
			`"anyOf":[{"type":"object","oneOf":[{"properties":{"a":{}}},{"properties":{"b":{"maximum":2}}}]}]`, breaking, breaking, "maximum lowered",
		},
		{
			"member of an overlapping alternative", `"oneOf":[{"type":"object","required":["a"]},{"type":"object","required":["b"]}]`,
			`"oneOf":[{"type":"object","required":["a"],"properties":{"c":{"type":"string"}}},{"type":"object","required":["b"]}]`, additive, additive, "/v/c: added",
		},
		{
			"member of an overlapping alternative without others", `"oneOf":[{"type":"object","additionalProperties":false},{"type":"object","required":["b"]}]`,
			`"oneOf":[{"type":"object","additionalProperties":false,"properties":{"b":{"type":"string"}}},{"type":"object","required":["b"]}]`, breaking, breaking, "/v/b: added",
		},
		{"item demanded", `"type":"array"`, `"type":"array","contains":{}`, breaking, additive, "must contain {}"},
		{"item no longer demanded", `"contains":{},"maxContains":1`, `"maxContains":1`, additive, breaking, "need no longer contain"},
		{"demanded item widened", `"contains":{"maximum":1}`, `"contains":{"maximum":2}`, additive, breaking, "/v/*: maximum raised"},
		{"counted items widened", `"contains":{"maximum":1},"maxContains":1`, `"contains":{"maximum":2},"maxContains":1`, breaking, breaking, "cannot be judged"},
		{"one thing more to be", `"type":"object"`, `"type":"object","allOf":[{"required":["a"]}]`, breaking, additive, "must also be"},
		{"what cannot be judged", `"not":{"type":"null"}`, `"not":{"type":"string"}`, breaking, breaking, "cannot be judged"},
		{"a definition", `"$ref":"#/$defs/small"`, `"$ref":"#/$defs/big"`, additive, breaking, "maximum raised"},
		{"a definition written out", `"$ref":"#/$defs/small"`, `"maximum":1`, text, text, "another way"},
		{
			"a definition beside members", `"$ref":"#/$defs/tree","properties":{"x":{}}`, `"$ref":"#/$defs/trees","properties":{"x":{}}`,
			breaking, additive, "/v/children/*/children: required now",
		},
		{"recursion dropped", `"$ref":"#/$defs/dict"`, `"type":"object"`, additive, breaking, "/v/*: type widened from object to anything"},
		{"recursion", `"$ref":"#/$defs/tree"`, `"$ref":"#/$defs/trees"`, breaking, additive, "/v/children/*/children: required now"},
	}
}

const defs = `"$defs":{"small":{"maximum":1},"big":{"maximum":9},"dict":{"type":"object","additionalProperties":{"$ref":"#/$defs/dict"}},
	"tree":{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#/$defs/tree"}}}},
	"trees":{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#/$defs/trees2"}}}},
	"trees2":{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#/$defs/trees2"}}},"required":["children"]}}`

func TestSchemaChanges(t *testing.T) {
	t.Parallel()
	for _, tt := range schemaChanges() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for side, want := range map[string]contract.Level{"inputSchema": tt.input, "outputSchema": tt.output} {
				tool := func(members string) string {
					other := `"inputSchema":{"type":"object"},`
					if side == "inputSchema" {
						other = ""
					}
					return fmt.Sprintf(`{"name":"t",%s%q:{"type":"object","properties":{"v":{%s}},%s}}`, other, side, members, defs)
				}
				judge(t, "tools", tool(tt.before), tool(tt.after), want, tt.words)
			}
		})
	}
}

func componentChanges() map[string][]change {
	tool := func(members string) string { return `{"name":"t","inputSchema":{"type":"object"}` + members + `}` }
	hint := func(members string) string { return tool(`,"annotations":{` + members + `}`) }
	prompt := func(arguments string) string { return `{"name":"p","arguments":[` + arguments + `]}` }
	uri := func(template string) string { return fmt.Sprintf(`{"uriTemplate":%q,"name":"page"}`, template) }
	return map[string][]change{
		"tools": {
			{"same", tool(``), tool(``), same, ""},
			{"removed", tool(``), ``, breaking, "tool t: removed"},
			{"added", ``, tool(``), additive, "tool t: added"},
			{"renamed", tool(`,"description":"d"`), `{"name":"u","description":"d","inputSchema":{"type":"object"}}`, breaking, "tool t: renamed to u"},
			{"title", tool(`,"title":"a"`), tool(`,"title":"b"`), text, "title changed"},
			{"description", tool(`,"description":"a"`), tool(``), text, "description changed"},
			{"icons", tool(``), tool(`,"icons":[{"src":"https://example.com/i"}]`), text, "icons"},
			{"output schema added", tool(``), tool(`,"outputSchema":{"type":"object"}`), additive, "has an output schema"},
			{"output schema removed", tool(`,"outputSchema":{"type":"object"}`), tool(``), breaking, "output schema removed"},
			{"no longer read-only", hint(`"readOnlyHint":true`), hint(``), breaking, "readOnlyHint is false now"},
			{"read-only instead of not destructive", hint(`"destructiveHint":false`), hint(`"readOnlyHint":true`), additive, "readOnlyHint is true now"},
			{"read-only instead of idempotent", hint(`"idempotentHint":true`), hint(`"readOnlyHint":true`), additive, "readOnlyHint is true now"},
			{"read-only", hint(`"readOnlyHint":false`), hint(`"readOnlyHint":true`), additive, "readOnlyHint is true now"},
			{"destructive", hint(`"destructiveHint":false`), hint(`"destructiveHint":true`), breaking, "destructiveHint is true now"},
			{"destructive unsaid", hint(`"destructiveHint":true`), tool(``), text, "is true as before"},
			{"not idempotent", hint(`"idempotentHint":true`), hint(`"idempotentHint":false`), breaking, "idempotentHint"},
			{"closed world", hint(``), hint(`"openWorldHint":false`), additive, "openWorldHint"},
			{"meta added", tool(``), tool(`,"_meta":{"a":1}`), additive, "_meta a added"},
			{"meta changed", tool(`,"_meta":{"a":1}`), tool(`,"_meta":{"a":2}`), breaking, "_meta a changed"},
			{"header", tool(``), `{"name":"t","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`, additive, "/a: added"},
			{
				"header of an old argument", `{"name":"t","inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`,
				`{"name":"t","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`, breaking, "Mcp-Param-A",
			},
		},
		"resources": {
			{"removed", `{"uri":"a://b","name":"b"}`, ``, breaking, "resource a://b: removed"},
			{"moved", `{"uri":"a://b","name":"b"}`, `{"uri":"a://c","name":"b"}`, breaking, "renamed to a://c"},
			{"other type", `{"uri":"a://b","name":"b","mimeType":"text/plain"}`, `{"uri":"a://b","name":"b","mimeType":"text/html"}`, breaking, "mimeType changed"},
			{"type said", `{"uri":"a://b","name":"b"}`, `{"uri":"a://b","name":"b","mimeType":"text/html"}`, additive, "mimeType is"},
			{"size", `{"uri":"a://b","name":"b","size":1}`, `{"uri":"a://b","name":"b","size":2}`, text, "size changed"},
		},
		"resourceTemplates": {
			{"removed", uri("a://{b}"), ``, breaking, "resource template a://{b}: removed"},
			{"variable added", uri("a://{b}"), uri("a://{b}/{c}"), breaking, "added: c"},
			{"variable renamed", uri("a://{b}"), uri("a://{c}"), breaking, "removed: b; added: c"},
			{"other path", uri("a://x/{b}"), uri("a://y/{b}"), breaking, "URI template changed"},
			{"query added", uri("a://{b}"), uri("a://{b}{?page}"), additive, "variable page added"},
			{"query removed", uri("a://{b}{?page,size}"), uri("a://{b}{?page}"), breaking, "variable size removed"},
			{"query added to another type", uri("a://{b}"), `{"uriTemplate":"a://{b}{?page}","name":"page","mimeType":"text/html"}`, additive, "mimeType is"},
			{"query added, and other type", `{"uriTemplate":"a://{b}","name":"page","mimeType":"text/plain"}`, `{"uriTemplate":"a://{b}{?page}","name":"page","mimeType":"text/html"}`, breaking, "mimeType changed"},
			{"query in another order", uri("a://{b}{?page,size}"), uri("a://{b}{?size,page}"), text, "another way"},
			{"takes slashes", uri("a://{b}"), uri("a://{+b}"), additive, "take more"},
			{"takes none", uri("a://{+b}"), uri("a://{b}"), breaking, "changed to"},
		},
		"prompts": {
			{"removed", prompt(``), ``, breaking, "prompt p: removed"},
			{"added", ``, prompt(``), additive, "prompt p: added"},
			{"renamed", prompt(`{"name":"a"}`), `{"name":"q","arguments":[{"name":"a"}]}`, breaking, "renamed to q"},
			{"argument added", prompt(``), prompt(`{"name":"a"}`), additive, "argument a: added"},
			{"required argument added", prompt(``), prompt(`{"name":"a","required":true}`), breaking, "argument a: added, and required"},
			{"argument removed", prompt(`{"name":"a"}`), prompt(``), breaking, "argument a: removed"},
			{"argument required", prompt(`{"name":"a"}`), prompt(`{"name":"a","required":true}`), breaking, "argument a: required now"},
			{"argument optional", prompt(`{"name":"a","required":true}`), prompt(`{"name":"a"}`), additive, "argument a: optional now"},
			{"argument described", prompt(`{"name":"a"}`), prompt(`{"name":"a","description":"d"}`), text, "argument a: description"},
			{"order", prompt(`{"name":"a"},{"name":"b"}`), prompt(`{"name":"b"},{"name":"a"}`), text, "another way"},
		},
	}
}

func TestComponentChanges(t *testing.T) {
	t.Parallel()
	for list, changes := range componentChanges() {
		for _, tt := range changes {
			t.Run(list+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				judge(t, list, tt.before, tt.after, tt.want, tt.words)
			})
		}
	}
}

func judge(t *testing.T, list, before, after string, want contract.Level, words string) {
	t.Helper()
	lock := func(listed string) *contract.Lock {
		if listed != "" {
			listed = `{"listed":` + listed + `}`
		}
		return parse(t, fmt.Sprintf(`{%q:[%s]}`, list, listed))
	}
	changes := contract.Diff(lock(before), lock(after))
	if got := contract.Worst(changes); got != want {
		t.Errorf("%s, want %s\nbefore %s\nafter  %s\n%v", got, want, before, after, changes)
	}
	if all := fmt.Sprint(changes); !strings.Contains(all, words) {
		t.Errorf("the report lacks %q: %s\nbefore %s\nafter  %s", words, all, before, after)
	}
	if changes := contract.Diff(lock(after), lock(after)); len(changes) > 0 {
		t.Errorf("what is the same differs: %v", changes)
	}
}

// parse reads a lock without the members that the test does not care for.
func parse(t *testing.T, raw string) *contract.Lock {
	t.Helper()
	l, err := contract.Parse([]byte(strings.Replace(raw, "{", `{"kagamiLock":1,`, 1)))
	if err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return l
}

func TestServerChanges(t *testing.T) {
	t.Parallel()
	for _, tt := range []change{
		{"capability removed", `{"capabilities":["a"]}`, `{"capabilities":[]}`, breaking, "capability a removed"},
		{"capability added", `{"capabilities":[]}`, `{"capabilities":["a"]}`, additive, "capability a added"},
		{"instructions", `{"instructions":"a"}`, `{"instructions":"b"}`, text, "instructions changed"},
		{"title", `{"server":{"name":"a"}}`, `{"server":{"name":"a","title":"A"}}`, text, "title changed"},
		{"other revision", `{"revision":"a","capabilities":["x"]}`, `{"revision":"b","capabilities":[]}`, text, "read at revision b"},
		{
			"scope needed", `{"complete":true,"tools":[{"listed":{"name":"t"}}]}`,
			`{"complete":true,"tools":[{"listed":{"name":"t"},"scopes":["admin"]}]}`, breaking, "needs the scopes admin",
		},
		{
			"scope dropped", `{"complete":true,"tools":[{"listed":{"name":"t"},"scopes":["admin"]}]}`,
			`{"complete":true,"tools":[{"listed":{"name":"t"}}]}`, additive, "no longer needs the scopes admin",
		},
		{
			"scopes unseen", `{"complete":true,"tools":[{"listed":{"name":"t"},"scopes":["admin"]},{"listed":{"name":"u"}}]}`,
			`{"tools":[{"listed":{"name":"u"}}]}`, same, "",
		},
		{"tasks allowed", `{"tools":[{"listed":{"name":"t"},"tasks":"forbidden"}]}`, `{"tools":[{"listed":{"name":"t"},"tasks":"optional"}]}`, additive, "may be tasks"},
		{"tasks required", `{"tools":[{"listed":{"name":"t"},"tasks":"optional"}]}`, `{"tools":[{"listed":{"name":"t"},"tasks":"required"}]}`, breaking, "tasks are required"},
		{"tasks unseen", `{"tools":[{"listed":{"name":"t"},"tasks":"optional"}]}`, `{"tools":[{"listed":{"name":"t"}}]}`, same, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			changes := contract.Diff(parse(t, tt.before), parse(t, tt.after))
			if got := contract.Worst(changes); got != tt.want || !strings.Contains(fmt.Sprint(changes), tt.words) {
				t.Errorf("%s, want %s with %q: %v", got, tt.want, tt.words, changes)
			}
		})
	}
}

// TestOrder checks that the worst changes come first, and that each change is reported once.
func TestOrder(t *testing.T) {
	t.Parallel()
	before := parse(t, `{"instructions":"a","tools":[{"listed":{"name":"a","inputSchema":{"maximum":1}}},{"listed":{"name":"b"}}]}`)
	after := parse(t, `{"instructions":"b","tools":[{"listed":{"name":"a","inputSchema":{"maximum":2}}},{"listed":{"name":"c","x":1}}]}`)
	var got []string
	for _, c := range contract.Diff(before, after) {
		got = append(got, c.String())
	}
	want := []string{
		"breaking: tool b: removed", "additive: tool a, input: maximum raised from 1 to 2",
		"additive: tool c: added", "text: server: instructions changed",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The size of a surface is the server's choice: it must not take minutes.
func TestLargeSurfaces(t *testing.T) {
	t.Parallel()
	const size = 2000
	list := func(format string, from int) string {
		items := make([]string, size)
		for i := range items {
			items[i] = fmt.Sprintf(format, from+i)
		}
		return strings.Join(items, ",")
	}
	tool := func(schema string) string {
		return `{"kagamiLock":1,"tools":[{"listed":{"name":"t","inputSchema":{` + schema + `}}}]}`
	}
	start := time.Now()
	for name, lock := range map[string]func(from int) string{
		"tools": func(from int) string {
			return `{"kagamiLock":1,"tools":[` + list(`{"listed":{"name":"t%[1]d","description":"%[1]d"}}`, from) + `]}`
		},
		"values": func(from int) string { return tool(`"enum":[` + list(`"v%d"`, from) + `]`) },
		"alternatives": func(from int) string {
			return tool(`"anyOf":[` + list(`{"properties":{"kind":{"const":"k%d"}}}`, from) + `]`)
		},
		"demands": func(from int) string { return tool(`"allOf":[` + list(`{"pattern":"k%d"}`, from) + `]`) },
		"members": func(from int) string {
			return tool(`"properties":{` + list(`"v%d":{}`, from) + `},"required":[` + list(`"v%d"`, from) + `]`)
		},
	} {
		if n := len(contract.Diff(parse(t, lock(0)), parse(t, lock(size)))); n != 2*size {
			t.Errorf("%s: %d changes", name, n)
		}
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("it took %v", d)
	}
}

// TestHugeExponents: a bound is not written out, however long it would be.
func TestHugeExponents(t *testing.T) {
	tool := func(description string) *contract.Lock {
		return parse(t, `{"kagamiLock":1,"tools":[{"listed":{"name":"t","inputSchema":{"type":"object","properties":{"v":{"type":"integer","description":"`+
			description+`","exclusiveMinimum":1e600000000}}}}}]}`)
	}
	a, b := tool("a"), tool("b")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	contract.Diff(a, b)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 10<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
}

// FuzzDiff checks schemas of unknown servers. Equal schemas never differ, however odd they are.
func FuzzDiff(f *testing.F) {
	for _, tt := range schemaChanges() {
		f.Add(`{`+tt.before+`,`+defs+`}`, `{`+tt.after+`,`+defs+`}`)
	}
	f.Add(`{"$ref":"#"}`, `{"$ref":"#/a","a":{"$ref":"#"}}`)
	f.Add(`{"type":"object","properties":{"c":{"type":"array","items":{"$ref":"#"}}}}`, // references at different levels
		`{"type":"object","properties":{"c":{"$ref":"#/$defs/L"}},"$defs":{"L":{"type":"array","items":{"type":"object","properties":{"c":{"$ref":"#/$defs/L"}}}}}}`)
	f.Add(`{"maximum":1e999999999}`, `{"multipleOf":0,"maximum":"x"}`)
	f.Add(`false`, `{"anyOf":[{"$ref":"#"},{"$ref":"#"}],"not":true}`)
	f.Fuzz(func(t *testing.T, before, after string) {
		read := func(schema string) (*contract.Lock, error) {
			return contract.Parse([]byte(`{"kagamiLock":1,"tools":[{"listed":{"name":"t","inputSchema":` + schema + `}}]}`))
		}
		old, err := read(before)
		if err != nil {
			return
		}
		now, err := read(after)
		if err != nil {
			return
		}
		if changes := contract.Diff(old, old); len(changes) > 0 {
			t.Errorf("%s differs from itself: %v", before, changes)
		}
		there, back := contract.Diff(old, now), contract.Diff(now, old)
		if (len(there) == 0) != (len(back) == 0) {
			t.Errorf("%s and %s: %v, but back %v", before, after, there, back)
		}
	})
}
