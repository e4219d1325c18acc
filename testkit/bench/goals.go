package main

import (
	"fmt"
	"math"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/load"
	"github.com/kagami-mcp/kagami/testkit/bench/internal/stats"
)

// goal is the upper limit of a figure of Kagami: an absolute value, or a ratio to the figure of
// another target in the same rounds.
type goal struct {
	text             string
	workload, metric string
	target, base     string // base "" for an absolute one
	most             float64
	unit             string // of an absolute one
}

// allGoals are those that the framework has set itself.
func allGoals() []goal {
	var all []goal
	for i, era := range eras {
		all = append(all, callGoals(i, era)...)
	}
	all = append(all, largeGoals()...)
	all = append(all, pipeGoals()...)
	return append(all, idleGoals()...)
}

// ours is a goal for Kagami.
func ours(text, workload, metric, base string, most float64) goal {
	return goal{text: text, workload: workload, metric: metric, target: nameKagami, base: base, most: most}
}

// callGoals returns the goals of calls over HTTP at the ith revision.
func callGoals(i int, era load.Era) []goal {
	small, ten := []float64{1.4, 1.6}[i], []float64{2, 2.3}[i]
	smallSDK, smallGo := []float64{13, 20}[i], []float64{4, 7}[i]
	add, search := idOf("add", "json", era, 64), idOf("search", "json", era, 64)
	text := func(what string) string { return fmt.Sprintf("%s, %s", what, era) }
	return []goal{
		ours(text("HTTP JSON, small call, 64 connections"), add, metricCPU, nameFiber, small),
		ours(text("HTTP JSON, small call, 64 connections"), add, metricCPU, nameSDK, 1/smallSDK),
		ours(text("HTTP JSON, small call, 64 connections"), add, metricCPU, nameMCPGo, 1/smallGo),
		ours(text("HTTP JSON, ten fields and 2 KB, 64 connections"), search, metricCPU, nameFiber, ten),
		ours(text("HTTP JSON, ten fields and 2 KB, 64 connections"), search, metricCPU, nameSDK, 1.0/15),
		ours(text("HTTP JSON, ten fields and 2 KB, 64 connections"), search, metricCPU, nameMCPGo, 1.0/8),
		ours(text("HTTP SSE, small call, nothing streamed"), idOf("add", "sse", era, 64), metricCPU, nameFiber, small),
		ours(text("HTTP SSE, ten fields and 2 KB, nothing streamed"), idOf("search", "sse", era, 64), metricCPU, nameFiber, ten),
		ours(text("HTTP SSE, one report before the answer"), idOf("notify", "stream", era, 64), metricCPU, nameFiber, 1.5),
		ours(text("HTTP JSON, p99 at 64 connections"), add, metricP99, nameFiber, 1.6),
		ours(text("HTTP JSON, p99 at 256 connections"), idOf("add", "json", era, 256), metricP99, nameFiber, 1.6),
		ours(text("HTTP, text of 256 KB"), idOf("blob", "json", era, 16), metricCPU, nameSDK, 1.0/15),
		ours(text("HTTP, text of 256 KB"), idOf("blob", "json", era, 16), metricCPU, nameMCPGo, 1.0/6),
		ours(text("HTTP, tools/list of 200 tools"), idOf("list", "json", era, 16), metricCPU, nameFiber, 1.3),
	}
}

func largeGoals() []goal {
	return []goal{
		ours("resources/read with 100 templates", "http read 100 templates c64", metricCPU, nameOneTemplate, 1.2),
		ours("call beside 1,000 tools (no slower; 3 % for noise)", "http add 1000 tools c64", metricCPU, nameTenTools, 1.03),
	}
}

