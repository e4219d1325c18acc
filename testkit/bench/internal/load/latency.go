package load

import (
	"math/bits"
	"time"
)

// Steps of a histogram: 32 to each power of two, so that it is right to 3 %.
const (
	stepBits = 5
	steps    = 1 << stepBits
)

// Latency counts durations. Not safe for concurrent use.
type Latency struct {
	counts [steps * (64 - stepBits + 1)]int
	n      int
}

// Add counts one.
func (l *Latency) Add(d time.Duration) {
	l.counts[step(uint64(max(0, d)))]++
	l.n++
}

func (l *Latency) add(other *Latency) {
	l.n += other.n
	for i, n := range other.counts {
		l.counts[i] += n
	}
}

// step is the identity below 32, and the five bits after the leading one above.
func step(v uint64) int {
	if v < steps {
		return int(v)
	}
	shift := bits.Len64(v) - stepBits - 1
	return (shift+1)<<stepBits + int(v>>shift) - steps
}

// Quantile is the duration that a share of all is not longer than; 0 for none.
func (l *Latency) Quantile(share float64) time.Duration {
	left := int(share * float64(l.n))
	for i, n := range l.counts {
		if left -= n; left < 0 {
			return value(i)
		}
	}
	return 0
}

// value is the middle of a step.
func value(i int) time.Duration {
	if i < steps {
		return time.Duration(i)
	}
	shift := i>>stepBits - 1
	low := uint64(i&(steps-1)+steps) << shift
	return time.Duration(low + 1<<shift/2)
}
