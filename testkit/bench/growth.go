package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/proc"
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
				if err := b.grow(ctx, id, g.what, n, g.figures); err != nil {
					return fmt.Errorf("%s: %w", id, err)
				}
			}
		}
	}
	return nil
}

// grow adds what the program growth finds at one number.
func (b *bench) grow(ctx context.Context, id, what string, n int, figures []figure) error {
	out, err := proc.Output(ctx, b.program("growth"), nil, b.log, what, strconv.Itoa(n))
	if err != nil {
		return err
	}
	var found map[string]float64
	if err := json.Unmarshal(out, &found); err != nil {
		return err
	}
	for _, f := range figures {
		value, ok := found[f.name]
		if !ok {
			return fmt.Errorf("the figure %s is missing", f.name)
		}
		b.results.add(id, nameKagami, f.name, value)
	}
	return nil
}
