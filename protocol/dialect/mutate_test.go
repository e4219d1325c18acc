package dialect_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// mutations are v with one value somewhere inside left out or replaced.
func mutations(v any) []any {
	var out []any
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			less := maps.Clone(v)
			delete(less, k)
			out = append(out, less)
			for _, m := range replacements(v[k]) {
				with := maps.Clone(v)
				with[k] = m
				out = append(out, with)
			}
		}
	case []any:
		for i, e := range v {
			out = append(out, slices.Delete(slices.Clone(v), i, i+1))
			for _, m := range replacements(e) {
				with := slices.Clone(v)
				with[i] = m
				out = append(out, with)
			}
		}
	}
	return out
}

func replacements(v any) []any {
	return append([]any{nil, true, json.Number("1"), json.Number("-0.5"), "", "x", []any{}, map[string]any{}}, mutations(v)...)
}

// Whatever the official schema allows, one step away from a golden, is read,
// and what is written of it is allowed again. The schema does not know the
// content of strings and the rules between members; refusals lists those.
func TestMutatedGoldens(t *testing.T) {
	t.Parallel()
	o := newOfficial()
	o.anyURI = true
	eachGolden(t, func(t *testing.T, d *dialect.Dialect, c *wireCase, golden []byte) {
		for _, m := range mutations(value(t, golden)) {
			text, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			place := fuzzPlace(d, c.method, c.params == nil, text)
			s := o.schema(t, d, place)
			valid := s != nil && o.judge(t, s, text) == nil
			once, err := c.again(d, text)
			switch {
			case err != nil && valid && !refusable(err.Error()):
				t.Errorf("valid by the schema, but %v: %s", err, text)
			case err == nil && valid:
				if err := o.judge(t, s, once); err != nil {
					t.Errorf("wrote what the schema refuses: %v\n%s", err, once)
				}
			}
		}
	})
}
