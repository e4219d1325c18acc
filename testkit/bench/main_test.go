package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/stats"
)

// TestEverything measures all workloads on all targets, each with some requests, and
// writes a copy of the pages. Nothing may be left out.
func TestEverything(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and starts all servers")
	}
	dir := pagesIn(t)
	data := filepath.Join(dir, "figures.json")
	var out, errs bytes.Buffer
	if err := run(t.Context(), []string{"-quick", "-rounds=1", "-round=1ms", "-out", dir, "-data", data, "-profile", dir}, &out, &errs); err != nil {
		t.Fatalf("%v\n%s", err, &errs)
	}
	r, err := earlier(data)
	if err != nil {
		t.Fatal(err)
	}
	all(t, r)
	var text strings.Builder
	for _, path := range pathsOf(dir) {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(page)
	}
	for _, s := range r.sections() {
		if s.name != sectionMissed && s.measured() != s.text {
			t.Errorf("something was left out of %s:\n%s", s.name, s.text)
		}
		if !strings.Contains(text.String(), strings.TrimSpace(s.text)) {
			t.Errorf("%s is on neither page", s.name)
		}
	}
	pictures(t, dir, text.String())
	for _, name := range []string{"http-add-json-2025-11-25-c64.pprof", "stdio-add-depth-1.pprof"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("no profile %s: %v", name, err)
		}
	}
}

// all demands that each workload has the targets that it is to have.
func all(t *testing.T, r results) {
	t.Helper()
	for workload, want := range map[string]int{"http add json": 6, "http add sse": 6, "http search": 6, "http notify": 6, "http blob": 6, "http list": 6, "stdio add depth 1": 6, "stdio add depth 64": 5, "stdio search depth 1": 6, "stdio search depth 64": 5, "http progress": 3, "stdio progress": 3, "inside": 4, "idle": 3, "cold": 7, "http read": 7, "http add 1000": 7} {
		found := 0
		for id := range r {
			if !strings.HasPrefix(id, workload) {
				continue
			}
			found++
			if got := len(r.targets(id)); got != want {
				t.Errorf("%s has %d targets, want %d: %v", id, got, want, r.targets(id))
			}
		}
		if found == 0 {
			t.Errorf("no workload is named %s", workload)
		}
	}
}

// pictures demands that each picture of the pages was drawn.
func pictures(t *testing.T, dir, page string) {
	t.Helper()
	names := regexp.MustCompile(`\]\((?:performance/)?([\w-]+\.svg)\)`).FindAllStringSubmatch(page, -1)
	for _, match := range names {
		name := match[1]
		if _, err := os.Stat(filepath.Join(dir, "performance", name)); err != nil {
			t.Error(err)
		}
	}
	if len(names) == 0 {
		t.Error("the pages have no pictures")
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		0: "0", 0.126: "0.13", 7.34: "7.34", 12.34: "12.3", 64: "64", 123.4: "123", 9999: "9999", 12_345: "12,345", 1_607_000: "1,607,000", -12.5: "-12.5", math.NaN(): "–",
	} {
		if got := number(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]string{1.0 / 13: "1/13", 0.4: "1/2.5", 0.9: "0.90×", 1.4: "1.40×"} {
		if got := ratio(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}

func TestGoal(t *testing.T) {
	t.Parallel()
	r := results{}
	for _, v := range []float64{10, 11, 12} {
		r.add("w", nameKagami, metricCPU, v)
		r.add("w", nameFiber, metricCPU, v/1.5)
	}
	for name, tt := range map[string]struct {
		goal goal
		want string
	}{
		"reached":      {ours("", "w", metricCPU, nameFiber, 1.6), "reached"},
		"missed":       {ours("", "w", metricCPU, nameFiber, 1.4), "**missed**"},
		"absolute":     {absolute("", "w", metricCPU, nameKagami, 11, "µs"), "reached"},
		"not measured": {ours("", "w", metricCPU, nameSDK, 1), "not measured"},
	} {
		if got := tt.goal.verdict(tt.goal.values(r)); got != tt.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := missedGoals(r); got != "No goal is missed.\n" {
		t.Errorf("nothing was measured, and missed are %s", got)
	}
	r.add("stdio add depth 1", nameKagami, metricP50, 30)
	r.add("stdio add depth 1", namePipes, metricP50, 10)
	if got := missedGoals(r); strings.Count(got, "\n") != 3 || !strings.Contains(got, "≤ 2× bare pipes | 3× |") {
		t.Errorf("missed are\n%s", got)
	}
	var none stats.Series
	if noise(none) != "" {
		t.Error("nothing has noise")
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	page := "a\n<!-- bench x: written by testkit/bench, not by hand -->\nold\n<!-- end of x -->\nb\n"
	once, err := replace(page, section{"x", "new\n"})
	if err != nil || !strings.Contains(once, "\nnew\n") || strings.Contains(once, "old") || !strings.HasPrefix(once, "a\n") || !strings.HasSuffix(once, "\nb\n") {
		t.Fatalf("%v: %s", err, once)
	}
	if twice, err := replace(once, section{"x", "new\n"}); err != nil || twice != once {
		t.Errorf("%v: %s", err, twice)
	}
	for _, broken := range []string{"", strings.Replace(page, "end of", "", 1)} {
		if _, err := replace(broken, section{"x", "new"}); err == nil {
			t.Errorf("%q has both markers", broken)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	var errs bytes.Buffer
	o, err := parse([]string{"-only", "stdio,cold", "-quick", "-rounds", "3"}, &errs)
	if err != nil || len(o.only) != 2 || o.rounds != 3 || !o.quick {
		t.Errorf("%+v, %v", o, err)
	}
	for _, args := range [][]string{{"-only", "nothing"}, {"-rounds", "0"}, {"stdio"}, {"-unknown"}} {
		if _, err := parse(args, &errs); err == nil {
			t.Errorf("%q is understood", args)
		}
	}
}
