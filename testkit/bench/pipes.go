package main

import (
	"context"
	"encoding/json"
	"fmt"
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
func (b *bench) pipes(ctx context.Context, w pipeLoad) error {
	return b.measure(ctx, workload{w.id, w.servers, w.reports, proc.Stdio, w.meet})
}

// meet greets a server.
func (w *pipeLoad) meet(e *entrant) (load.Answer, error) {
	p := e.process
	if err := load.Greet(load.Handshake(), p.In, p.Out); err != nil {
		return load.Answer{}, err
	}
	driver, err := load.NewStdio(w.message, p.In, p.Out, w.depth, w.reports)
	if err != nil {
		return load.Answer{}, err
	}
	e.run = driver.Run
	body, err := driver.Sample()
	return load.Answer{Body: body}, err
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
	out, err := proc.Output(ctx, b.program(s.program), s.env, b.log, target.PipeCommand, tool, arguments, strconv.Itoa(calls))
	if err != nil {
		return target.Piped{}, err
	}
	var cost target.Piped
	return cost, json.Unmarshal(out, &cost)
}
