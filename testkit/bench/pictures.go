package main

import (
	"math"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/plot"
)

// pictures of the page by the names of their files.
func (r results) pictures() map[string][]byte {
	all := map[string][]byte{}
	bars := func(file, title, unit string, columns []column) {
		if groups := r.bars(columns, unit); len(groups) > 0 {
			all[file] = plot.Bars(title, groups)
		}
	}
	var calls []column
	for _, era := range eras {
		calls = append(calls,
			column{head: "small call, " + era.String(), workload: idOf("add", "json", era, 64), metric: metricCPU},
			column{head: "ten fields in, 2 KB out, " + era.String(), workload: idOf("search", "json", era, 64), metric: metricCPU})
	}
	bars("http.svg", "Server CPU per call over HTTP, 64 connections", "µs", calls)
	bars("stdio.svg", "Server CPU per call over stdio, 64 at once", "µs", []column{
		{head: "small call", workload: "stdio add depth 64", metric: metricCPU},
		{head: "ten fields in, 2 KB out", workload: "stdio search depth 64", metric: metricCPU},
	})
	bars("idle.svg", "Memory of what waits, heap and stacks", "KB", []column{
		{head: "session", workload: "idle sessions", metric: metricHeap},
		{head: "stream of GET, beyond its connection and session", workload: "idle GET streams", metric: metricHeap},
		{head: "stream of subscriptions/listen, beyond its connection", workload: "idle listen streams", metric: metricHeap},
	})
	bars("cold.svg", "From exec to the answer to initialize", "ms", []column{{head: "stdio", workload: "cold start", metric: metricTime}})
	for _, g := range grown {
		if lines := r.lines(g.what, g.figures); len(lines) > 0 {
			all["growth-"+g.what+".svg"] = plot.Lines("Costs against the number of "+g.what, g.what, lines)
		}
	}
	return all
}

func (r results) bars(columns []column, unit string) []plot.Group {
	var groups []plot.Group
	for _, c := range columns {
		g := plot.Group{Title: c.head}
		for _, name := range r.targets(c.workload) {
			if m := r.series(c.workload, name, c.metric).Median(); !math.IsNaN(m) {
				g.Bars = append(g.Bars, plot.Bar{Name: name, Value: m, Label: number(m) + " " + unit})
			}
		}
		if len(g.Bars) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

func (r results) lines(what string, figures []figure) []plot.Line {
	sizes := r.growthSizes(what)
	if len(sizes) == 0 {
		return nil
	}
	var lines []plot.Line
	for _, f := range figures {
		l := plot.Line{Name: f.text}
		for _, n := range sizes {
			if m := r.series(growthID(what, n), nameKagami, f.name).Median(); !math.IsNaN(m) {
				l.X, l.Y = append(l.X, float64(n)), append(l.Y, m)
			}
		}
		lines = append(lines, l)
	}
	return lines
}
