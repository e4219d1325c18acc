package testkit

import (
	"math/bits"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// Bench measures calls of a tool, one after another, in memory. A call goes from a client of the
// newest revision to the handler and back, on a server that has only this tool. Bench reports time
// and allocations of a call, including the client's. It also reports the latencies p50, p90, p99
// and max, to within 3 %.
//
// The first call is not measured. An error of any call ends the benchmark.
func Bench[In, Out any](b *testing.B, tool *framework.ToolOf[In, Out], in In) {
	b.Helper()
	if tool == nil {
		b.Fatalf("testkit: Bench: %v", errNoTool)
	}
	arguments, err := tool.Encode(in)
	if err != nil {
		b.Fatalf("testkit: Bench: %v", err)
	}
	server := bareTool(b, tool)
	c := server.connect(b, newest())
	call := func() {
		result, err := c.CallTool(server.ctx, tool.Name(), arguments)
		if err == nil && result.IsError {
			err = &Error{Text: dialect.TextOf(result.Content), Result: result}
		}
		if err != nil {
			b.Helper()
			b.Fatalf("testkit: Bench: calling %s\nsent: %s\ngot:  %v", tool.Name(), arguments, err)
		}
	}
	call()
	var seen latencies
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		call()
		seen.add(time.Since(start))
	}
	seen.report(b)
	if err := c.Close(); err != nil {
		b.Errorf("testkit: closing the session: %v", err)
	}
}

// The histogram has 32 steps for each power of two.
const (
	stepBits = 5
	steps    = 1 << stepBits
)

// latencies is a histogram, so that measuring allocates nothing.
type latencies struct {
	counts [steps * (64 - stepBits + 1)]int
	n      int
	max    time.Duration
}

func (l *latencies) add(d time.Duration) {
	l.counts[stepOf(d)]++
	l.n++
	l.max = max(l.max, d)
}

// stepOf returns the step of a duration: d itself below 64 ns, and above that by the leading
// six bits of d.
func stepOf(d time.Duration) int {
	v := uint64(max(d, 0))
	shift := max(bits.Len64(v)-stepBits-1, 0)
	return shift*steps + int(v>>shift)
}

// startOf returns the shortest duration of a step.
func startOf(step int) time.Duration {
	if step < 2*steps {
		return time.Duration(step)
	}
	shift := step/steps - 1
	return time.Duration(step%steps+steps) << shift
}

// at returns the latency that this share of the calls did not exceed.
func (l *latencies) at(share float64) time.Duration {
	rank := int(share * float64(l.n))
	for step, count := range l.counts {
		if rank -= count; rank < 0 {
			return min(startOf(step), l.max)
		}
	}
	return l.max
}

func (l *latencies) report(b *testing.B) {
	b.Helper()
	for name, share := range map[string]float64{"p50-ns": 0.5, "p90-ns": 0.9, "p99-ns": 0.99} {
		b.ReportMetric(float64(l.at(share)), name)
	}
	b.ReportMetric(float64(l.max), "max-ns")
}
