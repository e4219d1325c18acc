package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/load"
	"github.com/kagami-mcp/kagami/testkit/bench/internal/proc"
	"github.com/kagami-mcp/kagami/testkit/bench/internal/target"
)

// pipeLoad is a workload over stdio.
type pipeLoad struct {
	id      string
	message load.Message
	depth   int
	reports int
	servers []server
}

// pipes measures one workload.
func (b *bench) pipes(ctx context.Context, w pipeLoad) (err error) {
	b.begin(w.id)
	var entrants []*entrant
	defer func() { err = errors.Join(err, stopAll(entrants)) }()
	var answered sampled
	for _, s := range w.servers {
		if s.echo {
			if s, err = b.repeat(s, answered.first, false); err != nil {
				return err
			}
		}
		p, err := proc.Stdio(ctx, b.program(s.program), b.environment(w.id, s))
		if err != nil {
			return err
		}
		e := &entrant{server: s, process: p}
		entrants = append(entrants, e)
		driver, err := w.driver(p)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", w.id, s.name, err)
		}
		e.run = driver.Run
		body, err := driver.Sample()
		if err := answered.compare(load.Answer{Body: body}, err); err != nil {
			return fmt.Errorf("%s, %s: %w", w.id, s.name, err)
		}
	}
	return b.turns(ctx, w.id, entrants, max(1, w.reports))
}

func (w *pipeLoad) driver(p *proc.Process) (*load.Stdio, error) {
	if err := load.Greet(load.Handshake(), p.In, p.Out); err != nil {
		return nil, err
	}
	return load.NewStdio(w.message, p.In, p.Out, w.depth, w.reports)
}

// inside measures calls within the process of the server, through a pipe in memory.
func (b *bench) inside(ctx context.Context, id, tool, arguments string, servers []server) error {
	b.begin(id)
	for i := range b.rounds {
		for _, j := range turnsOf(i, len(servers)) {
			s := servers[j]
			cost, err := b.piped(ctx, s, tool, arguments)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", id, s.name, err)
			}
			b.results.add(id, s.name, metricTime, cost.Nanoseconds/1e3)
			b.results.add(id, s.name, metricBytes, cost.Bytes)
			b.results.add(id, s.name, metricAllocs, cost.Allocations)
		}
	}
	return nil
}

func (b *bench) piped(ctx context.Context, s server, tool, arguments string) (target.Piped, error) {
	calls := 5000
	if b.few {
		calls = 200
	}
	cmd := exec.CommandContext(ctx, b.program(s.program), target.PipeCommand, tool, arguments, strconv.Itoa(calls))
	cmd.Env = append(os.Environ(), s.env...)
	cmd.Stderr = b.log
	out, err := cmd.Output()
	if err != nil {
		return target.Piped{}, err
	}
	var cost target.Piped
	return cost, json.Unmarshal(out, &cost)
}
