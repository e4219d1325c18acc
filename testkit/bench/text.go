package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/stats"
)

// number has three digits that matter.
func number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "–"
	case a >= 10_000:
		return grouped(int(math.Round(v)))
	case a >= 100 || v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// grouped has a comma between thousands.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// ratio is how often as much; less than a half is one of so many.
func ratio(v float64) string {
	if !math.IsNaN(v) && v > 0 && v <= 0.5 {
		return "1/" + strings.TrimSuffix(fmt.Sprintf("%.1f", 1/v), ".0")
	}
	return number(v) + "×"
}

// noise of rounds as a percentage.
func noise(s stats.Series) string {
	n := s.Noise()
	if math.IsNaN(n) {
		return ""
	}
	return fmt.Sprintf("±%.0f %%", 100*n)
}

// markdown is a table whose first column is text, and the others figures.
func markdown(head []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(head)
	rule := []string{"---"}
	for range head[1:] {
		rule = append(rule, "---:")
	}
	line(rule)
	for _, row := range rows {
		line(row)
	}
	return b.String()
}
