package binding_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// These types write their own JSON, and are read like their kind.
type (
	vTags  []string
	vWord  string
	vCount int
	vByKey map[string]vWord
)

func (v vTags) MarshalJSON() ([]byte, error)  { return json.Marshal(strings.Join(v, " ")) }
func (vWord) MarshalText() ([]byte, error)    { return []byte("***"), nil }
func (vCount) MarshalText() ([]byte, error)   { return []byte("many"), nil }
func (v vByKey) MarshalJSON() ([]byte, error) { return json.Marshal(len(v)) }

type vIn struct {
	Tags  vTags   `json:"tags" validate:"max=3,unique,dive,cidr"`
	Word  vWord   `json:"word" validate:"min=8"`
	Words []vWord `json:"words" validate:"dive,required"`
	Count vCount  `json:"count" validate:"min=2,max=5"`
	Keys  vByKey  `json:"keys" validate:"min=1,dive,keys,alpha,endkeys,startswith=x"`
}

// TestRulesOfWriters checks that the schema has the rules of types that only write their own JSON.
func TestRulesOfWriters(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, reflect.TypeFor[vIn](), binding.Input, binding.Options{})
	for _, want := range []string{
		`"tags":{"type":"array","items":{"type":"string","description":"A network such as 10.0.0.0/8."},"maxItems":3,"uniqueItems":true}`,
		`"word":{"type":"string","minLength":8}`, `"words":{"type":"array","items":{"type":"string","minLength":1}}`,
		`"count":{"type":"integer","minimum":2,"maximum":5}`,
		`"keys":{"type":"object","propertyNames":{"pattern":"^[a-zA-Z]+$"},"additionalProperties":{"type":"string","pattern":"^x"},"minProperties":1}`,
	} {
		if !bytes.Contains(p.Schema(), []byte(want)) {
			t.Errorf("no %s in %s", want, p.Schema())
		}
	}
	judge := judgeOf(t, p.Schema())
	for raw, want := range map[string]string{
		`{"tags":[],"word":"12345678","words":["a"],"count":2,"keys":{"a":"x"}}`:                "",
		`{"tags":[],"word":"1234567","words":[""],"count":6,"keys":{"a":"y"}}`:                  "/word /words/0 /count /keys/a",
		`{"tags":["10.0.0.0/8","10.0.0.0/8"],"word":"12345678","words":[],"count":2,"keys":{}}`: "/tags /keys",
	} {
		_, _, err := decodeTo[vIn](t, raw)
		if paths(err) != want || (err == nil) != accepts(t, judge, []byte(raw)) {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
	}
	for call, try := range map[string]string{
		`{"tags":"10.0.0.0/8","word":"12345678","words":["a"],"count":2,"keys":{"a":"x"}}`:                       `{"tags":["10.0.0.0/8"],"word":"12345678","words":["a"],"count":2,"keys":{"a":"x"}}`,
		`{"tags":["10.0.0.0/8","10.0.0.0/8"],"word":"12345678","words":["a"],"count":"2 pots","keys":{"a":"x"}}`: `{"tags":["10.0.0.0/8"],"word":"12345678","words":["a"],"count":2,"keys":{"a":"x"}}`,
	} {
		if got := refusal(t, p, call).Try; got != try {
			t.Errorf("%s: %s, want %s", call, got, try)
		}
	}
}
