package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/load"
	"github.com/kagami-mcp/kagami/testkit/bench/internal/proc"
	"github.com/kagami-mcp/kagami/testkit/bench/internal/target"
)

// bench is one run of the command.
type bench struct {
	bin     string        // directory of the programs
	scratch string        // directory for samples
	rounds  int           // that each target gets
	round   time.Duration // that one takes
	profile string        // directory for profiles of Kagami; empty: none
	few     bool          // small numbers of sessions and streams, few starts
	results results
	log     io.Writer
}

func (b *bench) program(name string) string { return filepath.Join(b.bin, name) }

func (b *bench) say(format string, args ...any) {
	_, _ = fmt.Fprintf(b.log, format+"\n", args...)
}

// environment of a server.
func (b *bench) environment(workload string, s server) []string {
	if b.profile == "" {
		return s.env
	}
	file := filepath.Join(b.profile, strings.ReplaceAll(workload, " ", "-")+".pprof")
	return append([]string{target.ProfileVar + "=" + file}, s.env...)
}

// begin forgets what an earlier run has found of a workload.
func (b *bench) begin(workload string) {
	b.say("%s", workload)
	delete(b.results, workload)
}

// entrant is a target under load.
type entrant struct {
	server  server
	process *proc.Process
	run     func(ctx context.Context, d time.Duration) load.Round
	close   func() error

	requests int // so far
	progress load.Progress
}

// late is how much longer than it should a round may take, and how long a first answer.
const late = time.Minute

// ask runs a round.
func (e *entrant) ask(ctx context.Context, d time.Duration) (round load.Round) {
	round.Err = within(e.process, d+late, func() error {
		round = e.run(ctx, d)
		return round.Err
	})
	return round
}

// within asks a server something. One that does not answer is killed, so that it ends.
func within(p *proc.Process, most time.Duration, do func() error) error {
	stuck := time.AfterFunc(most, p.Kill)
	err := do()
	if !stuck.Stop() {
		err = errors.Join(fmt.Errorf("killed, as it has not answered for %v", most), err)
	}
	return err
}

func (e *entrant) stop() error {
	var err error
	if e.close != nil {
		err = e.close()
	}
	return errors.Join(err, e.process.Stop())
}

func stopAll(entrants []*entrant) error {
	var err error
	for _, e := range entrants {
		err = errors.Join(err, e.stop())
	}
	return err
}

// turns has each target run in each round, and adds the figures. per is how many of
// what is counted belong to a request: 1, or its reports of progress.
func (b *bench) turns(ctx context.Context, workload string, entrants []*entrant, per int) error {
	for _, e := range entrants {
		warm := e.ask(ctx, b.round/4)
		if err := b.judge(workload, e, warm); err != nil {
			return err
		}
	}
	for i := range b.rounds {
		for _, j := range turnsOf(i, len(entrants)) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := b.turn(ctx, workload, entrants[j], per); err != nil {
				return err
			}
		}
	}
	for _, e := range entrants {
		if err := b.profiled(ctx, workload, e); err != nil {
			return fmt.Errorf("%s, %s: %w", workload, e.server.name, err)
		}
		if err := b.total(workload, e, per); err != nil {
			return fmt.Errorf("%s, %s: %w", workload, e.server.name, err)
		}
	}
	return nil
}

// total adds what there is one figure of: memory at the end, and what became of all
// reports of progress, since those that come late are seen by the next round only.
func (b *bench) total(workload string, e *entrant, per int) error {
	resident, err := e.process.Resident()
	if err != nil {
		return err
	}
	b.results.add(workload, e.server.name, metricRSS, float64(resident)/(1<<20))
	if per > 1 {
		of := 10_000 / float64(e.requests*per)
		b.results.add(workload, e.server.name, metricLost, float64(e.progress.Lost)*of)
		b.results.add(workload, e.server.name, metricLate, float64(e.progress.Late)*of)
	}
	return nil
}

// profiled is a round more, if a profile is wanted, whose figures are not.
func (b *bench) profiled(ctx context.Context, workload string, e *entrant) error {
	if b.profile == "" || e.server.name != nameKagami {
		return nil
	}
	if err := e.process.Profile(); err != nil {
		return err
	}
	round := e.ask(ctx, 2*b.round)
	if err := e.process.Profile(); err != nil {
		return err
	}
	return b.judge(workload, e, round)
}

func (b *bench) turn(ctx context.Context, workload string, e *entrant, per int) error {
	before, err := proc.CPU(e.process.PID())
	if err != nil {
		return err
	}
	round := e.ask(ctx, b.round)
	after, err := proc.CPU(e.process.PID())
	if err != nil {
		return err
	}
	if err := b.judge(workload, e, round); err != nil {
		return err
	}
	n := float64(round.Requests * per)
	add := func(metric string, value float64) { b.results.add(workload, e.server.name, metric, value) }
	add(metricCPU, float64((after-before).Nanoseconds())/1e3/n)
	add(metricRate, float64(per)*round.PerSecond())
	add(metricP50, float64(round.Latency.Quantile(0.5).Nanoseconds())/1e3)
	add(metricP99, float64(round.Latency.Quantile(0.99).Nanoseconds())/1e3)
	return nil
}

// judge demands that all answers were right. Reports of progress that a peer loses
// are counted; of ours none may be lost.
func (b *bench) judge(workload string, e *entrant, round load.Round) error {
	if round.Err != nil {
		return fmt.Errorf("%s, %s: %d of %d answers were wrong: %w", workload, e.server.name, round.Wrong, round.Requests, round.Err)
	}
	e.requests += round.Requests
	e.progress.Add(round.Progress)
	p := e.progress
	if e.server.name == nameKagami && (p.Lost != 0 || p.Late != 0 || p.Unsteady != 0) {
		return fmt.Errorf("%s: %d reports of progress were lost, %d late, %d did not increase", workload, p.Lost, p.Late, p.Unsteady)
	}
	return nil
}
