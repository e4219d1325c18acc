package testkit_test

import (
	"math"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/testkit"
)

func BenchmarkTool(b *testing.B) {
	testkit.Bench(b, newHandles().wait, waitIn{For: time.Second, Exact: 7})
}

// The histogram finds its percentiles to within its promise.
func TestPercentiles(t *testing.T) {
	t.Parallel()
	var all []time.Duration
	for i := range 10_000 {
		all = append(all, time.Duration(i+1)*time.Microsecond)
	}
	for share, want := range map[float64]float64{0.5: 5e6, 0.9: 9e6, 0.99: 9.9e6, 0: 1e3} {
		if got := float64(testkit.Percentile(all, share)); math.Abs(got-want)/want > 0.035 {
			t.Errorf("p%v = %v, want %v", share*100, got, want)
		}
	}
	for _, d := range []time.Duration{0, 1, 63, 64, 65, time.Hour, math.MaxInt64, -1} {
		if got := testkit.Percentile([]time.Duration{d}, 0.5); math.Abs(float64(got-max(d, 0))) > float64(max(d, 0))/32 {
			t.Errorf("%d is kept as %d", d, got)
		}
	}
}

// Everything that Bench promises is there.
func TestBenchMeasures(t *testing.T) {
	t.Parallel()
	r := testing.Benchmark(BenchmarkTool)
	if r.N == 0 || r.AllocsPerOp() == 0 || r.Extra["p50-ns"] == 0 || r.Extra["p50-ns"] > r.Extra["p99-ns"] || r.Extra["p99-ns"] > r.Extra["max-ns"] {
		t.Errorf("%s %v", r, r.Extra)
	}
}
