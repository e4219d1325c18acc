package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/stats"
)

// Metrics of a workload.
const (
	metricCPU    = "cpu"    // of the server, µs a request
	metricRate   = "rate"   // requests a second
	metricP50    = "p50"    // µs
	metricP99    = "p99"    // µs
	metricRSS    = "rss"    // MB
	metricLost   = "lost"   // reports of progress, of 10,000
	metricLate   = "late"   // reports after their result, of 10,000
	metricAllocs = "allocs" // a call
	metricBytes  = "bytes"  // a call
	metricTime   = "time"   // µs a call, or ms of a start
	metricHeap   = "heap"   // KB of heap and stacks a session or stream
	metricBase   = "base"   // KB of heap and stacks of the connection below a stream, and its session
	metricSize   = "size"   // MB
)

// results are the figures of a run: workload, target, metric, and a value a round.
type results map[string]map[string]map[string]stats.Series

func (r results) add(workload, target, metric string, value float64) {
	if r[workload] == nil {
		r[workload] = map[string]map[string]stats.Series{}
	}
	if r[workload][target] == nil {
		r[workload][target] = map[string]stats.Series{}
	}
	r[workload][target][metric] = append(r[workload][target][metric], rounded(value))
}

// rounded has four digits, which is more than any of the figures is worth.
func rounded(v float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-3)
	return math.Round(v/unit) * unit
}

func (r results) series(workload, target, metric string) stats.Series {
	return r[workload][target][metric]
}

// ratios of a target to another; empty where one of them was not measured.
func (r results) ratios(workload, target, base, metric string) stats.Series {
	return r.series(workload, target, metric).Ratios(r.series(workload, base, metric))
}

// targets that were measured, in the order of the tables.
func (r results) targets(workload string) []string {
	found := slices.Collect(maps.Keys(r[workload]))
	slices.SortFunc(found, func(a, b string) int {
		if i, j := slices.Index(order, a), slices.Index(order, b); i != j {
			return i - j
		}
		return strings.Compare(a, b)
	})
	return found
}

// earlier reads results of an earlier run; none where there is no file.
func earlier(path string) (results, error) {
	r := results{}
	if path == "" {
		return r, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return r, nil
}

// keep writes them for a later run. What was kept before stays until all is written.
func (r results) keep(path string) error {
	if path == "" {
		return nil
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
