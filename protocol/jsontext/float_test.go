package jsontext_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

func FuzzAppendFloat(f *testing.F) {
	for _, n := range []float64{
		0, math.Copysign(0, -1), 1, -1, 10, 1e6, 12.5, -0.1, 1e-7, 1e-10, 1e20, 1e21, 1e22,
		1 << 53, 1<<53 - 1, 1<<53 + 2, -1 << 53, 1 - 1<<53, 1 << 62, -1 << 63, math.MaxFloat64, math.SmallestNonzeroFloat64,
	} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n float64) {
		want, err := json.Marshal(n)
		if err != nil {
			return // not a number of JSON
		}
		var back float64
		got := jsontext.AppendFloat(nil, n)
		if err := json.Unmarshal(got, &back); err != nil || math.Float64bits(back) != math.Float64bits(n) {
			t.Errorf("%v is written %s: %v, %v", n, got, back, err)
		}
		if string(got) != string(want) {
			t.Errorf("%v is written %s, want %s", n, got, want)
		}
		short := float32(n)
		want, err = json.Marshal(short)
		if got := jsontext.AppendFloat32(nil, short); err == nil && string(got) != string(want) {
			t.Errorf("%v is written %s, want %s", short, got, want)
		}
	})
}
