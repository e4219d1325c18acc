package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/load"
)

// notMeasured stands where a table would be.
const notMeasured = "Not measured."

// column is a workload in a table, or one of its metrics.
type column struct{ head, workload, metric, base string }

// grid has a row for each target and a column for each figure. A figure with a
// base also shows its ratio to the figure of the base.
func (r results) grid(columns []column) string {
	head := []string{""}
	var names []string
	seen := map[string]bool{}
	for _, c := range columns {
		head = append(head, c.head)
		for _, name := range r.targets(c.workload) {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return notMeasured + "\n"
	}
	var rows [][]string
	for _, name := range names {
		row := []string{name}
		for _, c := range columns {
			row = append(row, r.cell(name, c))
		}
		rows = append(rows, row)
	}
	return markdown(head, rows)
}

func (r results) cell(name string, c column) string {
	m := r.series(c.workload, name, c.metric).Median()
	if math.IsNaN(m) {
		return "–"
	}
	scale := 1.0
	if c.metric == metricP99 {
		scale = 1000 // shown in ms
	}
	text := number(m / scale)
	if c.base == "" {
		return text
	}
	ratios := r.ratios(c.workload, name, c.base, c.metric)
	if name == c.base || len(ratios) == 0 {
		return text
	}
	return fmt.Sprintf("%s (%s)", text, strings.TrimSpace(ratio(ratios.Median())+" "+noise(ratios)))
}

// section is what stands between two markers of a page.
type section struct{ name, text string }

// sectionMissed repeats the rows of the section goals that are missed.
const sectionMissed = "missed"

// sections of the pages.
func (r results) sections() []section {
	return []section{
		{sectionMissed, missedGoals(r)},
		{"goals", markdown([]string{"", "goal", "measured", "noise", ""}, goalRows(r))},
		{"http-json", r.http("json")},
		{"http-sse", r.http("sse")},
		{"http-stream", r.used()},
		{"http-large", r.largeTable()},
		{"many", r.manyTable()},
		{"stdio", r.stdioTable()},
		{"progress", r.progressTable()},
		{"inside", r.insideTable()},
		{"idle", r.idleTable()},
		{"cold", r.coldTable()},
		{"growth", r.growthTables()},
	}
}

// http is the tables of small and large calls answered in one way.
func (r results) http(kind string) string {
	var b strings.Builder
	for _, era := range eras {
		cpu := make([]column, 0, len(connections)+1)
		for _, n := range connections {
			cpu = append(cpu, column{fmt.Sprintf("small, %d", n), idOf("add", kind, era, n), metricCPU, nameFiber})
		}
		cpu = append(cpu, column{"ten fields, 64", idOf("search", kind, era, 64), metricCPU, nameFiber})
		fmt.Fprintf(&b, "**%s**, server CPU per call in µs, by connections (in brackets: times bare Fiber):\n\n%s\n", era, r.grid(cpu))
		fmt.Fprintf(&b, "**%s**, how fast and how long:\n\n%s\n", era, r.grid(r.speed(kind, era)))
	}
	return b.String()
}

func (r results) speed(kind string, era load.Era) []column {
	add, wide, search := idOf("add", kind, era, 64), idOf("add", kind, era, 256), idOf("search", kind, era, 64)
	return []column{
		{"small, 64: calls/s", add, metricRate, ""},
		{"p50 µs", add, metricP50, ""},
		{"p99 ms", add, metricP99, nameFiber},
		{"256: p99 ms", wide, metricP99, nameFiber},
		{"ten fields, 64: calls/s", search, metricRate, ""},
		{"p99 ms", search, metricP99, nameFiber},
		{"RSS MB", search, metricRSS, ""},
	}
}

func (r results) used() string {
	var columns []column
	for _, era := range eras {
		id := idOf("notify", "stream", era, 64)
		columns = append(columns,
			column{era.String() + ": CPU µs", id, metricCPU, nameFiber}, column{"calls/s", id, metricRate, ""}, column{"p99 ms", id, metricP99, nameFiber})
	}
	return r.grid(columns)
}

func (r results) largeTable() string {
	var columns []column
	for _, what := range []struct{ id, head string }{{"blob", "256 KB of text"}, {"list", "tools/list of 200"}} {
		for _, era := range eras {
			columns = append(columns, column{what.head + ", " + era.String(), idOf(what.id, "json", era, 16), metricCPU, nameFiber})
		}
	}
	return "Server CPU per request in µs, 16 connections:\n\n" + r.grid(columns)
}

func (r results) manyTable() string {
	return "Server CPU per request in µs, 64 connections, 2025-11-25:\n\n" + r.grid([]column{
		{"resources/read, 100 templates", "http read 100 templates c64", metricCPU, nameOneTemplate},
		{"small call, 1,000 tools", "http add 1000 tools c64", metricCPU, nameTenTools},
	})
}

func (r results) stdioTable() string {
	var columns []column
	for _, tool := range []struct{ id, head string }{{"add", "small"}, {"search", "ten fields"}} {
		single, deep := "stdio "+tool.id+" depth 1", "stdio "+tool.id+" depth 64"
		columns = append(columns,
			column{tool.head + ": p50 µs", single, metricP50, namePipes},
			column{"CPU µs", single, metricCPU, ""},
			column{"64 at once: CPU µs", deep, metricCPU, namePipes},
			column{"calls/s", deep, metricRate, ""})
	}
	return r.grid(columns)
}

func (r results) progressTable() string {
	var columns []column
	for _, on := range []string{"stdio", "http"} {
		id := on + " progress"
		columns = append(columns,
			column{on + ": CPU µs", id, metricCPU, nameKagami}, column{"a second", id, metricRate, ""},
			column{"lost of 10,000", id, metricLost, ""}, column{"after the result", id, metricLate, ""})
	}
	return r.grid(columns)
}

func (r results) insideTable() string {
	var columns []column
	for _, tool := range []struct{ id, head string }{{"inside add", "small"}, {"inside search", "ten fields"}} {
		columns = append(columns,
			column{tool.head + ": µs", tool.id, metricTime, nameSDK}, column{"allocations", tool.id, metricAllocs, ""}, column{"bytes", tool.id, metricBytes, ""})
	}
	return r.grid(columns)
}

func (r results) idleTable() string {
	var columns []column
	for _, what := range []struct{ id, head string }{
		{"idle sessions", "session"}, {"idle GET streams", "GET stream"}, {"idle listen streams", "listen stream"},
	} {
		if what.id != "idle sessions" {
			columns = append(columns, column{"connection before it", what.id, metricBase, ""})
		}
		columns = append(columns, column{what.head + ": heap and stacks", what.id, metricHeap, ""}, column{"RSS", what.id, metricRSS, ""})
	}
	columns = append(columns, column{"opening a session, CPU µs", "idle sessions", metricCPU, ""})
	return "KB each:\n\n" + r.grid(columns)
}

func (r results) coldTable() string {
	return r.grid([]column{
		{"exec to the answer to initialize, ms", "cold start", metricTime, nameConstant},
		{"stripped binary, MB", "cold start", metricSize, ""},
	})
}

// growthTables have a row for each number of what there is.
func (r results) growthTables() string {
	var b strings.Builder
	for _, g := range grown {
		sizes := r.growthSizes(g.what)
		if len(sizes) == 0 {
			return notMeasured + "\n"
		}
		head := []string{g.what}
		for _, f := range g.figures {
			head = append(head, f.text)
		}
		var rows [][]string
		for _, n := range sizes {
			row := []string{number(float64(n))}
			for _, f := range g.figures {
				s := r.series(growthID(g.what, n), nameKagami, f.name)
				row = append(row, strings.TrimSpace(number(s.Median())+" "+noise(s)))
			}
			rows = append(rows, row)
		}
		b.WriteString(markdown(head, rows) + "\n")
	}
	return b.String()
}

// growthSizes are the numbers that were measured, ascending.
func (r results) growthSizes(what string) []int {
	var found []int
	for n := 100; n <= 1_000_000; n *= 10 {
		if len(r[growthID(what, n)]) > 0 {
			found = append(found, n)
		}
	}
	return found
}
