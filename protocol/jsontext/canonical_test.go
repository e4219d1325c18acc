package jsontext_test

import (
	"testing"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		``: ``, `1`: `1`, ` 1.0 `: `1.0`, `"\u0061\/"`: `"a/"`, `[ ]`: `[]`, `{ }`: `{}`,
		`[2, "b" ,[1 , null]]`:                `[2,"b",[1,null]]`,
		`{"b":1, "a" :{"d":[{"f":1,"e":2}]}}`: `{"a":{"d":[{"e":2,"f":1}]},"b":1}`,
		`{"\u0062":1,"a":2,"a":1}`:            `{"a":2,"a":1,"b":1}`,
	} {
		if got := string(jsontext.Canonical(nil, []byte(value))); got != want {
			t.Errorf("%s: %s, want %s", value, got, want)
		}
	}
}
