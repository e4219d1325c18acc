// Command growth says what a call, a session, a subscriber or a task costs where there
// are so many of them already: growth sessions|subscribers|tasks N. It prints a JSON
// object of figures. All happens in this process, so that nothing but Kagami is seen.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:forbidigo // the main function of a program
	defer stop()
	found, err := measure(ctx, os.Args[1:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(found)
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
}

// figures by the names that the tables have for them.
type figures map[string]float64

func measure(ctx context.Context, args []string) (figures, error) {
	if len(args) != 2 {
		return nil, errors.New("want: growth sessions|subscribers|tasks N")
	}
	n, err := strconv.Atoi(args[1])
	if err != nil || n < 1 {
		return nil, fmt.Errorf("%q is not a positive number", args[1])
	}
	switch args[0] {
	case "sessions":
		return sessions(ctx, n)
	case "subscribers":
		return subscribers(ctx, n)
	case "tasks":
		return tasks(ctx, n)
	}
	return nil, fmt.Errorf("nothing is known of %q", args[0])
}

const (
	batches = 7
	batch   = 400
	longer  = 50 * batch // of what is so short that the first ones after a collection, with cold caches, would count too much
)

// each is what one of many costs in µs: the median of some batches of size, each after
// a collection, or the garbage of what was before would be paid for here.
func each(size int, do func() error) (float64, error) {
	var took []float64
	for range batches {
		runtime.GC()
		start := time.Now()
		for range size {
			if err := do(); err != nil {
				return 0, err
			}
		}
		took = append(took, float64(time.Since(start).Nanoseconds())/1e3/float64(size))
	}
	slices.Sort(took)
	return took[batches/2], nil
}

// live is what is in use of heap and stacks.
func live() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}
