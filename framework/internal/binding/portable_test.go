package binding_test

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

type portableIn struct {
	Pointer  *int                 `json:"pointer"`
	Struct   *tBase               `json:"struct"`
	List     []*string            `json:"list"`
	Map      map[string]*tNode    `json:"map"`
	Above    int                  `json:"above" validate:"gt=0"`
	Below    *uint8               `json:"below" validate:"omitempty,lt=9"`
	Either   int                  `json:"either" validate:"gt=5|lt=0|eq=3"`
	Ratio    float64              `json:"ratio" validate:"gt=0"`
	Constant string               `json:"constant" validate:"eq=x"`
	Not      int                  `json:"not" validate:"ne=3"`
	Shape    uShape               `json:"shape"`
	Maybe    uFlat                `json:"maybe,omitempty"`
	Address  netip.Addr           `json:"address"`
	Ports    []netip.AddrPort     `json:"ports"`
	Choice   string               `json:"choice" validate:"email|ip"`
	Keys     map[netip.Addr]tNode `json:"keys"`
}

// TestSchemasArePortable checks that schemas of arguments use only what clients and model APIs have in common.
func TestSchemasArePortable(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[portableIn](), binding.Input, binding.Options{Unions: unions()})
	schema := p.Schema()
	for _, word := range []string{"null", "oneOf", `"const"`, "exclusiveMaximum"} {
		if strings.Contains(string(schema), word) {
			t.Errorf("it has %s:\n%s", word, schema)
		}
	}
	for _, part := range []string{
		`"above":{"type":"integer","minimum":1}`, `"below":{"type":"integer","minimum":0,"maximum":8}`, `"ratio":{"type":"number","exclusiveMinimum":0}`,
		`"either":{"anyOf":[{"type":"integer","minimum":6},{"type":"integer","maximum":-1},{"type":"integer","enum":[3]}]}`,
		`"constant":{"type":"string","enum":["x"]}`, `"not":{"type":"integer","not":{"enum":[3]}}`,
		`"anyOf":[{"type":"string","format":"ipv4"},{"type":"string","format":"ipv6"}]`,
	} {
		if !strings.Contains(string(schema), part) {
			t.Errorf("it lacks %s:\n%s", part, schema)
		}
	}
	everyBranch(t, schema)
	out := mustCompile(t, reflect.TypeFor[portableIn](), binding.Output, binding.Options{Unions: unions()})
	if !strings.Contains(string(out.Schema()), `"pointer":{"type":["integer","null"]}`) {
		t.Errorf("a result does not say that a pointer may be null:\n%s", out.Schema())
	}
}

// everyBranch fails the test if a branch of anyOf has neither a type nor a reference, or a type stands
// beside anyOf.
func everyBranch(t *testing.T, raw []byte) {
	t.Helper()
	if options, ok := jsontext.Member(raw, "anyOf"); ok && jsontext.KindOf(options) == jsontext.KindArray {
		if _, beside := jsontext.Member(raw, "type"); beside {
			t.Errorf("a type beside anyOf: %s", raw)
		}
		for option := range jsontext.Elements(options) {
			_, typed := jsontext.Member(option, "type")
			_, reference := jsontext.Member(option, "$ref")
			if !typed && !reference {
				t.Errorf("a branch without a type: %s", raw)
			}
		}
	}
	for key, value := range jsontext.Members(raw) {
		if !key.Is("propertyNames") { // which are texts anyway
			everyBranch(t, value)
		}
	}
	for item := range jsontext.Elements(raw) {
		everyBranch(t, item)
	}
}
