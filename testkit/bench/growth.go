package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
)

// sizes are the numbers at which costs are measured.
func (b *bench) sizes() []int {
	if b.few {
		return []int{100, 1_000}
	}
	return []int{100, 1_000, 10_000, 100_000}
}

// grown are what there may be many of, and the figures of each.
var grown = []struct {
	what    string
	figures []figure
}{
	{"sessions", []figure{{"call", "call on any of them, µs"}, {"open", "opening one more, µs"}, {"weight", "memory of each, KB"}}},
	{"subscribers", []figure{
		{"call", "call beside them, µs"},
		{"one", "telling any of them, µs"},
		{"same", "telling the same one again, µs"},
		{"delivery", "telling all, µs each"},
		{"weight", "memory of each, KB"},
	}},
	{"tasks", []figure{
		{"call", "call beside them, µs"},
		{"life", "one more from start to result, µs"},
		{"poll", "asking for the state of one, µs"},
		{"weight", "memory of each, KB"},
	}},
}

// figure is a member of what the program growth prints, and what it means.
type figure struct{ name, text string }

func growthID(what string, n int) string { return fmt.Sprintf("growth %s %d", what, n) }

func growth(ctx context.Context, b *bench) error {
	for _, g := range grown {
		for _, n := range b.sizes() {
			id := growthID(g.what, n)
			b.begin(id)
			for range min(b.rounds, 3) {
				cmd := exec.CommandContext(ctx, b.program("growth"), g.what, strconv.Itoa(n))
				cmd.Stderr = b.log
				out, err := cmd.Output()
				if err != nil {
					return fmt.Errorf("%s: %w", id, err)
				}
				var found map[string]float64
				if err := json.Unmarshal(out, &found); err != nil {
					return fmt.Errorf("%s: %w", id, err)
				}
				for _, f := range g.figures {
					value, ok := found[f.name]
					if !ok {
						return fmt.Errorf("%s: the figure %s is missing", id, f.name)
					}
					b.results.add(id, nameKagami, f.name, value)
				}
			}
		}
	}
	return nil
}
