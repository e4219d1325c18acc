package jsontext_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

func TestAny(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]any{
		`null`: nil, `true`: true, `"a\u00e9"`: "aé", `[]`: []any{}, `{}`: map[string]any{},
		`1`: 1.0, `-0`: 0.0, `1.50`: 1.5, `1e5`: 1e5, `0.1`: 0.1, `123456789012345`: 123456789012345.0,
		`9007199254740993`:   json.Number("9007199254740993"),
		`882020665374088320`: json.Number("882020665374088320"), // the float64 is written as ...300
		// The spelling does not matter: Python, JavaScript, and others.
		`1.2345678901234566e-07`: 1.2345678901234566e-7, `1.2345678901234566e-7`: 1.2345678901234566e-7,
		`-1.2345678901234568E-05`: -1.2345678901234568e-5, `1.2345678901234568e+16`: 1.2345678901234568e16,
		`0.10000000000000000000`: 0.1, `0.00000000000000000`: 0.0, `5e-324`: 5e-324,
		`1.2345e-322`: json.Number("1.2345e-322"),
		`1e400`:       json.Number("1e400"), `1e-400`: json.Number("1e-400"),
		`0.1000000000000000055511151231257827`: json.Number("0.1000000000000000055511151231257827"),
		`[1,{"a":[9007199254740993]}]`:         []any{1.0, map[string]any{"a": []any{json.Number("9007199254740993")}}},
	} {
		got := jsontext.Any([]byte(raw))
		if f, ok := got.(float64); ok && f == 0 {
			got = 0.0 // -0 is 0
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v, want %#v", raw, got, want)
		}
	}
}
