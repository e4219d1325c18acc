// Package sample is what all servers of the bench offer: the same types, the same
// functions and the same constraints, so that what differs is the framework around
// them. Results are prepared: the work of a handler is next to nothing.
//
// The struct tags doc and validate are read by Kagami. The peers are given the same
// constraints as the schemas beside the types, and infer the schemas of results.
package sample

import (
	"os"
	"strconv"
)

// Server names every server to its clients.
const (
	Name    = "bench"
	Version = "1.0.0"
)

// Variables of the environment that say how much a server registers beyond the four
// tools: numbers of more tools and of resource templates.
const (
	ToolsVar     = "BENCH_TOOLS"
	TemplatesVar = "BENCH_TEMPLATES"
)

// Extras reads both variables; what is unset or no number is 0.
func Extras() (tools, templates int) {
	return number(ToolsVar), number(TemplatesVar)
}

func number(name string) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		return 0
	}
	return n
}
