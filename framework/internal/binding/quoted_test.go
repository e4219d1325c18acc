package binding_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

type qIn struct {
	Level   wLevel       `json:"level,string"`
	Pointer *wLevel      `json:"pointer,string"`
	Color   tColor       `json:"color,string"`
	Number  json.Number  `json:"number,string"`
	Maybe   *json.Number `json:"maybe,string"`
}

// TestQuotedAsEncodingJSON checks that json:",string" means the same as for encoding/json, also for types with
// a list of values and for numbers that are kept as written.
func TestQuotedAsEncodingJSON(t *testing.T) {
	t.Parallel()
	in := mustCompile(t, reflect.TypeFor[qIn](), binding.Input, binding.Options{NoRepair: true})
	judge := judgeOf(t, in.Schema())
	for raw, want := range map[string]bool{
		`{"level":"25","pointer":"50","color":"\"red\"","number":"2","maybe":"1.50"}`: true,
		`{"level":"0","color":"\"blue\"","number":"-1e3"}`:                            true,
		`{"level":25,"color":"\"red\"","number":"2"}`:                                 false,
		`{"level":"25","pointer":50,"color":"\"red\"","number":"2"}`:                  false,
		`{"level":"26","color":"\"red\"","number":"2"}`:                               false,
		`{"level":"25","color":"red","number":"2"}`:                                   false,
		`{"level":"25","color":"\"red\"","number":2}`:                                 false,
		`{"level":"25","color":"\"red\"","number":"x"}`:                               false,
	} {
		got, _, err := decodeTo[qIn](t, raw)
		if (err == nil) != want || accepts(t, judge, []byte(raw)) != want {
			t.Errorf("%s: %v, schema %s", raw, err, in.Schema())
		}
		if !want || err != nil {
			continue
		}
		var plain qIn
		if err := json.Unmarshal([]byte(raw), &plain); err != nil || !reflect.DeepEqual(got, plain) {
			t.Errorf("%s: %+v, encoding/json has %+v, %v", raw, got, plain, err)
		}
		text, err := encode(t, got)
		if written, _ := json.Marshal(plain); err != nil || text != string(written) {
			t.Errorf("%s is written as %s, %v, encoding/json has %s", raw, text, err, written)
		}
	}
}
