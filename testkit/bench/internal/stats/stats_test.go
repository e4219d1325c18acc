package stats_test

import (
	"math"
	"testing"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/stats"
)

func same(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-9
}

func TestSeries(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		series        stats.Series
		median, noise float64
	}{
		"none":       {nil, math.NaN(), math.NaN()},
		"one":        {stats.Series{4}, 4, math.NaN()},
		"even":       {stats.Series{4, 2}, 3, 1.0 / 6},
		"unsorted":   {stats.Series{5, 1, 3, 2, 4}, 3, 1.0 / 3},
		"an outlier": {stats.Series{10, 10, 10, 10, 1000}, 10, 0},
		"zero":       {stats.Series{0, 0, 0}, 0, math.NaN()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.series.Median(); !same(got, tt.median) {
				t.Errorf("median %v, want %v", got, tt.median)
			}
			if got := tt.series.Noise(); !same(got, tt.noise) {
				t.Errorf("noise %v, want %v", got, tt.noise)
			}
		})
	}
}

// TestRatios: the machine was twice as slow in the second round, for both.
func TestRatios(t *testing.T) {
	t.Parallel()
	got := stats.Series{10, 20, 12, 7}.Ratios(stats.Series{5, 10, 6})
	if len(got) != 3 || got.Median() != 2 || got.Noise() != 0 {
		t.Errorf("%v", got)
	}
	if got := (stats.Series{1, 2}).Ratios(stats.Series{0, 1}); len(got) != 1 || got[0] != 2 {
		t.Errorf("%v", got)
	}
}