func pipeGoals() []goal {
	all := []goal{
		ours("stdio, round trip of a small call, p50", "stdio add depth 1", metricP50, namePipes, 2),
		ours("stdio, small calls, 64 at once", "stdio add depth 64", metricCPU, nameMCPGo, 1.0/16),
		ours("stdio, small calls, 64 at once", "stdio add depth 64", metricCPU, nameSDK, 1.0/50),
		ours("stdio, ten fields and 2 KB, 64 at once", "stdio search depth 64", metricCPU, nameSDK, 1.0/25),
		ours("stdio, ten fields and 2 KB, 64 at once", "stdio search depth 64", metricCPU, nameMCPGo, 1.0/18),
		ours("in process, small call", "inside add", metricTime, nameSDK, 1.0/12),
		ours("in process, ten fields and 2 KB", "inside search", metricTime, nameSDK, 1.0/12),
		absolute("in process, small call", "inside add", metricAllocs, nameKagami, 12, "allocations"),
		absolute("in process, ten fields and 2 KB", "inside search", metricAllocs, nameKagami, 35, "allocations"),
	}
	for _, on := range []string{"stdio", "http"} {
		id := on + " progress"
		all = append(all,
			ours("progress notification, "+on, id, metricCPU, nameSDK, 1.0/5),
			ours("progress notification, "+on, id, metricCPU, nameMCPGo, 1.0/10),
			absolute("progress notifications lost, "+on, id, metricLost, nameKagami, 0, "of 10,000"),
			absolute("progress notifications after their result, "+on, id, metricLate, nameKagami, 0, "of 10,000"),
		)
	}
	return all
}

func idleGoals() []goal {
	start := func(text, target, base string, most float64) goal {
		return goal{text: text, workload: "cold start", metric: metricTime, target: target, base: base, most: most}
	}
	return []goal{
		absolute("idle session", "idle sessions", metricHeap, nameKagami, 1, "KB"),
		absolute("idle stream of GET", "idle GET streams", metricHeap, nameKagami, 10, "KB"),
		absolute("idle stream of subscriptions/listen", "idle listen streams", metricHeap, nameKagami, 10, "KB"),
		start("cold start of examples/hello", nameHello, nameConstant, 1.7),
		start("cold start of examples/hello", nameHello, nameLinked, 1.8),
		start("cold start of a server wired by fx", nameFX, nameConstant, 3),
		start("cold start of a server wired by fx", nameFX, nameLinked, 3),
		absolute("size of examples/hello, stripped", "cold start", metricSize, nameHello, 18, "MB"),
	}
}

func absolute(text, workload, metric, target string, most float64, unit string) goal {
	return goal{text: text, workload: workload, metric: metric, target: target, most: most, unit: unit}
}

// values are what was measured of a goal, a value a round.
func (g goal) values(r results) stats.Series {
	if g.base == "" {
		return r.series(g.workload, g.target, g.metric)
	}
	return r.ratios(g.workload, g.target, g.base, g.metric)
}

// Verdicts of a goal without figures, and of a goal with a figure above it.
const (
	unknown = "not measured"
	missed  = "**missed**"
)

// verdict compares the median with the goal.
func (g goal) verdict(s stats.Series) string {
	switch m := s.Median(); {
	case math.IsNaN(m):
		return unknown
	case m <= g.most:
		return "reached"
	}
	return missed
}

// rows of the table of goals.
func goalRows(r results) [][]string {
	var rows [][]string
	for _, g := range allGoals() {
		s := g.values(r)
		limit, found := "≤ "+number(g.most)+" "+g.unit, number(s.Median())+" "+g.unit
		if g.base != "" {
			limit, found = "≤ "+ratio(g.most)+" "+g.base, ratio(s.Median())
		}
		if len(s) == 0 {
			found = "–"
		}
		rows = append(rows, []string{g.text, limit, found, noise(s), g.verdict(s)})
	}
	return rows
}

// missedGoals returns the table of the goals that are missed, or a sentence if there are none.
func missedGoals(r results) string {
	var rows [][]string
	for _, row := range goalRows(r) {
		if verdict := row[len(row)-1]; verdict == missed {
			rows = append(rows, row[:len(row)-1])
		}
	}
	if len(rows) == 0 {
		return "No goal is missed.\n"
	}
	return markdown([]string{"", "goal", "measured", "noise"}, rows)
}
