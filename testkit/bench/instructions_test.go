package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/load"
	"github.com/kagami-mcp/kagami/testkit/bench/internal/proc"
	"github.com/kagami-mcp/kagami/testkit/bench/internal/sample"
)

const (
	warmUp   = 500  // calls before the count begins
	measured = 1000 // calls of a window
	windows  = 3    // the least of them counts, because the idle rounds of the scheduler are chance
	slack    = 1.03 // how much more than the figure on file is accepted
)

const figures = "testdata/instructions.json"

// TestInstructions counts the user-mode instructions of one call over HTTP, by callgrind. A busy machine
// adds some, because the runtime then waits more often, so a count above the figure on file is taken
// again, and the least of three counts. If it is more than 3 % above the figure, the test fails.
// If one is more than 3 % below, the log says so: write the file again with KAGAMI_UPDATE=1.
func TestInstructions(t *testing.T) {
	if os.Getenv("KAGAMI_FULL") == "" {
		t.Skip("it takes a minute, and needs valgrind: KAGAMI_FULL=1 runs it")
	}
	program := filepath.Join(t.TempDir(), "kagami")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, programs["kagami"]).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	known, counted := onFile(t), map[string]int{}
	for _, era := range []load.Era{load.Handshake(), load.Stateless()} {
		for tool, arguments := range map[string]string{"add": sample.AddCall, "search": sample.SearchCall} {
			id, call := era.Version+" "+tool, era.Call(tool, arguments)
			counted[id] = instructions(t, program, era, call)
			for range 2 {
				if float64(counted[id]) > slack*float64(known[id]) {
					counted[id] = min(counted[id], instructions(t, program, era, call))
				}
			}
		}
	}
	if os.Getenv("KAGAMI_UPDATE") != "" {
		text, err := json.MarshalIndent(counted, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(figures, append(text, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	compare(t, counted)
}

// onFile returns the figures on file.
func onFile(t *testing.T) (known map[string]int) {
	t.Helper()
	text, err := os.ReadFile(figures)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &known); err != nil {
		t.Fatal(err)
	}
	return known
}

// compare holds the counts against the figures on file.
func compare(t *testing.T, counted map[string]int) {
	t.Helper()
	known := onFile(t)
	if len(known) != len(counted) {
		t.Errorf("%s has %d figures, want %d", figures, len(known), len(counted))
	}
	for _, id := range slices.Sorted(maps.Keys(counted)) {
		now, was := counted[id], known[id]
		switch ratio := float64(now) / float64(was); {
		case ratio > slack:
			t.Errorf("%s: %d instructions, %.1f %% more than the %d on file", id, now, 100*(ratio-1), was)
		case ratio < 1/slack:
			t.Logf("%s: %d instructions, fewer than the %d on file: write them again with KAGAMI_UPDATE=1", id, now, was)
		default:
			t.Logf("%s: %d instructions, %d on file", id, now, was)
		}
	}
}

// instructions returns how many user-mode instructions the server needs for a call on one connection.
// The collector is off, because when it runs is chance. So is RDTSCP, which valgrind announces to Go also on
// machines without it, where it then cannot carry it out.
func instructions(t *testing.T, program string, era load.Era, call load.Message) int {
	t.Helper()
	out := filepath.Join(t.TempDir(), "callgrind")
	p, err := proc.HTTP(t.Context(), "valgrind", []string{"GOMAXPROCS=1", "GOGC=off", "GODEBUG=asyncpreemptoff=1,cpu.rdtscp=off"},
		"--tool=callgrind", "--callgrind-out-file="+out, program)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	}()
	client := load.NewClient(p.Addr)
	defer func() { _ = client.Close() }() // the server ends first, or the test has failed
	to := load.Site{Addr: p.Addr, Accept: load.AcceptBoth}
	if era.Sessions() {
		if to.Session, err = client.OpenSession(era, to); err != nil {
			t.Fatal(err)
		}
	}
	request := call.POST(to)
	ask(t, client, request, warmUp)
	least := math.MaxInt
	for window := range windows {
		control(t, "-z", p.PID())
		ask(t, client, request, measured)
		control(t, "-d", p.PID())
		least = min(least, total(t, fmt.Sprintf("%s.%d", out, window+1))/measured)
	}
	return least
}

func ask(t *testing.T, client *load.Client, request *load.Request, times int) {
	t.Helper()
	for range times {
		request.Next()
		answer, err := client.Do(request)
		if err == nil {
			err = request.Check(answer.Body)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// control has callgrind zero its counts (-z) or write them (-d).
func control(t *testing.T, what string, pid int) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "callgrind_control", what, strconv.Itoa(pid)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

var totals = regexp.MustCompile(`(?m)^(?:summary|totals): (\d+)`)

// total reads the sum of a file of callgrind.
func total(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := totals.FindSubmatch(text)
	if found == nil {
		t.Fatal(fmt.Errorf("%s has no sum", path))
	}
	n, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
