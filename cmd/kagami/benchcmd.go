package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/kagami-mcp/kagami/protocol/client"
)

// Bounds of a measurement.
const (
	mostCalls   = 1_000_000
	mostWorkers = 1000
)

// benchRun is the size of a measurement.
type benchRun struct {
	calls   int
	workers int
}

func (a *cli) benchCommand() *cobra.Command {
	run := benchRun{}
	cmd := &cobra.Command{
		Use: "bench SERVER TOOL [key=value ... | JSON]", Short: "Measure calls of a tool",
		Long: `Measure calls of a tool: call it many times, and print how long a call takes. The times
include the work of this command. One call before the measurement must succeed. Write the
arguments as for kagami call. On Windows the clock has steps of up to 16 ms: there, the
times of single calls are not exact, but the rate is.`,
		Example: `  kagami bench ./examples/weather forecast city=Kyoto
  kagami bench http://localhost:8080/mcp forecast city=Kyoto --calls 10000 --workers 16`,
		RunE: func(cmd *cobra.Command, args []string) error {
			server, rest, err := a.arguments(cmd, args, "TOOL", "...")
			if err != nil {
				return err
			}
			if run.calls < 1 || run.calls > mostCalls || run.workers < 1 || run.workers > mostWorkers {
				return usagef("want --calls from 1 to %d and --workers from 1 to %d", mostCalls, mostWorkers)
			}
			a.unhurried(cmd)
			return a.session(cmd.Context(), server, func(ctx context.Context, c *client.Client) error {
				return a.bench(ctx, c, server, rest, run)
			})
		},
	}
	cmd.Flags().IntVarP(&run.calls, "calls", "n", 1000, "number of calls")
	cmd.Flags().IntVarP(&run.workers, "workers", "c", 1, "number of calls at the same time, in one session")
	a.completes(cmd, toolWords)
	return cmd
}

func (a *cli) bench(ctx context.Context, c *client.Client, server, args []string, run benchRun) error {
	all, _, err := a.toolsFor(ctx, c, server, args[0])
	if err != nil {
		return err
	}
	tool, _ := toolNamed(all, args[0])
	arguments, err := toolArguments(tool.InputSchema, args[1:], a.in)
	if err != nil {
		return usagef("%s: %w", args[0], err)
	}
	call := func() error {
		result, err := c.CallTool(ctx, args[0], arguments)
		if err != nil || !result.IsError {
			return err
		}
		return a.printCall(result) // returns the tool's error
	}
	if err := call(); err != nil {
		return withSimilar(err, args[0], "tool", all)
	}
	took, failed, whole := run.measure(ctx, call)
	if ctx.Err() != nil { // an interrupt, or --timeout
		return ctx.Err()
	}
	if len(took) == 0 {
		return fmt.Errorf("all %d calls failed: %w", run.calls, failed)
	}
	return a.printBench(run, took, failed, whole)
}

// measure makes the calls. It returns the sorted times of the successful calls, the first error,
// and the total time.
func (run benchRun) measure(ctx context.Context, call func() error) (took []time.Duration, failed error, whole time.Duration) { //nolint:revive,staticcheck // the error is a result of the measurement
	var mu sync.Mutex // guards the results
	var workers sync.WaitGroup
	var begun atomic.Int64
	began := time.Now()
	for range run.workers {
		workers.Go(func() {
			for begun.Add(1) <= int64(run.calls) && ctx.Err() == nil {
				start := time.Now()
				err := call()
				mu.Lock()
				if err == nil {
					took = append(took, time.Since(start))
				} else if failed == nil {
					failed = err
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	slices.Sort(took)
	return took, failed, time.Since(began)
}

func (a *cli) printBench(run benchRun, took []time.Duration, failed error, whole time.Duration) error {
	if whole <= 0 {
		return errors.New("the calls took less than a step of the clock: give more --calls")
	}
	at := func(part float64) time.Duration { return took[min(int(part*float64(len(took))), len(took)-1)] }
	rate := float64(len(took)) / whole.Seconds()
	if a.json {
		return writeJSON(a.out, map[string]any{
			"calls": run.calls, "failed": run.calls - len(took), "workers": run.workers, "perSecond": rate,
			"p50": at(.5).Seconds(), "p90": at(.9).Seconds(), "p99": at(.99).Seconds(), "max": at(1).Seconds(),
		})
	}
	_, err := fmt.Fprintf(a.out, "calls    %d, %d at once, in %s\nrate     %.0f/s\np50      %s\np90      %s\np99      %s\nlongest  %s\n",
		len(took), run.workers, whole.Round(time.Millisecond), rate, at(.5), at(.9), at(.99), at(1))
	if failed != nil {
		a.say("%d calls failed; the first error: %v", run.calls-len(took), failed)
	}
	return err
}
