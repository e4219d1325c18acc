package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:forbidigo // the main function of a program
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	out, data string
	profile   string
	only      []string
	quick     bool
	rounds    int
	round     time.Duration
}

func parse(args []string, errs io.Writer) (options, error) {
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	set.SetOutput(errs)
	var o options
	var only string
	set.StringVar(&o.out, "out", "", "directory with performance.md and performance/notes.md, to write all tables and plots into")
	set.StringVar(&o.data, "data", "", "file that keeps the figures; figures of earlier runs that are not measured now are also shown")
	set.StringVar(&o.profile, "profile", "", "directory for CPU profiles of Kagami, one for each workload over HTTP and stdio")
	set.StringVar(&only, "only", "", "groups to run, by commas: "+strings.Join(names(), ","))
	set.BoolVar(&o.quick, "quick", false, "a look at everything: short rounds, small numbers; the figures mean little")
	set.IntVar(&o.rounds, "rounds", 5, "rounds that each target gets")
	set.DurationVar(&o.round, "round", time.Second, "time that one takes")
	if err := set.Parse(args); err != nil {
		return o, err
	}
	if only != "" {
		o.only = strings.Split(only, ",")
	}
	for _, name := range o.only {
		if !slices.Contains(names(), name) {
			return o, fmt.Errorf("there is no group %q; there are %s", name, strings.Join(names(), ", "))
		}
	}
	if given := visited(set); o.quick {
		if !given["rounds"] {
			o.rounds = 2
		}
		if !given["round"] {
			o.round = 30 * time.Millisecond
		}
	}
	if set.NArg() > 0 {
		return o, fmt.Errorf("%q is not a flag; set what to measure with -only", set.Arg(0))
	}
	if o.rounds < 1 || o.round <= 0 {
		return o, errors.New("want at least one round that takes some time")
	}
	return o, nil
}

// visited are the flags that were given.
func visited(set *flag.FlagSet) map[string]bool {
	given := map[string]bool{}
	set.Visit(func(f *flag.Flag) { given[f.Name] = true })
	return given
}

func names() []string {
	var all []string
	for _, g := range groups {
		all = append(all, g.name)
	}
	return all
}

func run(ctx context.Context, args []string, out, errs io.Writer) (err error) {
	o, err := parse(args, errs)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	known, err := o.prepare()
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	b := &bench{
		bin: scratch, scratch: scratch, rounds: o.rounds, round: o.round, profile: o.profile, few: o.quick, results: known, log: errs,
	}
	b.say("building")
	if err = build(ctx, scratch); err == nil {
		err = b.all(ctx, o)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // what else went wrong did so because of it
	}
	if err != nil {
		return err
	}
	return show(b.results, o.out, out)
}

// prepare reads the figures of earlier runs, and finds out now what would go wrong when
// all is measured.
func (o *options) prepare() (results, error) {
	known, err := earlier(o.data)
	if err != nil {
		return nil, err
	}
	if o.out != "" {
		if _, err := known.pages(o.out); err != nil {
			return nil, err
		}
		if missing := o.missing(known); len(missing) > 0 {
			return nil, fmt.Errorf("-out writes the whole pages, but there would be no figures of %s: "+
				"measure them as well, or have -data name the file of a run that did", strings.Join(missing, ", "))
		}
	}
	if o.profile != "" {
		if err := os.MkdirAll(o.profile, 0o755); err != nil { //nolint:gosec // profiles for everybody
			return nil, err
		}
	}
	return known, known.keep(o.data)
}

// missing are the groups that are not asked for, and were not measured earlier.
func (o *options) missing(known results) []string {
	var missing []string
	for _, s := range known.sections() {
		if slices.Contains(names(), s.name) && !o.wants(s.name) && strings.Contains(s.text, notMeasured) {
			missing = append(missing, s.name)
		}
	}
	return missing
}

// wants reports whether a group is requested. If no group is named, all are.
func (o *options) wants(group string) bool { return len(o.only) == 0 || slices.Contains(o.only, group) }

// all runs the groups that are asked for. Figures are kept after each.
func (b *bench) all(ctx context.Context, o options) error {
	for _, g := range groups {
		if !o.wants(g.name) {
			continue
		}
		if err := g.run(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		if err := b.results.keep(o.data); err != nil {
			return err
		}
	}
	return nil
}
