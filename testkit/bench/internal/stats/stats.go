// Package stats compares targets that took turns: figures of the same round were
// measured on the same machine in the same mood, so ratios are taken round by round.
package stats

import (
	"math"
	"slices"
)

// Series is one figure, a value a round.
type Series []float64

// Median is the middle value, or the mean of both; NaN of none.
func (s Series) Median() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// Noise is the half of what lies between the quartiles, as a share of the median:
// half of the rounds are that near. NaN where there are not two, or the median is 0.
func (s Series) Noise() float64 {
	m := s.Median()
	if len(s) < 2 || m == 0 {
		return math.NaN()
	}
	return (s.quantile(0.75) - s.quantile(0.25)) / 2 / math.Abs(m)
}

// quantile is interpolated between neighbors.
func (s Series) quantile(share float64) float64 {
	sorted := slices.Sorted(slices.Values(s))
	at := share * float64(len(sorted)-1)
	low := int(at)
	if low+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	part := at - float64(low)
	return sorted[low]*(1-part) + sorted[low+1]*part
}

// Ratios are s over base, round by round; rounds that only one has are left out.
func (s Series) Ratios(base Series) Series {
	n := min(len(s), len(base))
	ratios := make(Series, 0, n)
	for i := range n {
		if base[i] != 0 {
			ratios = append(ratios, s[i]/base[i])
		}
	}
	return ratios
}
